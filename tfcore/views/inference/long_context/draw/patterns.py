"""Pictures of sparse attention: who reaches whom after how many layers, what it costs at any length, a real check."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Int
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.tokens import KEY, QUERY, hatch, ticks
from tfcore.views.inference.long_context.draw.cost import lengths_axis, powers_axis
from tfcore.views.inference.long_context.measure.patterns import MeasuredReach, Reach

FAINTEST = 0.25  # shade of what arrives through the last layer alone


def pattern_reach_figure(reach: Reach, height: int) -> go.Figure:
    """The mask as the darkest cells, and what more layers add to it in lighter and lighter ones."""
    needed, layers = reach.needed, len(reach.back)
    n = len(needed)
    never = needed == 0
    shade = 1 - (1 - FAINTEST) * (needed - 1) / max(layers - 1, 1)
    x, y = hatch(never)
    axis = {"range": [-0.5, n - 0.5], "showgrid": False, "fixedrange": True}
    places = [str(i) for i in range(n)]
    data = [
        kit.cells(
            np.where(never, np.nan, shade).astype(np.float32),
            "@seq:attention",
            0,
            1.15,
            hover="token %{x} reaches token %{y} in %{customdata} layer(s)",
            showscale=False,
            hoverongaps=False,
            customdata=needed.astype(np.uint8),
        ),
        kit.line(x, y, "@muted/0.5", width=1, hover=False, showlegend=False),
    ]
    layout = theme.base_layout(
        height,
        xaxis={**axis, **ticks(places, 9), "title": KEY},
        yaxis={**axis, **ticks(places, 9), "range": [n - 0.5, -0.5], "title": QUERY},
        margin={"t": 12},
    )
    return theme.build(data, layout)


def kept_pairs_figure(
    lengths: Sequence[int], pairs: Mapping[str, Int[ndarray, " length"]], chosen: str, at: int, height: int
) -> go.Figure:
    """Pairs kept against length, a line for each pattern, the chosen one thick.

    Args:
        pairs: name of the pattern -> pairs at each length.
        at: which length is marked.
    """
    n = np.array(lengths)
    data: list[dict[str, Any]] = []
    dashes = ("solid", "dash", "dot", "dashdot", "longdash")
    for i, (name, counts) in enumerate(pairs.items()):
        data.append(
            kit.line(
                n,
                counts.astype(np.float64),
                f"@cat{i}",
                name=name,
                width=4 if name == chosen else 1.5,
                dash=dashes[i % len(dashes)],
                hover=f"%{{x:,}} tokens: %{{y:,.0f}} pairs<extra>{name}</extra>",
            )
        )
    place = list(pairs).index(chosen)
    data.append(
        kit.dots(
            n[[at]], pairs[chosen][[at]].astype(np.float64), f"@cat{place}", size=11, hover=False, showlegend=False
        )
    )
    every = np.concatenate([counts.astype(np.float64) for counts in pairs.values()])
    layout = theme.base_layout(height, xaxis=lengths_axis(n), yaxis=powers_axis("pairs kept", every), margin={"t": 58})
    return theme.build(data, layout)


def measured_figure(measured: MeasuredReach, labels: Sequence[str], height: int) -> go.Figure:
    """Two rows of cells, one a token: where the pattern lets a change arrive, and where the model's outputs changed."""
    rows = np.stack([measured.expected, measured.changed])
    n = len(labels)
    names = ["the pattern says", "measured"]
    where = [[f"{label} ({i})" for i, label in enumerate(labels)]] * 2
    words = [["reached" if cell else "not reached" for cell in row] for row in rows]
    data = [
        kit.cells(
            rows.astype(np.uint8),
            [[0, "@muted/0.16"], [1, "@attention/0.75"]],
            0,
            1,
            hover="%{y}: %{customdata[0]} %{customdata[1]}",
            showscale=False,
            xgap=1,
            ygap=4,
            customdata=np.stack([where, words], axis=-1).tolist(),
        )
    ]
    mark = kit.box(measured.position - 0.5, measured.position + 0.5, -0.5, 1.5, edge="@ink", width=2)
    layout = theme.base_layout(
        height,
        xaxis={**ticks(labels, 40), "range": [-0.5, n - 0.5], "tickangle": -60, "showgrid": False, "fixedrange": True},
        yaxis=kit.axis(None, [1.6, -0.6], fixed=True, grid=False, tickvals=[0, 1], ticktext=names),
        shapes=[mark],
        margin={"t": 8},
    )
    return theme.build(data, layout)
