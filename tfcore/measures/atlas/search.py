"""Heads that go from one kind of token to another, and heads that behave alike."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.measures.atlas.atlas import Atlas
from tfcore.measures.atlas.token_kinds import PARTITION

LEAST = 50  # tokens of a kind below which nothing is said of it
ALONE = ("same", "after_same", "bracket")  # measures that neither distance nor kinds show


@dataclass(frozen=True, slots=True)
class Match:
    """A head that goes from one kind of token to another.

    Args:
        weight: mean weight of a query of the first kind on all keys of the second.
        by_position: the same if the head looked by distance alone.
        share: of the weight of such queries that is not on the sink.
    """

    layer: int
    head: int
    weight: float
    by_position: float
    share: float

    @property
    def more(self) -> float:
        """Weight that distance does not explain."""
        return self.weight - self.by_position


def search_heads(atlas: Atlas, query_kind: str, key_kind: str, most: int | None = None) -> list[Match]:
    """The heads that put weight from one kind of token on another, those first that put most on it beyond what their
    distances alone would; none where fewer than LEAST tokens are of one of the kinds.

    Raises:
        ValueError: a kind that the atlas does not have.
    """
    query, key = (_index(atlas, kind) for kind in (query_kind, key_kind))
    if min(atlas.counts[query], atlas.counts[key]) < LEAST:
        return []
    weight, expected = atlas.pairs[:, :, query, key], atlas.by_position[:, :, query, key]
    return _ranked(weight, expected, atlas.pairs[:, :, query, 0], most)


def bracket_heads(atlas: Atlas, most: int | None = None) -> list[Match]:
    """The same of closing brackets and quotation marks and the very ones that they close; none where there are no
    such pairs."""
    weight, expected = atlas.measures["bracket"], atlas.measures["bracket_by_position"]
    if np.isnan(weight).any():
        return []
    return _ranked(weight, expected, atlas.measures["activity"], most)


def _index(atlas: Atlas, kind: str) -> int:
    if kind not in atlas.kinds:
        raise ValueError(f"there is no kind of token {kind!r} in this atlas; it has {', '.join(atlas.kinds)}")
    return atlas.kinds.index(kind)


def _ranked(weight: ndarray, expected: ndarray, all_weight: ndarray, most: int | None) -> list[Match]:
    order = np.argsort(-(weight - expected), axis=None, kind="stable")[:most]
    found = []
    for place in order:
        layer, head = divmod(int(place), weight.shape[1])
        at, rest = (layer, head), float(all_weight[layer, head])
        share = float(weight[at]) / rest if rest > 0 else 0.0
        found.append(Match(layer, head, float(weight[at]), float(expected[at]), share))
    return found


@dataclass(frozen=True, slots=True)
class Near:
    """A head that behaves like another: their distance, 0 to 1."""

    layer: int
    head: int
    distance: float


def nearest_heads(atlas: Atlas, layer: int, head: int, most: int = 8) -> list[Near]:
    """The heads that behave most like one, the most alike first; see `behaviour_distances`.

    Raises:
        ValueError: there is no such head.
    """
    layers, heads = atlas.shape
    if not (0 <= layer < layers and 0 <= head < heads):
        raise ValueError(f"layer={layer} and head={head} must be below {layers} and {heads}")
    distances = behaviour_distances(atlas, layer, head)
    order = [divmod(int(place), heads) for place in np.argsort(distances, axis=None, kind="stable")]
    others = [place for place in order if place != (layer, head)][:most]
    return [Near(*place, float(distances[place])) for place in others]


def behaviour_distances(atlas: Atlas, layer: int, head: int) -> Float[ndarray, "layer head"]:
    """How differently all heads behave from one, 0 to 1: the mean of three differences, of

    - where the weight goes by distance: half the sum of |differences| over the sink and all octaves (total variation);
    - which keys: the same over kinds of key of which a token has one each, mean over these kinds of query, each counted
      as often as it occurs, sink again apart;
    - ALONE: the largest |difference| of the weight on the same token, after it, and on an opening bracket; those that
      the texts have no case of are left out.
    """
    first = atlas.measures["first"][..., None]
    where = np.concatenate((first, atlas.distances, atlas.ahead), axis=-1)
    kinds = [atlas.kinds.index(kind) for kind in PARTITION]
    counts = atlas.counts[kinds]
    pairs = np.nan_to_num(atlas.pairs)[:, :, kinds][..., kinds]  # (layer, head, query kind, key kind)
    sink = 1 - pairs.sum(-1, keepdims=True)
    which = _half_difference(np.concatenate((sink, pairs), axis=-1), layer, head) @ (counts / max(1, counts.sum()))
    alone = np.stack([np.nan_to_num(atlas.measures[name]) for name in ALONE], axis=-1)
    largest = np.abs(alone - alone[layer, head]).max(-1)
    return (_half_difference(where, layer, head) + which + largest) / 3


def _half_difference(shares: Float[ndarray, "layer head *more share"], layer: int, head: int) -> ndarray:
    return np.abs(shares - shares[layer, head]).sum(-1) / 2
