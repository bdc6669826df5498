"""The history as data, laid out as a timeline, and the lengths of what else is a sequence."""

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from tfcore.measures.flop_count import sequence_cost
from tfcore.measures.token_counts import SEQUENCES

FACTS = Path(__file__).with_name("milestones.toml")
FIELDS = {
    "language": "Language",
    "vision": "Vision",
    "audio": "Sound",
    "biology": "Biology",
    "robots": "Robots, games",
    "theory": "Theory, training",
    "speed": "Speed, memory",
}
FAMILIES = {
    "feed-forward": "Feed-forward",
    "recurrent": "Recurrent",
    "convolutional": "Convolutional",
    "encoder": "Encoder",
    "encoder-decoder": "Encoder-decoder",
    "decoder": "Decoder",
    "experts": "Experts",
    "state space": "State space",
    "part": "Part of many",
}
ALL = "all"
Lanes = Literal["field", "family"]
ROOM = 122.0  # characters that fit side by side on the timeline
GAP = 3.5  # characters between a label and the next mark: the mark itself and some air
QUIET = 0.35  # the width of a year without entries, in widths of one entry


@dataclass(frozen=True, slots=True, kw_only=True)
class Milestone:
    """One entry; the file of facts says what each part is."""

    key: str
    year: int
    name: str
    who: str
    brought: str
    field: str
    family: str
    source: str
    see: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def arxiv(self) -> str | None:
        """The number of the paper on arXiv, if it has one."""
        match = re.fullmatch(r"arXiv:(\d{4}\.\d{4,5})", self.source)
        return match[1] if match else None


@cache
def milestones() -> dict[str, Milestone]:
    """All entries by key, in the order of the years.

    Raises:
        ValueError: a field or family that is not listed above, or an entry that builds on none or on a later one.
    """
    by_key: dict[str, Milestone] = {}
    for key, facts in tomllib.loads(FACTS.read_text("utf-8")).items():
        see, after = (tuple(facts.pop(name, ())) for name in ("see", "after"))
        by_key[key] = Milestone(key=key, see=see, after=after, **facts)
    for entry in by_key.values():
        if entry.field not in FIELDS or entry.family not in FAMILIES:
            raise ValueError(f"{entry.key}: field {entry.field!r} or family {entry.family!r} is not listed")
        for earlier in entry.after:
            if earlier not in by_key or by_key[earlier].year > entry.year:
                raise ValueError(f"{entry.key} builds on {earlier!r}, which is no earlier entry")
    return dict(sorted(by_key.items(), key=lambda item: item[1].year))


def matching(field: str = ALL, family: str = ALL, words: str = "") -> list[str]:
    """Keys of the entries of a field and a family that hold all of these words, in capitals or not, anywhere."""
    wanted = words.casefold().split()
    return [
        key
        for key, entry in milestones().items()
        if field in (ALL, entry.field)
        and family in (ALL, entry.family)
        and all(word in _everything(entry) for word in wanted)
    ]


def _everything(entry: Milestone) -> str:
    parts = (entry.name, entry.who, entry.brought, entry.source, FIELDS[entry.field], FAMILIES[entry.family])
    return " ".join((str(entry.year), *parts)).casefold()


# ---- who builds on whom ----


def ancestors(key: str) -> set[str]:
    """Everything an entry builds on, directly or through others."""
    return _reach(key, {name: entry.after for name, entry in milestones().items()})


def descendants(key: str) -> set[str]:
    """Everything that builds on an entry, directly or through others."""
    return _reach(key, {name: led_to(name) for name in milestones()})


def led_to(key: str) -> list[str]:
    """Keys of the entries that build on an entry directly, in the order of the years."""
    return [other for other, entry in milestones().items() if key in entry.after]


def _reach(start: str, edges: Mapping[str, Collection[str]]) -> set[str]:
    seen: set[str] = set()
    todo = list(edges[start])
    while todo:
        if (key := todo.pop()) not in seen:
            seen.add(key)
            todo += edges[key]
    return seen


# ---- the layout ----


