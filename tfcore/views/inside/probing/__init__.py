"""Probing: what a linear map reads off the residual stream, a direction between two classes of sentences, what adding
it does, and two sentences as an encoder sees them."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from jaxtyping import Bool
from numpy import ndarray

from tfcore.charts.promoted import promoted_figure
from tfcore.measures.dictionaries.feature_scan import load_feature_scan
from tfcore.measures.one_text import last_tokens
from tfcore.measures.statistics import wilson
from tfcore.measures.token_text import plotly_escape, tick_labels
from tfcore.views.inside.features.measure.one_feature import token_words
from tfcore.views.inside.probing import draw, say
from tfcore.views.inside.probing.measure import by_layer as layers
from tfcore.views.inside.probing.measure import logistic, properties, sentence_pairs, steering, two_classes
from tfcore.views.inside.probing.measure.by_layer import Probed, ProbedLayer
from tfcore.views.inside.probing.measure.shipped import shipped_layers
from tfcore.views.inside.probing.measure.steering import FACTORS, MOST_NATS, MOST_REPEATED, OfFeature, Steered
from tfcore.views.inside.probing.measure.two_classes import Direction, Method, OfClasses, PointsAt, TwoClasses
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, Source, opened
from tfcore.views.view import View, view

TOKENS = 48  # of a text that is steered

# ---- what a probe reads ----


def _probed(source: Source, target: str) -> Probed:
    """A property read after every layer: as measured once for the models that come with the app, else now."""
    model, tokenizer = opened(source)
    there = shipped_layers(source, target) if isinstance(source, str) else None
    return layers.probed(model, tokenizer, target, there or list(layers.probe_each(model, tokenizer, target)))


probed_of = kept(_probed, entries=64)


def probed_until_now(model: Source, target: str, so_far: Sequence[ProbedLayer]) -> Probed:
    """A property read after the layers that have been probed."""
    network, tokenizer = opened(model)
    return layers.probed(network, tokenizer, target, so_far)


@view
def by_layer(model: Source, target: str, layer: int, *, so_far: Probed | None = None) -> View:
    """How well a linear probe reads a property after each layer, beside the control task (arXiv:1909.03368).

    Args:
        model: with tokens for words.
        target: a key of properties.PROPERTIES.
        layer: that is marked: an index of the stream's states, 0 for the embedding.
        so_far: what has been probed until now; None probes every layer.
    """
    probed = probed_of(model, target) if so_far is None else so_far
    total = len(probed.words)
    intervals = [wilson(probed.right(i), total) for i in range(len(probed.layers))]
    return View(
        key="accuracy",
        title="Accuracy by layer",
        result=probed,
        chart=draw.accuracy_figure(
            probed.accuracy(),
            intervals,
            probed.control(),
            (probed.majority / total, "most frequent class"),
            opened(model)[0].config.n_layers + 1,
            layer,
            height=340,
        ),
        findings=(say.readable(probed),),
        table=lambda: pd.DataFrame({"accuracy": probed.accuracy(), "control task": probed.control()}),
        formula=(
            r"\begin{gathered} p(y \mid x) = \mathrm{softmax}(W^T \hat x + b)_y, \qquad \hat x = \frac{x}"
            r"{\mathrm{rms}(x)} \text{, standardised} \\ W, b = \arg\min\; -\frac{1}{n} \sum_i \log p(y_i \mid x_i) + "
            r"\frac{\lambda}{2} \lVert W \rVert^2, \qquad \text{selectivity} = \text{accuracy} - "
            r"\text{accuracy}_{control} \end{gathered}"
        ),
        papers=(
            "Probes of every layer: arXiv:1610.01644. Control tasks and selectivity: arXiv:1909.03368. "
            "Interval: Wilson 1927, doi:10.2307/2276774; it takes words as independent, which those of a sentence are "
            "not quite, so it is a little too narrow. The state of a word is that at its last token. The text was "
            "written for this project and has its licence; it was tagged word by word by its author, a language "
            "model, after the guidelines of Universal Dependencies, without a second annotator. The results of models "
            "that come with the app are kept in the repository; `python -m tfcore.views.inside.probing.measure` "
            "measures them again, others are probed now."
        ),
        terms=("linear probe", "control task"),
        code=(
            logistic.fit_probe,
            layers.word_states,
            layers.probe_each,
            properties.label_words,
            properties.control_labels,
        ),
    )


@view
def by_class(model: Source, target: str, layer: int, *, so_far: Probed | None = None) -> View:
    """How many words of each class are read correctly after one layer. See by_layer."""
    counts = layers.class_counts(probed_of(model, target) if so_far is None else so_far, layer)
    pairs = list(zip(counts.right, counts.counts, strict=True))
    labels = [plotly_escape(f"{name} ({count})") for name, count in zip(counts.classes, counts.counts, strict=True)]
    return View(
        key="classes",
        title="Accuracy by class",
        result=counts,
        chart=draw.classes_figure(labels, [a / b for a, b in pairs], [wilson(a, b) for a, b in pairs], height=340),
        findings=(say.class_read(counts),),
        table=lambda: pd.DataFrame({"class": counts.classes, "words": counts.counts, "correct": counts.right}),
    )


# ---- two classes of sentences ----

class_of = kept(two_classes.read_class, entries=48)
rows_of = kept(two_classes.token_rows, entries=4)
text_of = kept(two_classes.read_text, entries=32)


def classes_of(model: Source, one: str, two: str) -> TwoClasses:
    """Two classes, each read by itself: while one of them changes, the other is there."""
    return two_classes.both_classes(one, two, class_of(model, one), class_of(model, two))


def direction_of(model: Source, along: OfClasses | OfFeature) -> Direction:
    """A direction of a model's stream."""
    if isinstance(along, OfFeature):
        return steering.feature_direction(along.model, along.feature)
    return two_classes.class_direction(classes_of(model, along.one, along.two), along.layer, along.method)


