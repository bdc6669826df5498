"""Gated layers: their width for a number of parameters, and their units; the feed-forward share of a block."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.config import ModelConfig
from tfcore.feedforward import ACTIVATIONS
from tfcore.measures.block_parameters import BlockShare, LayerCost, block_share, layer_cost
from tfcore.part_configs import Activation
from tfcore.presets import PRESETS

GATE_NAMES: dict[Activation, str] = {"swiglu": "SwiGLU", "geglu": "GEGLU", "reglu": "ReGLU"}
UNIT_LIMIT = 4.0  # both inputs of a gated unit go from -UNIT_LIMIT to UNIT_LIMIT
UNIT_POINTS = 81
PUBLISHED: dict[str, str] = {  # what a model is called -> its preset
    "GPT-2 small": "gpt2_small",
    "GPT-3 175B": "gpt3_175b",
    "BERT base": "bert_base",
    "Transformer base (decoder)": "transformer_base",
    "T5 base (decoder)": "t5_base",
    "LLaMA-2 7B": "llama2_7b",
    "LLaMA-3 8B": "llama3_8b",
    "Mistral 7B": "mistral_7b",
    "Gemma 7B": "gemma_7b",
    "Mixtral 8x7B": "mixtral_8x7b",
}


def compare_widths(kind: Activation, d_model: int) -> list[tuple[str, LayerCost]]:
    """A plain layer, d_ff = 4 d_model, and a gated one of two widths, 8/3 d_model and 4 d_model: (name, cost)."""
    gate = GATE_NAMES[kind]
    return [
        ("FFN, 4 d", layer_cost("relu", d_model)),
        (f"{gate}, 8/3 d", layer_cost(kind, d_model)),
        (f"{gate}, 4 d", layer_cost(kind, d_model, 4 * d_model)),
    ]


@dataclass(frozen=True, slots=True)
class GatedUnit:
    """One hidden unit of a gated layer over its two inputs.

    Args:
        gate, up: the inputs, outputs of the gate and of the up-projection for a token.
        gated: act(gate) * up, at (up, gate).
        plain: act(gate), a unit without a second input.
    """

    gate: Float[ndarray, " gate"]
    up: Float[ndarray, " up"]
    gated: Float[ndarray, "up gate"]
    plain: Float[ndarray, " gate"]


def gated_unit(activation: Activation) -> GatedUnit:
    """A unit of a gated layer: act(gate) * up (arXiv:2002.05202, eq. 5)."""
    half = UNIT_POINTS // 2
    inputs = UNIT_LIMIT * torch.arange(-half, half + 1) / half  # 0 in the middle, exactly
    plain = ACTIVATIONS[activation](inputs)
    gated = plain[None, :] * inputs[:, None]  # (up, gate)
    return GatedUnit(inputs.numpy(), inputs.numpy(), gated.numpy(), plain.numpy())


def published_configs() -> dict[str, ModelConfig]:
    """The configs of PUBLISHED."""
    return {name: PRESETS[preset]() for name, preset in PUBLISHED.items()}


def block_shares(configs: Mapping[str, ModelConfig]) -> dict[str, BlockShare]:
    """The parameters of the last block of each model, name -> counts."""
    return {name: block_share(config) for name, config in configs.items()}


def share_formula(matrices: int, ratio: float, groups: float) -> float:
    """m r / (m r + 2 + 2 g): m matrices of width r = d_ff / d_model, g = key/value heads per query head.

    Attention has W_Q and W_O of d^2 and W_K and W_V of g d^2 weights. With m r = 8 and g = 1 that is 8 / 12 = 2/3.
    """
    return matrices * ratio / (matrices * ratio + 2 + 2 * groups)
