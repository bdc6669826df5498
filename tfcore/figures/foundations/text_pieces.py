"""A picture of how much text a token holds."""

from collections.abc import Sequence

import plotly.graph_objects as go

from tfcore.analysis.foundations.text_pieces import Density
from tfcore.figures import theme


def density_figure(found: Sequence[Density], chosen: str, height: int) -> go.Figure:
    """Characters per token of several texts as bars, the chosen one in full colour."""
    names = [one.name for one in found]
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": [one.per_token for one in found],
        "y": names,
        "marker": {"color": ["@embedding" if name == chosen else "@embedding/0.4" for name in names]},
        "text": [f"{one.per_token:.2f}" for one in found],
        "textposition": "outside",
        "cliponaxis": False,
        "customdata": [[one.characters, one.data_bytes, one.tokens] for one in found],
        "hovertemplate": "%{customdata[0]} characters, %{customdata[1]} bytes, %{customdata[2]} tokens<extra></extra>",
    }
    layout = theme.base_layout(
        height,
        xaxis={"title": "characters per token", "range": [0, 5.4], "dtick": 1},
        yaxis={"autorange": "reversed", "showgrid": False, "tickfont": {"size": 12, "color": "@ink"}},
        margin={"t": 8, "r": 36},
        bargap=0.3,
    )
    return theme.build([trace], layout)
