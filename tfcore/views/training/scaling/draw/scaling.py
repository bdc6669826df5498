"""Figures of scaling laws: loss against size, data and compute, curves of equal compute, tokens per parameter."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.measures.quantities import power, round_count
from tfcore.views.training.scaling.measure.compute_budget import IsoFlops, Splits, Training
from tfcore.views.training.scaling.measure.law_curves import LawCurves

HIGHEST = 12.0  # nats: more than guessing blindly among a hundred thousand tokens
APART = 15.0  # pixels between two lines of words
TITLES = {"size": "parameters N", "data": "tokens D", "compute": "training operations C"}
RULE_LOOKS = [
    ("@cat4", "solid"),
    ("@cat2", "solid"),
    ("@cat3", "dash"),
    ("@cat1", "solid"),
    ("@cat1", "dot"),
    ("@cat0", "solid"),
]


def law_figure(curves: LawCurves, x: float, loss: float, height: int, *, above_floor: bool) -> go.Figure:
    """Loss against one quantity, one curve for each value of another, the chosen model marked.

    Args:
        curves: of a law.
        x, loss: of the chosen model.
        height: in pixels.
        above_floor: draw what is above the floor, where a power law is a straight line.
    """
    off = curves.floor if above_floor else 0.0
    letter, few = ("D", "tokens") if curves.against == "size" else ("N", "parameters")
    data = [
        _line(
            curves.x,
            _kept(values - off),
            f"{letter} = {round_count(held)}",
            _shade(i, len(curves.held)),
            f"%{{x:.3s}}: %{{y:.3f}} nats, {round_count(held)} {few}",
            width=2,
        )
        for i, (held, values) in enumerate(zip(curves.held, curves.loss, strict=True))
    ]
    if len(curves.best):
        data.append(
            _line(
                curves.x,
                _kept(curves.best - off),
                "best size of each budget",
                "@ink",
                "%{x:.2e}: %{y:.3f} nats at best",
                dash="dash",
            )
        )
    data.append(_mark(x, loss - off, "@accent", f"your model: {loss:.3f} nats"))
    for line in data[: len(curves.held)]:
        line["showlegend"] = False
    low, high = (0.01, 5.0) if above_floor else (1.4, 7.0)
    floor = [] if above_floor or not curves.floor else [kit.across(curves.floor, width=1, dash="dot")]
    notes = [_said(curves.floor, f"E = {curves.floor:.2f}")] if floor else []
    ends = [(float(line["y"][-1]), line["name"]) for line in data[: len(curves.held)]]
    notes += _names_at_the_end(ends, (low, high), height - 120)
    span = [math.log10(curves.x[0]), math.log10(curves.x[-1])]
    layout = theme.base_layout(
        height,
        xaxis=counts_axis(TITLES[curves.against], span),
        shapes=floor,
        annotations=notes,
        yaxis=loss_axis(low, high, "L − E, nats per token" if above_floor else "loss, nats per token"),
        margin={"t": 48, "r": 96},
    )
    return theme.build(data, layout)


def iso_flops_figure(curves: IsoFlops, chosen: int, other: Training, way: Sequence[Training], height: int) -> go.Figure:
    """Loss against size at fixed budgets, the bottom of each marked.

    Args:
        curves: of every budget.
        chosen: which of them is the person's.
        other: what Kaplan's rule would buy for the same budget, under this law.
        way: optima of growing budgets, the path through the bottoms.
        height: in pixels.
    """
    best = curves.best[chosen]
    data = []
    for i, (values, bottom) in enumerate(zip(curves.loss, curves.best, strict=True)):
        mine = i == chosen
        data.append(
            _line(
                curves.n,
                _kept(values),
                f"C = {power(bottom.flops)}",
                "@accent" if mine else "@muted",
                f"%{{x:.3s}} parameters: %{{y:.3f}} nats<extra>C = {power(bottom.flops)}</extra>",
                width=3.5 if mine else 1.5,
                legend=False,
            )
        )
    data.append(
        _line(
            np.array([t.n for t in way]),
            np.array([t.loss for t in way]),
            "best of every budget",
            "@ink",
            "%{x:.3s} parameters: %{y:.3f} nats",
            dash="dash",
        )
    )
    data += [
        _mark(other.n, min(other.loss, HIGHEST), "@cat4", "Kaplan's split", "diamond"),
        _mark(best.n, best.loss, "@accent", "your best split"),
    ]
    notes = [
        kit.note(
            power(t.flops), math.log10(t.n), math.log10(t.loss), xshift=8, yshift=9, xanchor="left", yanchor="middle"
        )
        for i, t in enumerate(curves.best)
        if i != chosen and abs(math.log10(t.flops / best.flops)) > 0.9
    ]
    notes.append(
        {
            "x": math.log10(best.n),
            "y": math.log10(best.loss),
            "ax": 0,
            "ay": 46,
            "showarrow": True,
            "arrowhead": 0,
            "arrowcolor": "@accent",
            "bgcolor": "@paper/0.9",
            "bordercolor": "@accent",
            "borderpad": 4,
            "text": f"<b>{round_count(best.n)}</b> on {round_count(best.d)} tokens",
            "font": {"size": 13, "color": "@ink"},
        }
    )
    layout = theme.base_layout(
        height,
        xaxis=counts_axis(TITLES["size"], [6.5, 13.5]),
        yaxis=loss_axis(1.6, 5.0),
        annotations=notes,
        margin={"t": 72},
    )
    return theme.build(data, layout)


def ratios_figure(rules: Sequence[Splits], flops: float, height: int) -> go.Figure:
    """Tokens per parameter against the budget, a line for each published rule."""
    data = [
        _line(rule.flops, rule.ratio, rule.name, colour, "C = %{x:.1e}: %{y:.3g} tokens per parameter", dash=dash)
        for rule, (colour, dash) in zip(rules, RULE_LOOKS, strict=True)
    ]
    span = [math.log10(rules[0].flops[0]), math.log10(rules[0].flops[-1])]
    twenty = kit.across(20.0, "@muted", width=1)
    named = kit.note("20 tokens per parameter", 1, math.log10(20), paper="x", xanchor="right", yanchor="top")
    here = kit.upright(flops, "@accent", width=1.5)
    layout = theme.base_layout(
        height,
        xaxis=counts_axis(TITLES["compute"], span),
        shapes=[twenty, here],
        annotations=[named],
        yaxis=kit.axis(
            "tokens per parameter",
            [-0.5, 3.3],
            log=True,
            fixed=True,
            tickvals=[1, 10, 20, 100, 1000],
            ticktext=["1", "10", "20", "100", "1,000"],
        ),
        legend={"y": -0.24, "yanchor": "top"},
        margin={"b": 150, "t": 12},
    )
    return theme.build(data, layout)


def counts_axis(title: str, span: Sequence[float], every: int | None = None) -> dict[str, Any]:
    """A logarithmic axis of counts; up to 10¹⁴ in words (1 M, 1 B), beyond as powers of ten."""
    low, high = math.ceil(span[0] - 1e-9), math.floor(span[1] + 1e-9)
    every = every or max(1, round((high - low) / 7))
    powers = range(low, high + 1, every)
    return kit.axis(
        title,
        list(span),
        log=True,
        fixed=True,
        tickvals=[10.0**p for p in powers],
        ticktext=[round_count(10.0**p) if high <= 15 else power(10.0**p) for p in powers],
    )


def loss_axis(low: float, high: float, title: str = "loss, nats per token") -> dict[str, Any]:
    """A logarithmic axis of losses with round numbers on it."""
    ticks = [t for t in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 1.5, 2, 2.5, 3, 4, 5, 7, 10) if low <= t <= high]
    return kit.axis(
        title,
        [math.log10(low), math.log10(high)],
        log=True,
        fixed=True,
        tickvals=ticks,
        ticktext=[f"{t:g}" for t in ticks],
    )


def _kept(loss: ndarray) -> ndarray:
    """Losses that a person would draw: no worse than blind guessing, and above zero."""
    return np.where((loss > 0) & (loss < HIGHEST), loss, np.nan)


def _shade(i: int, count: int) -> str:
    """Curves of one family: from faint to full."""
    return f"@cat0/{0.3 + 0.7 * (i + 1) / count:.2f}" if i + 1 < count else "@cat0"


def _line(
    x: ndarray,
    y: ndarray,
    name: str,
    colour: str,
    hover: str,
    *,
    width: float = 2.5,
    dash: str = "solid",
    legend: bool = True,
) -> dict[str, Any]:
    hover = hover if "<extra>" in hover else f"{hover}<extra>{name}</extra>"
    return kit.line(x, y, colour, name=name, width=width, dash=dash, showlegend=legend, hovertemplate=hover)


def _mark(x: float, y: float, colour: str, name: str, symbol: str = "circle") -> dict[str, Any]:
    return kit.dots(
        [x],
        [y],
        colour,
        name=name,
        size=12,
        symbol=symbol,
        marker={"line": {"color": "@paper", "width": 1.5}},
        hover=f"{round_count(x)}: {y:.3f}<extra>{name}</extra>",
    )


def _said(y: float, words: str) -> dict[str, Any]:
    """Words at the left end of a line across, on a logarithmic axis."""
    return kit.note(words, 0.01, math.log10(y), paper="x", xanchor="left", yanchor="top")


def _names_at_the_end(
    ends: Sequence[tuple[float, str]], span: tuple[float, float], pixels: float
) -> list[dict[str, Any]]:
    """Names of curves right of their ends, on a logarithmic axis, pushed apart where they would touch.

    Args:
        ends: of each curve its last value and its name.
        span: lowest and highest value of the axis.
        pixels: that the axis is high.
    """
    scale = pixels / math.log10(span[1] / span[0])
    last, notes = math.inf, []
    for y, name in sorted((end for end in ends if math.isfinite(end[0])), reverse=True):
        at = math.log10(min(max(y, span[0]), span[1])) * scale
        last = min(at, last - APART)
        notes.append(kit.note(name, 1, at / scale, "@ink", paper="x", xanchor="left", xshift=6, yshift=last - at))
    return notes
