"""Pictures of heads over a distribution: all of them by two measures, and one of them closely."""

from collections.abc import Collection, Sequence
from html import unescape
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.theme import MONO
from tfcore.measures.atlas.atlas import Atlas, Measure
from tfcore.measures.atlas.search import Match, Near
from tfcore.measures.atlas.token_kinds import PARTITION
from tfcore.measures.heads.kinds import Place
from tfcore.measures.token_text import unisolated
from tfcore.views.inside.atlas.measure import ANY, Role, Standing, ordinal

Tool = Literal["select", "lasso"]
FAINT = 0.16  # opacity of heads that are not on the list
PALEST = 0.4  # of the range of layers: how far below the first the scale of colours begins, so that it can be seen
ROW = 26  # pixels of a row of a table of bars
HERE, USUAL = "@attention", "@muted"
LINE = 26  # pixels of a row of tokens
AROUND = 12  # pixels above and below all of them
WEIGHT_AT = 72.0  # pixels from the left, where the weight of an example stands
SIDE = 112.0  # pixels from the left, where its tokens begin
LETTERS = 12  # pixels, the size of letters
LETTER = 0.6 * LETTERS  # pixels, the width of one in the monospaced font
LEAST_SHARE = 0.01  # of a head's weight, here or usually, for a kind to have a row
WIDE = 1.8  # letters that a Chinese one is wide
GAP, SPACE = "⋯", "·"  # tokens that are left out; a space, as labels show it


def heads_figure(
    x: Float[ndarray, "layer head"],
    y: Float[ndarray, "layer head"],
    axes: tuple[Measure, Measure],
    kinds: ndarray | None,
    chosen: Collection[Place],
    picked: Place,
    tool: Tool,
    height: int,
) -> go.Figure:
    """A dot for each head; a click, a box and a lasso carry [layer, head].

    Args:
        axes: what x and y are.
        kinds: (layer, head), names of theme.HEAD_KINDS that colour the dots; None colours them by layer.
        chosen: heads on a list; the others are faint where there are some.
        picked: the head with a ring and its name.
        tool: what the pointer draws.
    """
    layers, heads = np.indices(x.shape).reshape(2, -1)
    listed = np.array([(int(layer), int(head)) in chosen for layer, head in zip(layers, heads, strict=True)])
    opacity = np.where(listed | (not chosen), 0.9, FAINT).astype(np.float32)
    hover = f"head %{{customdata[0]}}.%{{customdata[1]}}: {axes[0].title} %{{x:.3~g}}, {axes[1].title} %{{y:.3~g}}"
    if kinds is None:
        last = max(x.shape[0] - 1, 1)
        colours: dict[str, Any] = {
            "colorscale": "@seq:attention",
            "cmin": -PALEST * last,
            "cmax": last,
            "colorbar": kit.colour_bar(title={"text": "layer", "side": "top"}, tickvals=[0, last // 2, last], len=0.6),
            "showscale": True,
        }
        groups = [("", np.arange(len(layers)), {"color": layers.astype(np.float32), **colours})]
    else:
        named = [name for name in theme.HEAD_KINDS if (kinds == name).any()]
        flat = kinds.ravel()
        groups = [(name, np.flatnonzero(flat == name), {"color": _solid(theme.HEAD_KINDS[name])}) for name in named]
    traces = [
        kit.dots(
            x.ravel()[those].astype(np.float32),
            y.ravel()[those].astype(np.float32),
            name=name,
            hover=hover + (f"; {name}" if name else ""),
            customdata=[[int(layers[i]), int(heads[i])] for i in those],
            marker={
                **marker,
                **({"color": marker["color"][those]} if kinds is None else {}),
                "size": 9,
                "opacity": opacity[those],
                "line": {"width": 0.5, "color": "@paper"},
            },
            showlegend=bool(name),
        )
        for name, those, marker in groups
    ]
    if np.isfinite(x[picked]) and np.isfinite(y[picked]):
        traces.append(_ring(float(x[picked]), float(y[picked]), "{}.{}".format(*picked)))
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(_titled(axes[0]), _ends(x), fixed=True, zero=True),
        yaxis=kit.axis(_titled(axes[1]), _ends(y), fixed=True, zero=True),
        dragmode=tool,
        selectionrevision=f"{axes[0].title} {axes[1].title} {sorted(chosen)}",
        newselection={"line": {"color": "@accent", "width": 1.5, "dash": "dot"}},
        margin={"t": 8 if kinds is None else 34, "l": 62, "r": 8},
    )
    return theme.build(traces, layout)


def _solid(colour: str) -> str:
    """A role's colour without the opacity that areas of it have."""
    return colour.partition("/")[0]


def _ring(x: float, y: float, name: str) -> dict[str, Any]:
    """The ring around the head that is picked, and its name."""
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [x],
        "y": [y],
        "text": [f"<b>{name}</b>"],
        "textposition": "top center",
        "textfont": {"size": 13, "color": "@ink"},
        "cliponaxis": False,
        "hoverinfo": "skip",
        "showlegend": False,
        "marker": {"size": 17, "color": "@paper/0", "line": {"color": "@accent", "width": 3}},
    }


