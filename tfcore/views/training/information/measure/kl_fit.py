"""A Gaussian Q fitted to a mixture P of two: the least KL(P || Q) covers both, the least KL(Q || P) picks one.

All distributions are on one grid; divergences are in bits.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.measures.information import kl_divergence

REACH = 12.0  # the grid is -REACH .. REACH
POINTS = 241  # of the grid
MEANS = np.linspace(-6, 6, 49)  # of Q, where a fit is looked for
WIDTHS = np.linspace(0.25, 5.0, 39)  # standard deviations of Q, where a fit is looked for
ZOOMS = 9  # grids around a minimum, each a third as wide as the one before: to 1e-5 of the map's step
SIDE = 9  # points of such a grid along each side
NARROWEST = 0.05  # width of Q: below the grid's step of 0.1 it is a single point


def bump(x: Float[ndarray, " x"], mean: float, width: float) -> Float[ndarray, " x"]:
    """A Gaussian on a grid: exp(-(x - mean)^2 / (2 width^2)), divided by its sum."""
    heights = np.exp(-((x - mean) ** 2) / (2 * width**2))
    return heights / heights.sum()


def two_bumps(x: Float[ndarray, " x"], distance: float, share: float, width: float) -> Float[ndarray, " x"]:
    """Two Gaussians as far apart as `distance`; the right one has this share of the whole."""
    return (1 - share) * bump(x, -distance / 2, width) + share * bump(x, distance / 2, width)


def divergences(
    p: Float[ndarray, " x"], x: Float[ndarray, " x"], means: Float[ndarray, " m"], widths: Float[ndarray, " w"]
) -> tuple[Float[ndarray, "w m"], Float[ndarray, "w m"]]:
    """KL(P || Q) and KL(Q || P) for a bump Q at every mean and every width, in bits."""
    exponent = -((x - means[:, None]) ** 2) / (2 * widths[:, None, None] ** 2)  # (w, m, x)
    top = exponent.max(-1, keepdims=True)
    log_q = exponent - top - np.log(np.exp(exponent - top).sum(-1, keepdims=True))
    q, log_p = np.exp(log_q), np.log(np.maximum(p, 1e-300))
    forward = p @ log_p - log_q @ p
    reverse = (q * log_q).sum(-1) - q @ log_p
    return forward / np.log(2), reverse / np.log(2)


@dataclass(frozen=True, slots=True)
class FittedBump:
    """A bump Q and its divergences from P.

    Args:
        mean, width: of the bump.
        forward, reverse: KL(P || Q) and KL(Q || P), in bits.
    """

    mean: float
    width: float
    forward: float
    reverse: float


@dataclass(frozen=True, slots=True)
class KLFit:
    """A mixture P of two bumps and the bumps Q that fit it.

    Args:
        x, p: the grid, and P on it.
        mean, deviation: of P.
        covering: the bump of the least KL(P || Q).
        picking: the bumps at local minima of KL(Q || P), the lowest first.
        means, widths: axes of the maps.
        forward, reverse: KL(P || Q) and KL(Q || P) at each of them.
    """

    x: Float[ndarray, " x"]
    p: Float[ndarray, " x"]
    mean: float
    deviation: float
    covering: FittedBump
    picking: tuple[FittedBump, ...]
    means: Float[ndarray, " m"]
    widths: Float[ndarray, " w"]
    forward: Float[ndarray, "w m"]
    reverse: Float[ndarray, "w m"]


def fit_bumps(distance: float, share: float, width: float) -> KLFit:
    """Fit one bump to two by each divergence: on the map's grid first, then on finer grids around its minima.

    Args:
        distance: between the means of the two bumps.
        share: of the right one in P.
        width: standard deviation of each.
    """
    x = np.linspace(-REACH, REACH, POINTS)
    p = two_bumps(x, distance, share, width)
    maps = divergences(p, x, MEANS, WIDTHS)
    covering = [refined(p, x, place, 0) for place in minima(maps[0])]
    picking = [refined(p, x, place, 1) for place in minima(maps[1])]
    mean = float(p @ x)
    return KLFit(
        x,
        p,
        mean,
        float(np.sqrt(p @ (x - mean) ** 2)),
        min(covering, key=lambda fit: fit.forward),
        tuple(sorted(picking, key=lambda fit: fit.reverse)),
        MEANS,
        WIDTHS,
        *maps,
    )


def minima(values: Float[ndarray, "w m"]) -> list[tuple[int, int]]:
    """(row, column) of each place whose eight neighbours are all higher."""
    edged = np.pad(values, 1, constant_values=np.inf)
    rows, columns = values.shape
    around = [
        edged[i : i + rows, j : j + columns] for i in range(3) for j in range(3) if (i, j) != (1, 1)
    ]  # all neighbours of every place
    low = np.all([values < other for other in around], axis=0)
    return [(int(i), int(j)) for i, j in np.argwhere(low)]


def refined(p: Float[ndarray, " x"], x: Float[ndarray, " x"], place: tuple[int, int], which: int) -> FittedBump:
    """The minimum near a place (row, column) of the map of KL(P || Q) (which=0) or of KL(Q || P) (which=1)."""
    width, mean = float(WIDTHS[place[0]]), float(MEANS[place[1]])
    reach_w, reach_m = float(WIDTHS[1] - WIDTHS[0]), float(MEANS[1] - MEANS[0])
    for _ in range(ZOOMS):
        means = np.linspace(mean - reach_m, mean + reach_m, SIDE)
        widths = np.linspace(max(width - reach_w, NARROWEST), width + reach_w, SIDE)
        values = divergences(p, x, means, widths)[which]
        row, column = np.unravel_index(int(values.argmin()), values.shape)
        width, mean = float(widths[row]), float(means[column])
        reach_w, reach_m = reach_w / 3, reach_m / 3
    return fit_of(p, x, mean, width)


def fit_of(p: Float[ndarray, " x"], x: Float[ndarray, " x"], mean: float, width: float) -> FittedBump:
    """A bump and its two divergences from P."""
    q = bump(x, mean, width)
    return FittedBump(mean, width, kl_divergence(p, q), kl_divergence(q, p))
