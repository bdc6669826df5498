"""Accuracy by the number of examples in the prompt, the heads that an answer depends on, and written steps."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.views.inside.in_context.measure.accuracy import AccuracyCurve, Interval, TaskAccuracy
from tfcore.views.inside.in_context.measure.heads import ScoredHeadEffects
from tfcore.views.inside.in_context.measure.steps import WAYS, Way
from tfcore.views.inside.in_context.measure.tasks import LABELS, Labels

HUES: dict[Labels, str] = {"right": "@head0", "random": "@head1", "order": "@head2"}
BAND = 0.18  # opacity of an interval
LABELLED = 6  # heads with their names in the figure


def accuracy_figure(accuracy: TaskAccuracy, chosen: Labels, examples: int, height: int) -> go.Figure:
    """A line for each kind of labels; the chosen one thick, with its interval and a ring at `examples`."""
    traces = [*_band(accuracy.curve(chosen)), *(_line(curve, curve.labels == chosen) for curve in accuracy.curves)]
    count = len(accuracy.curve(chosen).right) - 1
    spans = accuracy.curve(chosen).intervals
    guess: dict[str, Any] = kit.line(
        [0, count],
        [accuracy.guess, accuracy.guess],
        "@muted",
        name="guess",
        width=1.5,
        dash="dot",
        hover=f"a guess: {accuracy.guess:.1%}",
    )
    ring: dict[str, Any] = kit.dots(
        [examples],
        [spans[examples].share],
        "@paper",
        size=13,
        marker={"line": {"color": HUES[chosen], "width": 3}},
        hover=False,
        showlegend=False,
    )
    layout = theme.base_layout(
        height,
        margin={"l": 52, "r": 12, "t": 8, "b": 44},
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "itemclick": False},
        xaxis=kit.axis("examples in the prompt", [-0.5, count + 0.5], fixed=True, dtick=2),
        yaxis=kit.axis("right answers", [-0.03, 1.05], fixed=True, tickformat=".0%"),
    )
    return theme.build([guess, *traces, ring], layout)


def _band(curve: AccuracyCurve) -> list[dict[str, Any]]:
    """The interval around a line: its upper end, and its lower end filled up to it."""
    spans, hue = curve.intervals, HUES[curve.labels]
    plain: dict[str, Any] = {
        "type": "scatter",
        "mode": "lines",
        "x": list(range(len(spans))),
        "line": {"color": f"{hue}/{BAND}", "width": 0},
        "hoverinfo": "skip",
        "showlegend": False,
    }
    upper = {**plain, "y": np.array([one.high for one in spans], dtype=np.float32)}
    lower = {
        **plain,
        "y": np.array([one.low for one in spans], dtype=np.float32),
        "fill": "tonexty",
        "fillcolor": f"{hue}/{BAND}",
    }
    return [upper, lower]


def _line(curve: AccuracyCurve, chosen: bool) -> dict[str, Any]:
    spans, hue = curve.intervals, HUES[curve.labels]
    return kit.line(
        list(range(len(spans))),
        np.array([one.share for one in spans], dtype=np.float32),
        hue,
        name=LABELS[curve.labels],
        width=3 if chosen else 1.5,
        hover=f"labels {LABELS[curve.labels]}, %{{x}} examples: %{{y:.0%}} (%{{customdata}})",
        marks={"color": hue, "size": 6 if chosen else 4},
        customdata=[f"{one.low:.0%} to {one.high:.0%}" for one in spans],
    )


def heads_figure(effects: ScoredHeadEffects, height: int) -> go.Figure:
    """A dot for each head: its induction score, and the fall of the log-probability without it; the largest by name."""
    effect, score = effects.effect.ravel(), effects.score.ravel()
    heads = effects.effect.shape[1]
    largest = set(np.argsort(-np.abs(effect), kind="stable")[:LABELLED].tolist())
    right = set(sorted(largest, key=lambda place: score[place])[LABELLED // 2 :])  # so that names of neighbours part
    names = ["{}.{}".format(*divmod(place, heads)) for place in range(len(effect))]
    traces = [
        {
            "type": "scatter",
            "mode": "markers+text",
            "name": name,
            "x": score[kept].astype(np.float32),
            "y": effect[kept].astype(np.float32),
            "text": [names[place] if place in largest else "" for place in kept],
            "textposition": ["middle right" if place in right else "middle left" for place in kept],
            "textfont": {"color": "@ink", "size": 12},
            "cliponaxis": False,
            "customdata": [names[place] for place in kept],
            "marker": {
                "color": "@attention",
                "size": 8,
                "symbol": symbol,
                "line": {"color": "@attention", "width": 1.5},
            },
            "hovertemplate": "head %{customdata}: %{y:+.2f} nats, induction score %{x:.2f}<extra></extra>",
        }
        for name, symbol, kept in (
            ("estimate", "circle-open", np.flatnonzero(~effects.exact.ravel()).tolist()),
            ("exact", "circle", np.flatnonzero(effects.exact.ravel()).tolist()),
        )
        if kept
    ]
    room = 0.12 * max(float(np.ptp(effect)), 0.1)
    layout = theme.base_layout(
        height,
        margin={"l": 60, "r": 16, "t": 10, "b": 46},
        showlegend=True,
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "itemclick": False},
        xaxis=kit.axis("induction score", [-0.06, 1.06], fixed=True),
        yaxis=kit.axis(
            "fall of log-probability, nats",
            [min(0.0, float(effect.min())) - room, max(0.0, float(effect.max())) + room],
            fixed=True,
        ),
    )
    return theme.build(traces, layout)


def steps_figure(spans: tuple[Interval, Interval], chosen: Way, height: int) -> go.Figure:
    """A bar with its interval for each way to answer, in their order; the chosen one is filled."""
    hues = ["@head0" if way == chosen else "@head0/0.35" for way in WAYS]
    bars: dict[str, Any] = kit.bars(
        list(WAYS.values()),
        np.array([one.share for one in spans], dtype=np.float32),
        hues,
        hover="%{x}: %{y:.0%} (%{customdata})",
        width=0.5,
        customdata=[f"{one.low:.0%} to {one.high:.0%}" for one in spans],
        error_y={
            "type": "data",
            "symmetric": False,
            "array": np.array([one.high - one.share for one in spans], dtype=np.float32),
            "arrayminus": np.array([one.share - one.low for one in spans], dtype=np.float32),
            "color": "@ink",
            "thickness": 1.5,
        },
    )
    layout = theme.base_layout(
        height,
        margin={"l": 52, "r": 12, "t": 10, "b": 36},
        xaxis=kit.axis(fixed=True, grid=False),
        yaxis=kit.axis("right answers", [0, 1], fixed=True, tickformat=".0%"),
    )
    return theme.build([bars], layout)
