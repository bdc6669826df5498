"""Pictures of the history: entries in lanes over the years, who builds on whom, and the lengths of sequences."""

import textwrap
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.measures.token_counts import SEQUENCES
from tfcore.views.reference.history.measure import (
    FAMILIES,
    FIELDS,
    KINDS,
    Milestone,
    SequenceLength,
    Timeline,
    milestones,
)

NARROWEST = 900  # pixels of a timeline
ROW, TOP, BOTTOM, LEFT, RIGHT = 18, 58, 28, 116, 12  # pixels
FIRST, LAST = -0.008, 1.17  # ends of the axis of years: labels need room behind the last one
# family: (colour, symbol)
LOOKS = {
    "feed-forward": ("@cat4", "circle"),
    "recurrent": ("@cat1", "circle"),
    "convolutional": ("@cat2", "circle"),
    "encoder": ("@cat0", "circle"),
    "encoder-decoder": ("@cat3", "circle"),
    "decoder": ("@cat6", "circle"),
    "experts": ("@cat7", "diamond"),
    "state space": ("@cat5", "square"),
    "part": ("@muted", "circle-open"),
}
STEPS = 16  # points of a curve


def height_of(layout: Timeline) -> int:
    """The height of a timeline, in pixels."""
    return TOP + BOTTOM + theme.row_height(layout.rows, ROW, TOP + BOTTOM) * layout.rows


def place_of(layout: Timeline, key: str) -> int:
    """How far from the left an entry is in a timeline of NARROWEST, in pixels."""
    return round(LEFT + (layout.x[key] - FIRST) / (LAST - FIRST) * (NARROWEST - LEFT - RIGHT))


def timeline_figure(
    layout: Timeline, shown: Collection[str], chosen: str | None, related: Collection[str] = (), edges: bool = False
) -> go.Figure:
    """Every entry at its place, coloured by family; those that are not shown stay as faint marks.

    Args:
        shown: keys of the entries with a label.
        chosen: the entry with a ring.
        related: entries joined with the chosen one; where edges are drawn, only they have strong labels.
        edges: draw who builds on whom.

    A click on a mark carries customdata, the key.
    """
    entries = milestones()
    data = _edges(layout, shown, related, chosen) if edges else []
    data += [_legend(family) for family in FAMILIES]
    data += [_marks(family, layout, shown, chosen, related, edges) for family in FAMILIES]
    data.append(_faint([key for key in entries if key not in shown], layout))
    if chosen is not None:
        data.append(_ring(chosen, layout))
    names = {**FIELDS, **FAMILIES}
    bounds = [first for first, _ in layout.lanes.values()][1:]
    lines = [kit.across(at - 0.5, "@grid", width=1) for at in bounds]
    figure_layout = theme.base_layout(
        height_of(layout),
        shapes=lines,
        margin={"l": LEFT, "r": RIGHT, "t": TOP, "b": BOTTOM},
        annotations=[
            _label(key, layout, key == chosen, edges and not _is_strong(key, related, chosen))
            for key in entries
            if key == chosen or (edges and key in shown)
        ],
        legend={"y": 1.035, "itemclick": False, "itemdoubleclick": False, "traceorder": "normal"},
        xaxis=kit.axis(
            None,
            [FIRST, LAST],
            fixed=True,
            tickvals=list(layout.years.values()),
            ticktext=[str(year) for year in layout.years],
            automargin=False,
            tickangle=0,
        ),
        yaxis=kit.axis(
            None,
            [layout.rows - 0.5, -0.5],
            fixed=True,
            grid=False,
            automargin=False,
            tickvals=[first + (count - 1) / 2 for first, count in layout.lanes.values()],
            ticktext=[names[lane] for lane in layout.lanes],
            tickfont={"color": "@ink", "size": 13},
        ),
    )
    return theme.build(data, figure_layout)


def _marks(
    family: str, layout: Timeline, shown: Collection[str], chosen: str | None, related: Collection[str], edges: bool
) -> dict[str, Any]:
    """The entries of one family; where lines may cross them, their labels are not among them but on top."""
    entries = milestones()
    keys = [key for key in entries if key in shown and entries[key].family == family]
    colour, symbol = LOOKS[family]
    strong = [not edges or _is_strong(key, related, chosen) for key in keys]
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": FAMILIES[family],
        "x": [round(layout.x[key], 4) for key in keys],
        "y": [layout.row[key] for key in keys],
        "text": ["" if edges or key == chosen else entries[key].name for key in keys],
        "textposition": "middle right",
        "cliponaxis": False,
        "showlegend": False,
        "textfont": {"size": 11, "color": "@ink"},
        "marker": {"size": 8, "color": colour, "symbol": symbol, "opacity": [1.0 if on else 0.35 for on in strong]},
        "customdata": keys,
        "hovertext": [_words(entries[key]) for key in keys],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _is_strong(key: str, related: Collection[str], chosen: str | None) -> bool:
    return key in related or key == chosen


