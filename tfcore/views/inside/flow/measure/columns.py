"""The flow of information as columns of a picture: some layers with their heads' ribbons, the others folded."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.views.inside.flow.measure.routes import SMALLEST, Flow


@dataclass(frozen=True, slots=True)
class Ribbon:
    """A share that flows from one row to another in a column of the picture, by one head or by many (head None)."""

    query: int
    key: int
    share: float
    head: int | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """One layer, or neighbouring layers folded into one.

    Args:
        first, last: layers.
        open: whether it is one layer, drawn with its heads.
        ribbons: what flows in it from one row to another.
    """

    first: int
    last: int
    open: bool
    ribbons: tuple[Ribbon, ...]


def columns(flow: Flow, opened: Sequence[int], least: float = 0.01, most: int = 40) -> list[Column]:
    """The layers from left to right: those opened one by one, and between them all others folded.

    Args:
        opened: layers.
        least: routes of a smaller share are pooled, by the two tokens, into one ribbon without a head.
        most: ribbons of heads in a column, and as many pooled ones.
    """
    listed: list[Column] = []
    layer, n_layers = 0, len(flow.straight)
    while layer < n_layers:
        if layer in opened:
            listed.append(Column(layer, layer, True, _ribbons(flow, layer, least, most)))
            layer += 1
            continue
        last = layer
        while last + 1 < n_layers and last + 1 not in opened:
            last += 1
        moved = flow.moved[last]
        for below in reversed(range(layer, last)):
            moved = moved @ flow.moved[below]
        listed.append(Column(layer, last, False, _pooled(moved * flow.stream[last + 1][:, None], most)))
        layer = last + 1
    return listed


def _ribbons(flow: Flow, layer: int, least: float, most: int) -> tuple[Ribbon, ...]:
    """The ribbons of the heads of a layer, and one for all that is left between two tokens."""
    drawn = [route for route in flow.routes if route.layer == layer and route.share >= least][:most]
    drawn = [route for route in drawn if route.query != route.key]
    rest = flow.moved[layer] * flow.stream[layer + 1][:, None]
    for route in drawn:
        rest[route.query, route.key] -= route.share
    named = tuple(Ribbon(route.query, route.key, route.share, route.head) for route in drawn)
    return named + _pooled(rest, most)


def _pooled(share: Float[ndarray, "query key"], most: int) -> tuple[Ribbon, ...]:
    """The largest shares between two different tokens, as ribbons of no head."""
    off = share * (1 - np.eye(len(share)))
    order = off.ravel().argsort()[::-1][:most]
    places = [divmod(int(place), len(share)) for place in order]
    return tuple(Ribbon(i, j, float(off[i, j])) for i, j in places if off[i, j] >= SMALLEST)


def strongest_layers(flow: Flow, most: int) -> list[int]:
    """The layers whose attention carried most from other tokens, at most so many, in order."""
    return sorted(flow.carried.sum(1).argsort()[::-1][:most].tolist())
