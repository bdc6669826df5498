"""Granite: LLaMA's, with four factors: of embeddings, scores, what a sublayer adds, and logits."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tfcore.config import ModelConfig
from tfcore.loading.families.config_values import ConfigValues, Tensors
from tfcore.loading.families.llama import LLAMA, biases, llama_config


def scales(s: ConfigValues) -> dict[str, Any]:
    """The factors that are settings of ours."""
    if (divisor := s.number("logits_scaling")) == 0:
        raise ValueError("logits_scaling=0 divides by nothing; it must be another number")
    return {
        "embed_scale": s.number("embedding_multiplier"),
        "attn_scale": s.number("attention_multiplier"),
        "logit_scale": 1 / divisor,
    }


def factors(s: ConfigValues) -> Mapping[str, float]:
    """The factor of what is added to the residual stream, as one of the matrices that write it."""
    return dict.fromkeys(("decoder.blocks.*.attn.out", "decoder.blocks.*.mlp.down"), s.number("residual_multiplier"))


def _granite(s: ConfigValues, tensors: Tensors) -> ModelConfig:
    return llama_config(s, tensors, bias=s.flag("mlp_bias"), **biases(s), **scales(s))


GRANITE = replace(
    LLAMA,
    title="Granite",
    architectures=("GraniteForCausalLM", "GraniteModel"),
    config=_granite,
    factors=factors,
    defaults={
        **LLAMA.defaults,
        "embedding_multiplier": 1.0,
        "attention_multiplier": 1.0,
        "residual_multiplier": 1.0,
        "logits_scaling": 1.0,
    },
)
