"""Findings on the history: the entries that are shown, and the lengths of sequences."""

from collections.abc import Sequence

from tfcore.measures.token_counts import SEQUENCES
from tfcore.views.finding import Statement, state
from tfcore.views.reference.history.measure import KINDS, Milestone, SequenceLength, ancestors, descendants, milestones


def with_year(entry: Milestone) -> str:
    """A name with its year, as in "LSTM (1997)"."""
    return f"{entry.name} ({entry.year})"


def entries_shown(shown: Sequence[str], chosen: str | None, lineage: bool) -> Statement:
    """How many entries are shown, from when to when, and the neighbours of the chosen one.

    Args:
        shown: keys, in the order of the years.
        chosen: one of them; None where none is shown.
        lineage: whether lines between entries are drawn.
    """
    entries = milestones()
    if chosen is None:
        return state("entries shown", "None of {total} entries is shown.", total=len(entries))
    neighbours = ", which builds on {before} others and led to {after}" if lineage else ""
    return state(
        "entries shown",
        "{shown} of {total} entries from {first} to {last}; chosen: {chosen}" + neighbours + ".",
        shown=len(shown),
        total=len(entries),
        first=entries[shown[0]].year,
        last=entries[shown[-1]].year,
        chosen=with_year(entries[chosen]),
        before=len(ancestors(chosen)),
        after=len(descendants(chosen)),
    )


def recent_share(year: int) -> Statement:
    """The share of the entries that are of a year or later."""
    years = [entry.year for entry in milestones().values()]
    return state(
        "recent share",
        "{share:.0%} of the entries, and so of the width, are from {year} on.",
        share=sum(one >= year for one in years) / len(years),
        year=year,
    )


def length(counted: SequenceLength) -> Statement:
    """How many tokens something becomes, beside those of the published model where it is cut otherwise."""
    one = SEQUENCES[counted.kind]
    cut = "{name} as in {model}" if counted.is_published else "{name}, cut your way ({model}: {published:,})"
    return state(
        "length",
        cut + ": {tokens:,} tokens, so {scores:,} scores per head.",
        name=one.name,
        model=one.model,
        published=one.published(),
        tokens=counted.tokens,
        scores=counted.scores,
    )


def length_range() -> Statement:
    """The shortest and the longest of the published sequences."""
    shortest, longest = SEQUENCES[KINDS[0]], SEQUENCES[KINDS[-1]]
    return state(
        "length range",
        "From the {low:,} tokens of “{shortest}” ({low_model}) to the {high:,} tokens of “{longest}” ({high_model}) is "
        "a factor of {factor:.0f}.",
        low=shortest.published(),
        shortest=shortest.name,
        low_model=shortest.model,
        high=longest.published(),
        longest=longest.name,
        high_model=longest.model,
        factor=longest.published() / shortest.published(),
    )
