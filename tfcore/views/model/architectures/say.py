"""Findings on three kinds of Transformer."""

from dataclasses import dataclass

from jaxtyping import Bool
from numpy import ndarray

from tfcore.config import Architecture
from tfcore.measures.token_text import visible
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.model.architectures.measure import END, Prediction, Translated

NAMED = 4  # tokens of a prediction that its sentence names


def allowed_pairs(
    allowed: Bool[ndarray, "query key"], architecture: Architecture, read: int, written: int
) -> Statement:
    """How many (query, key) pairs a mask allows.

    Args:
        read, written: tokens of the source and of the target.
    """
    return state(
        "allowed pairs",
        "Attention mask, {kind}, {read} source and {written} target tokens: {allowed} of {all} pairs allowed.",
        kind=architecture if architecture == "encoder-decoder" else f"{architecture} only",
        read=read,
        written=written,
        allowed=int(allowed.sum()),
        all=allowed.size,
    )


def predicted(what: str, prediction: Prediction) -> Statement:
    """The most probable tokens at one place.

    Args:
        what: is predicted, and from what, as the sentence begins.
    """
    first, *others = (
        f"“{visible(token)}” with {p:.1%}" for token, p in zip(prediction.tokens, prediction.probabilities, strict=True)
    )
    return state(
        "prediction",
        "{what}: {first}{then}.",
        what=what,
        first=first,
        then=f", then {', '.join(others[: NAMED - 1])}" if others else "",
    )


@dataclass(frozen=True, slots=True)
class StrongestSource(Finding):
    """The source token that a target token attends to most, the end of the sentence left out.

    Args:
        head: None where it is the mean over the heads of the layer.
        target, source: tokens.
        weight: of attention from one to the other.
        end: weight of the end of the sentence.
        shape: (target, source) tokens.
    """

    layer: int
    head: int | None
    target: str
    source: str
    weight: float
    end: float
    shape: tuple[int, int]

    @property
    def sentence(self) -> str:
        whose = "the mean of its heads" if self.head is None else f"head {self.head}"
        rest = f"; {END} has {self.end:.2f}" if self.end > self.weight else ""
        return (
            f"Cross-attention, (target, source) = ({self.shape[0]}, {self.shape[1]}), layer {self.layer}, {whose}: "
            f"“{visible(self.target)}” attends most to “{visible(self.source)}”, {self.weight:.2f}{rest}."
        )


def strongest_source(translated: Translated, layer: int, head: int | None, step: int) -> StrongestSource:
    """The source token to which target token `step` attends most; the end where nothing else was read."""
    weights = translated.weights(layer, head)
    row = weights[step]
    best, end = (int(row[:-1].argmax()), float(row[-1])) if len(row) > 1 else (0, 0.0)
    n, across = weights.shape
    return StrongestSource(
        layer, head, translated.target[step], translated.source[best], float(row[best]), end, (n, across)
    )


def largest_weights(translated: Translated) -> Statement:
    """How sharp the cross-attention of each layer is; see Writing.largest."""
    layers, heads, n, across = translated.writing.patterns.shape
    return state(
        "largest weights",
        "The cross-attention of every head: {layers} layers of {heads} heads, ({n}, {across}) each. Mean largest "
        "weight of a token, layer by layer: {largest}.",
        layers=layers,
        heads=heads,
        n=n,
        across=across,
        largest=", ".join(f"{weight:.2f}" for weight in translated.writing.largest.tolist()),
    )