def _held_out(source: Source, one: str, two: str, method: Method) -> Bool[ndarray, "layer sentence"]:
    return two_classes.held_out_right(classes_of(source, one, two), method)


def _points_at(source: Source, along: OfClasses) -> PointsAt:
    model, tokenizer = opened(source)
    return two_classes.points_at(model, tokenizer, direction_of(source, along), known=rows_of(source))


held_out_of = kept(_held_out, entries=48)
points_of = kept(_points_at, entries=128)


@view
def classes_by_layer(model: Source, along: OfClasses) -> View:
    """How many sentences of two classes fall on the right side after each layer, when their line is held out.

    Args:
        model: a decoder.
        along: the direction from the second class to the first.
    """
    right = held_out_of(model, along.one, along.two, along.method)
    count, total = right.shape
    intervals = [wilson(int(n), total) for n in right.sum(1)]
    sentences = classes_of(model, along.one, along.two).sentences
    return View(
        key="accuracy",
        title="Held-out accuracy",
        result=right,
        chart=draw.accuracy_figure(
            right.mean(1), intervals, None, (0.5, "a guess"), count, along.layer, height=320, name="held out"
        ),
        findings=(say.told_apart(right, along.layer, along.method),),
        table=lambda: pd.DataFrame(right.T).assign(sentence=sentences),
        formula=(
            r"\begin{gathered} v = \bar x_1 - \bar x_2, \quad t = v \cdot \tfrac{1}{2}(\bar x_1 + \bar x_2) "
            r"\qquad \text{or} \qquad \min_{w, b}\; \frac{1}{n} \sum_i \log(1 + e^{-y_i (w \cdot \hat x_i + b)}) + "
            r"\frac{\lambda}{2} \lVert w \rVert^2 \\ \text{score}(x) = \frac{v \cdot x - t}"
            r"{\tfrac{1}{2}\, v \cdot (\bar x_1 - \bar x_2)} \end{gathered}"
        ),
        papers=(
            "Difference of means as a direction: arXiv:2312.06681; compared with probes: arXiv:2310.06824. "
            "A sentence's state is the mean over its tokens but the first. The interval takes sentences as "
            "independent."
        ),
        terms=("linear probe", "unembedding"),
        code=(
            two_classes.read_class,
            two_classes.direction_weights,
            two_classes.dual_logistic,
            two_classes.held_out_right,
            two_classes.points_at,
        ),
    )


@view
def pointed_at(model: Source, along: OfClasses) -> View:
    """The tokens that the direction from the second class to the first points at. See classes_by_layer."""
    pointed = points_of(model, along)
    return View(
        key="pointed",
        title="What it points at",
        result=pointed,
        chart=promoted_figure(
            tick_labels(pointed.tokens),
            pointed.cosines,
            None,
            height=320,
            up="@residual",
            axis="cosine",
            unit="cosine",
            room=1.4,
        ),
        findings=(say.points_at(pointed),),
        table=lambda: pd.DataFrame({"token": pointed.tokens, "cosine": pointed.cosines}),
    )


@view
def along_text(reading: Reading, along: OfClasses) -> View:
    """Each token of a text projected on the direction from the second class to the first.

    Args:
        reading: a text with at least one token.
        along: see classes_by_layer.
    """
    read = text_of(reading.model, reading.text, opened(reading.model)[0].config.max_seq_len)
    direction = direction_of(reading.model, along)
    scores = two_classes.token_scores(read, direction)
    return View(
        key="along",
        title="The text along it",
        result=scores,
        chart=draw.projection_figure(scores, tick_labels(read.tokens, 10), height=230),
        min_width=draw.TOKEN * len(read.tokens),
        findings=(say.projected(scores, read.tokens, direction.title),),
        note="The first token is left out.",
        table=lambda: pd.DataFrame({"token": read.tokens, "score": scores}),
    )


# ---- steering ----


def _steered(reading: Reading, along: OfClasses | OfFeature) -> Steered:
    """A text continued with a direction added at every token, with every factor."""
    model, tokenizer = opened(reading.model)
    ids = last_tokens(model, tokenizer, reading.text, TOKENS).ids
    return list(steering.steer(model, ids, direction_of(reading.model, along)))[-1]


