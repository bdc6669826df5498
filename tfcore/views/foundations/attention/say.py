"""Findings on attention: where a query looks, how two tokens compare, and what a width does to scores."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.measures.largest import first_largest
from tfcore.measures.product_spread import ProductSpread
from tfcore.measures.token_text import visible
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.foundations.attention.measure.scale import GradientTheory, Quantity, Saturation
from tfcore.views.foundations.attention.measure.similarity import Measure, TokenSimilarity
from tfcore.views.foundations.attention.measure.steps import AttentionSteps, TemperatureSweep


@dataclass(frozen=True, slots=True)
class Attended(Finding):
    """The key that one query attends to most, and the query's output.

    Args:
        query: its token.
        key: the token with the largest weight; None where all weights are equal to within 0.005.
        weight: the largest one.
        score: q . k / sqrt(d_k) of that key.
        output: the weighted sum of the values, two numbers.
    """

    query: str
    key: str | None
    weight: float
    score: float
    output: tuple[float, float]

    @property
    def sentence(self) -> str:
        return self.markdown.replace("**", "")

    @property
    def markdown(self) -> str:
        """The sentence with its numbers in bold; its tokens are not escaped."""
        if self.key is None:
            where = f"attends to all tokens alike, with **{self.weight:.2f}** each"
        else:
            where = f"attends most to “{visible(self.key)}”, with weight **{self.weight:.2f}** (score {self.score:.2f})"
        return f"“{visible(self.query)}” {where}. Its output is **({self.output_text})**."

    @property
    def output_text(self) -> str:
        """The output as it is written: "0.12, -0.30"."""
        return ", ".join(f"{number:.2f}" for number in self.output)


EQUAL = 0.005  # weights that differ by less are written with the same two digits


def attended(steps: AttentionSteps, tokens: Sequence[str], query: int) -> Attended:
    """The largest weight of one query, and its output."""
    weights = steps.weights[query]
    best = int(weights.argmax())
    alike = float(weights.max() - weights.min()) < EQUAL
    x, y = steps.outputs[query].tolist()
    return Attended(
        query=tokens[query],
        key=None if alike else tokens[best],
        weight=float(weights[best]),
        score=float(steps.scores[query, best]),
        output=(x, y),
    )


@dataclass(frozen=True, slots=True)
class SoftmaxWeights(Finding):
    """Softmax of a few scores at one temperature.

    Args:
        scores, temperature: what went in.
        weights: one a score.
        entropy: of the weights, in bits.
        most: the entropy of as many equal weights, in bits.
    """

    scores: tuple[float, ...]
    temperature: float
    weights: tuple[float, ...]
    entropy: float
    most: float

    @property
    def sentence(self) -> str:
        return (
            f"softmax of ({self.scores_text}) at T = {self.temperature:g}: {self.weights_text()}. "
            f"Entropy {self.entropy:.2f} of {self.most:.2f} bits."
        )

    @property
    def scores_text(self) -> str:
        """The scores as they are written: "8, 0.1, -0.3"."""
        return ", ".join(f"{score:g}" for score in self.scores)

    @property
    def entropy_text(self) -> str:
        """The entropy with its unit."""
        return f"{self.entropy:.2f} bits"

    @property
    def sum_text(self) -> str:
        """The sum of the weights."""
        return f"{sum(self.weights):.4f}"

    def weights_text(self, digits: int = 4) -> str:
        """The weights as they are written: "0.9994, 0.0004, 0.0002"."""
        return ", ".join(f"{weight:.{digits}f}" for weight in self.weights)


def softmax_weights(sweep: TemperatureSweep) -> SoftmaxWeights:
    """The weights at the chosen temperature, with their entropy."""
    weights = tuple(sweep.weights.tolist())
    return SoftmaxWeights(sweep.scores, sweep.temperature, weights, sweep.entropy, math.log2(len(weights)))


@dataclass(frozen=True, slots=True)
class EmbeddingPair(Finding):
    """Two tokens of a text, compared by their embeddings.

    Args:
        measure: which of the two numbers is shown.
        first, second: the tokens.
        product: dot product of their embeddings.
        cosine: of the angle between them.
    """

    measure: Measure
    first: str
    second: str
    product: float
    cosine: float

    @property
    def sentence(self) -> str:
        value = self.product if self.measure == "dot product" else self.cosine
        return f"{self.measure.capitalize()}: '{visible(self.first)}' and '{visible(self.second)}' {value:.2f}."

    @property
    def texts(self) -> tuple[str, str]:
        """Product and cosine as they are written."""
        return f"{self.product:.2f}", f"{self.cosine:.2f}"


def embedding_pair(
    similarity: TokenSimilarity, tokens: Sequence[str], first: int, second: int, measure: Measure
) -> EmbeddingPair:
    """The tokens in two places of a text, by their embeddings."""
    product, cosine = float(similarity.products[first, second]), float(similarity.cosines[first, second])
    return EmbeddingPair(measure, tokens[first], tokens[second], product, cosine)


@dataclass(frozen=True, slots=True)
class ScorePair(Finding):
    """Two tokens of a text, compared by one head.

    Args:
        layer, head: which head.
        query, key: the tokens.
        score: q . k / sqrt(d_head) of this query and key.
        exchanged: the score with the second token as the query.
    """

    layer: int
    head: int
    query: str
    key: str
    score: float
    exchanged: float

    @property
    def sentence(self) -> str:
        return (
            f"Layer {self.layer}, head {self.head}, q · k ÷ √d_k: '{visible(self.query)}' and '{visible(self.key)}' "
            f"{self.score:.2f}, with query and key exchanged {self.exchanged:.2f}."
        )

    @property
    def texts(self) -> tuple[str, str]:
        """Both scores as they are written."""
        return f"{self.score:.2f}", f"{self.exchanged:.2f}"


def score_pair(
    similarity: TokenSimilarity, tokens: Sequence[str], query: int, key: int, layer: int, head: int
) -> ScorePair:
    """The tokens in two places of a text, by one head's queries and keys."""
    scores = similarity.scores[layer, head]
    there, back = float(scores[query, key]), float(scores[key, query])
    return ScorePair(layer, head, tokens[query], tokens[key], there, back)


