"""Examples of what a head does, in tenths of its activity: not only where it does most."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Integer
from numpy import ndarray

from tfcore.measures.atlas.sums import HeadSums

DECILES = 10
RANKS = 3  # examples of each tenth: its least, its middle and its most active place
PADDING = 65_535  # after the end of a shorter excerpt; no id, as long as a vocabulary is smaller than GAP
GAP = 65_534  # where tokens between key and query are left out
LENGTH = 20  # tokens of an excerpt
BEFORE_KEY, AFTER_KEY = 4, 3  # tokens around a key that is far from its query
AFTER_QUERY = 2


@dataclass(frozen=True, slots=True)
class Example:
    """A place in a text, and what a head does there.

    Args:
        ids: tokens around; None where some are left out.
        query, key: indices in ids: the token that looks, and the one with the largest weight, sink and query left out.
        weight: on that key.
        activity: weight that is neither on the sink nor on the query's own token.
        distance: tokens from the key to the query; negative where the key comes after it.
    """

    ids: tuple[int | None, ...]
    query: int
    key: int
    weight: float
    activity: float
    distance: int


@dataclass(frozen=True, slots=True, eq=False)
class Examples:
    """Places drawn at random, for each head in tenths of its activity, the least active tenth first.

    Args:
        ids: around each place; GAP where tokens are left out, PADDING after the end.
        query, key, weight, activity: as in Example.
        distance: |query - key|.
    """

    ids: Integer[ndarray, "layer head decile rank token"]
    query: Integer[ndarray, "layer head decile rank"]
    key: Integer[ndarray, "layer head decile rank"]
    weight: Float[ndarray, "layer head decile rank"]
    activity: Float[ndarray, "layer head decile rank"]
    distance: Integer[ndarray, "layer head decile rank"]

    def of(self, layer: int, head: int, decile: int) -> list[Example]:
        """The examples of a head in one tenth, the most active first; fewer where few places were drawn."""
        found = []
        for rank in reversed(range(self.query.shape[-1])):
            at = layer, head, decile, rank
            ids = [int(one) for one in self.ids[at] if one != PADDING]
            if not ids:
                continue
            query, key, distance = (int(one[at]) for one in (self.query, self.key, self.distance))
            shown = tuple(None if one == GAP else one for one in ids)
            away = distance if key <= query else -distance
            found.append(Example(shown, query, key, float(self.weight[at]), float(self.activity[at]), away))
        return found


def examples_of(
    sums: HeadSums, windows: Sequence[Sequence[int]]
) -> tuple[Float[ndarray, "layer head decile"], Examples]:
    """The mean activity of each tenth of the places that were read, and examples of each tenth."""
    places = sums.places.first(sums.windows)
    kept = [sums.totals[f"place_{name}"][: len(places.window)] for name in ("activity", "weight", "key")]
    activity, weight, key = kept
    layers, heads = activity.shape[1:]
    shape = layers, heads, DECILES
    deciles, empty = np.full(shape, np.nan), np.zeros((*shape, RANKS))
    ids = np.full((*shape, RANKS, LENGTH), PADDING, dtype=np.int64)
    found = {name: empty.copy() for name in ("query", "key", "weight", "activity", "distance")}
    for layer, head in np.ndindex(layers, heads):
        order = np.argsort(activity[:, layer, head], kind="stable")
        for decile, part in enumerate(np.array_split(order, DECILES)):
            if not len(part):
                continue
            deciles[layer, head, decile] = activity[part, layer, head].mean()
            chosen = np.unique(np.linspace(0, len(part) - 1, RANKS).round().astype(int))
            for rank, place in enumerate(part[chosen]):
                at = layer, head, decile, rank
                window, query = windows[places.window[place]], int(places.position[place])
                looked = int(key[place, layer, head])
                cut, *inside = excerpt(window, query, looked)
                ids[at][: len(cut)] = cut
                numbers = (*inside, weight[place, layer, head], activity[place, layer, head], abs(query - looked))
                for name, number in zip(found, numbers, strict=True):
                    found[name][at] = number
    whole = {name: found[name].astype(np.int64) for name in ("query", "key", "distance")}
    return deciles, Examples(ids=ids, **{**found, **whole})


def excerpt(ids: Sequence[int], query: int, key: int) -> tuple[list[int], int, int]:
    """At most LENGTH tokens around a query and its key, where both stand in them; a GAP between distant ones.

    >>> excerpt(range(100), 50, 48)[1:]
    (17, 15)
    """
    first, last = min(query, key), max(query, key)
    stop = min(len(ids), last + AFTER_QUERY + 1)
    start = max(0, stop - LENGTH)
    if first - start >= min(first, 1):
        return list(ids[start:stop]), query - start, key - start
    around = range(max(0, first - BEFORE_KEY), first + AFTER_KEY + 1)
    rest = range(max(around.stop, stop - (LENGTH - len(around) - 1)), stop)
    places = [*around, *([] if around.stop == rest.start else [None]), *rest]
    cut = [GAP if place is None else ids[place] for place in places]
    return cut, places.index(query), places.index(key)
