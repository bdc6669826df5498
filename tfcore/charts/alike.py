"""Charts of networks trained alike: their losses, and what is right by place."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.training.alike import Comparison, ComparisonEvaluation, Repeats

Against = Literal["steps", "seconds"]
AGAINST: dict[Against, str] = {"steps": "steps", "seconds": "seconds of the network's own steps"}
FEW = 24  # places that are all named on an axis


class NetworkStyle(NamedTuple):
    """The line of one network: its colour by role, the symbol of its marks, and its dashes."""

    colour: str
    symbol: str
    dash: str


def course_figure(compared: Comparison, against: Against, styles: Mapping[Any, NetworkStyle], height: int) -> go.Figure:
    """Held-out loss of each network, strong, and the loss of its batches, thin, against steps or seconds."""
    data: list[dict[str, Any]] = []
    for i, kind in enumerate(compared.config.kinds):
        name, style = compared.config.names[kind], styles[kind]
        x = [look.step for look in compared.looks] if against == "steps" else column(compared.looks, "seconds", i)
        unit = "%{x} steps" if against == "steps" else "%{x:.1f} s"
        held, batch = column(compared.looks, "held_out", i), column(compared.looks, "loss", i)
        strong = {"color": style.colour, "width": 3, "dash": style.dash}
        hover = f"{name}, {unit}"
        data.append(_curve(x, held, name, strong, f"{hover}: held-out loss %{{y:.3f}}"))
        thin = {"color": style.colour, "width": 1}
        data.append({**_curve(x, batch, f"{name}, batches", thin, f"{hover}: loss %{{y:.3f}}"), "showlegend": False})
    low = min(-3.0, *(float(np.log10(max(1e-6, y))) - 0.1 for trace in data for y in trace["y"]))
    last = compared.config.steps if against == "steps" else max(compared.last.seconds)
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(AGAINST[against], [0, last], fixed=True),
        yaxis=kit.axis(
            "loss (nats per token)",
            [low, 1.2],
            log=True,
            fixed=True,
            tickvals=[0.00001, 0.0001, 0.001, 0.01, 0.1, 1, 10],
            ticktext=["0.00001", "0.0001", "0.001", "0.01", "0.1", "1", "10"],
        ),
        margin={"t": 40, "l": 64},
    )
    return theme.build(data, layout)


def place_figure(
    compared: Comparison, repeats: Repeats | None, styles: Mapping[Any, NetworkStyle], axis: str, height: int
) -> go.Figure:
    """Share of right tokens of each network, by the distance or the place; bars from the lowest to the highest share
    of all seeds.

    Args:
        axis: what the places are.
    """
    names = compared.config.names
    data = [
        {
            **_curve(compared.places, shares, names[kind], {}, f"{names[kind]}, %{{x}}: %{{y:.0%}} right"),
            **_bars(repeats, i, shares, styles[kind].colour),
            "mode": "lines+markers",
            "line": {"color": styles[kind].colour, "width": 2, "dash": styles[kind].dash},
            "marker": {"color": styles[kind].colour, "size": 8, "symbol": styles[kind].symbol},
        }
        for i, (kind, shares) in enumerate(zip(compared.config.kinds, compared.last.by_place, strict=True))
    ]
    few = {"tickvals": list(compared.places)} if len(compared.places) <= FEW else {}
    layout = theme.base_layout(
        height,
        xaxis={
            "title": axis,
            "range": [compared.places[0] - 0.5, compared.places[-1] + 0.5],
            "fixedrange": True,
            **few,
        },
        yaxis=kit.axis("right tokens", [-0.03, 1.05], fixed=True, tickformat=".0%"),
        margin={"t": 40},
    )
    return theme.build(data, layout)


def _bars(repeats: Repeats | None, network: int, shares: Sequence[float], colour: str) -> dict[str, Any]:
    if repeats is None:
        return {}
    all_seeds = np.array([run[network] for run in repeats.by_place])
    up, down = all_seeds.max(0) - shares, shares - all_seeds.min(0)
    bars = {"type": "data", "symmetric": False, "array": up, "arrayminus": down, "thickness": 1.2, "width": 3}
    return {"error_y": {**bars, "color": colour}}


def column(looks: Sequence[ComparisonEvaluation], field: str, network: int) -> list[float]:
    """One number of one network, look by look."""
    return [getattr(look, field)[network] for look in looks]


def _curve(x: Any, y: Any, name: str, line: dict[str, Any], hover: str) -> dict[str, Any]:
    return kit.line(x, np.asarray(y, dtype=float), name=name, hover=hover, line=line)