def _titled(measure: Measure) -> str:
    """The title of an axis."""
    return f"{measure.title} ({measure.unit})" if measure.unit else measure.title


def _ends(values: ndarray) -> list[float]:
    """The ends of an axis: the smallest and the largest value, with some room."""
    there = values[np.isfinite(values)]
    if not there.size:
        return [0.0, 1.0]
    low, high = float(there.min()), float(there.max())
    room = 0.06 * (high - low or 1.0)
    return [low - room, high + room]


# ---- the sheet of a head ----


def distances_figure(
    weights: Float[ndarray, " octave"],
    ahead: Float[ndarray, " octave"] | None,
    median: Float[ndarray, " octave"],
    labels: Sequence[str],
    height: int,
) -> go.Figure:
    """Bars of weight by distance, in octaves, and the median of all heads as a line.

    Args:
        weights: on keys at or before the query.
        ahead: on keys after it; None where there are none.
        median: of all heads, both ways together.
    """
    x = list(range(len(labels)))
    bars = [kit.bars(x, weights.astype(np.float32), HERE, name="before", hover=f"%{{x}} tokens back: {'%{y:.3f}'}")]
    if ahead is not None:
        bars.append(kit.bars(x, ahead.astype(np.float32), "@key", name="after", hover="%{x} tokens ahead: %{y:.3f}"))
    typical = kit.line(
        x, median.astype(np.float32), USUAL, name="median of all heads", width=2, dash="dot", hover="median %{y:.3f}"
    )
    top = 1.08 * max(0.05, float((weights + (0 if ahead is None else ahead)).max()), float(median.max()))
    layout = theme.base_layout(
        height,
        barmode="stack",
        bargap=0.25,
        xaxis=kit.axis("distance, tokens", fixed=True, grid=False, tickvals=x, ticktext=list(labels)),
        yaxis=kit.axis("weight", [0, top], fixed=True),
        margin={"t": 34, "l": 52, "r": 8},
        showlegend=True,
    )
    return theme.build([*bars, typical], layout)


