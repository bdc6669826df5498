"""Circuits of two heads: composition scores, path patching, prefix matching and copying of every head."""

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.analysis.inside.circuits import Composition, PatchedRun
from tfcore.analysis.inside.induction_heads import HeadTests, Place
from tfcore.figures import theme

COLOURS = {"query": "@query", "key": "@key", "value": "@value"}
LETTER = {"query": "Q", "key": "K", "value": "V"}
NAMED = 4  # pairs of each kind that are labelled
PATCHED = {"none": "no patch", "query": "Q patched", "key": "K patched", "value": "V patched", "all": "heads ablated"}


def strips_figure(
    result: Composition, layer: int, senders: Collection[Place], receivers: Collection[Place], height: int
) -> go.Figure:
    """Every pair of a head of `layer` and one below it as a dot, a strip for Q, K and V; pairs of a sender (a
    previous-token head) and a receiver (an induction head) are filled, the rest is hollow.

    Args:
        height: in pixels.
    """
    data: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    for row, (kind, scores) in enumerate(result.scores.items()):
        places = [(int(head), (int(below), int(other))) for head, below, other in np.ndindex(scores.shape)]
        x = scores.ravel()
        y = row + _jitter(x)
        words = [f"{below}.{other} → {layer}.{head}" for head, (below, other) in places]
        circuit = [(layer, head) in receivers and wrote in senders for head, wrote in places]
        for chosen, symbol, size in ((False, "circle-open", 6), (True, "diamond", 12)):
            at = [i for i, is_circuit in enumerate(circuit) if is_circuit == chosen]
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers",
                    "x": x[at].astype(np.float32),
                    "y": y[at].astype(np.float32),
                    "text": [words[i] for i in at],
                    "showlegend": False,
                    "marker": {"symbol": symbol, "size": size, "color": COLOURS[kind]},
                    "hovertemplate": "%{text}: %{x:.3f}<extra>" + LETTER[kind] + "-composition</extra>",
                }
            )
        best = [i for i in np.argsort(-x)[:NAMED] if x[i] > result.random + 6 * result.spread]
        notes += [_name(float(x[i]), float(y[i]), words[i]) for i in best]
    top = max(float(scores.max()) for scores in result.scores.values())
    band = {
        "type": "rect",
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "x0": result.random - 2 * result.spread,
        "x1": result.random + 2 * result.spread,
        "fillcolor": "@muted/0.3",
        "line": {"width": 0},
        "layer": "below",
    }
    label = {
        "x": result.random,
        "yref": "paper",
        "y": 1,
        "yanchor": "bottom",
        "showarrow": False,
        "text": f"random matrices: {result.random:.3f}",
        "font": {"size": 12, "color": "@muted"},
    }
    layout = theme.base_layout(
        height,
        xaxis={"title": "composition score ‖A B‖ / (‖A‖ ‖B‖)", "range": [0, 1.32 * top]},
        yaxis={
            "tickvals": [0, 1, 2],
            "ticktext": [f"{LETTER[k]}-composition" for k in result.scores],
            "range": [2.5, -0.5],
            "showgrid": False,
        },
        shapes=[band],
        annotations=[label, *notes],
    )
    return theme.build(data, layout)


def _jitter(values: np.ndarray) -> np.ndarray:
    """How far each dot is moved up or down, so that dots do not lie on each other: by its rank in turn."""
    rank = np.argsort(np.argsort(values))
    return (rank * 4 % 9 - 4) / 4 * 0.36


def _name(x: float, y: float, words: str) -> dict[str, Any]:
    return {
        "x": x,
        "y": y,
        "text": words,
        "showarrow": False,
        "xanchor": "left",
        "xshift": 8,
        "font": {"size": 11, "color": "@ink"},
    }


