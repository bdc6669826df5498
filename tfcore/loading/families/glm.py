"""GLM-4 (arXiv:2406.12793): LLaMA's, half of each head rotated, neighbouring features together, gate and up-projection
in one matrix; in the version of 2025 what is added is normalised, too."""

from dataclasses import replace
from typing import Any

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.llama import LAYER, LLAMA, NEIGHBOURS, llama_config
from tfcore.loading.families.mapping import of


def _glm(s: ConfigValues, tensors: Tensors, **more: Any) -> ModelConfig:
    return llama_config(s, tensors, qkv_bias=s.flag("attention_bias"), **more)


def _glm4(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return _glm(s, tensors, norm_placement="sandwich")


GLM = replace(
    LLAMA,
    title="GLM",
    architectures=("GlmForCausalLM", "GlmModel"),
    config=_glm,
    rows={**LLAMA.rows, **NEIGHBOURS, "decoder.blocks.*.mlp.up": of(f"{LAYER}mlp.gate_up_proj")},
    defaults={
        **LLAMA.defaults,
        "vocab_size": 151_552,
        "intermediate_size": 13_696,
        "num_hidden_layers": 40,
        "num_key_value_heads": 2,
        "head_dim": 128,
        "max_position_embeddings": 131_072,
        "rms_norm_eps": 1.5625e-7,
        "bos_token_id": None,
        "attention_bias": True,
        "partial_rotary_factor": 0.5,
    },
)
GLM4 = replace(
    GLM,
    title="GLM-4",
    architectures=("Glm4ForCausalLM", "Glm4Model"),
    config=_glm4,
    rows={
        **GLM.rows,
        "decoder.blocks.*.ln1_post": of(f"{LAYER}post_self_attn_layernorm"),
        "decoder.blocks.*.ln2_post": of(f"{LAYER}post_mlp_layernorm"),
    },
)
