"""GLM-4 (arXiv:2406.12793): LLaMA's, half of each head rotated, neighbouring features together, gate and up-projection
in one matrix; in the version of 2025 what is added is normalised, too. And GLM-4.5 (arXiv:2508.06471), DeepSeek-V3's
mixture with grouped-query attention, halves of the rotated features turned together."""

from dataclasses import replace
from typing import Any

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.deepseek import BALANCED, DEEPSEEK_V3, ROUTED, sigmoid_experts
from tfcore.loading.families.llama import LAYER, LLAMA, NEIGHBOURS, llama_config
from tfcore.loading.families.mapping import of


def _glm(s: ConfigValues, tensors: Tensors, **more: Any) -> ModelConfig:
    return llama_config(s, tensors, qkv_bias=s.flag("attention_bias"), **more)


def _glm4(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return _glm(s, tensors, norm_placement="sandwich")


def _glm4_moe(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return _glm(s, tensors, qk_norm="head" if s.flag("use_qk_norm") else None, **sigmoid_experts(s))


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
GLM4_MOE = replace(
    DEEPSEEK_V3,
    title="GLM-4.5",
    architectures=("Glm4MoeForCausalLM", "Glm4MoeModel"),
    config=_glm4_moe,
    rows={**ROUTED, **BALANCED},
    # which predict a token further, and stand after the last layer of GLM-4.5-Air and of GLM-4.5
    ignored=rf"{LLAMA.ignored}|layers\.(46|92)\..*",
    defaults={
        **LLAMA.defaults,
        "vocab_size": 151_552,
        "intermediate_size": 10_944,
        "num_hidden_layers": 46,
        "num_attention_heads": 96,
        "num_key_value_heads": 8,
        "max_position_embeddings": 131_072,
        "rms_norm_eps": 1e-5,
        "bos_token_id": None,
        "partial_rotary_factor": 0.5,
        "use_qk_norm": False,
        "first_k_dense_replace": 1,
        "n_routed_experts": 128,
        "n_shared_experts": 1,
        "moe_intermediate_size": 1408,
        "num_experts_per_tok": 8,
        "n_group": 1,
        "topk_group": 1,
        "routed_scaling_factor": 1.0,
        "norm_topk_prob": True,
    },
)
