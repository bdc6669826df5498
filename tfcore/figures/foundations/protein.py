"""Figures: what a protein is made of."""

import plotly.graph_objects as go

from tfcore.analysis.foundations.protein import GROUPS, Composition
from tfcore.figures import theme

# Of the groups, in their order; alike in the chips beside it.
GROUP_COLOURS = ("@cat0", "@cat2", "@cat6", "@cat1", "@cat5")


def composition_figure(found: Composition, height: int) -> go.Figure:
    """How often each residue occurs, as bars coloured by group."""
    traces = []
    for i, name in enumerate(GROUPS):
        mine = [place for place, group in enumerate(found.groups) if group == i]
        if mine:
            traces.append(
                {
                    "type": "bar",
                    "name": name,
                    "x": [found.letters[place] for place in mine],
                    "y": [found.counts[place] for place in mine],
                    "marker": {"color": GROUP_COLOURS[i]},
                    "hovertemplate": "%{x}: %{y} times<extra></extra>",
                }
            )
    layout = theme.base_layout(
        height,
        xaxis={
            "title": "residue",
            "type": "category",
            "categoryorder": "array",
            "categoryarray": list(found.letters),
            "showgrid": False,
        },
        yaxis={"title": "times"},
        margin={"t": 52},
    )
    return theme.build(traces, layout)
