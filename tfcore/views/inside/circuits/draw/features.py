"""Attribution graphs: tokens along the bottom, layers upward; a node's links; forecasts beside what was measured."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.measures.token_text import plotly_escape, shorten
from tfcore.views.inside.circuits.measure.diagram import Diagram, Links
from tfcore.views.inside.circuits.measure.effects import TakenOff
from tfcore.views.inside.circuits.measure.graph import EMBEDDING, ERROR, FEATURE, OUTPUT

RAISES, LOWERS = "@cat1", "@cat0"  # contributions above and below 0
ACROSS = 3  # nodes of a cell side by side; more begin another line
NODE = 26  # pixels: room of one node
LETTER = 7.3  # pixels: of a token
LEFT = 78  # pixels: left of the columns
WIDTHS = (0.7, 1.4, 2.6, 4.5)  # pixels: of the links, by their part in the influence
LEAST = (0.0, 0.03, 0.12, 0.3)  # of the largest, from which a link has that width
OPACITY = (0.22, 0.35, 0.5, 0.65)  # of these links
FAINT = 0.08  # of those that are not the selected node's
CURVE = 14  # points of a link
SMALLEST, LARGEST = 8, 26  # pixels: of a node
LARGE = 0.25  # of the largest effect of a feature, from which on an effect is written


@dataclass(frozen=True, slots=True)
class Places:
    """Where the nodes of a diagram are drawn.

    Args:
        x, y: of the nodes; x in pixels of a picture of width `width`, y in layers.
        columns: the middle of each token's column, in pixels.
        width: of all columns.
    """

    x: Float[ndarray, " node"]
    y: Float[ndarray, " node"]
    columns: Float[ndarray, " seq"]
    width: float


def place_nodes(diagram: Diagram, tokens: Sequence[str]) -> Places:
    """Columns as wide as their token and their nodes need; the nodes of one layer at one token side by side, those with
    the most influence in the middle line."""
    cells: dict[tuple[int, int], list[int]] = defaultdict(list)
    for node, cell in enumerate(zip(diagram.layer.tolist(), diagram.position.tolist(), strict=True)):
        cells[cell].append(node)
    across = np.ones(len(tokens))
    for (_, position), nodes in cells.items():
        across[position] = max(across[position], min(len(nodes), ACROSS))
    words = np.array([LETTER * len(token) + 8 for token in tokens])
    widths = np.maximum(across * NODE + 6, words)
    columns = np.cumsum(widths) - widths / 2
    x, y = np.zeros(len(diagram.layer)), np.zeros(len(diagram.layer))
    for (layer, position), nodes in cells.items():
        lines = -(-len(nodes) // ACROSS)
        for i, node in enumerate(nodes):
            line, place = divmod(i, ACROSS)
            count = min(ACROSS, len(nodes) - line * ACROSS)
            x[node] = columns[position] + (place - (count - 1) / 2) * NODE
            y[node] = layer + (line - (lines - 1) / 2) * min(0.3, 0.8 / lines)
    return Places(x, y, columns, float(widths.sum()))


def graph_width(diagram: Diagram, tokens: Sequence[str]) -> int:
    """Pixels below which the picture of a diagram scrolls sideways."""
    return int(place_nodes(diagram, tokens).width) + LEFT + 20


def node_place(diagram: Diagram, tokens: Sequence[str], node: int) -> int:
    """Pixels from the left at which a node is, in a picture of `graph_width`."""
    return int(place_nodes(diagram, tokens).x[node]) + LEFT


def graph_figure(diagram: Diagram, tokens: Sequence[str], selected: int | None, height: int) -> go.Figure:
    """A diagram: each node as large as its influence, each link as wide as its part in it; a click carries the node.

    Args:
        tokens: labels of the text's tokens, safe for plotly.
        selected: the node whose links stand out; None: all alike.
        height: in pixels.
    """
    places = place_nodes(diagram, tokens)
    data = [*_links(diagram, places, selected), *_nodes(diagram, places, selected)]
    n_layers = int(diagram.layer[-1])
    rows = ["tokens", *(f"layer {i}" for i in range(n_layers)), "output"]
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(
            None,
            [0, places.width],
            fixed=True,
            grid=False,
            tickvals=places.columns.astype(np.float32),
            ticktext=list(tokens),
            tickfont={"family": theme.MONO, "size": 12, "color": "@ink"},
            tickangle=0,
        ),
        yaxis=kit.axis(
            None,
            [-1.4, n_layers + 0.55],
            fixed=True,
            tickvals=list(range(-1, n_layers + 1)),
            ticktext=rows,
            gridcolor="@grid",
        ),
        margin={"l": LEFT, "r": 20, "t": 34, "b": 34},
        annotations=_words(diagram, places),
        showlegend=True,
    )
    return theme.build(data, layout)


def _links(diagram: Diagram, places: Places, selected: int | None) -> list[dict[str, Any]]:
    """One trace for each width and sign, those of the selected node last, so that they are on top."""
    targets, sources = np.nonzero(diagram.edges)
    order = np.argsort(diagram.strength[targets, sources], kind="stable")
    targets, sources = targets[order], sources[order]
    if not len(targets):
        return []
    share = diagram.strength[targets, sources] / diagram.strength.max()
    width = np.searchsorted(LEAST, share, side="right") - 1
    positive = diagram.edges[targets, sources] > 0
    own = np.ones(len(targets), bool) if selected is None else (targets == selected) | (sources == selected)
    traces = []
    for mine in (False, True):
        for size, pixels in enumerate(WIDTHS):
            for raises in (False, True):
                some = np.flatnonzero((own == mine) & (width == size) & (positive == raises))
                if len(some):
                    x, y = _curves(places, sources[some], targets[some])
                    opacity = FAINT if not mine else OPACITY[size] + (0.25 if selected is not None else 0)
                    line = {"width": pixels, "color": RAISES if raises else LOWERS, "shape": "linear"}
                    traces.append(kit.line(x, y, hover=False, line=line, opacity=opacity, showlegend=False))
    for name, role in (("raises", RAISES), ("lowers", LOWERS)):
        traces.append(kit.line([None], [None], role, name=name, width=3))
    return traces


def _curves(places: Places, sources: ndarray, targets: ndarray) -> tuple[ndarray, ndarray]:
    """Links that leave and arrive upright, with a gap after each."""
    t = np.linspace(0, 1, CURVE)
    bend = t * t * (3 - 2 * t)
    x = places.x[sources][:, None] + (places.x[targets] - places.x[sources])[:, None] * bend
    y = places.y[sources][:, None] + (places.y[targets] - places.y[sources])[:, None] * t
    gap = np.full((len(sources), 1), np.nan)
    x, y = (np.concatenate([one, gap], 1).ravel().astype(np.float32) for one in (x, y))
    return x, y


def _nodes(diagram: Diagram, places: Places, selected: int | None) -> list[dict[str, Any]]:
    """One trace for each kind of node; features that raise the output and those that lower it are two kinds."""
    raises = diagram.effects > 0
    kinds = [
        ("token embedding", diagram.kind == EMBEDDING, "@embedding", "square"),
        ("features that raise the output", (diagram.kind == FEATURE) & raises, RAISES, "circle"),
        ("features that lower it", (diagram.kind == FEATURE) & ~raises, LOWERS, "circle"),
        ("transcoder error", diagram.kind == ERROR, "@norm", "diamond-open"),
        ("output", diagram.kind == OUTPUT, "@accent", "square"),
    ]
    size = _sizes(diagram)
    traces = []
    for name, which, colour, symbol in kinds:
        some = np.flatnonzero(which)
        if not len(some):
            continue
        chosen = [int(node) == selected for node in some]
        frame = colour if symbol.endswith("open") else "@paper"
        traces.append(
            {
                "type": "scatter",
                "mode": "markers+text",
                "x": places.x[some].astype(np.float32),
                "y": places.y[some].astype(np.float32),
                "customdata": [int(node) for node in some],
                "text": [_count(diagram, int(node)) for node in some],
                "textfont": {"size": 11, "color": "@paper"},
                "hovertext": [diagram.hovers[node] for node in some],
                "hovertemplate": "%{hovertext}<extra></extra>",
                "name": name,
                "marker": {
                    "symbol": symbol,
                    "color": colour,
                    "opacity": 1,
                    "size": [round(float(size[node]), 1) for node in some],
                    "line": {
                        "color": ["@ink" if one else frame for one in chosen],
                        "width": [3 if one else 1.5 for one in chosen],
                    },
                },
            }
        )
    return traces


def _sizes(diagram: Diagram) -> Float[ndarray, " node"]:
    """Pixels: the area grows with the influence; a group has room for its number."""
    root = np.sqrt(diagram.influence / max(float(diagram.influence[diagram.kind != OUTPUT].max(initial=0)), 1e-10))
    size = SMALLEST + (LARGEST - SMALLEST) * np.minimum(root, 1)
    grouped = np.array([len(members) > 1 for members in diagram.members])
    sizes: Float[ndarray, " node"] = np.where(grouped, np.maximum(size, 17), size)
    return sizes


def _count(diagram: Diagram, node: int) -> str:
    """The number of members of a group."""
    count = len(diagram.members[node])
    return str(count) if count > 1 else ""


def _words(diagram: Diagram, places: Places) -> list[dict[str, Any]]:
    """Above the outputs what they are; above features what they promote, where their effect is large."""
    notes = []
    features = diagram.kind == FEATURE
    least = max(LARGE * float(np.abs(diagram.effects[features]).max(initial=0)), 1e-6)
    named: set[tuple[int, int]] = set()  # one effect a cell, the largest
    for node in np.argsort(-np.abs(diagram.effects), kind="stable").tolist():
        is_output = diagram.kind[node] == OUTPUT
        cell = int(diagram.layer[node]), int(diagram.position[node])
        if not is_output and (not features[node] or abs(diagram.effects[node]) < least or cell in named):
            continue
        named.add(cell)
        font = {"family": theme.MONO, "size": 13 if is_output else 11, "color": "@ink"}
        words = plotly_escape(shorten(diagram.labels[node], 16 if is_output else 9))
        place = {"x": float(places.x[node]), "y": float(places.y[node])}
        ground = {"bgcolor": "@paper/0.75", "borderpad": 1}
        notes.append({**place, **ground, "text": words, "showarrow": False, "yshift": 22, "font": font})
    return notes


def links_figure(incoming: Links, outgoing: Links, height: int) -> go.Figure:
    """Inputs of a node, and nodes that read it: contributions, the largest first, the rest in one bar.

    Args:
        height: in pixels.
    """
    data: list[dict[str, Any]] = []
    layout: dict[str, Any] = {}
    sides = [(incoming, "what it reads, by contribution"), (outgoing, "what reads it, by contribution")]
    sides = [side for side in sides if side[0].rows]
    for i, (links, title) in enumerate(sides):
        axis = str(i + 1) if i else ""
        domain = [0, 1] if len(sides) == 1 else [0.57 * i, 0.43 + 0.57 * i]
        values = [value for _, value in links.rows]
        rows = list(range(len(values)))
        data.append(
            kit.bars(
                [round(value, 4) for value in values],
                rows,
                [RAISES if value > 0 else LOWERS for value in values],
                hover="%{hovertext}: %{x:+.3f}",
                orientation="h",
                xaxis=f"x{axis}",
                yaxis=f"y{axis}",
                text=[f"{value:+.2f}" for value in values],
                textposition="outside",
                cliponaxis=False,
                textfont={"size": 11, "color": "@ink"},
                hovertext=[plotly_escape(name) for name, _ in links.rows],
                showlegend=False,
            )
        )
        reach = 1.35 * max([0.01, *(abs(value) for value in values)])
        low = -reach if min([0.0, *values]) < 0 else -0.02 * reach
        layout[f"xaxis{axis}"] = {
            "title": title,
            "range": [low, reach],
            "domain": domain,
            "fixedrange": True,
            "zeroline": True,
            "zerolinecolor": "@muted",
        }
        layout[f"yaxis{axis}"] = {
            "tickvals": rows,
            "ticktext": [plotly_escape(shorten(name, 34)) for name, _ in links.rows],
            "range": [max(len(rows), 4) - 0.4, -0.6],
            "fixedrange": True,
            "showgrid": False,
            "anchor": f"x{axis}",
        }
    return theme.build(data, theme.base_layout(height, margin={"t": 8, "l": 20}, bargap=0.25, **layout))


def forecast_figure(tested: TakenOff, names: Sequence[str], height: int) -> go.Figure:
    """Every feature that was taken off as two dots, the effect predicted across, the effects measured up: in the model
    as it is, and, hollow, with attention and the norms' scales as they were.

    Args:
        names: of the features.
        height: in pixels.
    """
    every = np.concatenate([tested.predicted, tested.measured, tested.frozen, [0.0]])
    ends = [float(every.min()), float(every.max())]
    room = 0.08 * max(ends[1] - ends[0], 0.1)
    limits = [ends[0] - room, ends[1] + room]
    dots = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": tested.predicted.astype(np.float32),
            "y": measured.astype(np.float32),
            "text": [plotly_escape(name) for name in names],
            "marker": marker,
            "hovertemplate": "%{text}: predicted %{x:+.3f}, measured %{y:+.3f} logits",
        }
        for name, measured, marker in (
            ("attention and norms held", tested.frozen, {"size": 9, "color": "@muted", "symbol": "circle-open"}),
            ("model as it is", tested.measured, {"size": 10, "color": "@feedforward", "opacity": 0.8}),
        )
    ]
    line = kit.stroke(limits[0], limits[1], limits[0], limits[1], "@muted", width=1, dash="dot", below=True)
    axis = {"range": limits, "zeroline": True, "zerolinecolor": "@muted", "fixedrange": True}
    layout = theme.base_layout(
        height,
        xaxis={**axis, "title": "predicted by the graph (logits)"},
        yaxis={**axis, "title": "measured in the real model (logits)"},
        shapes=[line],
        showlegend=True,
    )
    return theme.build(dots, layout)
