"""Nemotron (arXiv:2402.16819): LayerNorm whose scale is stored less 1, squared ReLU without a gate, a part of each head
rotated."""

from dataclasses import replace

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.llama import LAYER, LLAMA, biases, llama_config
from tfcore.loading.families.mapping import of

_NORMS = {
    "decoder.ln_final": "norm",
    "decoder.blocks.*.ln1": f"{LAYER}input_layernorm",
    "decoder.blocks.*.ln2": f"{LAYER}post_attention_layernorm",
}


def _nemotron(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return llama_config(
        s,
        tensors,
        norm="layernorm",
        norm_eps=s.number("norm_eps"),
        norm_bias=True,
        activation=s.activation("hidden_act"),
        bias=s.flag("mlp_bias"),
        **biases(s),
    )


NEMOTRON = replace(
    LLAMA,
    title="Nemotron",
    architectures=("NemotronForCausalLM", "NemotronModel"),
    config=_nemotron,
    rows={
        **{row: names for row, names in LLAMA.rows.items() if row not in _NORMS},
        **{f"{ours}.weight": of(f"{theirs}.weight", offset=1.0) for ours, theirs in _NORMS.items()},
        **{f"{ours}.bias": of(f"{theirs}.bias") for ours, theirs in _NORMS.items()},
        "decoder.blocks.*.mlp.up": of(f"{LAYER}mlp.up_proj"),
    },
    defaults={
        **LLAMA.defaults,
        "vocab_size": 256_000,
        "hidden_size": 6144,
        "intermediate_size": 24_576,
        "num_attention_heads": 48,
        "hidden_act": "relu2",
        "max_position_embeddings": 4096,
        "norm_eps": 1e-5,
        "bos_token_id": 2,
        "partial_rotary_factor": 0.5,
    },
)