@dataclass(frozen=True, slots=True)
class ClosestTokens(Finding):
    """The two different tokens of a text whose embeddings are most alike.

    Args:
        first, second: their places, the smaller one first.
        tokens: the tokens there.
        cosine: of their embeddings.
    """

    first: int
    second: int
    tokens: tuple[str, str]
    cosine: float

    @property
    def sentence(self) -> str:
        a, b = (visible(token).removeprefix("·") for token in self.tokens)
        return f"Of its different tokens, “{a}” and “{b}” have the most similar embeddings, cosine {self.cosine:.2f}."


def closest_tokens(cosines: Float[ndarray, "seq seq"], tokens: Sequence[str]) -> ClosestTokens | None:
    """The two different tokens with the largest cosine; None where all tokens of the text are the same.

    Tokens that differ only by capitals or by spaces around them are the same word.
    """
    names = np.array([token.strip().casefold() for token in tokens], dtype=object)
    between = np.where(names[:, None] != names[None, :], cosines, -np.inf)
    i, j = sorted(divmod(first_largest(between), len(names)))
    cosine = float(between[i, j])
    return ClosestTokens(i, j, (tokens[i], tokens[j]), cosine) if np.isfinite(cosine) else None


@dataclass(frozen=True, slots=True)
class ProductVariance(Finding):
    """The variance of q . k at one width, measured and in theory.

    Args:
        width: d_k.
        divided: whether of q . k / sqrt(d_k).
        measured: variance of the samples.
        theory: d_k, or 1 after the division.
        samples: pairs of vectors drawn.
    """

    width: int
    divided: bool
    measured: float
    theory: int
    samples: int

    @property
    def sentence(self) -> str:
        name = "q · k ÷ √d_k" if self.divided else "q · k"
        return (
            f"{self.samples:,} pairs. {name} at d_k = {self.width:,}: variance {self.measured:.4g} measured, "
            f"{self.theory:,} in theory."
        )

    @property
    def measured_text(self) -> str:
        """The measured variance as it is written."""
        return f"{self.measured:.3f}" if self.divided else f"{self.measured:.4g}"


def product_variance(result: ProductSpread, at: int, *, divided: bool) -> ProductVariance:
    """The variance at one of the widths."""
    width, variance = int(result.widths[at]), float(result.variance[at])
    measured, theory = (variance / width, 1) if divided else (variance, width)
    return ProductVariance(width, divided, measured, theory, result.samples)


def variance_by_width(result: ProductSpread) -> Statement:
    """The variance of q . k at every second width, and how far from 1 the division by sqrt(d_k) leaves all of them."""
    divided = result.variance / result.widths
    return state(
        "variance by width",
        "Measured: {variances} at d_k = {widths}; after the division by √d_k between {lowest:.3f} and {highest:.3f}.",
        variances=", ".join(f"{variance:.4g}" for variance in result.variance[::2].tolist()),
        widths=", ".join(f"{width:,}" for width in result.widths[::2].tolist()),
        lowest=float(divided.min()),
        highest=float(divided.max()),
    )


# of `Saturation`: name in a sentence, unit, digits after the point
_WRITTEN: dict[Quantity, tuple[str, str, int]] = {
    "entropy": ("Entropy", " bits", 2),
    "largest": ("Largest weight", "", 2),
    "steepest": ("Steepest slope", "", 3),
    "gradient": ("Norm", "", 4),
}


def saturation_means(result: Saturation, quantity: Quantity, at: int) -> Statement:
    """The means of one quantity of the softmax at one of the widths, over all queries, without and with the division of
    scores by sqrt(d_k)."""
    values: Float[ndarray, "2 width query"] = getattr(result, quantity)
    without, divided = values[:, at].mean(1).tolist()
    name, unit, digits = _WRITTEN[quantity]
    return state(
        "saturation means",
        "{name} {without:.{digits}f}{unit} without the division, {divided:.{digits}f} with it, at d_k = {width:,} with "
        "{n_keys} keys: means of {queries:,} queries.",
        name=name,
        unit=unit,
        digits=digits,
        without=without,
        divided=divided,
        width=int(result.widths[at]),
        n_keys=result.n_keys,
        queries=values.shape[-1],
    )


def theory_at(theory: GradientTheory, width: int) -> Statement:
    """The norm of the softmax's gradient at one width by theory, where scores are not divided: their standard
    deviation is sqrt(d_k)."""
    return state(
        "theory",
        "Theory: {flat:.3f} for equal weights, {slope:.3f} ÷ √d_k = {norm:.4f} where one score is far ahead.",
        flat=theory.flat,
        slope=theory.slope,
        norm=theory.slope / math.sqrt(width),
    )