def _feature_labels(source: str) -> list[str]:
    own = token_words(load_feature_scan(source), steering.AUTOENCODER, opened(source)[1])
    return [f"{i} {name}".strip() for i, name in enumerate(own)]


steered_of = kept(_steered, entries=24)
feature_labels = kept(_feature_labels, entries=1)


@view
def next_by_factor(
    reading: Reading, along: OfClasses | OfFeature, factor: float, *, so_far: Steered | None = None
) -> View:
    """The probabilities of the next token by the factor that a direction is added with (activation addition,
    arXiv:2308.10248).

    Args:
        reading: the last TOKENS tokens of a text.
        along: the direction.
        factor: that is marked, one of steering.FACTORS.
        so_far: what is written until now; None continues the text.
    """
    steered, tokenizer = steered_of(reading, along) if so_far is None else so_far, opened(reading.model)[1]
    ids = steering.followed_tokens(steered)
    names, shown = tokenizer.tokens(ids), steered.probabilities[:, ids]
    return View(
        key="next",
        title="The next token by factor",
        result=steered,
        chart=draw.next_figure(shown.T, tick_labels(names), FACTORS, factor, height=330),
        findings=(say.steered_next(steered, factor, tokenizer),),
        table=lambda: pd.DataFrame(shown, FACTORS, names),
        formula=(
            r"\begin{gathered} x_t \leftarrow x_t + c\, v \quad \text{at every token } t \text{, after one layer} \\ "
            r"\text{collapsed: } \frac{1}{n} \sum_t -\log p(y_t \mid y_{<t}) > 4 \text{ nats} \quad \text{or} \quad "
            r"1 - \frac{\text{different runs of 3 tokens}}{\text{runs of 3 tokens}} > 60\,\% \end{gathered}"
        ),
        papers=(
            "Activation addition: arXiv:2308.10248; from means of many pairs: arXiv:2312.06681. "
            "A feature's direction is what it writes at its largest activation in held-out texts. The bounds of the "
            "collapse are ours."
        ),
        terms=("steering vector",),
        code=(steering.steer, steering.continuation_nats, steering.repeated_share, say.collapse),
    )


@view
def where_it_collapses(
    reading: Reading, along: OfClasses | OfFeature, factor: float, *, so_far: Steered | None = None
) -> View:
    """How improbable the steered text is for the model as it is, and how much of it is repeated, by the factor. See
    next_by_factor; so_far must be the last result."""
    steered = steered_of(reading, along) if so_far is None else so_far
    collapsed, nats, repeated = steering.collapsed(steered), np.asarray(steered.nats), steered.repeated()
    return View(
        key="collapse",
        title="Where it collapses",
        result=steered,
        chart=draw.collapse_figure(nats, repeated, FACTORS, collapsed, (MOST_NATS, MOST_REPEATED), factor, height=330),
        findings=(say.collapse(steered),),
        table=lambda: pd.DataFrame({"factor": FACTORS, "nats": nats, "repeated": repeated}),
    )


# ---- two sentences ----

COUNTS = {
    "mean": r"a_i = \tfrac{1}{n}, \quad b_j = \tfrac{1}{m}",
    "first": r"a_1 = b_1 = 1, \quad a_i = b_j = 0 \text{ else}",
    "last": r"a_n = b_m = 1, \quad a_i = b_j = 0 \text{ else}",
}
compared = kept(sentence_pairs.compare_sentences, entries=64)


@view
def pair_parts(model: Source, one: str, two: str) -> View:
    """The parts of the cosine of two sentences' vectors: what each pair of tokens adds (arXiv:1908.10084).

    Args:
        model: an encoder.
        one, two: the sentences, each of at least one token.
    """
    pair = compared(model, one, two)
    left, right = (tick_labels(tokens, 12) for tokens in (pair.one, pair.two))
    return View(
        key="pairs",
        title="What each pair of tokens adds",
        result=pair,
        chart=draw.pairs_figure(pair.parts, left, right),
        min_width=draw.COLUMN * len(pair.two) + 90,
        findings=(say.similarity(pair),),
        table=lambda: pd.DataFrame(pair.parts, pair.one, pair.two),
        formula=(
            r"\cos(u, v) = \frac{u \cdot v}{\lVert u \rVert \lVert v \rVert} = \sum_{i, j} "
            r"\frac{a_i b_j\, h_i \cdot g_j}{\lVert u \rVert \lVert v \rVert}, "
            r"\qquad u = \sum_i a_i h_i, \quad v = \sum_j b_j g_j, \quad " + COUNTS[pair.pooling]
        ),
        papers=(
            "Sentence vectors as the mean of all states, or as one of them: arXiv:1908.10084, section 3. minilm is "
            "all-MiniLM-L6-v2, which was trained on pairs of sentences. Special tokens, such as [CLS], take part in "
            "the mean, as in the model's published code."
        ),
        terms=("sentence embedding",),
        code=(sentence_pairs.compare_sentences, say.similarity),
    )
