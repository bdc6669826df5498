"""Activations rounded to 8 bits on their way into each matrix."""

from dataclasses import dataclass
from typing import Literal

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from tfcore.inspection.edits import Edit
from tfcore.measures.quantisation.formats import quantise_absmax

Scale = Literal["tensor", "token"]
# What each kind of matrix is multiplied with, by its name among the activations.
INPUTS: dict[str, str] = {"qkv": "ln1.normalized", "out": "attn.z", "up": "ln2.normalized", "down": "mlp.post"}
OUTLIER = 6.0  # magnitude from which a channel counts as an outlier, arXiv:2208.07339, section 3.2


@dataclass(frozen=True, slots=True, kw_only=True)
class ActivationScheme:
    """How the inputs of all matrices are rounded.

    Args:
        bits: of an integer.
        scale: one for all tokens and channels (per tensor), or one for each token.
        outliers_apart: channels that reach OUTLIER at any token stay as they are (LLM.int8()).
    """

    bits: int = 8
    scale: Scale = "token"
    outliers_apart: bool = False

    def __str__(self) -> str:
        apart = ", outliers apart" if self.outliers_apart else ""
        return f"int{self.bits}, one scale per {'text' if self.scale == 'tensor' else 'token'}{apart}"


def outlier_channels(x: Float[Tensor, "token channel"], least: float = OUTLIER) -> Bool[Tensor, " channel"]:
    """Channels whose largest magnitude over the tokens is at least that (arXiv:2208.07339, section 3.2)."""
    return x.abs().amax(0) >= least


def rounded_activations(x: Float[Tensor, "token channel"], scheme: ActivationScheme) -> Float[Tensor, "token channel"]:
    """Activations after absmax rounding; with `outliers_apart` only the other channels are rounded, by their own scale.

    Source: arXiv:2208.07339, equation 8 (mixed-precision decomposition), there with float16 for the outliers and a
    scale for each token.
    """
    apart = outlier_channels(x) if scheme.outliers_apart else torch.zeros(x.shape[1], dtype=torch.bool, device=x.device)
    rest = x.masked_fill(apart, 0.0)
    blocks = rest.reshape(1, -1) if scheme.scale == "tensor" else rest
    return torch.where(apart, x, quantise_absmax(blocks, scheme.bits).values.reshape(x.shape))


def activation_edits(scheme: ActivationScheme) -> list[Edit]:
    """Edits that round what enters every matrix of the blocks."""

    def rounds(name: str) -> Edit:
        def function(value: Tensor) -> Tensor:
            x = value.transpose(1, 2) if name == "attn.z" else value  # heads side by side, as W_O reads them
            flat = torch.stack([rounded_activations(text.flatten(1), scheme) for text in x])
            rounded = flat.reshape(x.shape)
            return rounded.transpose(1, 2) if name == "attn.z" else rounded

        return Edit(f"blocks.*.{name}", function)

    return [rounds(name) for name in INPUTS.values()]
