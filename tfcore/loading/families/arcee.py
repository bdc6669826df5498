"""Arcee: LLaMA's, its feed-forward layer without a gate and with squared ReLU (arXiv:2109.08668, section 3.1)."""

from dataclasses import replace

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.llama import LAYER, LLAMA, biases, llama_config
from tfcore.loading.families.mapping import of


def _arcee(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    plain = s.activation("hidden_act")
    return llama_config(s, tensors, activation=plain, bias=s.flag("mlp_bias"), **biases(s))


ARCEE = replace(
    LLAMA,
    title="Arcee",
    architectures=("ArceeForCausalLM", "ArceeModel"),
    config=_arcee,
    rows={**LLAMA.rows, "decoder.blocks.*.mlp.up": of(f"{LAYER}mlp.up_proj")},
    defaults={
        **LLAMA.defaults,
        "hidden_size": 2560,
        "intermediate_size": 18_432,
        "hidden_act": "relu2",
        "max_position_embeddings": 4096,
        "rms_norm_eps": 1e-5,
        "bos_token_id": 128_000,
    },
)
