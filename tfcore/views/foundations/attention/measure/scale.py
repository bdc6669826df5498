"""The softmax of random queries and keys, with and without a division of scores by sqrt(d_k), and theory."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.measures.information import entropy_bits
from tfcore.measures.product_spread import WIDTHS, products_by_width


def softmax_jacobian(p: Float[Tensor, "*batch key"]) -> Float[Tensor, "*batch key key"]:
    """d p_i / d x_j = p_i (1[i = j] - p_j) of p = softmax(x): diag(p) - p p^T.

    Its largest entry is p (1 - p) of the largest weight p, so the gradient vanishes as one weight nears 1.
    """
    return torch.diag_embed(p) - p[..., :, None] * p[..., None, :]


def measured_jacobian(scores: Float[Tensor, "sample key"]) -> Float[Tensor, "sample key key"]:
    """`softmax_jacobian` by automatic differentiation of torch's softmax, one weight of all samples at a time."""
    with torch.enable_grad():
        given = scores.detach().requires_grad_()
        sums = given.softmax(-1).sum(0)  # the samples do not touch each other
        rows = [torch.autograd.grad(one, given, retain_graph=True)[0] for one in sums]
    return torch.stack(rows, 1)


@dataclass(frozen=True, slots=True)
class Saturation:
    """Softmax over the scores of random queries and keys, per width, without (row 0) and with (row 1) / sqrt(d_k).

    Args:
        widths: d_k.
        n_keys: keys that each query looks at.
        entropy: of the weights, in bits.
        largest: weight.
        gradient: Frobenius norm of d weights / d scores.
        steepest: the largest entry of it.
    """

    widths: Int[ndarray, " width"]
    n_keys: int
    entropy: Float[ndarray, "2 width query"]
    largest: Float[ndarray, "2 width query"]
    gradient: Float[ndarray, "2 width query"]
    steepest: Float[ndarray, "2 width query"]


def saturation(n_keys: int, seed: int) -> Saturation:
    """Draw queries and keys as `product_spread` does, and compute the softmax of their scores and its gradient.

    About 2,000 scores in all: the fewer keys, the more queries.

    Source: arXiv:1706.03762, section 3.2.1 ("pushing the softmax function into regions where it has extremely small
    gradients").
    """
    generator = torch.Generator().manual_seed(seed)
    queries = min(max(2_048 // n_keys, 32), 1_024)
    q = torch.randn(queries, 1, WIDTHS[-1], generator=generator)
    k = torch.randn(queries, n_keys, WIDTHS[-1], generator=generator)
    products = [(product, product / math.sqrt(width)) for width, product in products_by_width(q, k)]
    scores = torch.stack([torch.stack(pair) for pair in products], dim=1)  # (without and with, width, query, key)
    weights, jacobian = scores.softmax(-1), measured_jacobian(scores.flatten(0, 2)).flatten(1)
    shape = scores.shape[:3]
    gradient, steepest = (values.view(shape).numpy() for values in (jacobian.norm(dim=1), jacobian.amax(1)))
    entropy, largest = entropy_bits(weights).numpy(), weights.amax(-1).numpy()
    return Saturation(np.array(WIDTHS), n_keys, entropy, largest, gradient, steepest)


Quantity = Literal["entropy", "largest", "steepest", "gradient"]
# of `Saturation`: name in a sentence, unit, digits after the point


@dataclass(frozen=True, slots=True)
class GradientTheory:
    """The norm that the softmax's gradient should have for n independent normal scores of standard deviation s.

    Args:
        flat: for small s, where all weights are 1/n: sqrt(n - 1) / n.
        slope: for large s, where two scores compete at most: slope / s. It is the density, at 0, of the gap between
            the two largest of n standard normal numbers; 1 / sqrt(pi) for two.
        deviations: s.
        two: for n = 2, at each s: the mean of 2 p (1 - p), exact.
    """

    flat: float
    slope: float
    deviations: Float[ndarray, " point"]
    two: Float[ndarray, " point"]


def gradient_theory(n_keys: int, points: int = 61) -> GradientTheory:
    """Both ends of the gradient's norm for n keys, and all of it for two keys, by quadrature.

    One score far ahead of all but one: J has the four entries p (1 - p), so its norm is 2 p (1 - p), with
    p = sigmoid(gap). Over gaps u >= 0 of density g(u / s) / s, that is g(0) / s times the integral of 2 p (1 - p), 1.
    """
    x = torch.linspace(-9, 9, 4001, dtype=torch.float64)
    normal = torch.distributions.Normal(torch.zeros((), dtype=torch.float64), 1.0)
    bell, below = normal.log_prob(x).exp(), normal.cdf(x)
    slope = n_keys * (n_keys - 1) * torch.trapezoid(bell**2 * below ** (n_keys - 2), x)
    deviations = torch.logspace(0, math.log10(math.sqrt(WIDTHS[-1])), points, dtype=torch.float64)
    p = torch.sigmoid(math.sqrt(2) * deviations[:, None] * x)  # the gap of two scores has deviation sqrt(2) s
    two = torch.trapezoid(2 * p * (1 - p) * bell, x)
    return GradientTheory(math.sqrt(n_keys - 1) / n_keys, float(slope), deviations.numpy(), two.numpy())
