"""A circuit of heads as a graph of layers, and what is left of a quantity with so many edges."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.views.inside.circuits.measure.head_circuits import HeadCircuit
from tfcore.views.inside.circuits.measure.head_edges import Edge, Place

COLOURS = {"query": "@query", "key": "@key", "value": "@value"}
LETTER = {"query": "Q", "key": "K", "value": "V"}
ROW = 56  # pixels, of a layer where there are few
HIGHEST = 560  # pixels, of all layers
POINTS = 14  # of a line


def graph_height(n_layers: int) -> int:
    """The height of the graph of a model, in pixels, however many of its layers have a head in it."""
    return 110 + min(ROW * n_layers, HIGHEST)


def edges_figure(edges: Sequence[Edge], effects: Sequence[float], unit: str, height: int) -> go.Figure:
    """Heads as dots, a row for each layer that has one, the first below; an edge is a line in the colour of the input.

    A click on a head carries [layer, head].

    Args:
        edges, effects: drawn, and the fall when each is cut: the width of its line, dashed where it is below 0.
        height: in pixels.
    """
    places = _places(edges)
    layers = sorted({layer for layer, _ in places})
    largest = max(map(abs, effects), default=1.0) or 1.0
    traces: list[dict[str, Any]] = []
    seen: set[str] = set()
    for edge, effect in sorted(zip(edges, effects, strict=True), key=lambda pair: abs(pair[1])):
        (x0, y0), (x1, y1) = places[edge.sender], places[edge.receiver]
        t = np.linspace(0, 1, POINTS)
        smooth = 3 * t**2 - 2 * t**3
        traces.append(
            kit.line(
                (x0 + (x1 - x0) * smooth).astype(np.float32),
                (y0 + (y1 - y0) * t).astype(np.float32),
                COLOURS[edge.input],
                name=f"{LETTER[edge.input]}: into the {edge.input}",
                width=1.0 + 6.0 * abs(effect) / largest,
                dash="solid" if effect >= 0 else "dot",
                hover="%{text}",
                opacity=0.75,
                legendgroup=edge.input,
                legendrank=1 + list(COLOURS).index(edge.input),
                showlegend=edge.input not in seen,
                text=[f"{edge}: {effect:+.2f} {unit}"] * POINTS,
            )
        )
        seen.add(edge.input)
    total = dict.fromkeys(places, 0.0)
    for edge, effect in zip(edges, effects, strict=True):
        for place in (edge.sender, edge.receiver):
            total[place] += abs(effect)
    most = max(total.values(), default=1.0) or 1.0
    traces.append(
        {
            "type": "scatter",
            "mode": "markers+text",
            "x": np.array([places[place][0] for place in places], dtype=np.float32),
            "y": np.array([places[place][1] for place in places], dtype=np.float32),
            "text": [f"{layer}.{head}" for layer, head in places],
            "customdata": [list(place) for place in places],
            "textfont": {"size": 11, "color": "@ink"},
            "marker": {
                "size": [26 + 14 * total[place] / most for place in places],
                "color": "@paper",
                "opacity": 1.0,
                "line": {"color": "@attention", "width": 1.5},
            },
            "cliponaxis": False,
            "showlegend": False,
            "hovertemplate": "head %{text}: click to see where it attends<extra></extra>",
        }
    )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(None, [-0.06, 1.06], fixed=True, visible=False),
        yaxis=kit.axis(
            "layer",
            [-0.6, len(layers) - 0.4],
            fixed=True,
            grid=False,
            tickvals=list(range(len(layers))),
            ticktext=[str(layer) for layer in layers],
            zeroline=False,
        ),
        legend={"y": 1.05},
        margin={"l": 44, "r": 8, "t": 44, "b": 12},
        hovermode="closest",
    )
    return theme.build(traces, layout)


def _places(edges: Sequence[Edge]) -> dict[Place, tuple[float, float]]:
    """head -> x from 0 to 1 and y, the number of its row: each row is ordered by the middle of what its heads are
    joined to, so that lines cross less."""
    heads = sorted({place for edge in edges for place in (edge.sender, edge.receiver)})
    layers = sorted({layer for layer, _ in heads})
    x = {place: (place[1] + 0.5) / (1 + max(head for _, head in heads)) for place in heads}
    joined: dict[Place, list[Place]] = {place: [] for place in heads}
    for edge in edges:
        joined[edge.sender].append(edge.receiver)
        joined[edge.receiver].append(edge.sender)
    for turn in range(6):
        for layer in layers if turn % 2 else layers[::-1]:
            row = sorted(
                (place for place in heads if place[0] == layer),
                key=lambda place: (float(np.mean([x[other] for other in joined[place]])), place),
            )
            for i, place in enumerate(row):  # a lone head of every second row stands beside the middle
                shift = 0.0 if len(row) > 1 else 0.16 * (-1) ** layers.index(layer)
                x[place] = (i + 0.5) / len(row) + shift
    return {place: (x[place], float(layers.index(place[0]))) for place in heads}


def faithfulness_figure(circuit: HeadCircuit, count: int, unit: str, height: int) -> go.Figure:
    """The quantity with so many edges left; lines for the whole model and for none.

    Args:
        count: the point that is marked.
        height: in pixels.
    """
    at = np.arange(len(circuit.counts))
    chosen = circuit.counts.index(count)
    values = np.array(circuit.values, dtype=np.float32)
    curve = kit.line(
        at,
        values,
        "@attention",
        width=2,
        hover=f"%{{customdata}} edges: %{{y:.2f}} {unit}",
        marks={"size": [14 if i == chosen else 6 for i in at.tolist()], "color": "@attention"},
        customdata=list(circuit.counts),
        showlegend=False,
    )
    lines = [(circuit.whole, "whole model"), (circuit.values[0], "all edges cut")]
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(
            "edges left",
            fixed=True,
            grid=False,
            tickvals=at.tolist(),
            ticktext=[str(one) if i % 2 == 0 or i == chosen else "" for i, one in enumerate(circuit.counts)],
            tickangle=0,
        ),
        yaxis=kit.axis(unit, fixed=True),
        shapes=[kit.across(value, width=1, dash="dot", below=False) for value, _ in lines],
        annotations=[
            kit.note(
                f"{name}: {value:.2f}",
                side,
                value,
                size=11,
                paper="x",
                xanchor="right" if side else "left",
                yanchor="bottom",
            )
            for side, (value, name) in enumerate(lines)
        ],
        margin={"t": 24, "r": 10},
    )
    return theme.build([curve], layout)
