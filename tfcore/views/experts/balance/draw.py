"""A router in training: who gets the tokens, how even that is, what is lost, and what it does to the loss."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.views.experts.balance.measure import BalanceEvaluation

TICKS = [0.1, 0.2, 0.5, 1, 2, 5]
DARKEST = 50  # per cent of the letters from which on a field is as dark as can be: an even 12.5 must be seen
COLOURS = ("@cat1", "@cat0", "@cat2", "@cat3", "@cat5", "@cat7")  # of trainings, the first without a remedy
NARROW = 0.08  # share of the letters below which an expert's band has no name in it


@dataclass(frozen=True, slots=True)
class TrainingCurve:
    """One training in a figure of several.

    Args:
        name: in the legend.
        looks: until now.
        colour: its role.
    """

    name: str
    looks: Sequence[BalanceEvaluation]
    colour: str


def load_bands_figure(looks: Sequence[BalanceEvaluation], steps: int, height: int) -> go.Figure:
    """The share of the choices that each expert takes, one band on the other; on top what found its expert full.

    Args:
        looks: until now.
        steps: of the whole training, so that the axis stays while the bands grow.
        height: in pixels.
    """
    x = [look.step for look in looks]
    taken = 100 * np.array([look.load - look.refused for look in looks], dtype=np.float32)  # (look, expert)
    refused = 100 * np.array([look.refused.sum() for look in looks], dtype=np.float32)
    bands = [_band(f"expert {i + 1}", x, taken[:, i], f"@expert{i}", "") for i in range(taken.shape[1])]
    if refused.any():
        bands.append(_band("found no room", x, refused, "@muted", "/"))
    layout = _layout(height, steps)
    layout["annotations"] = _names(taken[-1], steps, x[-1])
    return theme.build(bands, layout)


def _band(name: str, x: list[int], y: Any, colour: str, pattern: str) -> dict[str, Any]:
    fill: dict[str, Any] = {"fillcolor": f"{colour}/0.72"}
    if pattern:
        fill = {"fillpattern": {"shape": pattern, "fgcolor": colour, "bgcolor": "@paper", "size": 6}}
    return {
        "type": "scatter",
        "mode": "lines",
        "stackgroup": "all",
        "name": name,
        "x": x,
        "y": y,
        **fill,
        "line": {"color": colour, "width": 0.6},
        "showlegend": False,
        "hovertemplate": f"step %{{x}}: %{{y:.0f}} % of the characters<extra>{name}</extra>",
    }


def _names(shares: Any, steps: int, x: int) -> list[dict[str, Any]]:
    """The share of each expert at the end of its band, where the band is wide enough."""
    middle = np.cumsum(shares) - shares / 2
    return [
        kit.note(
            f"expert {i + 1}: {share:.0f} %",
            x,
            float(middle[i]),
            "@ink",
            size=11,
            xanchor="right" if x > 0.4 * steps else "left",
            bgcolor="@paper/0.8",
            borderpad=1,
        )
        for i, share in enumerate(shares)
        if share > 100 * NARROW
    ]


def load_map_figure(looks: Sequence[BalanceEvaluation], steps: int, height: int) -> go.Figure:
    """The load as a heatmap: a row for each expert, a column for each look, darker where it gets more."""
    load = np.array([look.load for look in looks], dtype=np.float32).T  # (expert, look)
    field = kit.cells(
        100 * load,
        "@seq:feedforward",
        0,
        DARKEST,
        hover="step %{x}, expert %{y}: %{z:.0f} % of the characters",
        x=[look.step for look in looks],
        y=list(range(1, len(load) + 1)),
        ygap=2,
        showscale=False,
    )
    layout = _layout(height, steps)
    layout["yaxis"] |= {
        "range": [len(load) + 0.5, 0.5],
        "dtick": 1,
        "title": {"text": "expert"},
        "showgrid": False,
        "ticksuffix": "",
    }
    layout["annotations"] = [
        kit.note(f"{100 * share:.0f} %", 1, i + 1, "@ink", size=11, paper="x", xanchor="right", bgcolor="@paper/0.8")
        for i, share in enumerate(load[:, -1])
    ]
    return theme.build([field], layout)


def _layout(height: int, steps: int) -> dict[str, Any]:
    return theme.base_layout(
        height,
        xaxis=kit.axis("training step", [0, 1.01 * steps], fixed=True),
        yaxis=kit.axis("share of the characters", [0, 100], fixed=True, ticksuffix=" %"),
        margin={"t": 10, "r": 12},
    )


def curves_figure(curves: Sequence[TrainingCurve], steps: int, best: float, height: int) -> go.Figure:
    """Below each other, over the same steps: the largest load, the entropy, what no expert computes, and the loss.

    Args:
        curves: the trainings, the first of them without a remedy.
        steps: of the whole training.
        best: the lowest loss there can be.
        height: in pixels.
    """
    data = [trace for curve in curves for trace in _traces(curve)]
    losses = [loss for curve in curves for look in curve.looks for loss in (look.held_out, look.loss)]
    low, high = math.log10(0.85 * best), math.log10(1.1 * max(losses))
    axis: dict[str, Any] = {"fixedrange": True}
    share = {**axis, "range": [-3, 103], "ticksuffix": " %", "dtick": 50}
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("training step", [0, 1.01 * steps], fixed=True, anchor="y4"),
        yaxis={**share, "domain": [0.83, 0.97]},
        yaxis2={**axis, "range": [-0.03, 1.05], "dtick": 0.5, "domain": [0.62, 0.76]},
        yaxis3={**share, "domain": [0.41, 0.55]},
        yaxis4={**axis, "type": "log", "range": [low, high], "tickvals": TICKS, "domain": [0, 0.34]},
        legend={"y": 1.03},
        margin={"t": 90 if len(curves) > 2 else 40, "r": 52},
        shapes=[_even(y, place) for y, place in ((12.5, "y"), (1.0, "y2"), (best, "y4"))],
    )
    titles = (
        (0.97, "largest expert's share (dotted: an even one)"),
        (0.76, "entropy of the load / ln 8 (1: even)"),
        (0.55, "characters no expert takes (dashed: at capacity factor 1.25)"),
        (0.34, f"held-out loss (thin: in training; best: {best:.2f})"),
    )
    layout["annotations"] = [
        kit.note(words, 0, y, "@ink", paper="xy", xanchor="left", yanchor="bottom") for y, words in titles
    ]
    if len(curves) == 2:
        layout["annotations"] += _numbers(curves)
    return theme.build(data, layout)


def _numbers(curves: Sequence[TrainingCurve]) -> list[dict[str, Any]]:
    """The last numbers of two trainings, at the right of three panels."""
    lasts = [curve.looks[-1] for curve in curves]
    panels = (
        ("y", [100 * float(look.load.max()) for look in lasts], "{:.0f} %"),
        ("y2", [look.entropy for look in lasts], "{:.2f}"),
        ("y4", [math.log10(look.held_out) for look in lasts], "{:.2f}"),
    )
    return [
        kit.note(
            words.format(10**y if axis == "y4" else y),
            1,
            y,
            curve.colour,
            paper="x",
            xanchor="left",
            yref=axis,
            yanchor="bottom" if y > other else "top",
        )
        for axis, values, words in panels
        for curve, y, other in zip(curves, values, reversed(values), strict=True)
    ]


def _even(y: float, axis: str) -> dict[str, Any]:
    """A line at what would be best."""
    return kit.across(y, width=1, dash="dot", yref=axis)


def _traces(curve: TrainingCurve) -> list[dict[str, Any]]:
    """The five lines of one training, one in each panel and two for what is lost."""
    looks = curve.looks
    lines = (
        ("", [100 * float(look.load.max()) for look in looks], "solid", "largest share %{y:.0f} %"),
        ("2", [look.entropy for look in looks], "solid", "entropy %{y:.2f}"),
        ("3", [100 * look.lost for look in looks], "solid", "%{y:.0f} % without an expert"),
        ("3", [100 * look.overflow for look in looks], "dash", "%{y:.0f} % beyond room for 1.25"),
        ("4", [look.held_out for look in looks], "solid", "held-out loss %{y:.3f}"),
        ("4", [look.loss for look in looks], "dot", "training loss %{y:.3f}"),
    )
    return [
        kit.line(
            [look.step for look in looks],
            np.array(values, dtype=np.float32),
            curve.colour,
            name=curve.name,
            width=2.2 if dash == "solid" else 1.3,
            dash=dash,
            hover=f"step %{{x}}: {hover}<extra>{curve.name}</extra>",
            legendgroup=curve.name,
            showlegend=i == 0,
            yaxis=f"y{axis}",
        )
        for i, (axis, values, dash, hover) in enumerate(lines)
    ]
