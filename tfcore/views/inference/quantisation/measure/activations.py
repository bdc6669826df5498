"""Activations in fewer bits: channels with outliers, one scale for all tokens or one for each, outliers kept apart."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.measures.one_text import one_text
from tfcore.measures.quantisation.rounded_activations import (
    INPUTS,
    OUTLIER,
    ActivationScheme,
    Scale,
    rounded_activations,
)
from tfcore.model import Transformer

OUTLIER_TEXT = f"{OUTLIER:g}"


@torch.no_grad()
def matrix_inputs(model: Transformer, ids: list[int]) -> dict[str, Float[Tensor, "layer token channel"]]:
    """The inputs of every kind of matrix in every layer."""
    record = model.activations(one_text(model, ids), [f"blocks.*.{name}" for name in INPUTS.values()])
    inputs = {}
    for kind, name in INPUTS.items():
        own = torch.stack([record[f"blocks.{layer}.{name}"][0] for layer in range(model.config.n_layers)])
        inputs[kind] = (own.transpose(1, 2).flatten(2) if name == "attn.z" else own).cpu()
    return inputs


@dataclass(frozen=True, slots=True)
class ActivationScan:
    """The inputs of one kind of matrix in every layer, for one text.

    Args:
        kind: one of INPUTS.
        largest: magnitude of every channel over all tokens, (layer, channel).
        without_first: the same without the first token.
        errors: bits -> scheme -> relative error of each layer's activations, mean over the tokens.
        tokens: of the text.
    """

    kind: str
    largest: Float[ndarray, "layer channel"]
    without_first: Float[ndarray, "layer channel"]
    errors: dict[int, dict[str, Float[ndarray, " layer"]]]
    tokens: int


WAYS: dict[str, tuple[Scale, bool]] = {
    "one scale per text": ("tensor", False),
    "per text, outliers apart": ("tensor", True),
    "one scale per token": ("token", False),
    "per token, outliers apart": ("token", True),
}
BITS = (8, 6, 4)


@torch.no_grad()
def scan_inputs(inputs: Float[Tensor, "layer token channel"], kind: str) -> ActivationScan:
    """The channels of what enters a kind of matrix, and the error of rounding them in each way.

    Args:
        inputs: of this kind, as `matrix_inputs` has them.
    """
    rest = inputs[:, 1:] if inputs.shape[1] > 1 else inputs
    errors = {
        bits: {
            way: np.array(
                [
                    token_error(
                        x, rounded_activations(x, ActivationScheme(bits=bits, scale=scale, outliers_apart=apart))
                    )
                    for x in inputs
                ]
            )
            for way, (scale, apart) in WAYS.items()
        }
        for bits in BITS
    }
    return ActivationScan(kind, inputs.abs().amax(1).numpy(), rest.abs().amax(1).numpy(), errors, inputs.shape[1])


def token_error(before: Float[Tensor, "token channel"], after: Float[Tensor, "token channel"]) -> float:
    """|after - before| / |before| of each token, mean over the tokens."""
    return float(((after - before).norm(dim=1) / before.norm(dim=1).clamp(min=1e-12)).mean())
