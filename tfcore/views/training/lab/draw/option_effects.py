"""Pictures of what a choice in training changes: schedule, optimiser, decay, clipping, label smoothing, dropout."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.training.lab.curves import Curves
from tfcore.training.lab.options import Norms, Rates, Updates
from tfcore.views.training.lab.measure import Smoothing

HUES = {
    "adamw": "@cat0",
    "adam": "@cat1",
    "sgd": "@cat2",
    "sgd without momentum": "@cat3",
    "muon": "@cat4",
    "none": "@muted",
}
SIGNS = {
    "adamw": "circle",
    "adam": "diamond-open",
    "sgd": "square",
    "sgd without momentum": "square-open",
    "muon": "triangle-up",
}


def rates_figure(rates: Rates, names: dict[str, str], chosen: str, height: int) -> go.Figure:
    """The learning rate of every step under each schedule, the chosen one strong.

    Args:
        names: schedule -> label.
    """
    data = [
        kit.line(
            rates.step,
            values,
            "@position" if kind == chosen else "@muted",
            name=names[kind],
            width=3 if kind == chosen else 1.5,
            dash=("solid", "dash", "dot")[i],
            hovertemplate="step %{x}: %{y:.2e}<extra>" + names[kind] + "</extra>",
        )
        for i, (kind, values) in enumerate(rates.by_schedule.items())
    ]
    layout = theme.base_layout(
        height,
        margin={"t": 34, "b": 40},
        xaxis=kit.axis("training step", fixed=True),
        yaxis=kit.axis("learning rate", fixed=True, rangemode="tozero", exponentformat="e"),
    )
    return theme.build(data, layout)


def updates_figure(updates: Sequence[Updates], names: dict[str, str], height: int) -> go.Figure:
    """For every matrix: how large its gradient is, and how far one step moves it.

    Args:
        names: optimiser -> label.
    """
    data = [
        kit.dots(
            one.gradient.astype(np.float32),
            one.update.astype(np.float32),
            HUES[one.kind],
            name=names[one.kind],
            size=10,
            symbol=SIGNS[one.kind],
            marker={"opacity": 0.85},
            text=list(one.tensors),
            hovertemplate="%{text}: gradient %{x:.1e}, moved by %{y:.1e}<extra>" + names[one.kind] + "</extra>",
        )
        for one in updates
    ]
    axis = {"type": "log", "exponentformat": "power", "fixedrange": True, "dtick": 1}
    layout = theme.base_layout(
        height,
        margin={"t": 34, "b": 44},
        xaxis={**axis, "title": "size of a tensor's gradient (root mean square)"},
        yaxis={**axis, "title": "how far one step moves it"},
    )
    return theme.build(data, layout)


def weight_norms_figure(norms: Sequence[Norms], names: dict[str, str], height: int) -> go.Figure:
    """The norm of the weights that decay (solid) and of all others (dashed) after every step.

    Args:
        names: kind -> label.
    """
    data = []
    for one in norms:
        name = names[one.kind]
        for which, values, dash in (("matrices", one.decayed, "solid"), ("the rest", one.rest, "dash")):
            curve = _line(np.arange(len(values)), values.astype(np.float32), HUES[one.kind], f"{name}: {which}", dash)
            data.append(curve | {"name": name, "showlegend": which == "matrices"})
    return theme.build(data, _by_step("norm of the weights, 1 at first", height))


def _line(x: ndarray, y: ndarray, colour: str, name: str, dash: str) -> dict[str, Any]:
    """A curve over the steps; what is dashed is thinner."""
    return kit.line(
        x,
        y,
        colour,
        name=name,
        width=2.4 if dash == "solid" else 1.6,
        dash=dash,
        hovertemplate="step %{x}: %{y:.3f}<extra>" + name + "</extra>",
    )


def _by_step(title: str, height: int, top: int = 34) -> dict[str, Any]:
    """The layout of curves over the steps, from 0 up."""
    return theme.base_layout(
        height,
        margin={"t": top, "b": 40},
        xaxis=kit.axis("training step", fixed=True),
        yaxis=kit.axis(title, fixed=True, rangemode="tozero"),
    )


def clipping_figure(curves: Curves, clip: float, height: int) -> go.Figure:
    """The norm of every step's gradient, before and after clipping."""
    after = np.minimum(curves.norm, clip) if clip else curves.norm
    data = [
        kit.line(
            curves.step,
            values.astype(np.float32),
            colour,
            name=name,
            width=width,
            hovertemplate="step %{x}: %{y:.3f}<extra>" + name + "</extra>",
        )
        for name, values, colour, width in (
            ("before clipping", curves.norm, "@muted", 1.4),
            ("as used", after, "@query", 2.0),
        )
    ]
    return theme.build(data, _by_step("norm of the gradient", height))


def smoothing_figure(smoothed: Smoothing, height: int) -> go.Figure:
    """The loss against the probability of the right token: with smoothing it is lowest before 1, and never 0."""
    curves: list[dict[str, Any]] = [
        kit.line(
            smoothed.probability.astype(np.float32),
            values.astype(np.float32),
            colour,
            name=name,
            width=width,
            dash=dash,
            hovertemplate="right token %{x:.3f}: %{y:.2f} nats<extra>" + name + "</extra>",
        )
        for name, values, colour, width, dash in (
            ("no smoothing", smoothed.plain, "@muted", 1.8, "dash"),
            ("with smoothing", smoothed.loss, "@accent", 2.6, "solid"),
        )
    ]
    curves.append(
        {
            "type": "scatter",
            "mode": "markers+text",
            "x": [smoothed.best],
            "y": [smoothed.floor],
            "showlegend": False,
            "marker": {"size": 11, "color": "@accent"},
            "text": [f"floor {smoothed.floor:.2f}"],
            "textposition": "top left",
            "textfont": {"size": 12, "color": "@ink"},
            "hoverinfo": "skip",
        }
    )
    layout = theme.base_layout(
        height,
        margin={"t": 34, "b": 44},
        xaxis=kit.axis("probability given to the right token", [0, 1.01], fixed=True),
        yaxis=kit.axis("loss, nats", [0, 1.02 * float(smoothed.loss.max())], fixed=True),
    )
    return theme.build(curves, layout)


def gap_figure(runs: Sequence[tuple[str, Curves]], height: int) -> go.Figure:
    """Loss on rows trained on (dashed) and held out (solid), for runs that differ in dropout."""
    data = [
        _line(c.at, values, f"@cat{i}", f"{name}, {which}", dash)
        for i, (name, c) in enumerate(runs)
        for which, values, dash in (("held out", c.held_loss, "solid"), ("trained on", c.train_loss, "dash"))
    ]
    return theme.build(data, _by_step("loss, nats", height, top=56))
