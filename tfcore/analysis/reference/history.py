"""The history as data, laid out as a timeline, and the lengths of what else is a sequence."""

import re
import tomllib
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tfcore.analysis.finding import Finding
from tfcore.analysis.foundations.token_counts import SEQUENCES
from tfcore.measures.flop_count import sequence_cost

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
        found = re.fullmatch(r"arXiv:(\d{4}\.\d{4,5})", self.source)
        return found[1] if found else None


@cache
def milestones() -> dict[str, Milestone]:
    """All entries by key, in the order of the years.

    Raises:
        ValueError: a field or family that is not listed above, or an entry that builds on none or on a later one.
    """
    found: dict[str, Milestone] = {}
    for key, facts in tomllib.loads(FACTS.read_text("utf-8")).items():
        see, after = (tuple(facts.pop(name, ())) for name in ("see", "after"))
        found[key] = Milestone(key=key, see=see, after=after, **facts)
    for entry in found.values():
        if entry.field not in FIELDS or entry.family not in FAMILIES:
            raise ValueError(f"{entry.key}: field {entry.field!r} or family {entry.family!r} is not listed")
        for earlier in entry.after:
            if earlier not in found or found[earlier].year > entry.year:
                raise ValueError(f"{entry.key} builds on {earlier!r}, which is no earlier entry")
    return dict(sorted(found.items(), key=lambda item: item[1].year))


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
    following: dict[str, list[str]] = {name: [] for name in milestones()}
    for name, entry in milestones().items():
        for earlier in entry.after:
            following[earlier].append(name)
    return _reach(key, following)


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
        """How many there are in all lanes."""
        return sum(count for _, count in self.lanes.values())


def timeline(lane_by: str) -> Timeline:
    """Lay all entries out in lanes by "field" or "family", so that no label covers another.

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
    """Where each year begins on a line from 0 to 1, from the first year to the one after the last.

    A year with k entries is max(k, QUIET) wide, in shares of the sum.
    """
    count = Counter(years)
    widths = [max(float(count[year]), QUIET) for year in range(min(years), max(years) + 1)]
    total, start, found = sum(widths), 0.0, {}
    for year, width in zip(range(min(years), max(years) + 2), [*widths, 0.0], strict=True):
        found[year] = start / total
        start += width
    return found


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


# ---- findings ----


@dataclass(frozen=True, slots=True)
class EntriesShown(Finding):
    """Which entries are shown, and the neighbours of the chosen one.

    Args:
        shown, total: entries that fit the filter, and entries in all.
        years: of the first and the last shown.
        chosen: the chosen entry with its year; None where none is shown.
        before, after: how many entries it builds on and led to; None where lines between entries are not drawn.
    """

    shown: int
    total: int
    years: tuple[int, int] | None
    chosen: str | None
    before: int | None
    after: int | None

    @property
    def sentence(self) -> str:
        if self.years is None:
            return f"None of {self.total} entries is shown."
        first, last = self.years
        words = f"{self.shown} of {self.total} entries from {first} to {last}; chosen: {self.chosen}"
        if self.before is not None:
            words += f", which builds on {self.before} others and led to {self.after}"
        return f"{words}."


def entries_shown(shown: Sequence[str], chosen: str | None, lineage: bool) -> EntriesShown:
    """The entries with these keys, in the order of the years; `lineage` says whether lines are drawn."""
    entries = milestones()
    years = (entries[shown[0]].year, entries[shown[-1]].year) if shown else None
    if chosen is None:
        return EntriesShown(len(shown), len(entries), None, None, None, None)
    before, after = (len(ancestors(chosen)), len(descendants(chosen))) if lineage else (None, None)
    return EntriesShown(len(shown), len(entries), years, with_year(entries[chosen]), before, after)


def with_year(entry: Milestone) -> str:
    """As in "LSTM (1997)"."""
    return f"{entry.name} ({entry.year})"


@dataclass(frozen=True, slots=True)
class RecentShare(Finding):
    """The share of the entries that are of `year` or later."""

    year: int
    share: float

    @property
    def sentence(self) -> str:
        return f"{self.share:.0%} of the entries, and so of the width, are from {self.year} on."


def recent_share(year: int) -> RecentShare:
    """Count the entries since a year."""
    years = [entry.year for entry in milestones().values()]
    return RecentShare(year, sum(one >= year for one in years) / len(years))


@dataclass(frozen=True, slots=True)
class SequenceLength(Finding):
    """How many tokens something becomes, and what attention pays for them.

    Args:
        name, model: of the kind of data, and the published model that reads it.
        published: tokens in that model.
        is_published: whether `tokens` is cut as there.
        tokens: as it is cut now.
        scores: attention scores of each head.
        quadratic_share: share of the FLOPs that grows with the square of the length.
    """

    name: str
    model: str
    published: int
    is_published: bool
    tokens: int
    scores: int
    quadratic_share: float

    @property
    def tokens_text(self) -> str:
        """The number of tokens."""
        return f"{self.tokens:,}"

    @property
    def scores_text(self) -> str:
        """The number of scores."""
        return f"{self.scores:,}"

    @property
    def share_text(self) -> str:
        """The share of the FLOPs."""
        return f"{self.quadratic_share:.1%}"

    @property
    def sentence(self) -> str:
        what = (
            f"{self.name} as in {self.model}"
            if self.is_published
            else f"{self.name}, cut your way ({self.model}: {self.published:,})"
        )
        return f"{what}: {self.tokens_text} tokens, so {self.scores_text} scores per head."


def sequence_length(kind: str, values: dict[str, float]) -> SequenceLength:
    """The length of one kind of data.

    Args:
        kind: key of SEQUENCES.
        values: how it is cut, by the names of its knobs.
    """
    one = SEQUENCES[kind]
    tokens = one.count(**values)
    cost = sequence_cost((tokens,))
    usual = all(values[knob.name] == knob.default for knob in one.knobs)
    return SequenceLength(one.name, one.model, one.published(), usual, tokens, cost.cells.item(), cost.share.item())


@dataclass(frozen=True, slots=True)
class LengthRange(Finding):
    """The shortest and the longest of the published sequences, each as (tokens, kind, model)."""

    shortest: tuple[int, str, str]
    longest: tuple[int, str, str]

    @property
    def sentence(self) -> str:
        first, last = (f"the {n:,} tokens of “{name}” ({model})" for n, name, model in (self.shortest, self.longest))
        return f"From {first} to {last} is a factor of {self.longest[0] / self.shortest[0]:.0f}."


def length_range() -> LengthRange:
    """Over all kinds of data."""
    every = [(one.published(), one.name, one.model) for one in SEQUENCES.values()]
    return LengthRange(min(every), max(every))
