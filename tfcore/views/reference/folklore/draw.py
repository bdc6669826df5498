"""How far each quoted figure is from the computed one: a row a claim, on a line from too low to too high."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.views.reference.folklore.measure.claim import ROUGH, Checked, Claim, Verdict

ROW, TOP, BOTTOM, LEFT = 20, 54, 56, 204  # pixels
LOW, HIGH = 0.2, 5.0  # ratios beyond are drawn at the edge
# verdict: (colour, symbol)
LOOKS: dict[Verdict, tuple[str, str]] = {
    "true": ("@cat2", "circle"),
    "roughly": ("@cat0", "circle-open"),
    "depends": ("@cat6", "diamond"),
    "wrong": ("@cat1", "x"),
}
TICKS = {0.25: "¼", 0.5: "½", 1: "1 ×", 2: "2 ×", 4: "4 ×"}
TARGETS = [LOW * (HIGH / LOW) ** (i / 12) for i in range(13)]  # so that a click anywhere in a row counts


def row_height(rows: int) -> int:
    """The height of one of so many rows, in pixels."""
    return theme.row_height(max(rows, 3), ROW, TOP + BOTTOM)


def height_of(rows: int) -> int:
    """The height for so many claims, in pixels."""
    return TOP + BOTTOM + row_height(rows) * max(rows, 3)


def ratios_figure(claims: Sequence[Claim], findings: Mapping[str, Checked], chosen: str | None) -> go.Figure:
    """Computed over quoted, a row a claim; several cases of one claim are joined.

    A click anywhere in a row carries customdata, the key of the claim.
    """
    rows = {claim.key: i for i, claim in enumerate(claims)}
    marks = (_marks(verdict, claims, findings, rows) for verdict in LOOKS)
    data = [_spans(claims, findings, rows), *marks, _targets(claims, findings, rows)]
    shapes: list[dict[str, Any]] = [
        kit.box(1 - ROUGH, 1 + ROUGH, 0, 1, "@cat2/0.12", width=0, below=True, paper="y", xref="x")
    ]
    if chosen in rows:
        at = rows[chosen]
        shapes.append(kit.box(0, 1, at - 0.5, at + 0.5, "@accent/0.14", width=0, below=True, paper="x"))
    names = [f"<b>{claim.name}</b>" if claim.key == chosen else claim.name for claim in claims]
    layout = theme.base_layout(
        height_of(len(claims)),
        shapes=shapes,
        margin={"l": LEFT, "r": 16, "t": TOP, "b": BOTTOM},
        legend={"itemclick": False, "itemdoubleclick": False, "y": 1.0},
        xaxis=kit.axis(
            "computed / quoted",
            [-0.74, 0.74],
            log=True,
            fixed=True,
            tickvals=list(TICKS),
            ticktext=list(TICKS.values()),
            automargin=False,
            tickangle=0,
        ),
        yaxis=kit.axis(
            None,
            [max(len(claims), 3) - 0.5, -0.5],
            fixed=True,
            tickvals=list(range(len(claims))),
            ticktext=names,
            automargin=False,
            tickfont={"size": 13, "color": "@ink"},
        ),
    )
    return theme.build(data, layout)


def drawn_at(ratio: float) -> float:
    """The place at which a ratio is drawn: within the axis."""
    return round(min(max(ratio, LOW), HIGH), 4)


def _spans(claims: Sequence[Claim], findings: Mapping[str, Checked], rows: Mapping[str, int]) -> dict[str, Any]:
    x: list[float | None] = []
    y: list[int | None] = []
    for claim in claims:
        ratios = [drawn_at(ratio) for ratio in findings[claim.key].ratios.values()]
        x += [min(ratios), max(ratios), None]
        y += [rows[claim.key], rows[claim.key], None]
    return kit.line(x, y, "@muted/0.6", width=1.5, hover=False, showlegend=False)


def _marks(
    verdict: Verdict, claims: Sequence[Claim], findings: Mapping[str, Checked], rows: Mapping[str, int]
) -> dict[str, Any]:
    colour, symbol = LOOKS[verdict]
    points = [
        (drawn_at(ratio), rows[claim.key])
        for claim in claims
        if findings[claim.key].verdict == verdict
        for ratio in findings[claim.key].ratios.values()
    ]
    return kit.dots(
        [x for x, _ in points] or [None],
        [y for _, y in points] or [None],
        colour,
        name=verdict,
        symbol=symbol,
        size=9,
        marker={"line": {"width": 1.5, "color": colour}},
        hover=False,
        showlegend=True,
        cliponaxis=False,
    )


def _targets(claims: Sequence[Claim], findings: Mapping[str, Checked], rows: Mapping[str, int]) -> dict[str, Any]:
    """Invisible marks along every row, which take clicks and the pointer."""
    every = [claim for claim in claims for _ in TARGETS]
    return kit.dots(
        TARGETS * len(claims),
        [rows[claim.key] for claim in every],
        "@muted",
        size=18,
        marker={"opacity": 0},
        hover="%{text}",
        showlegend=False,
        customdata=[claim.key for claim in every],
        text=[_words(claim, findings[claim.key]) for claim in every],
    )


def _words(claim: Claim, finding: Checked) -> str:
    cases = "<br>".join(f"{case}: × {ratio:.4g}" for case, ratio in finding.ratios.items())
    return f"<b>{claim.said}</b><br>{finding.verdict}<br>{cases}"
