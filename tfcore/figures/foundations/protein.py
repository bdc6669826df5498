"""A picture of what a protein consists of."""

from collections.abc import Sequence

import plotly.graph_objects as go

from tfcore.figures import theme

# Of the groups, in their order; alike in the chips beside it.
COLOURS = ("@cat0", "@cat2", "@cat6", "@cat1", "@cat5")


def composition_figure(
    letters: Sequence[str], counts: Sequence[int], groups: Sequence[int], names: Sequence[str], height: int
) -> go.Figure:
    """How often each residue occurs, as bars coloured by group.

    Args:
        letters: the residues, in the order of the bars.
        counts: of each.
        groups: of each, a place in `names`.
        names: of the groups.
        height: in pixels.
    """
    traces = []
    for i, name in enumerate(names):
        mine = [place for place, group in enumerate(groups) if group == i]
        if mine:
            traces.append(
                {
                    "type": "bar",
                    "name": name,
                    "x": [letters[place] for place in mine],
                    "y": [counts[place] for place in mine],
                    "marker": {"color": COLOURS[i]},
                    "hovertemplate": "%{x}: %{y} times<extra></extra>",
                }
            )
    layout = theme.base_layout(
        height,
        xaxis={
            "title": "residue",
            "type": "category",
            "categoryorder": "array",
            "categoryarray": list(letters),
            "showgrid": False,
        },
        yaxis={"title": "times"},
        margin={"t": 52},
    )
    return theme.build(traces, layout)