def _label(key: str, layout: Timeline, is_chosen: bool, is_faint: bool) -> dict[str, Any]:
    """A name on a ground of its own, so that lines pass behind it; that of the chosen entry stands beside its ring."""
    name = milestones()[key].name
    return kit.note(
        f"<b>{name}</b>" if is_chosen else name,
        round(layout.x[key], 4),
        layout.row[key],
        "@muted" if is_faint else "@ink",
        size=11,
        xanchor="left",
        yanchor="middle",
        xshift=11 if is_chosen else 5,
        bgcolor="@paper/0.8",
        borderpad=0,
    )


def _legend(family: str) -> dict[str, Any]:
    """The family in the legend, which would else take the faintness of its first entry."""
    colour, symbol = LOOKS[family]
    return kit.dots([None], [None], colour, name=FAMILIES[family], size=8, symbol=symbol, showlegend=True)


def _words(entry: Milestone) -> str:
    lines = "<br>".join(textwrap.wrap(entry.brought, 60))
    return f"<b>{entry.year} {entry.name}</b><br>{entry.who}<br>{lines}<br>click for more"


def _faint(keys: Sequence[str], layout: Timeline) -> dict[str, Any]:
    return kit.dots(
        [round(layout.x[key], 4) for key in keys],
        [layout.row[key] for key in keys],
        "@muted",
        size=4,
        marker={"opacity": 0.5},
        hover=False,
        showlegend=False,
    )


def _ring(key: str, layout: Timeline) -> dict[str, Any]:
    return kit.dots(
        [round(layout.x[key], 4)],
        [layout.row[key]],
        "@accent",
        size=16,
        symbol="circle-open",
        marker={"line": {"width": 2.5}},
        hover=False,
        showlegend=False,
    )


def _edges(
    layout: Timeline, shown: Collection[str], related: Collection[str], chosen: str | None
) -> list[dict[str, Any]]:
    """From each entry to those that build on it: the chosen one's own firmly, those of its relatives less, the rest
    faintly."""
    entries = milestones()
    pairs = [(old, new) for new in entries for old in entries[new].after if new in shown and old in shown]
    own = [pair for pair in pairs if chosen in pair]
    near = [pair for pair in pairs if chosen not in pair and set(pair) <= set(related)]
    rest = [pair for pair in pairs if pair not in own and pair not in near]
    return [
        _curves(rest, layout, "@muted/0.12", 1.0),
        _curves(near, layout, "@muted/0.3", 1.0),
        _curves(own, layout, "@accent/0.9", 2.0),
    ]


def _curves(pairs: Sequence[tuple[str, str]], layout: Timeline, colour: str, width: float) -> dict[str, Any]:
    """S-shaped lines, all in one trace."""
    t = np.linspace(0, 1, STEPS)
    bend = t * t * (3 - 2 * t)
    x: list[float | None] = []
    y: list[float | None] = []
    for old, new in pairs:
        x += [*np.round(layout.x[old] + t * (layout.x[new] - layout.x[old]), 4).tolist(), None]
        y += [*np.round(layout.row[old] + bend * (layout.row[new] - layout.row[old]), 3).tolist(), None]
    return kit.line(x, y, colour, width=width, hover=False, showlegend=False, connectgaps=False)


def lengths_figure(length: SequenceLength, height: int) -> go.Figure:
    """How many tokens each kind of thing becomes, as bars on a logarithmic axis: the chosen one as it is cut now, the
    others as in the published models.

    A click on a bar carries customdata, the key.
    """
    values = [length.tokens if kind == length.kind else SEQUENCES[kind].published() for kind in KINDS]
    bars = kit.bars(
        values,
        list(range(len(KINDS))),
        ["@embedding" if kind == length.kind else "@muted/0.45" for kind in KINDS],
        hover="%{x:,} tokens",
        orientation="h",
        customdata=KINDS,
        text=[f"{value:,}" for value in values],
        textposition="outside",
        cliponaxis=False,
        textfont={"size": 12, "color": "@ink"},
    )
    names = {kind: SEQUENCES[kind].name for kind in KINDS} | {length.kind: f"<b>{SEQUENCES[length.kind].name}</b>"}
    labels = [f"{name}<br><span style='font-size:10px'>{SEQUENCES[kind].model}</span>" for kind, name in names.items()]
    layout = theme.base_layout(
        height,
        margin={"l": 124, "r": 48, "t": 8, "b": 44},
        bargap=0.3,
        showlegend=False,
        xaxis=kit.axis(
            "tokens",
            [0, 5.2],
            log=True,
            fixed=True,
            tickvals=[1, 10, 100, 1_000, 10_000, 100_000],
            ticktext=["1", "10", "100", "1 k", "10 k", "100 k"],
        ),
        yaxis=kit.axis(
            None,
            [len(KINDS) - 0.5, -0.5],
            fixed=True,
            grid=False,
            tickvals=list(range(len(KINDS))),
            ticktext=labels,
            automargin=False,
            tickfont={"color": "@ink", "size": 12},
        ),
    )
    return theme.build([bars], layout)
