"""Bars of the next token's probabilities without and with edits."""

from collections.abc import Sequence

import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.charts.ghosts import LONG, bars_with_ghosts, both, numbers_beside

ROW, FRAME = 28, 100  # pixels of a token, and of what is around all of them


def before_after(
    labels: Sequence[str],
    before: Sequence[float],
    after: Sequence[float],
    names: tuple[str, str],
    what: str = "next token",
) -> go.Figure:
    """A bar per token, its probability with the edits, and behind it as an outline the one without them.

    Args:
        labels: of the tokens, safe for plotly, the most probable first.
        names: of the two in the legend.
        what: the probabilities are of.
    """
    places = list(range(len(labels)))
    layout = theme.base_layout(
        FRAME + ROW * len(labels),
        barmode="overlay",
        xaxis=kit.axis(
            f"probability of the {what}", [0, 1 + LONG], fixed=True, tickformat=".0%", tickvals=[0, 0.25, 0.5, 0.75, 1]
        ),
        yaxis=kit.axis(
            None,
            [len(places) - 0.4, -0.6],
            fixed=True,
            grid=False,
            tickvals=places,
            ticktext=list(labels),
            tickfont={"family": theme.MONO, "size": 12, "color": "@ink"},
        ),
        legend={"traceorder": "normal", "y": 1.03},
        margin={"t": 64, "r": 12},
    )
    bars = bars_with_ghosts(before, after, labels, "@residual", names=names, lying=True)
    numbers = numbers_beside(before, after, [both(was, now) for was, now in zip(before, after, strict=True)])
    return theme.build([*bars, numbers], layout)
