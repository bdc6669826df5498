"""Pictures of ring attention: devices in a circle with the keys and values they hold, and the work of each step."""

import math
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Int
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.views.inference.long_context.measure.ring import RingRun

RADIUS, OUTER, BEYOND = 1.2, 1.95, 2.4  # of queries, of keys and values, of the word under an idle device


def _place(device: int, devices: int, radius: float) -> tuple[float, float]:
    """Where a device stands: the first on top, then clockwise."""
    angle = math.pi / 2 - 2 * math.pi * device / devices
    return radius * math.cos(angle), radius * math.sin(angle)


def devices_figure(run: RingRun, step: int, height: int) -> go.Figure:
    """The ring at one step: inside the queries that stay, outside the keys and values that are here now.

    Args:
        step: which one, from 0.
    """
    devices = len(run.held)
    idle = run.work[step] == 0
    inner, outer = ([_place(i, devices, radius) for i in range(devices)] for radius in (RADIUS, OUTER))
    held, size = run.held[step], 42 if devices <= 5 else 34  # pixels
    touch_x = [x for i in range(devices) if not idle[i] for x in (inner[i][0], outer[i][0], None)]
    touch_y = [y for i in range(devices) if not idle[i] for y in (inner[i][1], outer[i][1], None)]
    data = [
        kit.line(touch_x, touch_y, "@ink", width=4, hover=False),
        _circles(
            inner,
            [f"Q{i}" for i in range(devices)],
            [f"@cat{i}" for i in range(devices)],
            size,
            "circle",
            [f"device {i}: its own queries stay" for i in range(devices)],
        ),
        _circles(
            outer,
            [f"KV{j}" for j in held],
            [f"@cat{j}/0.3" if idle[i] else f"@cat{j}" for i, j in enumerate(held)],
            size - 3,
            "square",
            [
                f"device {i} holds the keys and values of device {j}: {run.work[step, i]:,} pairs"
                for i, j in enumerate(held)
            ],
        ),
    ]
    notes = []
    for i in range(devices):
        (x0, y0), (x1, y1) = inner[i], inner[(i + 1) % devices]
        notes.append(
            {
                "x": x0 + 0.68 * (x1 - x0),
                "y": y0 + 0.68 * (y1 - y0),
                "ax": x0 + 0.32 * (x1 - x0),
                "ay": y0 + 0.32 * (y1 - y0),
                "axref": "x",
                "ayref": "y",
                "xref": "x",
                "yref": "y",
                "text": "",
                "showarrow": True,
                "arrowhead": 2,
                "arrowwidth": 2,
                "arrowcolor": "@muted",
            }
        )
        if idle[i]:
            x, y = _place(i, devices, BEYOND)
            notes.append(kit.note("idle", x, y, size=13))
    notes.append(kit.note(f"step {step + 1} of {devices}", 0, 0, "@ink", size=14))
    axis = {"visible": False, "fixedrange": True, "range": [-2.55, 2.55]}
    layout = theme.base_layout(
        height,
        xaxis={**axis, "scaleanchor": "y"},
        yaxis=axis,
        annotations=notes,
        showlegend=False,
        margin={"l": 4, "r": 4, "t": 4, "b": 4},
    )
    return theme.build(data, layout)


def _circles(
    places: list[tuple[float, float]], names: list[str], colours: list[str], size: int, symbol: str, hovers: list[str]
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers+text",
        "x": [x for x, _ in places],
        "y": [y for _, y in places],
        "text": names,
        "textposition": "middle center",
        "textfont": {"color": "@paper", "size": 13},
        "marker": {"color": colours, "size": size, "symbol": symbol},
        "customdata": hovers,
        "hovertemplate": "%{customdata}<extra></extra>",
    }


def meetings_figure(run: RingRun, step: int, height: int) -> go.Figure:
    """Queries of every device down, keys and values of every device across: when the two meet, and which have."""
    devices = len(run.held)
    when = np.zeros((devices, devices), dtype=np.int64)
    pairs = np.zeros_like(when)
    for at, row in enumerate(run.held):
        when[np.arange(devices), row] = at
        pairs[np.arange(devices), row] = run.work[at]
    shade = np.where(when > step, 0.0, np.where(when == step, 1.0, 0.4))
    words = [[str(w + 1) if p else "–" for w, p in zip(*line, strict=True)] for line in zip(when, pairs, strict=True)]
    names = [str(i) for i in range(devices)]
    data = [
        kit.cells(
            np.where(pairs == 0, 0.1, shade).astype(np.float32),
            [[0, "@muted/0.06"], [0.1, "@muted/0.16"], [0.4, "@attention/0.2"], [1, "@attention/0.6"]],
            0,
            1,
            hover="queries of %{y}, keys of %{x}: %{customdata:,} pairs",
            xgap=2,
            ygap=2,
            showscale=False,
            text=words,
            texttemplate="%{text}",
            textfont={"size": 13, "color": "@ink"},
            customdata=pairs,
        )
    ]
    axis = {"tickvals": list(range(devices)), "ticktext": names, "showgrid": False, "fixedrange": True}
    layout = theme.base_layout(
        height,
        xaxis={**axis, "side": "top", "title": "keys, values of device"},
        yaxis={**axis, "range": [devices - 0.5, -0.5], "title": "queries of device"},
        margin={"t": 52, "b": 6},
    )
    return theme.build(data, layout)


def work_figure(work: Int[ndarray, "step device"], step: int, top: int, height: int) -> go.Figure:
    """Pairs that every device computes at every step, as numbers in cells, the step at hand framed.

    Args:
        top: of the colours; the same for two layouts that are compared.
    """
    devices = len(work)
    slowest = work.max(axis=1)
    data = [
        kit.cells(
            work.T.astype(np.float32),
            "@seq:attention",
            0,
            1.3 * top,
            hover="device %{y}, step %{x}: %{z:,.0f} pairs",
            showscale=False,
            xgap=2,
            ygap=2,
            texttemplate="%{z:,.0f}",
            textfont={"size": 12},
        )
    ]
    frame = kit.box(step + 0.5, step + 1.5, -0.5, devices - 0.5, edge="@ink", width=2)
    data[0]["x"] = list(range(1, devices + 1))
    axis = {"showgrid": False, "fixedrange": True}
    layout = theme.base_layout(
        height,
        xaxis={
            **axis,
            "tickvals": list(range(1, devices + 1)),
            "title": "step; below it its slowest device",
            "ticktext": [f"{i + 1}<br>{pairs:,}" for i, pairs in enumerate(slowest)],
        },
        yaxis={**axis, "tickvals": list(range(devices)), "range": [devices - 0.5, -0.5], "title": "device"},
        shapes=[frame],
        margin={"t": 8},
    )
    return theme.build(data, layout)
