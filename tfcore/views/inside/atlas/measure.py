"""One head among all heads of an atlas, and what it does on one text beside what it usually does."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.measures.atlas.atlas import Atlas, load_atlas
from tfcore.measures.atlas.growing import growing_atlas
from tfcore.measures.atlas.search import LEAST
from tfcore.measures.atlas.token_kinds import PARTITION, token_kinds
from tfcore.measures.heads.kinds import THRESHOLD, Place
from tfcore.measures.highlights.usual import UsualWeights
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.foundations.heads.measure.attention import attention
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, Source, opened

ANY = "any"  # kind of every token
RESTS = 0.1  # weight off the sink, below which a head is said to rest
NEAR = 8  # tokens up to which a head is local
RELATIONS = {"self": "self", "previous": "previous token", "next": "next token"}  # measure -> kind of head
COPIES = {"same": "duplicate", "after_same": "induction"}  # of queries that have such a token


def _measured(model: Transformer, tokenizer: Tokenizer, corpus: str) -> Atlas:
    steps = [*growing_atlas(model, tokenizer, corpus)]
    return next(step.atlas for step in reversed(steps) if step.atlas is not None)


measured_on = kept(_measured, entries=4)


def atlas_of(model: Source, corpus: str = "", so_far: Atlas | None = None) -> Atlas:
    """The atlas of a model: what is stored of it, or what is measured on a text of one's own.

    Args:
        corpus: the text; empty takes what is stored.
        so_far: what there is already of a measurement that goes on.

    Raises:
        ValueError: nothing is stored of this model.
    """
    if so_far is not None:
        return so_far
    if corpus:
        atlas: Atlas = measured_on(model, corpus)
        return atlas
    if not isinstance(model, str):
        raise ValueError("an atlas is stored beside a model's weights by its name; give a text, to measure heads on it")
    return load_atlas(model)


# ---- one head among all ----


class Standing(NamedTuple):
    """A number of one head among those of all heads.

    Args:
        rank: 1 for the largest.
        heads: that have such a number.
    """

    value: float
    rank: int
    heads: int


def standing(values: Float[ndarray, "layer head"], place: Place) -> Standing:
    """Where a head stands; NaN is no number."""
    value = float(values[place])
    return Standing(value, 1 + int((values > value).sum()), int(np.isfinite(values).sum()))


def ordinal(rank: int) -> str:
    """1st, 2nd, 3rd, 4th ..."""
    ending = "th" if rank % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{ending}"


def numbers_of(atlas: Atlas, measure: str) -> Float[ndarray, "layer head"]:
    """A measure of all heads.

    Raises:
        ValueError: the atlas has no such measure.
    """
    if measure not in atlas.measures:
        raise ValueError(f"{measure!r} was not measured; there are {', '.join(atlas.measures)}")
    return atlas.measures[measure]


def largest_by(atlas: Atlas, measure: str) -> Place:
    """The head with the largest of a measure; NaN is no number."""
    values = numbers_of(atlas, measure)
    layer, head = np.unravel_index(int(np.where(np.isfinite(values), values, -np.inf).argmax()), values.shape)
    return int(layer), int(head)


def head_kinds(atlas: Atlas) -> ndarray:
    """(layer, head): the kind of each head over the whole distribution, named as those of one text are: by the largest
    share of its weight off the sink that goes to the token itself or the one beside it, or of its weight where
    a token stood in the text before; from THRESHOLD on. Else local where most of that weight stays within NEAR tokens,
    or broad. Heads with less than RESTS of their weight off the sink are named after the first token."""
    measures = atlas.measures
    off = np.maximum(1 - measures["first"], 1e-6)
    scores = {kind: measures[name] / off for name, kind in RELATIONS.items() if name in measures}
    scores |= {kind: measures[name] for name, kind in COPIES.items()}
    stacked = np.nan_to_num(np.stack(list(scores.values())))
    both = atlas.distances + atlas.ahead
    near = both[..., : 1 + int(np.log2(NEAR))].sum(-1) >= 0.5 * both.sum(-1)
    kinds = np.where(stacked.max(0) >= THRESHOLD, np.array(list(scores), dtype=object)[stacked.argmax(0)], "")
    kinds = np.where(kinds == "", np.where(near, "local", "broad"), kinds)
    return np.where(off < RESTS, "first token", kinds)


class KindPair(NamedTuple):
    """Mean weight that a head puts from tokens of one kind on those of another, and what its distances alone give."""

    query: str
    key: str
    weight: float
    by_position: float

    @property
    def beyond(self) -> float:
        """How much more it is than by distance alone."""
        return self.weight - self.by_position


def kind_pairs(atlas: Atlas, place: Place) -> list[KindPair]:
    """The pairs of kinds of a head, those with the most weight beyond distance first; kinds of few queries left out."""
    weight, usual = atlas.pairs[place], atlas.by_position[place]
    found = [
        KindPair(one, other, float(weight[i, j]), float(usual[i, j]))
        for i, one in enumerate(atlas.kinds)
        for j, other in enumerate(atlas.kinds)
        if ANY not in (one, other) and atlas.counts[i] >= LEAST
    ]
    return sorted(found, key=lambda pair: -pair.beyond)


def telling_head(atlas: Atlas) -> Place:
    """The head to look at first: the one whose weight from one kind of token on another exceeds what its distances
    alone give by most."""
    known = atlas.counts >= LEAST
    beyond = (atlas.pairs - atlas.by_position)[..., 1:, 1:][..., known[1:], :]
    if not beyond.size:
        return 0, 0
    layer, head = np.unravel_index(int(np.nan_to_num(beyond).max((-1, -2)).argmax()), atlas.shape)
    return int(layer), int(head)


# ---- a text beside the distribution ----


@dataclass(frozen=True, slots=True, eq=False)
class Role:
    """Where the weight of a head goes on a text, and where it usually goes.

    Args:
        tokens: of the text.
        query: the token that it looks from; None: all of them.
        key: the token with the most of its weight there, the sink and itself apart; None where there is none.
        weight: that weight.
        kind: of the token `key`; empty where there is none.
        here, usual: share of the weight off the sink that goes to each kind of PARTITION.
        rests_here, rests_usually: the weight on the sink.
        measured: tokens of the distribution.
    """

    tokens: tuple[str, ...]
    query: int | None
    key: int | None
    weight: float
    kind: str
    here: Float[ndarray, " kind"]
    usual: Float[ndarray, " kind"]
    rests_here: float
    rests_usually: float
    measured: int


def role_on_text(reading: Reading, place: Place, query: int | None = None) -> Role:
    """Where a head looks on a text, and where it usually does, by kinds of which each token has one. Whatever a query
    puts on the tokens taken for sinks is left out on both sides, and so are queries that are such.

    Args:
        query: a token to look from; None takes the mean over all of them.

    Raises:
        ValueError: nothing is stored of this model, or its tokenizer makes no token of the text.
    """
    atlas, read = atlas_of(reading.model), attention(reading)
    kinds = [atlas.kinds.index(kind) for kind in PARTITION]
    of_token = token_kinds(opened(reading.model)[1], read.maps.ids.tolist())[:, kinds]
    pattern = read.maps.patterns[place]
    rows = pattern[[query]] if query is not None else pattern[~read.sink] if (~read.sink).any() else pattern
    off = rows * ~read.sink
    usual, total = atlas.pairs[place][0, kinds], float(atlas.pairs[place][0, 0])
    looked = pattern[query] * ~read.sink if query is not None else None
    key = None if looked is None else _strongest(looked, query)
    return Role(
        tokens=tuple(read.keys),
        query=query,
        key=key,
        weight=0.0 if key is None else float(pattern[query, key]),
        kind="" if key is None else PARTITION[int(of_token[key].argmax())],
        here=_shares(off.mean(0) @ of_token, float(off.mean(0).sum())),
        usual=_shares(usual, total),
        rests_here=float(rows[:, read.sink].sum(-1).mean()),
        rests_usually=float(atlas.measures["first"][place]),
        measured=atlas.tokens,
    )


def _strongest(looked: ndarray, query: int | None) -> int | None:
    """The token other than itself that a query looks at most; None where it looks at none."""
    others = np.where(np.arange(len(looked)) == query, 0, looked)
    return int(others.argmax()) if others.any() else None


def _shares(weights: ndarray, total: float) -> Float[ndarray, " kind"]:
    return (weights / total if total > 0 else np.zeros_like(weights)).astype(np.float64)


class Look(NamedTuple):
    """A head, and a token from which it looks elsewhere than it usually does."""

    layer: int
    head: int
    query: int


def _unusual_look(reading: Reading) -> Look | None:
    """The head and the query token with the most weight on one other token beyond what the head usually puts on a token
    at that distance, the first token apart; None where no head looks at any."""
    usual, read = UsualWeights.of_atlas(atlas_of(reading.model)), attention(reading)
    patterns, n = read.maps.patterns, len(read.keys)
    excluded = np.eye(n, dtype=bool) | read.sink | read.sink[:, None]
    best, found = 0.0, None
    for layer, weights in enumerate(patterns):
        kept_weight = (weights * ~read.sink).sum(-1, keepdims=True)
        beyond = np.where(excluded, 0.0, weights - usual.at(layer, n) * kept_weight)
        if beyond.max() > best:
            best = float(beyond.max())
            head, query, _ = np.unravel_index(int(beyond.argmax()), beyond.shape)
            found = Look(layer, int(head), int(query))
    return found


unusual_look = kept(_unusual_look, entries=64)
