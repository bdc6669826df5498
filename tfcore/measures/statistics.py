"""Statistics that several analyses need: intervals of shares, Student's t, correlations that may not exist, and
principal components."""

import math

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

Z95 = 1.959964  # standard deviations of a normal distribution, on either side, that hold 95 %

QUANTILE = 0.97  # of absolute values, at which a colour scale may end
FAR = 2.0  # times the value at that quantile: where no value is larger, the scale ends at the largest


def colour_end(values: Float[ndarray, "..."]) -> float:
    """The end of a colour scale around 0, chosen so that a few huge values do not make all others pale; NaN is no
    value."""
    size = np.abs(values[~np.isnan(values)])
    if not size.size:
        return 0.0
    largest, quantile = float(size.max()), float(np.quantile(size, QUANTILE))
    return largest if largest <= FAR * quantile else quantile


def ratio(part: float | int, whole: float | int) -> float:
    """A part by the whole; 0 where there is nothing."""
    return part / whole if whole else 0.0


def relative_error(before: Float[ndarray, "..."], after: Float[ndarray, "..."]) -> float:
    """sqrt(mean((before - after)^2) / mean(before^2)); 0 where all values are 0."""
    power = float(np.square(before, dtype=np.float64).sum())
    return (float(np.square(before - after, dtype=np.float64).sum()) / power) ** 0.5 if power else 0.0


def wilson(right: int, of: int) -> tuple[float, float]:
    """Wilson's 95 % score interval of a share of independent trials (Wilson 1927, doi:10.2307/2276774).

    p + z^2 / 2n +- z sqrt(p (1 - p) / n + z^2 / 4n^2), all by 1 + z^2 / n
    """
    p, scale = right / of, 1 + Z95 * Z95 / of
    middle = (p + Z95 * Z95 / (2 * of)) / scale
    half = Z95 * math.sqrt(p * (1 - p) / of + Z95 * Z95 / (4 * of * of)) / scale
    return max(0.0, middle - half), min(1.0, middle + half)


def t_quantile(degrees: int, probability: float) -> float:
    """The quantile of Student's t distribution above its median, within 1e-4.

    With t = sqrt(degrees) tan(angle) the density is proportional to cos(angle)^(degrees - 1), which is summed.
    """
    angle = np.linspace(0.0, np.pi / 2, 200_001)
    density = np.cos(angle) ** (degrees - 1)
    total = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    at = np.interp(probability, 0.5 + 0.5 * total / total[-1], angle)
    return float(np.sqrt(degrees) * np.tan(at))


def student_interval(
    values: Float[ndarray, "sample ..."], level: float = 0.95
) -> tuple[Float[ndarray, "..."], Float[ndarray, "..."], Float[ndarray, "..."]]:
    """The mean of at least two samples, and both ends of Student's interval of it: mean ± t s / sqrt(n), s the standard
    deviation (n - 1 in its denominator), t the quantile of n - 1 degrees of freedom."""
    samples = values.astype(np.float64)
    mean, n = np.asarray(samples.mean(0)), len(samples)
    half = t_quantile(n - 1, 0.5 + level / 2) * samples.std(0, ddof=1) / np.sqrt(n)
    return mean, np.asarray(mean - half), np.asarray(mean + half)


def correlation(a: Float[ndarray, "..."], b: Float[ndarray, "..."]) -> float | None:
    """Pearson's correlation; None where one of the two is the same everywhere."""
    one, other = a.ravel().astype(np.float64), b.ravel().astype(np.float64)
    return float(np.corrcoef(one, other)[0, 1]) if one.size and min(np.ptp(one), np.ptp(other)) > 0 else None


def rank_correlation(a: Float[ndarray, "..."], b: Float[ndarray, "..."]) -> float | None:
    """Spearman's: Pearson's of the ranks, equal values sharing their mean rank; None as there."""
    one, other = (pd.Series(values.ravel()).rank().to_numpy() for values in (a, b))
    return correlation(one, other)


def principal_components(
    table: Float[Tensor, "row d_model"], kept: int = 2
) -> tuple[Float[Tensor, "row kept"], Float[Tensor, " component"]]:
    """The rows on the directions in which they vary most, and the share of the variance of every direction.

    With the rows' mean taken away, X = U S V^T: the coordinates are U S, the variances S^2 / (n - 1).
    """
    centred = table - table.mean(dim=0)
    u, s, v = torch.linalg.svd(centred, full_matrices=False)
    largest = v.gather(1, v.abs().argmax(dim=1, keepdim=True)).flatten()  # SVD leaves the signs open: it is positive
    return u[:, :kept] * torch.copysign(s, largest)[:kept], s**2 / (s**2).sum()
