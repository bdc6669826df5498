"""Scaled dot-product attention step by step: products, scores, weights, outputs; temperature; similarity of tokens."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.attention import attention_scores, attention_weights, weighted_values
from tfcore.measures.largest import first_largest
from tfcore.measures.one_text import one_text
from tfcore.measures.token_text import visible
from tfcore.model import Transformer

Vectors = Sequence[Sequence[float]]
Measure = Literal["dot product", "cosine"]


@dataclass(frozen=True, slots=True)
class AttentionSteps:
    """The intermediate results of attention, from queries, keys and values to the output.

    Args:
        products: q . k.
        scores: q . k / sqrt(d_k).
        weights: softmax of scores / temperature over the keys; each row sums to 1.
        outputs: the values, averaged with these weights.
        temperature: T.
    """

    products: Float[ndarray, "query key"]
    scores: Float[ndarray, "query key"]
    weights: Float[ndarray, "query key"]
    outputs: Float[ndarray, "query d_v"]
    temperature: float


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


def attention_steps(queries: Vectors, keys: Vectors, values: Vectors, temperature: float = 1.0) -> AttentionSteps:
    """softmax(Q K^T / (sqrt(d_k) T)) V with its intermediate results (arXiv:1706.03762, eq. 1).

    Args:
        queries, keys: one vector of d_k numbers a token.
        values: one vector a key.
        temperature: T; 1 is plain attention.

    Raises:
        ValueError: a temperature that is not above 0.
    """
    q, k, v = (torch.tensor(vectors, dtype=torch.float64) for vectors in (queries, keys, values))
    products = attention_scores(q, k, scale=1.0)  # (query, key)
    scores = attention_scores(q, k)  # the same / sqrt(d_k)
    weights = softmax_at(scores, temperature)
    outputs = weighted_values(weights, v)  # (query, d_v)
    return AttentionSteps(products.numpy(), scores.numpy(), weights.numpy(), outputs.numpy(), temperature)


def softmax_at(scores: Float[Tensor, "*batch query key"], temperature: float) -> Float[Tensor, "*batch query key"]:
    """softmax(scores / T): all weight on the largest score as T falls to 0, equal weights as T grows.

    Raises:
        ValueError: a temperature that is not above 0.
    """
    if not temperature > 0:
        raise ValueError(f"temperature={temperature} must be above 0; 1 changes nothing")
    return attention_weights(scores / temperature)


@dataclass(frozen=True, slots=True)
class TemperatureSweep:
    """Softmax of a few scores at one temperature and over a range of them.

    Args:
        scores: what the softmax is taken of.
        temperature: the chosen one.
        weights: at the chosen temperature.
        entropy: of these weights, in bits.
        temperatures: evenly spaced on a logarithmic axis.
        curves: the weights at each of them.
    """

    scores: tuple[float, ...]
    temperature: float
    weights: Float[ndarray, " key"]
    entropy: float
    temperatures: Float[ndarray, " point"]
    curves: Float[ndarray, "point key"]


def temperature_sweep(
    scores: Sequence[float], temperature: float, low: float = 0.1, high: float = 100.0, points: int = 121
) -> TemperatureSweep:
    """softmax(scores / T) at T = temperature, and at `points` temperatures from `low` to `high`."""
    row = torch.tensor([list(scores)], dtype=torch.float64)  # (1, key)
    temperatures = torch.logspace(torch.tensor(low).log10(), torch.tensor(high).log10(), points, dtype=torch.float64)
    curves = torch.cat([softmax_at(row, float(t)) for t in temperatures])
    (weights,) = softmax_at(row, temperature)
    entropy = float(entropy_bits(weights))
    return TemperatureSweep(tuple(scores), temperature, weights.numpy(), entropy, temperatures.numpy(), curves.numpy())


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


def entropy_bits(weights: Float[Tensor, "*batch key"]) -> Float[Tensor, "*batch"]:
    """-sum p log2 p: 0 for one winner, log2 n for n equal weights."""
    return torch.special.entr(weights).sum(-1) / torch.log(torch.tensor(2.0, dtype=weights.dtype))


@dataclass(frozen=True, slots=True)
class TokenSimilarity:
    """Every token of a text against every other.

    Args:
        products: dot products of the embeddings; symmetric.
        cosines: the same of embeddings brought to length 1, from -1 to 1.
        scores: q . k / sqrt(d_head) of each head, after the rotation by position and before the mask.
    """

    products: Float[ndarray, "seq seq"]
    cosines: Float[ndarray, "seq seq"]
    scores: Float[ndarray, "layer head query key"]

    @property
    def largest_between(self) -> float:
        """The largest absolute dot product of two different places; of a place with itself where there is only one."""
        apart = ~np.eye(len(self.products), dtype=bool) if len(self.products) > 1 else np.ones((1, 1), dtype=bool)
        return max(1e-6, float(np.abs(self.products[apart]).max()))


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
    found: TokenSimilarity, tokens: Sequence[str], first: int, second: int, measure: Measure
) -> EmbeddingPair:
    """The tokens in two places of a text, by their embeddings."""
    product, cosine = float(found.products[first, second]), float(found.cosines[first, second])
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


def score_pair(found: TokenSimilarity, tokens: Sequence[str], query: int, key: int, layer: int, head: int) -> ScorePair:
    """The tokens in two places of a text, by one head's queries and keys."""
    scores = found.scores[layer, head]
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


@torch.no_grad()
def token_similarity(model: Transformer, ids: Sequence[int]) -> TokenSimilarity:
    """Compare the tokens of a text twice: as embeddings, which is symmetric, and as queries against keys, which is not.

    The embeddings are those the model starts from; queries and keys are made from the output of the layers
    before, so they depend on the position and, above the first layer, on the other tokens.
    """
    found = model.activations(one_text(model, ids), ("embed", "blocks.*.attn.scores"))
    (embedded,) = found["embed"].float().cpu()  # (seq, d_model)
    directions = F.normalize(embedded, dim=1)
    scores = torch.cat([found[f"blocks.{i}.attn.scores"].float().cpu() for i in range(model.config.n_layers)])
    return TokenSimilarity(
        attention_scores(embedded, embedded, scale=1.0).numpy(),
        attention_scores(directions, directions, scale=1.0).numpy(),
        scores.numpy(),
    )
