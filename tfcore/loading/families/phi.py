"""Phi 1 to 2 (arXiv:2306.11644): parallel sublayers, biases, a part of each head rotated. Phi-3 and Phi-4: LLaMA's,
with queries, keys and values in one matrix, gate and up-projection in another."""

from dataclasses import replace

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.llama import ATTENTION, LAYER, LLAMA, llama_config
from tfcore.loading.families.mapping import of


def _phi(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    s.only("qk_layernorm", False)  # a LayerNorm of queries and keys
    return llama_config(
        s,
        tensors,
        norm="layernorm",
        norm_eps=s.number("layer_norm_eps"),
        activation=s.activation("hidden_act"),
        parallel=True,
        bias=True,
        logit_bias=True,
    )


def _phi3(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return llama_config(s, tensors, window=s.window())


PHI = replace(
    LLAMA,
    title="Phi",
    architectures=("PhiForCausalLM", "PhiModel"),
    config=_phi,
    rows={
        **LLAMA.rows,
        "logit_bias": of("lm_head.bias"),
        "decoder.ln_final": of("final_layernorm"),
        "decoder.blocks.*.attn.out": of(f"{ATTENTION}dense"),
        "decoder.blocks.*.mlp.up": of(f"{LAYER}mlp.fc1"),
        "decoder.blocks.*.mlp.down": of(f"{LAYER}mlp.fc2"),
    },
    defaults={
        **LLAMA.defaults,
        "vocab_size": 51_200,
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 24,
        "hidden_act": "gelu_new",
        "layer_norm_eps": 1e-5,
        "partial_rotary_factor": 0.5,
        "qk_layernorm": False,
    },
)
PHI3 = replace(
    LLAMA,
    title="Phi-3",
    architectures=("Phi3ForCausalLM", "Phi3Model"),
    config=_phi3,
    rows={
        **LLAMA.rows,
        "decoder.blocks.*.attn.qkv": of(f"{ATTENTION}qkv_proj"),
        "decoder.blocks.*.mlp.up": of(f"{LAYER}mlp.gate_up_proj"),
    },
    defaults={
        **LLAMA.defaults,
        "vocab_size": 32_064,
        "hidden_size": 3072,
        "intermediate_size": 8192,
        "max_position_embeddings": 4096,
        "rms_norm_eps": 1e-5,
        "original_max_position_embeddings": 4096,
        "partial_rotary_factor": 1.0,
    },
)
