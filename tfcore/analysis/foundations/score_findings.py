"""What an attention score taken apart shows: its sum, its largest pairs, and a table small enough to be drawn."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.foundations.score_parts import ScoreParts, Source
from tfcore.analysis.foundations.score_writers import Writer
from tfcore.measures.token_text import shorten, visible

LETTERS = 12  # of a token in a sentence
PAIRS = 10  # that are named
SINGLE = 8  # heads and feed-forward layers a side with a row of their own
BANDS = 3  # of layers, in which the others are put together


def _word(token: str) -> str:
    return f"'{shorten(visible(token), LETTERS)}'"


@dataclass(frozen=True, slots=True)
class ScoreSum(Finding):
    """A score, or the difference of two, and the sum over all pairs of writers.

    Args:
        layer, head: of the head.
        query, key, against: positions; `against` is None where nothing is taken away.
        tokens: of these positions.
        score: of the pass.
        total: the sum over all pairs, and the bias of positions.
        shape: how many writers there are at the query and at the key.
        weight, other: attention weights of both keys.
        bias: what the scheme of positions adds to the score itself.
    """

    layer: int
    head: int
    query: int
    key: int
    against: int | None
    tokens: tuple[str, ...]
    score: float
    total: float
    shape: tuple[int, int]
    weight: float
    other: float
    bias: float

    @property
    def error(self) -> float:
        """By how much sum and score differ: rounding."""
        return abs(self.total - self.score)

    @property
    def sentence(self) -> str:
        query, key = _word(self.tokens[0]), _word(self.tokens[1])
        pairs = f"{self.shape[0]} × {self.shape[1]} pairs of writers add up to it within {max(self.error, 1e-7):.0e}"
        bias = f", {self.bias:+.2f} of position bias included" if self.bias else ""
        if self.against is None:
            return (
                f"Head {self.layer}.{self.head} scores {key} ({self.key}) with {self.score:+.2f} for {query} "
                f"({self.query}), and gives it a weight of {self.weight:.2f}; {pairs}{bias}."
            )
        ratio = math.exp(min(abs(self.score), 30))
        times = f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"
        than = "as large as" if self.score >= 0 else "as small as"
        return (
            f"For {query} ({self.query}), head {self.layer}.{self.head} scores {key} ({self.key}) {self.score:+.2f} "
            f"against {_word(self.tokens[2])} ({self.against}): its weight, {self.weight:.2f}, is {times} times "
            f"{than} that, {self.other:.2f}; {pairs}{bias}."
        )


def score_sum(found: ScoreParts) -> ScoreSum:
    """The score, and what it adds up from."""
    places = [found.key] if found.against is None else [found.key, found.against]
    rows, columns = found.values.shape
    return ScoreSum(
        layer=found.layer,
        head=found.head,
        query=found.query,
        key=found.key,
        against=found.against,
        tokens=(found.queries[found.query], *(found.keys[place] for place in places)),
        score=found.score,
        total=found.total,
        shape=(rows, columns),
        weight=float(found.weights[found.key]),
        other=0.0 if found.against is None else float(found.weights[found.against]),
        bias=found.bias,
    )


@dataclass(frozen=True, slots=True)
class LargestPairs(Finding):
    """The pairs of writers with the largest parts of a score, by size.

    Args:
        pairs: writer at the query, writer at the key, what the pair adds.
        rest: the sum of all other pairs.
        others: how many these are.
    """

    pairs: tuple[tuple[str, str, float], ...]
    rest: float
    others: int

    @property
    def sentence(self) -> str:
        named = ", ".join(f"{one} × {other} {value:+.2f}" for one, other, value in self.pairs)
        return f"Largest pairs (query × key): {named}; the other {self.others:,} together {self.rest:+.2f}."


def largest_pairs(found: ScoreParts, most: int = PAIRS) -> LargestPairs:
    """The `most` largest by size."""
    flat = found.values.ravel()
    order = np.argsort(-np.abs(flat), kind="stable")[:most]
    places = [np.unravel_index(i, found.values.shape) for i in order]
    pairs = [(found.at_query[r].name, found.at_key[c].name, float(found.values[r, c])) for r, c in places]
    return LargestPairs(tuple(pairs), float(flat.sum() - flat[order].sum()), flat.size - len(order))


@dataclass(frozen=True, slots=True)
class StrongestWriters(Finding):
    """What wrote most for a score on each side, and what the strongest head on each side attends to.

    Args:
        at_query, at_key: name and sum of the strongest writer.
        tokens: at which they wrote.
        sources: the strongest head at the query and the one at the key, where there are any.
    """

    at_query: tuple[str, float]
    at_key: tuple[str, float]
    tokens: tuple[str, str]
    sources: tuple[Source, ...]

    @property
    def sentence(self) -> str:
        sides = zip(("query", "key"), self.tokens, (self.at_query, self.at_key), strict=True)
        sums = "; ".join(f"at the {side} {_word(token)} {one}, {total:+.2f}" for side, token, (one, total) in sides)
        heads = " ".join(
            f"At {_word(one.token)}, {one.writer.name} attends most to {_word(one.key_token)} ({one.key}), with weight "
            f"{one.weight:.2f}, and adds {one.share:+.2f}."
            for one in self.sources
        )
        return f"Most is added by what wrote: {sums}. {heads}".rstrip()


def strongest_writers(found: ScoreParts) -> StrongestWriters:
    """The writers with the largest sums, by size."""
    rows, columns = found.values.sum(1), found.values.sum(0)
    row, column = int(np.abs(rows).argmax()), int(np.abs(columns).argmax())
    first = [next((s for s in found.sources if s.side == side), None) for side in ("query", "key")]
    return StrongestWriters(
        (found.at_query[row].name, float(rows[row])),
        (found.at_key[column].name, float(columns[column])),
        (found.queries[found.query], found.keys[found.key]),
        tuple(source for source in first if source is not None),
    )


@dataclass(frozen=True, slots=True, eq=False)
class ScoreTable:
    """A score with the strongest writers singled out and the others put together by kind and layers; sums are kept.

    Args:
        rows, columns: names.
        kinds: of the rows, and of the columns.
        values: sums over the pairs of both groups.
    """

    rows: tuple[str, ...]
    columns: tuple[str, ...]
    kinds: tuple[tuple[str, ...], tuple[str, ...]]
    values: Float[ndarray, "row column"]


def score_table(found: ScoreParts, single: int = SINGLE) -> ScoreTable:
    """The parts of a score in few rows and columns: heads and feed-forward layers whose sums are among the `single`
    largest by size have their own, the others one for each kind and third of the layers."""
    rows = _groups(found.at_query, found.values.sum(1), single)
    columns = _groups(found.at_key, found.values.sum(0), single)
    pooled = np.add.reduceat(found.values[np.concatenate([g for _, _, g in rows])], _starts(rows), axis=0)
    pooled = np.add.reduceat(pooled[:, np.concatenate([g for _, _, g in columns])], _starts(columns), axis=1)
    names = tuple(name for name, _, _ in rows), tuple(name for name, _, _ in columns)
    kinds = tuple(kind for _, kind, _ in rows), tuple(kind for _, kind, _ in columns)
    return ScoreTable(*names, kinds, pooled)


Group = tuple[str, str, list[int]]  # name, kind, indices of the writers


def _groups(writers: Sequence[Writer], sums: ndarray, single: int) -> list[Group]:
    """Writers of their own in the order of computation, each followed by nothing; the groups of the others behind."""
    layered = [i for i, one in enumerate(writers) if one.layer >= 0]
    kept = set(sorted(layered, key=lambda i: -abs(sums[i]))[:single])
    n_layers = 1 + max((one.layer for one in writers), default=-1)
    width = max(1, -(-n_layers // BANDS))
    found: list[Group] = [(one.name, one.kind, [i]) for i, one in enumerate(writers) if one.layer < 0 or i in kept]
    rest: dict[tuple[str, int], list[int]] = {}
    for i in layered:
        if i not in kept:
            rest.setdefault((writers[i].kind, writers[i].layer // width), []).append(i)
    for (kind, band), members in sorted(rest.items(), key=lambda item: (item[0][1], item[0][0])):
        found.append((_group_name(kind, band, width, n_layers, [writers[i] for i in members]), kind, members))
    return found


def _group_name(kind: str, band: int, width: int, n_layers: int, members: Sequence[Writer]) -> str:
    if len(members) == 1:
        (only,) = members
        return only.name
    first, last = band * width, min(n_layers, (band + 1) * width) - 1
    layers = f"{first}" if first == last else f"{first}–{last}"
    return f"{len(members)} {kind}{'s' if 'head' in kind else ''} of {layers}"


def _starts(groups: Sequence[Group]) -> list[int]:
    return np.cumsum([0, *(len(members) for _, _, members in groups[:-1])]).tolist()


def parts_table(found: ScoreParts) -> pd.DataFrame:
    """All pairs, the largest first: writer at the query, writer at the key, what the pair adds."""
    order = np.argsort(-np.abs(found.values).ravel(), kind="stable")
    row, column = np.unravel_index(order, found.values.shape)
    return pd.DataFrame(
        {
            "wrote at the query": [found.at_query[i].name for i in row],
            "wrote at the key": [found.at_key[i].name for i in column],
            "part of the score": found.values[row, column],
        }
    )
