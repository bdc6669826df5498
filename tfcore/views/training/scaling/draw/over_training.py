"""Figures of over-training: what the same budget loses, and what training and inference cost together."""

import math

import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
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
        kit.line(
            ratios, extra, "@cat0", width=2.5, hover="%{x:,.3g} tokens per parameter: +%{y:.4f} nats", showlegend=False
        ),
        kit.dots([ratio], [here], "@accent", size=12, hover=f"{ratio:,.3g}: +{here:.4f} nats", showlegend=False),
    ]
    layout = theme.base_layout(
        height,
        xaxis=_ratio_axis(ratios),
        shapes=[kit.upright(best, "@accent", width=1.5, dash="dot")],
        annotations=[_words(best, f"best: {best:.1f}")],
        yaxis=kit.axis("extra loss, nats", [-0.01, 0.3], fixed=True, tickformat=".2f"),
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
        kit.line(
            life.ratio,
            y,
            colour,
            name=name,
            width=2.5,
            dash=dash,
            hover=(
                f"%{{x:,.3g}} tokens per parameter (%{{customdata:.3s}} parameters): %{{y:.2e}}<extra>{name}</extra>"
            ),
            customdata=life.n,
        )
        for name, y, colour, dash in parts
    ]
    i = life.cheapest
    data.append(
        kit.dots(
            [life.ratio[i]],
            [life.total[i]],
            "@cat2",
            name="cheapest in all",
            size=13,
            symbol="star",
            hover=(
                f"{life.ratio[i]:,.0f} tokens per parameter, {round_count(life.n[i])} parameters<extra>cheapest</extra>"
            ),
        )
    )
    low = math.log10(life.total.min()) - 1.5
    layout = theme.base_layout(
        height,
        xaxis=_ratio_axis(life.ratio),
        shapes=[kit.upright(at, "@accent", width=1.5, dash="dot")],
        margin={"t": 44},
        yaxis=kit.axis("operations", [low, low + 3.5], log=True, fixed=True, exponentformat="power", dtick=1),
    )
    return theme.build(data, layout)


def _ratio_axis(ratios: Float[ndarray, " ratio"]) -> dict[str, object]:
    return kit.axis(
        "tokens per parameter",
        [math.log10(ratios[0]), math.log10(ratios[-1])],
        log=True,
        fixed=True,
        tickvals=TICKS,
        ticktext=[f"{r:,}" for r in TICKS],
    )


def _words(x: float, words: str) -> dict[str, object]:
    return kit.note(words, math.log10(x), 1, "@accent", paper="y", yanchor="top", xanchor="left", xshift=6)