def path_patching_figure(runs: Sequence[PatchedRun], uniform_loss: float, height: int) -> go.Figure:
    """Path patching: the receivers' induction weight and the loss on the second copy, a bar for each patched input.

    Args:
        uniform_loss: of a uniform guess, nats.
        height: in pixels.
    """
    names = [PATCHED[run.patched] for run in runs]
    colours = [COLOURS.get(run.patched, "@muted") for run in runs]
    panels = (([run.induction for run in runs], "", ".2f"), ([run.second_loss for run in runs], "2", ".2f"))
    data: list[dict[str, Any]] = [
        {
            "type": "bar",
            "orientation": "h",
            "x": values,
            "y": names,
            "xaxis": f"x{axis}",
            "yaxis": f"y{axis}",
            "marker": {"color": colours},
            "texttemplate": f"%{{x:{digits}}}",
            "textposition": "outside",
            "cliponaxis": False,
            "hovertemplate": f"%{{y}}: %{{x:{digits}}}<extra></extra>",
            "showlegend": False,
        }
        for values, axis, digits in panels
    ]
    top = 1.4 * max(uniform_loss, *(run.second_loss for run in runs))
    names_axis = {"autorange": "reversed", "showgrid": False, "fixedrange": True}
    line = {
        "type": "line",
        "xref": "x2",
        "yref": "paper",
        "x0": uniform_loss,
        "x1": uniform_loss,
        "y0": 0,
        "y1": 1,
        "line": {"color": "@muted", "width": 1, "dash": "dot"},
        "layer": "below",
    }
    note = {
        "xref": "x2",
        "x": uniform_loss,
        "yref": "paper",
        "y": 1,
        "yanchor": "bottom",
        "showarrow": False,
        "text": "uniform",
        "font": {"size": 11, "color": "@muted"},
    }
    layout = theme.base_layout(
        height,
        xaxis={"title": "induction weight", "range": [0, 1.2], "domain": [0, 0.43], "fixedrange": True},
        xaxis2={"title": "loss, second copy", "range": [0, top], "domain": [0.57, 1], "fixedrange": True},
        yaxis=names_axis,
        yaxis2={**names_axis, "anchor": "x2", "showticklabels": False},
        shapes=[line],
        annotations=[note],
        bargap=0.3,
    )
    return theme.build(data, layout)


def head_tests_figure(result: HeadTests, selected: Collection[Place], tokens: int, height: int) -> go.Figure:
    """Every head as a dot: prefix matching across, copying up.

    Args:
        selected: the heads that stand out and carry their names.
        tokens: of the text; a head that raises all of them alike has the copying score 2 / tokens - 1.
        height: in pixels.
    """
    places = [(int(layer), int(head)) for layer, head in np.ndindex(result.prefix.shape)]
    data: list[dict[str, Any]] = []
    for chosen in (False, True):
        some = [place for place in places if (place in selected) == chosen]
        data.append(
            {
                "type": "scatter",
                "mode": "markers",
                "showlegend": False,
                "x": [float(result.prefix[p]) for p in some],
                "y": [float(result.copying[p]) for p in some],
                "text": [f"head {p[0]}.{p[1]}" for p in some],
                "marker": {
                    "symbol": "diamond" if chosen else "circle-open",
                    "size": 12 if chosen else 8,
                    "color": "@attention",
                },
                "hovertemplate": "%{text}: prefix matching %{x:.2f}, copying %{y:.2f}<extra></extra>",
            }
        )
    uniform = 2 / max(tokens, 1) - 1
    low = min(-1.0, float(result.copying.min())) - 0.06
    high = max(0.0, float(result.copying.max())) + 0.15
    line = {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": uniform,
        "y1": uniform,
        "line": {"color": "@muted", "width": 1, "dash": "dot"},
        "layer": "below",
    }
    note = {
        "xref": "paper",
        "x": 1,
        "xanchor": "right",
        "y": uniform,
        "yanchor": "bottom",
        "showarrow": False,
        "text": f"raises all tokens alike: {uniform:.2f}",
        "font": {"size": 11, "color": "@muted"},
    }
    layout = theme.base_layout(
        height,
        xaxis={"title": "prefix matching: attends to the right token", "range": [-0.05, 1.08]},
        yaxis={"title": "copying: raises that token's logit", "range": [low, math.ceil(high * 10) / 10]},
        shapes=[line],
        annotations=[note, *_apart([p for p in places if p in selected], result)],
    )
    return theme.build(data, layout)


def _apart(selected: Sequence[Place], result: HeadTests) -> list[dict[str, Any]]:
    """Names of the heads, stacked beside the dots where those lie close together."""
    if not selected or len(selected) > 8:
        return []
    x, y = (float(np.mean([values[p] for p in selected])) for values in (result.prefix, result.copying))
    return [
        {
            "x": x,
            "y": y,
            "text": ", ".join(f"{p[0]}.{p[1]}" for p in selected),
            "showarrow": False,
            "xanchor": "center",
            "yshift": 20,
            "font": {"size": 12, "color": "@ink"},
        }
    ]