def standing_figure(
    names: Sequence[str], values: Sequence[ndarray], said: Sequence[str], standings: Sequence[Standing]
) -> go.Figure:
    """A row for each measure: all heads as strokes between the smallest and the largest, and this one as a dot.

    Args:
        values: of all heads, in each row.
        said: the value of this one.
    """
    strokes_x, strokes_y, places, hovers = [], [], [], []
    for row, (all_heads, own) in enumerate(zip(values, standings, strict=True)):
        there = all_heads[np.isfinite(all_heads)]
        low, span = float(there.min()), float(np.ptp(there)) or 1.0
        strokes_x.append((there.ravel() - low) / span)
        strokes_y.append(np.full(there.size, row))
        places.append((own.value - low) / span)
        hovers.append(f"{names[row]}: {said[row]}; of all heads {low:.3g} to {low + span:.3g}")
    rows = list(range(len(names)))
    strokes = kit.dots(
        np.concatenate(strokes_x).astype(np.float32),
        np.concatenate(strokes_y).astype(np.float32),
        symbol="line-ns",
        size=12,
        marker={"line": {"width": 1.2, "color": "@muted/0.4"}},
        hover=False,
    )
    marks = kit.dots(places, rows, "@accent", size=12, hover="%{text}", text=hovers)
    notes = [
        kit.note(f"{value} · {ordinal(one.rank)}", 1.02, row, "@ink", paper="x", xanchor="left")
        for row, (value, one) in enumerate(zip(said, standings, strict=True))
    ]
    layout = theme.base_layout(
        14 + ROW * len(names),
        xaxis=kit.axis(None, [-0.03, 1.03], fixed=True, grid=False, showticklabels=False),
        yaxis=kit.axis(None, [len(names) - 0.4, -0.6], fixed=True, tickvals=rows, ticktext=list(names)),
        margin={"t": 6, "b": 8, "l": 8, "r": 104},
        showlegend=False,
        annotations=notes,
    )
    return theme.build([strokes, marks], layout)


def kinds_figure(atlas: Atlas, place: Place, shown: Sequence[int], height: int) -> go.Figure:
    """Weight from tokens of one kind on those of another beyond what the head's distances alone give.

    Args:
        shown: which kinds.
    """
    pick = np.ix_(shown, shown)
    weight, usual = (np.nan_to_num(pairs[place][pick]) for pairs in (atlas.pairs, atlas.by_position))
    beyond = weight - usual
    names = [atlas.kinds[i] for i in shown]
    limit = max(0.02, float(np.abs(beyond).max(initial=0)))
    cells = kit.cells(
        beyond.astype(np.float32),
        "@signed",
        -limit,
        limit,
        hover="from %{y} to %{x}: %{customdata[0]:.3f}, by distance alone %{customdata[1]:.3f}",
        customdata=np.stack((weight, usual), -1).round(4).tolist(),
        xgap=1,
        ygap=1,
        colorbar=kit.colour_bar(len=0.8, title={"text": "weight", "side": "top"}),
    )
    axis = {"showgrid": False, "fixedrange": True, "tickvals": list(range(len(names))), "ticktext": names}
    layout = theme.base_layout(
        height,
        xaxis={**axis, "title": "key token", "tickangle": -60, "range": [-0.5, len(names) - 0.5]},
        yaxis={**axis, "title": "query token", "range": [len(names) - 0.5, -0.5]},
        margin={"t": 8, "r": 8},
        shapes=[
            kit.stroke(-0.5, len(names) - 0.5, 0.5, 0.5, "@muted", width=1),
            kit.stroke(0.5, 0.5, -0.5, len(names) - 0.5, "@muted", width=1),
        ]
        if names[0] == ANY
        else [],
    )
    return theme.build([cells], layout)


def effect_figure(
    by_text: Float[ndarray, " text"],
    texts: Sequence[str],
    mean: float,
    interval: tuple[float, float],
    unit: str,
    height: int,
) -> go.Figure:
    """How the loss of each text changes without the head, smallest first, with the mean and its interval.

    Args:
        texts: how each begins, safe to show.
    """
    order = np.argsort(by_text, kind="stable")
    changes = by_text[order]
    bars = kit.bars(
        np.arange(len(order)),
        changes.astype(np.float32),
        np.where(changes > 0, "@cat1", "@cat0").tolist(),
        hover="%{y:+.4f} in “%{text}”",
        text=[texts[i] for i in order],
        textposition="none",
        marker={"line": {"width": 0}},
    )
    low, high = interval
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("texts, smallest change first", fixed=True, grid=False, showticklabels=False),
        yaxis=kit.axis(unit, fixed=True, zero=True),
        margin={"t": 10, "b": 34, "l": 64, "r": 8},
        bargap=0,
        shapes=[
            kit.box(0, 1, low, high, "@ink/0.14", width=0, paper="x"),
            kit.across(mean, "@ink", width=1.5, below=False),
        ],
        showlegend=False,
    )
    return theme.build([bars], layout)


