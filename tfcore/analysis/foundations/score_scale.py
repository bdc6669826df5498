"""Why scores are divided by sqrt(d_k): random queries and keys, measured, compared with theory.

One draw serves every width: the first d_k numbers of random vectors of 1,024 are random vectors of d_k.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.analysis.foundations.attention_steps import entropy_bits

WIDTHS = tuple(2**i for i in range(11))  # d_k = 1, 2, 4 ... 1024
SIGMAS = 5.0  # standard deviations on either side, where the histograms end
BINS = 80


def products_by_width(
    q: Float[Tensor, "*#batch d_k"], k: Float[Tensor, "*#batch d_k"]
) -> Iterator[tuple[int, Float[Tensor, "*batch"]]]:
    """(d_k, q . k over the first d_k numbers) for d_k = 1, 2, 4 ... up to all of them."""
    total, start = torch.zeros(np.broadcast_shapes(q.shape, k.shape)[:-1]), 0
    for width in (w for w in WIDTHS if w <= q.shape[-1]):
        total = total + torch.einsum("...d,...d->...", q[..., start:width], k[..., start:width])
        yield width, total
        start = width


@dataclass(frozen=True, slots=True)
class ProductSpread:
    """q . k of random vectors, for each width.

    Args:
        widths: d_k.
        samples: pairs of vectors drawn.
        variance: of q . k, measured; theory: d_k.
        kurtosis: how much heavier the tails are than a normal distribution's (0), measured; theory: 6 / d_k.
        edges: of the histogram's bins, in units of sqrt(d_k).
        density: of q . k / sqrt(d_k) in each bin: the share of all samples per unit.
    """

    widths: Int[ndarray, " width"]
    samples: int
    variance: Float[ndarray, " width"]
    kurtosis: Float[ndarray, " width"]
    edges: Float[ndarray, " edge"]
    density: Float[ndarray, "width bin"]


def product_spread(samples: int, seed: int) -> ProductSpread:
    """Draw queries and keys with independent entries of mean 0 and variance 1, and measure the distribution of q . k.

    q . k is a sum of d_k independent products, each of mean 0 and variance 1: its variance is d_k
    (arXiv:1706.03762, footnote 4).
    """
    generator = torch.Generator().manual_seed(seed)
    q, k = (torch.randn(samples, WIDTHS[-1], generator=generator) for _ in range(2))
    edges = torch.linspace(-SIGMAS, SIGMAS, BINS + 1)
    variance, kurtosis, density = [], [], []
    for width, product in products_by_width(q, k):
        scaled = product.double() / math.sqrt(width)  # (sample,)
        spread = scaled.var()
        variance.append(float(spread) * width)
        kurtosis.append(float(((scaled - scaled.mean()) ** 4).mean() / spread**2) - 3)
        counts = torch.histogram(scaled.float(), edges).hist
        density.append((counts / samples / (edges[1] - edges[0])).numpy())
    return ProductSpread(
        np.array(WIDTHS), samples, np.array(variance), np.array(kurtosis), edges.numpy(), np.stack(density)
    )


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


@dataclass(frozen=True, slots=True)
class VarianceByWidth(Finding):
    """The variance of q . k at all widths.

    Args:
        variances: d_k -> variance, at every second width.
        lowest, highest: of the variances of q . k / sqrt(d_k) at all widths.
    """

    variances: dict[int, float]
    lowest: float
    highest: float

    @property
    def sentence(self) -> str:
        measured = ", ".join(f"{variance:.4g}" for variance in self.variances.values())
        widths = ", ".join(f"{width:,}" for width in self.variances)
        return (
            f"Measured: {measured} at d_k = {widths}; after the division by √d_k between {self.lowest:.3f} and "
            f"{self.highest:.3f}."
        )


def variance_by_width(result: ProductSpread) -> VarianceByWidth:
    """The measured variances, and how far from 1 the division leaves them."""
    divided = result.variance / result.widths
    variances = dict(zip(result.widths[::2].tolist(), result.variance[::2].tolist(), strict=True))
    return VarianceByWidth(variances, float(divided.min()), float(divided.max()))


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
_WRITTEN: dict[Quantity, tuple[str, str, int]] = {
    "entropy": ("Entropy", " bits", 2),
    "largest": ("Largest weight", "", 2),
    "steepest": ("Steepest slope", "", 3),
    "gradient": ("Norm", "", 4),
}


@dataclass(frozen=True, slots=True)
class SaturationMeans(Finding):
    """One quantity of the softmax at one width, averaged over all queries.

    Args:
        quantity: which one.
        without, divided: its mean without and with the division of scores by sqrt(d_k).
        width: d_k.
        n_keys: keys that each query looks at.
        queries: how many there are.
    """

    quantity: Quantity
    without: float
    divided: float
    width: int
    n_keys: int
    queries: int

    @property
    def sentence(self) -> str:
        name, unit, digits = _WRITTEN[self.quantity]
        return (
            f"{name} {self.without:.{digits}f}{unit} without the division, {self.divided:.{digits}f} with it, at d_k = "
            f"{self.width:,} with {self.n_keys} keys: means of {self.queries:,} queries."
        )


def saturation_means(result: Saturation, quantity: Quantity, at: int) -> SaturationMeans:
    """The means of one quantity at one of the widths."""
    values: Float[ndarray, "2 width query"] = getattr(result, quantity)
    without, divided = values[:, at].mean(1).tolist()
    return SaturationMeans(quantity, without, divided, int(result.widths[at]), result.n_keys, values.shape[-1])


@dataclass(frozen=True, slots=True)
class GradientTheory:
    """What the norm of the softmax's gradient should be for n independent normal scores of standard deviation s.

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


@dataclass(frozen=True, slots=True)
class TheoryAt(Finding):
    """What theory says of the gradient's norm at one width without the division.

    Args:
        flat: for equal weights.
        slope: times 1 / sqrt(d_k), where one score is far ahead.
        norm: slope / sqrt(d_k).
    """

    flat: float
    slope: float
    norm: float

    @property
    def sentence(self) -> str:
        return (
            f"Theory: {self.flat:.3f} for equal weights, {self.slope:.3f} ÷ √d_k = {self.norm:.4f} where one score is "
            "far ahead."
        )


def theory_at(theory: GradientTheory, width: int) -> TheoryAt:
    """The theory for scores that are not divided, whose standard deviation is sqrt(d_k)."""
    return TheoryAt(theory.flat, theory.slope, theory.slope / math.sqrt(width))
