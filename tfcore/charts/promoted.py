"""Tokens that a part of a model raises and lowers, as bars."""

from collections.abc import Sequence

import plotly.graph_objects as go

from tfcore.charts import kit, theme

PROMOTED = "@feedforward"
SUPPRESSED = "@muted"


def promoted_figure(
    labels: Sequence[str],
    lift: Sequence[float],
    followed: str | None,
    height: int,
    *,
    up: str = PROMOTED,
    axis: str = "change of the logit",
    unit: str = "logits",
    room: float = 1.25,
) -> go.Figure:
    """The tokens whose logits a neuron (or another part of a model) raises most, and those it lowers most.

    Args:
        labels: of the tokens, from the most lifted to the most lowered; safe for plotly.
        lift: in logits.
        followed: the label of the token that comes next in the text, if it is among them: it gets an arrow.
        up: colour role of the lifted.
        axis: what the numbers are, and unit: theirs.
        room: of the axis, in lengths of the longest bar: a narrow figure needs more for the numbers.
    """
    places = list(range(len(labels)))
    names = [f"<b>{label}</b> ◂" if label == followed else label for label in labels]
    bars = kit.bars(
        [round(float(v), 4) for v in lift],
        places,
        [up if v > 0 else SUPPRESSED for v in lift],
        hover=f"'%{{customdata}}': %{{x:+.3f}} {unit}",
        orientation="h",
        text=[f"{v:+.2f}" for v in lift],
        textposition="outside",
        cliponaxis=False,
        textfont={"size": 11, "color": "@ink"},
        customdata=list(labels),
    )
    reach = room * max(0.01, *(abs(float(v)) for v in lift))
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(axis, [-reach, reach], fixed=True, zero=True),
        yaxis=kit.axis(
            fixed=True,
            grid=False,
            tickvals=places,
            ticktext=names,
            autorange="reversed",
            tickfont={"family": theme.MONO, "size": 12, "color": "@ink"},
        ),
        margin={"t": 8},
        bargap=0.25,
    )
    return theme.build([bars], layout)
