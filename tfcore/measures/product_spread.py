"""How dot products of random vectors spread: measured at many widths, to be compared with theory.

One draw serves every width: the first d_k numbers of random vectors of 1,024 are random vectors of d_k.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

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
