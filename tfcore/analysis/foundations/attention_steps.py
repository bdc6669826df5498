"""Scaled dot-product attention step by step: products, scores, weights, outputs; temperature; how alike tokens are."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.one_text import one_text
from tfcore.attention import attention_scores, attention_weights, weighted_values
from tfcore.model import Transformer

Vectors = Sequence[Sequence[float]]


@dataclass(frozen=True, slots=True)
class AttentionSteps:
    """What happens between queries, keys and values and the output, step by step.

    Args:
        products: q . k.
        scores: q . k / sqrt(d_k).
        weights: softmax of scores / temperature over the keys; each row sums to 1.
        outputs: the values, averaged with these weights.
    """

    products: Float[ndarray, "query key"]
    scores: Float[ndarray, "query key"]
    weights: Float[ndarray, "query key"]
    outputs: Float[ndarray, "query d_v"]


def attention_steps(queries: Vectors, keys: Vectors, values: Vectors, temperature: float = 1.0) -> AttentionSteps:
    """softmax(Q K^T / (sqrt(d_k) T)) V, and everything on the way (arXiv:1706.03762, eq. 1).

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
    return AttentionSteps(products.numpy(), scores.numpy(), weights.numpy(), outputs.numpy())


def softmax_at(scores: Float[Tensor, "*batch query key"], temperature: float) -> Float[Tensor, "*batch query key"]:
    """softmax(scores / T): towards one winner as T falls to 0, towards equal weights as T grows.

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
        weights: at the chosen temperature.
        entropy: of these weights, in bits.
        temperatures: evenly spaced on a logarithmic axis.
        curves: the weights at each of them.
    """

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
    weights = softmax_at(row, temperature)[0]
    return TemperatureSweep(weights.numpy(), float(entropy_bits(weights)), temperatures.numpy(), curves.numpy())


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
        """The largest dot product, either way, of two places; of one place with itself where there is no other."""
        apart = ~np.eye(len(self.products), dtype=bool) if len(self.products) > 1 else np.ones((1, 1), dtype=bool)
        return max(1e-6, float(np.abs(self.products[apart]).max()))


def closest(cosines: Float[ndarray, "seq seq"], tokens: Sequence[str]) -> tuple[int, int, float] | None:
    """The places of the two different tokens with the largest cosine, and that cosine; None where all are the same."""
    names = np.array([token.strip().casefold() for token in tokens], dtype=object)
    between = np.where(names[:, None] != names[None, :], cosines, -np.inf)
    i, j = divmod(int(between.argmax()), len(names))
    return (min(i, j), max(i, j), float(between[i, j])) if np.isfinite(between[i, j]) else None


@torch.no_grad()
def token_similarity(model: Transformer, ids: Sequence[int]) -> TokenSimilarity:
    """Compare the tokens of a text twice: as embeddings, which is symmetric, and as queries against keys, which is not.

    The embeddings are those the model starts from; queries and keys are made from what the layers before left of them,
    so that they know the position and (in layers above the first) what stands around.
    """
    found = model(one_text(model, ids), capture=("embed", "blocks.*.attn.scores")).activations
    embedded = found["embed"][0].float().cpu()  # (seq, d_model)
    directions = F.normalize(embedded, dim=-1)
    scores = torch.cat([found[f"blocks.{i}.attn.scores"].float().cpu() for i in range(model.config.n_layers)])
    return TokenSimilarity(
        attention_scores(embedded, embedded, scale=1.0).numpy(),
        attention_scores(directions, directions, scale=1.0).numpy(),
        scores.numpy(),
    )
