"""The experiments of the page on history."""

from tfcore.analysis.foundations.token_counts import SEQUENCES
from tfcore.analysis.reference.history import (
    SequenceLength,
    Timeline,
    ancestors,
    descendants,
    entries_shown,
    milestones,
)
from tfcore.figures.reference.history import lengths_figure, timeline_figure
from tfcore.figures.shown import Shown


def lineage(layout: Timeline, shown: list[str], chosen: str | None, edges: bool) -> Shown:
    """The history by fields or by families, with what an entry builds on and what it led to."""
    related = ancestors(chosen) | descendants(chosen) if chosen else set()
    figure = timeline_figure(milestones(), layout, shown, chosen, related, edges=edges)
    return Shown(figure, (entries_shown(shown, chosen, edges),))


def cut(kind: str, found: SequenceLength) -> Shown:
    """What else is a sequence: how many tokens it becomes, and what attention pays for them."""
    order = sorted(SEQUENCES, key=lambda key: SEQUENCES[key].published())
    names = [(SEQUENCES[key].name, SEQUENCES[key].model) for key in order]
    lengths = [SEQUENCES[key].published() for key in order]
    return Shown(lengths_figure(names, lengths, order, kind, found.tokens, height=430), (found,))
