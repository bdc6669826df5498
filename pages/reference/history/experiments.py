"""The experiments of the page on history."""

from tfcore.analysis.foundations.token_counts import SEQUENCES
from tfcore.analysis.model.flop_count import sequence_cost
from tfcore.analysis.reference.history import ancestors, descendants, matching, milestones, timeline
from tfcore.figures.reference.history import lengths_figure, timeline_figure
from tfcore.figures.theme import Figure


def lineage(by: str, field: str, family: str, words: str, chosen: str) -> Figure:
    """The history by fields or by families, with what an entry builds on and what it led to."""
    entries, shown = milestones(), matching(field, family, words)
    before, after = ancestors(chosen), descendants(chosen)
    print(f"{len(shown)} of {len(entries)} entries are shown")
    for title, keys in (("builds on", before), ("led to", after)):
        names = [f"{entry.name} ({entry.year})" for key, entry in entries.items() if key in keys]
        print(f"{entries[chosen].name} {title} {len(names)}: {', '.join(names)}")

    return timeline_figure(entries, timeline(by), shown, chosen, before | after, edges=by == "family")


def cut(kind: str, values: dict[str, float]) -> Figure:
    """What else is a sequence: how many tokens it becomes, and what attention pays for them."""
    n = SEQUENCES[kind].count(**values)
    cost = sequence_cost((n,))
    print(f"{SEQUENCES[kind].name}: {n:,} tokens, {cost.cells[0]:,.0f} scores in each head")
    order = sorted(SEQUENCES, key=lambda key: SEQUENCES[key].published())
    names = [(SEQUENCES[key].name, SEQUENCES[key].model) for key in order]
    lengths = [SEQUENCES[key].published() for key in order]
    for (name, model), length in zip(names, lengths, strict=True):
        print(f"{name} as in {model}: {length:,} tokens")

    return lengths_figure(names, lengths, order, kind, n, height=430)