def nearest_figure(found: Sequence[Near], height: int) -> go.Figure:
    """A bar for each of the nearest heads, the nearest first; a click carries [layer, head]."""
    names = [f"{one.layer}.{one.head}" for one in found]
    rows = list(range(len(found)))
    bars = kit.bars(
        np.array([one.distance for one in found], dtype=np.float32),
        rows,
        f"{HERE}/0.7",
        orientation="h",
        hover="head %{customdata[0]}.%{customdata[1]}: distance %{x:.3f}",
        customdata=[[one.layer, one.head] for one in found],
    )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("distance of behaviours", fixed=True, rangemode="tozero"),
        yaxis=kit.axis("head", [len(found) - 0.4, -0.6], fixed=True, grid=False, tickvals=rows, ticktext=names),
        margin={"t": 6, "l": 52, "r": 8},
        showlegend=False,
    )
    return theme.build([bars], layout)


def search_figure(found: Sequence[Match], picked: Place, height: int) -> go.Figure:
    """A row for each head: weight from kind to kind, and a ring at what its distances alone give; a click carries
    [layer, head]."""
    rows = list(range(len(found)))
    places = [[one.layer, one.head] for one in found]
    hover = "head %{customdata[0]}.%{customdata[1]}: "
    weight = np.array([one.weight for one in found], dtype=np.float32)
    usual = np.array([one.by_position for one in found], dtype=np.float32)
    top = max(0.05, float(weight.max(initial=0)), float(usual.max(initial=0)))
    traces = [
        kit.bars(
            weight - usual,
            rows,
            f"{HERE}/0.25",
            base=usual,
            orientation="h",
            width=0.34,
            hover=False,
            customdata=places,
            showlegend=False,
        ),
        kit.dots(
            usual,
            rows,
            "@paper",
            name="by its distances alone",
            size=11,
            hover=hover + "%{x:.3f} by its distances alone",
            customdata=places,
            marker={"line": {"color": USUAL, "width": 2}},
        ),
        kit.dots(weight, rows, HERE, name="weight", size=11, hover=hover + "weight %{x:.3f}", customdata=places),
    ]
    named = [f"{one.layer}.{one.head}" for one in found]
    marked = [f"<b>{name}</b>" if tuple(at) == picked else name for name, at in zip(named, places, strict=True)]
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("weight", [-0.02 * top, 1.08 * top], fixed=True),
        yaxis=kit.axis("head", [len(found) - 0.4, -0.6], fixed=True, tickvals=rows, ticktext=marked),
        margin={"t": 34, "l": 56, "r": 8},
        showlegend=True,
    )
    return theme.build(traces, layout)


def role_figure(role: Role, height: int) -> go.Figure:
    """For each kind of token the share of a head's weight off the sink: here, and as a hollow bar, usually."""
    most = np.maximum(role.here, role.usual)
    order = [i for i in np.argsort(-most, kind="stable") if most[i] >= LEAST_SHARE]
    rows = list(range(len(order)))
    names = [PARTITION[i] for i in order]
    here, usual = role.here[order].astype(np.float32), role.usual[order].astype(np.float32)
    traces = [
        kit.bars(
            usual,
            rows,
            "@paper",
            name="usually",
            orientation="h",
            width=0.8,
            hover="usually %{x:.0%} on a %{y}",
            marker={"line": {"color": USUAL, "width": 1.5}},
        ),
        kit.bars(here, rows, f"{HERE}/0.75", name="here", orientation="h", width=0.42, hover="here %{x:.0%}"),
    ]
    layout = theme.base_layout(
        height,
        barmode="overlay",
        xaxis=kit.axis(
            "share of its weight off the sink",
            [0, min(1.02, 1.08 * max(0.1, float(here.max(initial=0)), float(usual.max(initial=0))))],
            fixed=True,
            tickformat=".0%",
        ),
        yaxis=kit.axis(None, [len(rows) - 0.4, -0.6], fixed=True, grid=False, tickvals=rows, ticktext=names),
        margin={"t": 34, "l": 8, "r": 8},
        showlegend=True,
    )
    return theme.build(traces, layout)


