"""Figures of preference tuning: reward against KL divergence, run by run, and one run step by step."""

from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.training.preference_runs import ALGORITHM_NAMES, ALGORITHMS, PreferenceRun
from tfcore.views.training.finetuning.measure.preference import reward_hacking

SYMBOLS = ("circle", "square")  # by algorithm, so that they differ without their colour


def frontier_figure(runs: Sequence[PreferenceRun], chosen: PreferenceRun, reward: str, height: int) -> go.Figure:
    """Mean reward against KL divergence at the end of each run, a line for each algorithm; the chosen run's way there.

    Args:
        runs: of one reward, and several betas; the line is that of seed 0, other seeds are small marks.
        chosen: drawn point by point, as far as it is.
        reward: the name of the reward, for the axis.
    """
    data = [_path(chosen)]
    for number, algorithm in enumerate(ALGORITHMS):
        own = sorted((run for run in runs if run.config.algorithm == algorithm), key=lambda run: -run.config.beta)
        if others := [run for run in own if run.config.seed]:
            data.append(_other_seeds(others, ALGORITHM_NAMES[algorithm], number))
        if first := [run for run in own if not run.config.seed]:
            data.append(_ladder(first, ALGORITHM_NAMES[algorithm], number))
    last = chosen.points[-1]
    data.append(
        kit.dots(
            [last.kl],
            [last.reward],
            "@accent/0",
            name=f"chosen: β = {chosen.config.beta:g}",
            size=20,
            marker={"line": {"color": "@accent", "width": 3}},
            hover=False,
        )
    )
    spread = max(point.kl for run in (*runs, chosen) for point in run.points)
    rewards = [point.reward for run in (*runs, chosen) for point in run.points]
    log = min(rewards) > 0 and max(rewards) > 10 * min(rewards)
    layout = theme.base_layout(
        height,
        margin={"t": 64},
        xaxis=kit.axis("KL divergence, nats per continuation", [-0.04 * spread, 1.08 * spread + 0.1], fixed=True),
        yaxis={"title": f"mean reward: {reward}", "fixedrange": True, **_scale(log)},
    )
    return theme.build(data, layout)


def _scale(log: bool) -> dict[str, Any]:
    """A linear axis, or a logarithmic one with ticks at 1, 2 and 5."""
    ticks = [digit * 10.0**power for power in range(-2, 3) for digit in (1, 2, 5)]
    return {"type": "log", "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]} if log else {}


def _path(run: PreferenceRun) -> dict[str, Any]:
    return kit.line(
        [point.kl for point in run.points],
        [point.reward for point in run.points],
        "@muted",
        name="its way there",
        width=1.5,
        dash="dot",
        hover="step %{customdata}: reward %{y:.2f}, KL %{x:.1f} nats",
        marks={"size": 5, "color": "@muted"},
        customdata=[point.step for point in run.points],
    )


def _other_seeds(runs: Sequence[PreferenceRun], name: str, number: int) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{name}, other seeds",
        "showlegend": False,  # the symbol and the colour are those of the line
        "x": [run.points[-1].kl for run in runs],
        "y": [run.points[-1].reward for run in runs],
        "customdata": [[run.config.beta, run.config.seed] for run in runs],
        "marker": {"size": 6, "symbol": SYMBOLS[number], "color": f"@cat{number}/0.5"},
        "hovertemplate": "β = %{customdata[0]}, seed %{customdata[1]}: reward %{y:.2f}, KL %{x:.1f} nats"
        f"<extra>{name}</extra>",
    }


def _ladder(runs: Sequence[PreferenceRun], name: str, number: int) -> dict[str, Any]:
    hacked = [reward_hacking(run).hacked for run in runs]
    colour = f"@cat{number}"
    rises = runs[-1].points[-1].reward > runs[0].points[-1].reward
    first, last = (
        ("bottom right", "top left") if rises else ("bottom center", "bottom center")
    )  # away from the line and other seeds
    return {
        "type": "scatter",
        "mode": "lines+markers+text",
        "name": name,
        "x": [run.points[-1].kl for run in runs],
        "y": [run.points[-1].reward for run in runs],
        "text": [f"β = {run.config.beta:g}" if run in (runs[0], runs[-1]) else "" for run in runs],
        "textposition": [first, *[first] * (len(runs) - 2), last][: len(runs)],
        "customdata": [run.config.beta for run in runs],
        "textfont": {"size": 12, "color": colour},
        "line": {"color": colour, "width": 2},
        "marker": {
            "size": 10,
            "symbol": [SYMBOLS[number] + ("" if one else "-open") for one in hacked],
            "color": colour,
            "line": {"color": colour, "width": 2},
        },
        "hovertemplate": f"β = %{{customdata}}: reward %{{y:.2f}}, KL %{{x:.1f}} nats<extra>{name}</extra>",
    }
