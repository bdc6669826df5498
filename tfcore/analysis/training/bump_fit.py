"""One bump fitted to two: by KL(P || Q) it covers both, by KL(Q || P) it picks one. All on a grid, in bits."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.training.entropy import divergence

REACH, POINTS = 12.0, 241  # the grid is -REACH .. REACH
MEANS, WIDTHS = np.linspace(-6, 6, 49), np.linspace(0.25, 5.0, 39)  # where a fit is looked for
ZOOMS, SIDE = 9, 9  # times that a minimum is looked at closer, on so many points a side


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
class Fit:
    """A bump, and what it costs both ways.

    Args:
        mean, width: of the bump.
        forward, reverse: KL(P || Q) and KL(Q || P), in bits.
    """

    mean: float
    width: float
    forward: float
    reverse: float


@dataclass(frozen=True, slots=True)
class BumpFit:
    """Two bumps and the bumps that fit them.

    Args:
        x, p: the grid, and the two bumps on it.
        mean, deviation: of P.
        covering: the least KL(P || Q).
        picking: all that no neighbour beats in KL(Q || P), the best first.
        means, widths: axes of the maps.
        forward, reverse: the two divergences at each of them.
    """

    x: Float[ndarray, " x"]
    p: Float[ndarray, " x"]
    mean: float
    deviation: float
    covering: Fit
    picking: tuple[Fit, ...]
    means: Float[ndarray, " m"]
    widths: Float[ndarray, " w"]
    forward: Float[ndarray, "w m"]
    reverse: Float[ndarray, "w m"]


def fit_bumps(distance: float, share: float, width: float) -> BumpFit:
    """Fit one bump to two, by each divergence: the whole map first, then closer and closer around its minima."""
    x = np.linspace(-REACH, REACH, POINTS)
    p = two_bumps(x, distance, share, width)
    maps = divergences(p, x, MEANS, WIDTHS)
    covering = [refined(p, x, place, 0) for place in minima(maps[0])]
    picking = [refined(p, x, place, 1) for place in minima(maps[1])]
    mean = float(p @ x)
    return BumpFit(
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
    """Places whose eight neighbours are all higher."""
    edged = np.pad(values, 1, constant_values=np.inf)
    rows, columns = values.shape
    around = [
        edged[i : i + rows, j : j + columns] for i in range(3) for j in range(3) if (i, j) != (1, 1)
    ]  # all neighbours of every place
    low = np.all([values < other for other in around], axis=0)
    return [(int(i), int(j)) for i, j in np.argwhere(low)]


def refined(p: Float[ndarray, " x"], x: Float[ndarray, " x"], place: tuple[int, int], which: int) -> Fit:
    """The minimum near a place of the map, by grids that shrink to a third each time."""
    width, mean = float(WIDTHS[place[0]]), float(MEANS[place[1]])
    reach_w, reach_m = float(WIDTHS[1] - WIDTHS[0]), float(MEANS[1] - MEANS[0])
    for _ in range(ZOOMS):
        means = np.linspace(mean - reach_m, mean + reach_m, SIDE)
        widths = np.linspace(max(width - reach_w, 0.05), width + reach_w, SIDE)
        found = divergences(p, x, means, widths)[which]
        row, column = np.unravel_index(int(found.argmin()), found.shape)
        width, mean = float(widths[row]), float(means[column])
        reach_w, reach_m = reach_w / 3, reach_m / 3
    return cost(p, x, mean, width)


def cost(p: Float[ndarray, " x"], x: Float[ndarray, " x"], mean: float, width: float) -> Fit:
    """A bump and its two divergences from P."""
    q = bump(x, mean, width)
    return Fit(mean, width, divergence(p, q), divergence(q, p))
