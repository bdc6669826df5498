"""Activations in fewer bits: channels with outliers, one scale for all tokens or one for each, outliers kept apart."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.analysis.inference.quantisation.weights import percent
from tfcore.measures.one_text import first_tokens, one_text
from tfcore.measures.quantisation.rounded_activations import (
    INPUTS,
    OUTLIER,
    ActivationScheme,
    Scale,
    rounded_activations,
)
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

OUTLIER_TEXT = f"{OUTLIER:g}"


@torch.no_grad()
def matrix_inputs(model: Transformer, ids: list[int]) -> dict[str, Float[Tensor, "layer token channel"]]:
    """What enters every kind of matrix in every layer."""
    record = model.activations(one_text(model, ids), [f"blocks.*.{name}" for name in INPUTS.values()])
    found = {}
    for kind, name in INPUTS.items():
        own = torch.stack([record[f"blocks.{layer}.{name}"][0] for layer in range(model.config.n_layers)])
        found[kind] = (own.transpose(1, 2).flatten(2) if name == "attn.z" else own).cpu()
    return found


@dataclass(frozen=True, slots=True)
class ActivationScan:
    """What enters one kind of matrix in every layer, for one text.

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
def scan_activations(model: Transformer, tokenizer: Tokenizer, text: str, limit: int, kind: str) -> ActivationScan:
    """The channels of what enters a kind of matrix, and the error of rounding them in each way."""
    return scan_inputs(matrix_inputs(model, first_tokens(model, tokenizer, text, limit).ids)[kind], kind)


def scan_inputs(inputs: Float[Tensor, "layer token channel"], kind: str) -> ActivationScan:
    """The same of what `matrix_inputs` gave."""
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


@dataclass(frozen=True, slots=True)
class OutlierChannels(Finding):
    """The channels of one layer's activations.

    Args:
        channel, largest: the one with the largest magnitude.
        median: of all channels' largest magnitudes.
        outliers: how many reach OUTLIER.
        channels: in all.
        first: whether the first token counts.
    """

    model: str
    layer: int
    kind: str
    channel: int
    largest: float
    median: float
    outliers: int
    channels: int
    first: bool

    @property
    def sentence(self) -> str:
        without = "" if self.first else ", the first token left out"
        times = f"{self.largest / self.median:,.0f} times" if self.median else "against"
        return (
            f"What W_{self.kind} of layer {self.layer} of {self.model} is multiplied with{without}: channel "
            f"{self.channel} reaches {self.largest:,.1f}, {times} the median channel ({self.median:.2f}); "
            f"{self.outliers} of {self.channels:,} channels reach {OUTLIER_TEXT}."
        )


def outliers_of(model: str, scan: ActivationScan, layer: int, first: bool) -> OutlierChannels:
    """What is said of a layer."""
    values = (scan.largest if first else scan.without_first)[layer]
    channel = int(values.argmax())
    return OutlierChannels(
        model,
        layer,
        scan.kind,
        channel,
        float(values[channel]),
        float(np.median(values)),
        int((values >= OUTLIER).sum()),
        len(values),
        first,
    )


@dataclass(frozen=True, slots=True)
class RoundingErrors(Finding):
    """The relative error of the activations in one layer, for each way to round them."""

    kind: str
    layer: int
    bits: int
    errors: dict[str, float]

    @property
    def sentence(self) -> str:
        words = "; ".join(f"{way} {percent(error)}" for way, error in self.errors.items())
        return f"Rounded to int{self.bits}, the input of W_{self.kind} in layer {self.layer} is off by: {words}."


def rounding_errors(scan: ActivationScan, layer: int, bits: int) -> RoundingErrors:
    """All ways in one layer."""
    errors = {way: float(found[layer]) for way, found in scan.errors[bits].items()}
    return RoundingErrors(scan.kind, layer, bits, errors)
