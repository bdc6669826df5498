"""Input attribution: the tokens of a text with what each adds to a quantity, by several methods beside each other."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.figures import theme
from tfcore.figures.tokens import MOST_LABELS, SLANT, label_room, ticks


def attribution_bars(
    methods: Mapping[str, Float[ndarray, " token"]], labels: Sequence[str], unit: str, chosen: int, height: int
) -> go.Figure:
    """A bar a method for every token, all from one zero line.

    Args:
        methods: name -> what each token adds; NaN where it is not known yet.
        labels: of the tokens, safe for plotly.
        unit: of the numbers.
        chosen: the token that stands on a band.
    """
    places = list(range(len(labels)))
    every = np.stack(list(methods.values()))
    ends = min(0.0, float(np.nanmin(every))), max(0.1, float(np.nanmax(every)))
    room = 0.08 * (ends[1] - ends[0])
    bars: list[dict[str, Any]] = [
        {
            "type": "bar",
            "name": name,
            "x": places,
            "y": values.astype(np.float32),
            "marker": {"color": f"@cat{number}"},
            "customdata": list(labels),
            "hovertemplate": "'%{customdata}' (%{x}): %{y:+.2f} " + unit + "<extra>" + name + "</extra>",
        }
        for number, (name, values) in enumerate(methods.items())
    ]
    layout = theme.base_layout(
        height,
        barmode="group",
        bargap=0.25,
        bargroupgap=0.05,
        xaxis={
            **ticks(labels, 2 * MOST_LABELS),
            "range": [-0.6, len(labels) - 0.4],
            "tickangle": -SLANT,
            "fixedrange": True,
            "showgrid": False,
            "title": {"text": "token", "standoff": 4},
        },
        yaxis={
            "title": f"adds ({unit})",
            "range": [ends[0] - room, ends[1] + room],
            "zeroline": True,
            "zerolinecolor": "@muted",
            "fixedrange": True,
        },
        legend={"traceorder": "normal", "y": 1.06},
        margin={"t": 44, "r": 8, "b": label_room(labels, SLANT) + 26},
        shapes=[
            {
                "type": "rect",
                "x0": chosen - 0.5,
                "x1": chosen + 0.5,
                "y0": 0,
                "y1": 1,
                "yref": "paper",
                "layer": "below",
                "line": {"width": 0},
                "fillcolor": "@accent/0.12",
            }
        ],
    )
    return theme.build(bars, layout)
