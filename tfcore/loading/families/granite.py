"""Granite and Granite-MoE: LLaMA's, and a mixture of experts, with four factors: of embeddings, scores, what a sublayer
adds, and logits."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.llama import LAYER, LLAMA, biases, llama_config
from tfcore.loading.families.mapping import of
from tfcore.part_configs import ExpertsConfig

_MIXTURE = f"{LAYER}block_sparse_moe."


def _scales(s: ConfigValues) -> dict[str, Any]:
    """The factors that are settings of ours."""
    if (divisor := s.number("logits_scaling")) == 0:
        raise ValueError("logits_scaling=0 divides by nothing; it must be another number")
    return {
        "embed_scale": s.number("embedding_multiplier"),
        "attn_scale": s.number("attention_multiplier"),
        "logit_scale": 1 / divisor,
    }


def _factors(s: ConfigValues) -> Mapping[str, float]:
    """The factor of what is added to the residual stream, as one of the matrices that write it."""
    return dict.fromkeys(("decoder.blocks.*.attn.out", "decoder.blocks.*.mlp.down"), s.number("residual_multiplier"))


def _granite(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return llama_config(s, tensors, bias=s.flag("mlp_bias"), **biases(s), **_scales(s))


def _granite_moe(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    experts = ExpertsConfig(
        n_experts=s.whole("num_local_experts"),
        top_k=s.whole("num_experts_per_tok"),
        softmax="after",
        balance_loss=s.number("router_aux_loss_coef"),
    )
    return llama_config(s, tensors, **biases(s), **_scales(s), experts=experts)


GRANITE = replace(
    LLAMA,
    title="Granite",
    architectures=("GraniteForCausalLM", "GraniteModel"),
    config=_granite,
    factors=_factors,
    defaults={
        **LLAMA.defaults,
        "embedding_multiplier": 1.0,
        "attention_multiplier": 1.0,
        "residual_multiplier": 1.0,
        "logits_scaling": 1.0,
    },
)
GRANITE_MOE = replace(
    GRANITE,
    title="Granite-MoE",
    architectures=("GraniteMoeForCausalLM", "GraniteMoeModel"),
    config=_granite_moe,
    rows={
        **GRANITE.rows,
        "decoder.blocks.*.mlp.router": of(f"{_MIXTURE}router.layer") + of(f"{_MIXTURE}router"),
        "decoder.blocks.*.mlp.up": of(f"{_MIXTURE}input_linear.weight")
        + of(f"{_MIXTURE}experts.gate_up_proj")
        + of(f"{_MIXTURE}experts.#.gate_proj.weight", f"{_MIXTURE}experts.#.up_proj.weight"),
        "decoder.blocks.*.mlp.down": of(f"{_MIXTURE}output_linear.weight")
        + of(f"{_MIXTURE}experts.down_proj")
        + of(f"{_MIXTURE}experts.#.down_proj.weight"),
    },
    defaults={**GRANITE.defaults, "num_local_experts": 8, "num_experts_per_tok": 2, "router_aux_loss_coef": 0.001},
)
