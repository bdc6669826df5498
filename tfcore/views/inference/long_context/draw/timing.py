"""Pictures of a race between plain and fused attention: seconds and bytes against length, as they come in."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.views.inference.long_context.draw.cost import lengths_axis
from tfcore.views.inference.long_context.measure import timing
from tfcore.views.inference.long_context.measure.timing import Timed

STYLE = {"naive": ("plain", "@cat1", "diamond"), "fused": ("fused", "@cat0", "circle")}


def seconds_figure(points: Sequence[Timed], height: int) -> go.Figure:
    """The quickest run of each way at each length."""
    data = [
        _marks([(p.n, 1e3 * p.seconds) for p in points if p.way == way and p.runs], *style, "%{y:.3g} ms")
        for way, style in STYLE.items()
    ]
    return _panel(data, "milliseconds", (-1.3, 3.7), {-1: "0.1", 0: "1", 1: "10", 2: "100", 3: "1,000"}, height)


def bytes_figure(points: Sequence[Timed], height: int) -> go.Figure:
    """Bytes computed from the shapes as lines, what torch had allocated as marks."""
    data: list[dict[str, Any]] = []
    for way, (name, colour, symbol) in STYLE.items():
        mine = [p for p in points if p.way == way]
        line = _marks([(p.n, float(p.computed)) for p in mine], name, colour, symbol, "%{y:.3s}B computed")
        data.append({**line, "mode": "lines", "line": {"color": colour, "width": 2, "dash": "dash"}})
        known = [(p.n, float(p.measured)) for p in mine if p.measured]
        marks = _marks(known, name, colour, symbol, "%{y:.3s}B measured")
        data.append(marks | {"mode": "markers", "showlegend": False})
        out = [(p.n, float(p.computed)) for p in mine if not p.runs]
        if out:
            marks = _marks(out, name, colour, f"{symbol}-open", "would take %{y:.3s}B")
            data.append(marks | {"showlegend": False})
    names = {5: "100k", 6: "1M", 7: "10M", 8: "100M", 9: "1G"}
    return _panel(data, "bytes at once", (4.4, 9.9), names, height)


def _marks(points: Sequence[tuple[int, float]], name: str, colour: str, symbol: str, hover: str) -> dict[str, Any]:
    return kit.line(
        [n for n, _ in points],
        [y for _, y in points],
        colour,
        name=name,
        width=2,
        hover=f"%{{x:,}} tokens: {hover}<extra>{name}</extra>",
        marks={"color": colour, "size": 10, "symbol": symbol},
    )


def _panel(
    data: list[dict[str, Any]], title: str, span: tuple[float, float], names: dict[int, str], height: int
) -> go.Figure:
    """Logarithmic axes that stay as they are while points come in, unless one lies outside."""
    ys = [math.log10(y) for trace in data for y in trace["y"] if y > 0]
    low, high = min([span[0], *(y - 0.1 for y in ys)]), max([span[1], *(y + 0.1 for y in ys)])
    layout = theme.base_layout(
        height,
        xaxis=lengths_axis(np.array(timing.LENGTHS), 1),
        margin={"t": 60},
        yaxis=kit.axis(
            title, [low, high], log=True, fixed=True, tickvals=[10.0**p for p in names], ticktext=list(names.values())
        ),
    )
    return theme.build(data, layout)
