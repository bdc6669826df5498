"""The history: what built on what since 1943, and what else is a sequence."""

from collections.abc import Mapping

import pandas as pd

from tfcore.measures.flop_count import sequence_cost
from tfcore.measures.token_counts import SEQUENCES
from tfcore.views.reference.history import draw, measure, say
from tfcore.views.reference.history.measure import ALL, FAMILIES, FIELDS, Lanes, milestones
from tfcore.views.view import Metric, View, view


@view
def timeline(
    lanes: Lanes = "field", field: str = ALL, family: str = ALL, words: str = "", chosen: str | None = None
) -> View:
    """The history by fields, or by families with what each entry builds on and what it led to.

    Args:
        lanes: what a lane is.
        field, family, words: of the entries that have a label; the words stand anywhere in what is said of them.
        chosen: key of the entry with a ring.
    """
    layout, shown, lineage = measure.timeline(lanes), measure.matching(field, family, words), lanes == "family"
    related = measure.ancestors(chosen) | measure.descendants(chosen) if chosen else set()
    of_lanes = (measure.ancestors, measure.rows_without_overlap) if lineage else (measure.matching, measure.year_starts)
    return View(
        key="timeline",
        title="The history by families" if lineage else "The history by fields",
        result=layout,
        chart=draw.timeline_figure(layout, shown, chosen, related, edges=lineage),
        min_width=draw.NARROWEST,
        at=draw.place_of(layout, chosen) if chosen else None,
        findings=(say.entries_shown(shown, chosen, lineage),),
        note="A year is as wide as it has entries.",
        table=lambda: _entries_table(shown),
        code=(measure.timeline, *of_lanes),
    )


def _entries_table(shown: list[str]) -> pd.DataFrame:
    entries = milestones()
    rows = {
        entry.key: {
            "year": entry.year,
            "name": entry.name,
            "who": entry.who,
            "what it brought": entry.brought,
            "field": FIELDS[entry.field],
            "family": FAMILIES[entry.family],
            "source": entry.source,
            "builds on": ", ".join(entries[key].name for key in entry.after),
        }
        for entry in entries.values()
    }
    return pd.DataFrame(rows.values())[[key in shown for key in rows]]


@view
def lengths(kind: str, values: Mapping[str, float]) -> View:
    """Tokens of other data that is cut into a sequence, and what attention pays for them.

    Args:
        kind: of data; a key of SEQUENCES.
        values: how it is cut, by the names of its knobs.
    """
    length, one = measure.sequence_length(kind, values), SEQUENCES[kind]
    return View(
        key="lengths",
        title="Tokens of each kind of data",
        result=length,
        chart=draw.lengths_figure(length, height=430),
        min_width=350,
        findings=(say.length(length),),
        note=f"One token: {one.token}. The other bars: the published models.",
        metrics=(
            Metric("Tokens", f"{length.tokens:,}"),
            Metric("Scores per head", f"{length.scores:,}", help="n × n"),
            Metric(
                "FLOPs that grow with n²",
                f"{length.quadratic_share:.1%}",
                help="in a Transformer of 12 layers, width 768",
            ),
        ),
        table=lambda: pd.DataFrame(
            [(one.name, one.model, one.published()) for one in SEQUENCES.values()], columns=["kind", "model", "tokens"]
        ),
        code=(one.count, sequence_cost),
    )