# ---- examples ----


class ExampleRow(NamedTuple):
    """A line of the examples of a head.

    Args:
        tenth: of its activity, 10 for the most active.
        tokens: labels, safe to show; None where some are left out.
        query, key: places among them.
        weight: from the one on the other.
    """

    tenth: int
    tokens: tuple[str | None, ...]
    query: int
    key: int
    weight: float


def examples_figure(rows: Sequence[ExampleRow]) -> go.Figure:
    """A line of text for each example, its query token and its key token boxed; at the left the tenth and the
    weight."""
    notes, boxes = [], []
    for row, one in enumerate(rows):
        if row == 0 or rows[row - 1].tenth != one.tenth:
            notes.append(_in_row(f"{ordinal(one.tenth)} tenth", row, 0.0, "@muted"))
        notes.append(_in_row(f"{one.weight:.2f}", row, WEIGHT_AT, "@ink"))
        for text, start, role in _segments(one):
            notes.append(_in_row(text, row, SIDE + start * LETTER, "@ink" if role else "@muted", MONO))
            if role:
                boxes.append(_behind(text, row, SIDE + start * LETTER, role))
    height = AROUND + LINE * len(rows)
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(None, [0, 1], fixed=True, visible=False),
        yaxis=kit.axis(None, [len(rows) - 0.5, -0.5], fixed=True, visible=False),
        margin={"t": AROUND // 2, "b": AROUND // 2, "l": 4, "r": 4},
        showlegend=False,
        annotations=notes,
        shapes=boxes,
    )
    return theme.build([kit.dots([0], [0], "@paper/0", hover=False)], layout)


def examples_width(rows: Sequence[ExampleRow]) -> int:
    """The pixels that the longest example takes."""
    lengths = (start * LETTER + letters(text) * LETTER for row in rows for text, start, _ in _segments(row))
    return int(SIDE + max(lengths, default=0.0)) + 16


def _segments(row: ExampleRow) -> list[tuple[str, float, str]]:
    """An example in up to five pieces: text, the letter where it begins, and the role of the token that it is.

    A space before a token belongs to what stands before.
    """
    roles = {row.key: "@key", row.query: "@query"}
    pieces: list[tuple[str, float, str]] = []
    at = 0.0
    for place, token in enumerate(row.tokens):
        label, role = GAP if token is None else token, roles.get(place, "")
        bare = label[1:] if label.startswith(SPACE) and len(label) > 1 else label
        if len(bare) < len(label):
            at += 1
        text = bare if bare != SPACE else " "
        if pieces and not role and not pieces[-1][2]:
            before, start, _ = pieces[-1]
            pieces[-1] = (before + (" " if len(bare) < len(label) else "") + text, start, "")
        else:
            pieces.append((text, at, role))
        at += letters(bare)
    return pieces


def letters(label: str) -> float:
    """How many letters of the monospaced font a label is wide."""
    return sum((WIDE if ord(sign) > 0x2E80 else 1.0 for sign in unescape(unisolated(label))), 0.0)


def _in_row(text: str, row: int, left: float, colour: str, family: str | None = None) -> dict[str, Any]:
    """Words in a line, so many pixels from its left end."""
    return kit.note(
        text, 0, row, colour, size=LETTERS, family=family, xanchor="left", yanchor="middle", xshift=left, borderpad=0
    )


def _behind(text: str, row: int, left: float, role: str) -> dict[str, Any]:
    """The box around a token."""
    width = letters(text) * LETTER
    return {
        "type": "rect",
        "xsizemode": "pixel",
        "xanchor": 0,
        "x0": left,
        "x1": left + width + 4,
        "y0": row - 0.4,
        "y1": row + 0.4,
        "fillcolor": f"{role}/0.16",
        "line": {"color": role, "width": 1.5},
        "layer": "below",
    }
