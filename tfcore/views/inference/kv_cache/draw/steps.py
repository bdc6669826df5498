"""Pictures of one text written with a KV cache and without: operations, time, and the cache as it grows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float, Shaped
from numpy import ndarray

from tfcore.charts import kit
from tfcore.charts.panels import heading
from tfcore.charts.ranges import round_up
from tfcore.charts.theme import base_layout, build
from tfcore.measures.quantities import scale
from tfcore.views.inference.kv_cache.measure.generation import LATENTS, ROTATED, STATES, BothWays, CacheWork

WITHOUT, WITH = ("without", "@cat1", "diamond"), ("with the cache", "@cat3", "circle")
PARTS = {  # of the cache
    "keys": "@key",
    "values": "@value",
    LATENTS: "@cat6",
    ROTATED: "@position",
    STATES: "@residual",
}
NEIGHBOURS = 9  # of which the line through the measured times is the median
PANELS = ((0.73, 0.95), (0.385, 0.605), (0.05, 0.27))  # heights of operations, time, memory


def steps_figure(work: CacheWork, steps: Sequence[BothWays], height: int) -> go.Figure:
    """Three panels over the length of the text, drawn as far as it is written; operations are known before."""
    done, x = len(steps), work.length
    power = 1e9 if work.without.max() >= 1e9 else 1e6
    size, unit = scale(float(work.held[-1]), "decimal")
    times = [np.array([step.without for step in steps]) * 1e3, np.array([step.with_cache for step in steps]) * 1e3]
    data: list[dict[str, Any]] = []
    flops = (work.without, work.with_cache)
    for (name, colour, symbol), flop, spent in zip((WITHOUT, WITH), flops, times, strict=True):
        data.append(_line(x, flop / power, name, f"{colour}/0.3"))
        data.append(_line(x[:done], flop[:done] / power, name, colour) | {"showlegend": True})
        data.append(
            kit.dots(
                x[:done],
                spent.astype(np.float32),
                f"{colour}/0.5",
                name=name,
                size=4,
                symbol=symbol,
                yaxis="y2",
                showlegend=False,
                hovertemplate="%{y:.1f} ms at %{x} tokens<extra>" + name + "</extra>",
            )
        )
        data.append(_line(x[:done], smoothed(spent), name, colour) | {"yaxis": "y2", "hoverinfo": "skip"})
    for name, held in work.parts.items():
        colour = PARTS[name]
        data.append(
            kit.bars(
                x[:done],
                (held[:done] / size).astype(np.float32),
                colour,
                name=name,
                marker={"line": {"width": 0}},
                hover=f"{name}: %{{y:.4g}} {unit} at %{{x}} tokens",
                yaxis="y3",
            )
        )
    slowest = round_up(float(np.quantile(np.concatenate(times), 0.95)) * 1.2) if done else 10.0
    largest = float(work.held[-1]) / size
    titles = (f"operations per step ({'G' if power == 1e9 else 'M'}FLOP)", "time per step (ms)", f"KV cache ({unit})")
    tops = (float(work.without.max()) / power * 1.06, slowest, largest * 1.06)
    axes = {
        f"yaxis{number}": {"domain": list(domain), "anchor": "x", "range": [0, top], "nticks": 5, "fixedrange": True}
        for number, domain, top in zip(("", "2", "3"), PANELS, tops, strict=True)
    }
    layout = base_layout(
        height,
        barmode="stack",
        bargap=0.12,
        legend={"y": 1.0, "traceorder": "normal"},
        margin={"l": 48, "t": 12, "b": 40},
        annotations=[heading(0.0, domain[1] + 0.005, title) for domain, title in zip(PANELS, titles, strict=True)],
        xaxis=kit.axis("sequence length", [x[0] - 0.7, x[-1] + 0.7], fixed=True, anchor="y3"),
        **axes,
    )
    return build(data, layout)


def smoothed(values: Float[ndarray, " step"]) -> Float[ndarray, " step"]:
    """The median of each value and its neighbours, fewer at the ends: what else the machine does is left out."""
    half = NEIGHBOURS // 2
    return np.array([np.median(values[max(0, i - half) : i + half + 1]) for i in range(len(values))])


def _line(x: Shaped[ndarray, " step"], y: Shaped[ndarray, " step"], name: str, colour: str) -> dict[str, Any]:
    return kit.line(
        x,
        y.astype(np.float32),
        colour,
        name=name,
        width=2.5,
        showlegend=False,
        hovertemplate="%{y:.3g} at %{x} tokens<extra>" + name + "</extra>",
    )
