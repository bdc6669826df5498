"""Figures of over-training: what the same budget loses, and what training and inference cost together."""

import math

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.figures import theme
from tfcore.measures.quantities import round_count
from tfcore.views.training.scaling.measure.over_training import Lifetime

TICKS = [1, 10, 100, 1_000, 10_000]


def extra_loss_figure(
    ratios: Float[ndarray, " ratio"],
    extra: Float[ndarray, " ratio"],
    best: float,
    ratio: float,
    here: float,
    height: int,
) -> go.Figure:
    """Loss above the optimum of one budget against tokens per parameter.

    Args:
        ratios: tokens per parameter.
        extra: nats a token more than the best.
        best: the best ratio.
        ratio, here: the chosen ratio and its extra loss.
        height: in pixels.
    """
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": ratios,
            "y": extra,
            "line": {"color": "@cat0", "width": 2.5},
            "hovertemplate": "%{x:,.3g} tokens per parameter: +%{y:.4f} nats<extra></extra>",
            "showlegend": False,
        },
        {
            "type": "scatter",
            "mode": "markers",
            "x": [ratio],
            "y": [here],
            "showlegend": False,
            "marker": {"size": 12, "color": "@accent"},
            "hovertemplate": f"{ratio:,.3g}: +{here:.4f} nats<extra></extra>",
        },
    ]
    layout = theme.base_layout(
        height,
        xaxis=_ratio_axis(ratios),
        shapes=[_upright(best)],
        annotations=[_words(best, f"best: {best:.1f}")],
        yaxis={"title": "extra loss, nats", "range": [-0.01, 0.3], "fixedrange": True, "tickformat": ".2f"},
    )
    return theme.build(data, layout)


def lifetime_figure(life: Lifetime, at: float, height: int) -> go.Figure:
    """Operations of training and of inference against tokens per parameter, all at one loss, the cheapest marked.

    Args:
        life: models that reach the same loss.
        at: the chosen ratio.
        height: in pixels.
    """
    parts = (
        ("training", life.training, "@cat0", "dash"),
        ("inference", life.inference, "@cat1", "dot"),
        ("both", life.total, "@ink", "solid"),
    )
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x": life.ratio,
            "y": y,
            "customdata": life.n,
            "line": {"color": colour, "width": 2.5, "dash": dash},
            "hovertemplate": "%{x:,.3g} tokens per parameter (%{customdata:.3s} parameters): %{y:.2e}"
            f"<extra>{name}</extra>",
        }
        for name, y, colour, dash in parts
    ]
    i = life.cheapest
    data.append(
        {
            "type": "scatter",
            "mode": "markers",
            "x": [life.ratio[i]],
            "y": [life.total[i]],
            "name": "cheapest in all",
            "marker": {"size": 13, "color": "@cat2", "symbol": "star"},
            "hovertemplate": f"{life.ratio[i]:,.0f} tokens per parameter, {round_count(life.n[i])} parameters"
            "<extra>cheapest</extra>",
        }
    )
    low = math.log10(life.total.min()) - 1.5
    layout = theme.base_layout(
        height,
        xaxis=_ratio_axis(life.ratio),
        shapes=[_upright(at)],
        margin={"t": 44},
        yaxis={
            "type": "log",
            "title": "operations",
            "range": [low, low + 3.5],
            "fixedrange": True,
            "exponentformat": "power",
            "dtick": 1,
        },
    )
    return theme.build(data, layout)


def _ratio_axis(ratios: Float[ndarray, " ratio"]) -> dict[str, object]:
    return {
        "type": "log",
        "title": "tokens per parameter",
        "fixedrange": True,
        "tickvals": TICKS,
        "ticktext": [f"{r:,}" for r in TICKS],
        "range": [math.log10(ratios[0]), math.log10(ratios[-1])],
    }


def _upright(x: float) -> dict[str, object]:
    return {
        "type": "line",
        "x0": x,
        "x1": x,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "line": {"color": "@accent", "width": 1.5, "dash": "dot"},
    }


def _words(x: float, words: str) -> dict[str, object]:
    return {
        "x": math.log10(x),
        "yref": "paper",
        "y": 1,
        "yanchor": "top",
        "xanchor": "left",
        "xshift": 6,
        "text": words,
        "showarrow": False,
        "font": {"size": 12, "color": "@accent"},
    }
