"""Figures of fine-tuning: the loss on the new text and on the old one, step by step, of one run beside others."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.training.finetuning_runs import METHODS, FineTuned, Losses

Text = Literal["new", "old"]
TITLES: dict[Text, str] = {
    "new": "loss on Romeo and Juliet, nats per token",
    "old": "loss on the old stories, nats per token",
}
DASHES = ("solid", "dash", "dot")  # by method, so that curves differ without their colour


def losses_figure(run: FineTuned, others: Sequence[FineTuned], text: Text, height: int) -> go.Figure:
    """The held-out loss on one text by step: the chosen run as a wide line, the kept ones as thin ones, one of each
    settings; at the end of each a bar from the lowest to the highest loss of all seeds.

    Args:
        run: the chosen run, as far as it is.
        others: beside it, with any seeds.
        text: which of the two losses.
    """
    shown = [*others, run]
    values = [_loss(losses, text) for one in shown for losses in one.losses]
    room = 0.08 * (max(values) - min(values)) + 0.05
    steps = max(run.config.steps, *(one.losses[-1].step for one in shown))
    firsts = {replace(other.config, seed=0): other for other in reversed(others)}  # one of each settings
    firsts.pop(replace(run.config, seed=0), None)
    data = [_curve(other, others, text, chosen=False) for other in reversed(firsts.values())]
    data.append(_curve(run, others, text, chosen=True))
    layout = theme.base_layout(
        height,
        margin={"t": 64},
        xaxis=kit.axis("training step", [0, 1.02 * steps], fixed=True),
        yaxis=kit.axis(TITLES[text], [min(values) - room, max(values) + room], fixed=True),
    )
    return theme.build(data, layout)


def _loss(losses: Losses, text: Text) -> float:
    return losses.new if text == "new" else losses.old


def _curve(run: FineTuned, others: Sequence[FineTuned], text: Text, *, chosen: bool) -> dict[str, Any]:
    number = METHODS.index(run.config.method)
    last = _loss(run.losses[-1], text)
    same = run.over_seeds(others) if run.has_ended else [run]
    seeds = [_loss(one.losses[-1], text) for one in same]
    before = [0.0] * (len(run.losses) - 1)
    return {
        "type": "scatter",
        "mode": "lines+markers" if chosen else "lines",
        "name": run.config.name,
        "x": [losses.step for losses in run.losses],
        "y": [_loss(losses, text) for losses in run.losses],
        "line": {"color": f"@cat{number}", "width": 3 if chosen else 1.2, "dash": DASHES[number]},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "array": [*before, max(0.0, max(seeds) - last)],
            "arrayminus": [*before, max(0.0, last - min(seeds))],
            "color": f"@cat{number}",
            "thickness": 1.2,
            "width": 0,  # without caps, which would stand at every point
        },
        "hovertemplate": f"step %{{x}}: %{{y:.3f}}<extra>{run.config.name}</extra>",
    }
