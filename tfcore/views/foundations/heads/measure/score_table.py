"""An attention score taken apart, as tables: its largest pairs, and one small enough to be drawn."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float
from numpy import ndarray

from tfcore.views.foundations.heads.measure.score_parts import ScoreParts
from tfcore.views.foundations.heads.measure.score_writers import Writer

PAIRS = 10  # that are named
SINGLE = 8  # heads and feed-forward layers a side with a row of their own
BANDS = 3  # of layers, in which the others are put together


@dataclass(frozen=True, slots=True)
class LargestPairs:
    """The pairs of writers with the largest parts of a score, by size.

    Args:
        pairs: writer at the query, writer at the key, what the pair adds.
        rest: the sum of all other pairs.
        others: how many these are.
    """

    pairs: tuple[tuple[str, str, float], ...]
    rest: float
    others: int


def largest_pairs(parts: ScoreParts, most: int = PAIRS) -> LargestPairs:
    """The `most` pairs of writers with the largest parts of the score, by size."""
    flat = parts.values.ravel()
    order = np.argsort(-np.abs(flat), kind="stable")[:most]
    places = [np.unravel_index(i, parts.values.shape) for i in order]
    pairs = [(parts.at_query[r].name, parts.at_key[c].name, float(parts.values[r, c])) for r, c in places]
    return LargestPairs(tuple(pairs), float(flat.sum() - flat[order].sum()), flat.size - len(order))


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


def score_table(parts: ScoreParts, single: int = SINGLE) -> ScoreTable:
    """The parts of a score in few rows and columns: heads and feed-forward layers whose sums are among the `single`
    largest by size have their own, the others one for each kind and third of the layers."""
    rows = _groups(parts.at_query, parts.values.sum(1), single)
    columns = _groups(parts.at_key, parts.values.sum(0), single)
    pooled = np.add.reduceat(parts.values[np.concatenate([g for _, _, g in rows])], _starts(rows), axis=0)
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
    groups: list[Group] = [(one.name, one.kind, [i]) for i, one in enumerate(writers) if one.layer < 0 or i in kept]
    rest: dict[tuple[str, int], list[int]] = {}
    for i in layered:
        if i not in kept:
            rest.setdefault((writers[i].kind, writers[i].layer // width), []).append(i)
    for (kind, band), members in sorted(rest.items(), key=lambda item: (item[0][1], item[0][0])):
        groups.append((_group_name(kind, band, width, n_layers, [writers[i] for i in members]), kind, members))
    return groups


def _group_name(kind: str, band: int, width: int, n_layers: int, members: Sequence[Writer]) -> str:
    if len(members) == 1:
        (only,) = members
        return only.name
    first, last = band * width, min(n_layers, (band + 1) * width) - 1
    layers = f"{first}" if first == last else f"{first}–{last}"
    return f"{len(members)} {kind}{'s' if 'head' in kind else ''} of {layers}"


def _starts(groups: Sequence[Group]) -> list[int]:
    return np.cumsum([0, *(len(members) for _, _, members in groups[:-1])]).tolist()


def parts_table(parts: ScoreParts) -> pd.DataFrame:
    """All pairs, the largest first: writer at the query, writer at the key, what the pair adds."""
    order = np.argsort(-np.abs(parts.values).ravel(), kind="stable")
    row, column = np.unravel_index(order, parts.values.shape)
    return pd.DataFrame(
        {
            "wrote at the query": [parts.at_query[i].name for i in row],
            "wrote at the key": [parts.at_key[i].name for i in column],
            "part of the score": parts.values[row, column],
        }
    )