@dataclass(frozen=True, slots=True)
class Timeline:
    """Where every entry stands.

    Args:
        x: of each entry, 0 (the first year) to 1 (the end of the last).
        row: of each entry, counted from the top over all lanes.
        lanes: name -> (first row, number of rows).
        years: first and last year, and those between that have room for a number -> x of their beginning.
    """

    x: dict[str, float]
    row: dict[str, int]
    lanes: dict[str, tuple[int, int]]
    years: dict[int, float]

    @property
    def rows(self) -> int:
        """The number of rows in all lanes."""
        return sum(count for _, count in self.lanes.values())


def timeline(lane_by: Lanes) -> Timeline:
    """All entries laid out in lanes, so that no label covers another.

    A year is as wide as it is eventful: seventy quiet years would else leave no room for the last ten. Within a year
    the entries follow each other in the order of the facts. In its lane, each takes the first row that is free at its
    place: the label of the entry before it there has ended.
    """
    entries = milestones()
    names = FIELDS if lane_by == "field" else FAMILIES
    start = year_starts([entry.year for entry in entries.values()])
    order = [(entry.year, key) for key, entry in entries.items()]
    x: dict[str, float] = {}
    for year, count in Counter(year for year, _ in order).items():
        width = start[year + 1] - start[year]
        same = [key for at, key in order if at == year]
        x |= {key: start[year] + width * (i + 0.3) / count for i, key in enumerate(same)}
    lanes, row, first = dict[str, tuple[int, int]](), dict[str, int](), 0
    for lane in names:
        inside = sorted((key for key in entries if getattr(entries[key], lane_by) == lane), key=x.__getitem__)
        placed = rows_without_overlap([(x[key] * ROOM, len(entries[key].name) + GAP) for key in inside])
        row |= {key: first + at for key, at in zip(inside, placed, strict=True)}
        lanes[lane] = (first, max(placed) + 1)
        first += lanes[lane][1]
    return Timeline(x, row, lanes, shown_years(start))


def year_starts(years: Sequence[int]) -> dict[int, float]:
    """The beginning of each year on a line from 0 to 1, from the first year to the one after the last.

    A year with k entries is max(k, QUIET) wide, in shares of the sum.
    """
    count = Counter(years)
    widths = [max(float(count[year]), QUIET) for year in range(min(years), max(years) + 1)]
    total, start, starts = sum(widths), 0.0, {}
    for year, width in zip(range(min(years), max(years) + 2), [*widths, 0.0], strict=True):
        starts[year] = start / total
        start += width
    return starts


def rows_without_overlap(labels: Sequence[tuple[float, float]]) -> list[int]:
    """The row of each (start, length), sorted by start: the first row whose last label has ended by then."""
    ends: list[float] = []
    rows = []
    for start, length in labels:
        free = next((row for row, end in enumerate(ends) if end <= start), len(ends))
        ends[free : free + 1] = [start + length]
        rows.append(free)
    return rows


def shown_years(start: Mapping[int, float], apart: float = 0.04) -> dict[int, float]:
    """The years to write on the axis: the first, then each that stands far enough from the one before, tens first."""
    *inside, _ = start
    chosen: list[int] = [inside[0]]
    for step in (10, 5, 1):
        for year in inside:
            if year % step == 0 and all(abs(start[year] - start[other]) >= apart for other in chosen):
                chosen.append(year)
    return {year: start[year] for year in sorted(chosen)}


# ---- what else is a sequence ----

KINDS = sorted(SEQUENCES, key=lambda kind: SEQUENCES[kind].published())  # the shortest first


@dataclass(frozen=True, slots=True)
class SequenceLength:
    """How many tokens something becomes, and what attention pays for them.

    Args:
        kind: key of SEQUENCES.
        is_published: whether it is cut as in the published model.
        tokens: as it is cut.
        scores: attention scores of each head.
        quadratic_share: share of the FLOPs that grows with the square of the length.
    """

    kind: str
    is_published: bool
    tokens: int
    scores: int
    quadratic_share: float


def sequence_length(kind: str, values: Mapping[str, float]) -> SequenceLength:
    """The length of one kind of data.

    Args:
        kind: key of SEQUENCES.
        values: how it is cut, by the names of its knobs.
    """
    one = SEQUENCES[kind]
    tokens = int(one.count(**values))
    cost = sequence_cost((tokens,))
    is_published = all(values[knob.name] == knob.default for knob in one.knobs)
    return SequenceLength(kind, is_published, tokens, cost.cells.item(), cost.share.item())
