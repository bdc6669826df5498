"""Phi-3 and Phi-4: LLaMA's, with queries, keys and values in one matrix, gate and up-projection in another."""

from dataclasses import replace

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.llama import ATTENTION, LAYER, LLAMA, llama_config
from tfcore.loading.families.mapping import of


def _phi3(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return llama_config(s, tensors, window=s.window())


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
