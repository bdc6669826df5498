"""The likeliest tokens of a distribution, as bars."""

from collections.abc import Sequence

import plotly.graph_objects as go

from tfcore.figures import theme


def guesses_figure(labels: Sequence[str], chances: Sequence[float], chosen: str | None, height: int) -> go.Figure:
    """Tokens from the likeliest down, each with its probability.

    Args:
        labels: safe for plotly.
        chosen: the label that gets an arrow, if it is among them.
    """
    places = list(range(len(labels)))
    bars = {
        "type": "bar", "orientation": "h", "y": places, "x": [round(float(p), 4) for p in chances],
        "marker": {"color": ["@embedding" if label == chosen else "@embedding/0.45" for label in labels]},
        "text": [f"{p:.1%}" for p in chances], "textposition": "outside", "cliponaxis": False,
        "textfont": {"size": 11, "color": "@ink"}, "customdata": list(labels),
        "hovertemplate": "'%{customdata}': %{x:.2%}<extra></extra>",
    }  # fmt: skip
    names = [f"<b>{label}</b> ◂" if label == chosen else label for label in labels]
    layout = theme.base_layout(
        height,
        xaxis={"title": "probability", "range": [0, 1.14], "tickvals": [0, 0.5, 1], "tickformat": ".0%",
               "fixedrange": True},
        yaxis={"tickvals": places, "ticktext": names, "range": [len(places) - 0.4, -0.6], "fixedrange": True,
               "showgrid": False, "tickfont": {"family": theme.MONO, "size": 12, "color": "@ink"}},
        margin={"t": 8},
        bargap=0.25,
    )  # fmt: skip
    return theme.build([bars], layout)
