"""The experiments of the page on probing."""

import numpy as np
from jaxtyping import Bool
from numpy import ndarray

from tfcore.analysis.inside.probing.by_layer import Probed, class_read, probe_each, probed, readable
from tfcore.analysis.inside.probing.kept import kept_layers
from tfcore.analysis.inside.probing.sentence_pairs import SentencePair, compare_sentences, similarity
from tfcore.analysis.inside.probing.steering import (
    FACTORS,
    MOST_NATS,
    MOST_REPEATED,
    Steered,
    collapse,
    collapsed,
    followed_tokens,
    steer,
    steered_next,
)
from tfcore.analysis.inside.probing.two_classes import (
    Direction,
    Method,
    PointsAt,
    TextStates,
    projected,
    token_scores,
    told_apart,
)
from tfcore.charts.promoted import promoted_figure
from tfcore.figures.inside.probing import accuracy_figure, classes_figure
from tfcore.figures.inside.sentence_pairs import pairs_figure, pairs_height
from tfcore.figures.inside.steering import collapse_figure, next_figure, projection_figure
from tfcore.figures.shown import Shown
from tfcore.measures.one_text import first_tokens
from tfcore.measures.statistics import wilson
from tfcore.measures.token_text import plotly_escape, tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def every_layer(model: Transformer, tokenizer: Tokenizer, name: str, target: str) -> Probed:
    """A property read after every layer: as measured once for the models that come with the app, else now."""
    layers = kept_layers(name, target) or list(probe_each(model, tokenizer, target))
    return probed(model, tokenizer, name, target, layers)


def by_layer(found: Probed, layer: int, layers: int) -> Shown:
    """How well a linear probe reads a property after each layer, beside the control task (arXiv:1909.03368)."""
    total, said = len(found.words), readable(found)
    intervals = [wilson(found.right(i), total) for i in range(len(found.layers))]
    baseline = said.majority, "most frequent class"
    figure = accuracy_figure(found.accuracy(), intervals, found.control(), baseline, layers, layer, height=340)
    return Shown(figure, (said,))


def by_class(found: Probed, layer: int) -> Shown:
    """How many words of each class are read correctly after one layer."""
    said = class_read(found, layer)
    pairs = list(zip(said.right, said.counts, strict=True))
    labels = [plotly_escape(f"{name} ({count})") for name, count in zip(said.classes, said.counts, strict=True)]
    figure = classes_figure(labels, [a / b for a, b in pairs], [wilson(a, b) for a, b in pairs], height=340)
    return Shown(figure, (said,))


def classes_by_layer(right: Bool[ndarray, "layer sentence"], method: Method, layer: int) -> Shown:
    """How many sentences fall on the right side after each layer, when their line is held out."""
    layers, total = right.shape
    intervals = [wilson(int(count), total) for count in right.sum(1)]
    guess = 0.5, "a guess"
    figure = accuracy_figure(right.mean(1), intervals, None, guess, layers, layer, height=320, name="held out")
    return Shown(figure, (told_apart(right, layer, method),))


def pointed_at(said: PointsAt) -> Shown:
    """The tokens that the direction from the second class to the first points at."""
    figure = promoted_figure(
        tick_labels(said.tokens), said.cosines, None, height=320, up="@residual", axis="cosine", unit="cosine", room=1.4
    )
    return Shown(figure, (said,))


def along_text(read: TextStates, along: Direction) -> Shown:
    """Each token of a text projected on the direction."""
    scores = token_scores(read, along)
    figure = projection_figure(scores, tick_labels(read.tokens, 10), height=230)
    return Shown(figure, (projected(scores, read.tokens, along.title),))


def steered(model: Transformer, tokenizer: Tokenizer, text: str, limit: int, along: Direction) -> Steered:
    """A text continued with a direction added at every token, with every factor."""
    ids = first_tokens(model, tokenizer, text, limit).ids
    return list(steer(model, ids, along))[-1]


def next_by_factor(tokenizer: Tokenizer, found: Steered, factor: float) -> Shown:
    """The probabilities of the next token by the factor (activation addition, arXiv:2308.10248)."""
    ids = followed_tokens(found)
    labels = tick_labels(tokenizer.tokens(ids))
    figure = next_figure(found.probabilities[:, ids].T, labels, FACTORS, factor, height=330)
    return Shown(figure, (steered_next(found, factor, tokenizer),))


def where_it_collapses(found: Steered, factor: float) -> Shown:
    """How improbable the steered text is for the model as it is, and how much of it is repeated, by the factor."""
    bounds = MOST_NATS, MOST_REPEATED
    nats = np.zeros(len(FACTORS)) if found.nats is None else found.nats
    figure = collapse_figure(nats, found.repeated(), FACTORS, collapsed(found), bounds, factor, height=330)
    return Shown(figure, (collapse(found),))


def compared(model: Transformer, tokenizer: Tokenizer, one: str, two: str) -> SentencePair:
    """Two sentences as an encoder sees them."""
    return compare_sentences(model, tokenizer, one, two)


def pair_parts(found: SentencePair) -> Shown:
    """What each pair of tokens adds to the cosine of two sentences' mean vectors (arXiv:1908.10084)."""
    one, two = (tick_labels(tokens, 12) for tokens in (found.one, found.two))
    return Shown(pairs_figure(found.parts, one, two, pairs_height(len(one), two)), (similarity(found),))
