"""Pictures of one bump fitted to two: the curves, and the maps of both divergences."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.views.training.information.measure.kl_fit import FittedBump, KLFit

COVERING = "@cat0"
PICKING = "@cat1"
OWN = "@accent"
WORST = 6  # bits: the end of the maps' scale
LEVEL = 0.5  # bits from one contour to the next
SEEN = 7.0  # x to each side of 0: beyond, the two bumps have nothing left


def bumps_figure(result: KLFit, own: FittedBump, height: int) -> go.Figure:
    """The two bumps as an area, and over it what each divergence makes of one."""
    step = float(result.x[1] - result.x[0])

    def curve(fit: FittedBump) -> Any:
        heights = np.exp(-((result.x - fit.mean) ** 2) / (2 * fit.width**2))
        return (heights / heights.sum() / step).astype(np.float32)

    line = {"type": "scatter", "mode": "lines", "x": result.x.astype(np.float32), "hoverinfo": "skip"}
    data: list[dict[str, Any]] = [
        {
            **line,
            "y": (result.p / step).astype(np.float32),
            "name": "P: two bumps",
            "fill": "tozeroy",
            "fillcolor": "@muted/0.22",
            "line": {"color": "@muted", "width": 1.5},
        },
        {**line, "y": curve(result.covering), "name": "least KL(P‖Q)", "line": {"color": COVERING, "width": 3}},
        {**line, "y": curve(result.picking[0]), "name": "least KL(Q‖P)", "line": {"color": PICKING, "width": 3}},
        {**line, "y": curve(own), "name": "yours", "line": {"color": OWN, "width": 2, "dash": "dash"}},
    ]
    layout = theme.base_layout(
        height, margin={"t": 44}, xaxis=kit.axis("x", [-SEEN, SEEN]), yaxis=kit.axis("probability density", [0, 0.85])
    )
    return theme.build(data, layout)


def kl_maps_figure(result: KLFit, own: FittedBump, height: int) -> go.Figure:
    """Both divergences for every bump: pale is near; rings mark the minima, a cross your bump. A click sets it."""
    data: list[dict[str, Any]] = []
    for values, axis, name, role, fits in (
        (result.forward, "", "KL(P‖Q)", COVERING, (result.covering,)),
        (result.reverse, "2", "KL(Q‖P)", PICKING, result.picking),
    ):
        place = {"xaxis": f"x{axis}", "yaxis": f"y{axis}"}
        data += [
            {
                "type": "contour",
                **place,
                "x": result.means.astype(np.float32),
                "y": result.widths.astype(np.float32),
                "z": np.minimum(values, WORST + 1).astype(np.float32),
                "zmin": 0,
                "zmax": WORST,
                "zauto": False,
                "colorscale": "@seq:muted",
                "showscale": not axis,
                "autocontour": False,
                "contours": {"start": 0, "end": WORST, "size": LEVEL},
                "line": {"width": 0.6, "color": "@ink/0.35"},
                "colorbar": {
                    "thickness": 10,
                    "outlinewidth": 0,
                    "x": 1.0,
                    "title": {"text": "bits"},
                    "tickfont": {"size": 11, "color": "@muted"},
                },
                "hovertemplate": f"mean %{{x:.2f}}, width %{{y:.2f}}: {name} = %{{z:.2f}} bits<extra></extra>",
            },
            _marks(fits, place, {"symbol": "circle-open", "size": 13, "color": role, "line": {"width": 3.5}}),
            _marks((own,), place, {"symbol": "x", "size": 10, "color": OWN}),
        ]
    down = {"range": [float(result.widths[0]), float(result.widths[-1])], "title": "width of the bump"}
    across = {"range": [float(result.means[0]), float(result.means[-1])], "title": "mean of the bump"}
    notes = [
        kit.note(words, x, 1.01, role, size=13, paper="xy", yanchor="bottom")
        for x, words, role in ((0.225, "<b>KL(P‖Q)</b>", COVERING), (0.775, "<b>KL(Q‖P)</b>", PICKING))
    ]
    layout = theme.base_layout(
        height,
        showlegend=False,
        annotations=notes,
        margin={"r": 8},
        xaxis={**across, "domain": [0, 0.45]},
        xaxis2={**across, "domain": [0.55, 1], "anchor": "y2"},
        yaxis=down,
        yaxis2={**down, "title": "", "anchor": "x2"},
    )
    return theme.build(data, layout)


def _marks(fits: tuple[FittedBump, ...], place: dict[str, str], marker: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        **place,
        "x": [fit.mean for fit in fits],
        "y": [fit.width for fit in fits],
        "marker": marker,
        "hoverinfo": "skip",
    }
