"""The experiments of the page on architectures."""

from collections.abc import Sequence

import numpy as np

from tfcore.analysis.model.architectures import (
    Continued,
    Masked,
    Prediction,
    Translated,
    allowed_pairs,
    largest_weights,
    seen,
    strongest_source,
)
from tfcore.config import Architecture
from tfcore.figures.guesses import guesses_figure
from tfcore.figures.model.architectures import seen_figure
from tfcore.figures.shown import Shown
from tfcore.figures.tiles import tiles
from tfcore.figures.tokens import token_heatmap
from tfcore.measures.token_text import tick_labels


def kinds(architecture: Architecture, read: Sequence[str], written: Sequence[str]) -> Shown:
    """Three kinds of Transformer: who may look at whom while a text is read and another one written."""
    allowed = seen(architecture, len(read), len(written))
    figure = seen_figure(allowed, [*read, *written], len(read), height=360)
    return Shown(figure, (allowed_pairs(architecture, len(read), len(written)),))


def translation(found: Translated, layer: int, head: int | None, step: int) -> Shown:
    """An encoder-decoder translates; its cross-attention says where each word came from."""
    figure = token_heatmap(
        found.weights(layer, head),
        tick_labels(found.target),
        tick_labels(found.source),
        height=460,
        hover="query %{y}, key %{x}: %{z:.2f}",
    )
    return Shown(figure, (strongest_source(found, layer, head, step),))


def every_head(found: Translated, layer: int, head: int | None) -> Shown:
    """The cross-attention of every head of a translation, small."""
    layers, heads, *_ = found.writing.patterns.shape
    places = [(i, j) for i in range(layers) for j in range(heads)]
    figure = tiles(
        np.concatenate(found.writing.patterns),
        [f"{i}.{j}" for i, j in places],
        heads,
        hovers=[f"layer {i}, head {j}" for i, j in places],
        customdata=[list(place) for place in places],
        selected=None if head is None else layer * heads + head,
        height=420,
    )
    return Shown(figure, (largest_weights(found),))


def blank(found: Masked, chosen: int) -> Shown:
    """An encoder fills a blank: it knows what comes before and what comes after."""
    return predicted(found.predictions[chosen])


def continuation(found: Continued) -> Shown:
    """A decoder writes on: it answers one question only, what comes next, again and again."""
    return predicted(found.prediction)


def predicted(found: Prediction) -> Shown:
    """The most probable tokens at one place."""
    return Shown(guesses_figure(np.array(found.probabilities), tick_labels(found.tokens), height=280), (found,))
