"""Pictures of a server's cache memory: where things lie over time, what share holds tokens, how many run at once."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit
from tfcore.charts.panels import heading
from tfcore.charts.theme import CATEGORIES, base_layout, build
from tfcore.views.inference.kv_cache.measure.paging import (
    FREE,
    LATER,
    NAMES,
    NEVER,
    NOBODY,
    SHORT,
    STRANDED,
    TOKEN,
    MemoryRun,
    Policy,
)

COLOURS: dict[Policy, str] = {"reserve": "@cat1", "exact": "@cat3", "paged": "@cat0"}
DASHES: dict[Policy, str] = {"reserve": "dot", "exact": "dash", "paged": "solid"}
STATES = {  # state: (name, colour)
    TOKEN: ("holds a token", "@cat0"),
    LATER: ("reserved for later tokens", "@cat0/0.35"),
    NEVER: ("never used (internal fragmentation)", "@cat1"),
    STRANDED: ("free, too scattered (external fragmentation)", "@cat3"),
    FREE: ("free", "@grid/0.5"),
}
GAP = 0.09  # between two panels, as a share of the height


def picture_figure(runs: Mapping[Policy, MemoryRun], height: int, *, by_request: bool) -> go.Figure:
    """The memory over time, a panel for each policy: slots from bottom to top, steps from left to right.

    Args:
        by_request: colour by whose slot it is instead of what is in it; a request keeps its colour.
    """
    data: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    notes = []
    last = max(run.steps for run in runs.values())
    tall = (1 - GAP * len(runs)) / len(runs)
    for i, (policy, run) in enumerate(runs.items()):
        number, top = str(i + 1) if i else "", 1 - GAP * 0.8 - i * (tall + GAP)
        data.append({**(_owners(run) if by_request else _states(run)), "xaxis": "x", "yaxis": f"y{number}"})
        axes[f"yaxis{number}"] = {
            "domain": [max(0.0, top - tall), top],
            "anchor": "x",
            "showgrid": False,
            "nticks": 3,
            "range": [0, run.slots],
            "fixedrange": True,
        }
        words = f": {run.share(TOKEN):.0%} holds tokens, {run.steps} steps"
        notes.append(heading(0.0, top + 0.004, words, bold=SHORT[policy]))
    if not by_request:
        data += [_key(name, colour) for name, colour in STATES.values()]
    layout = base_layout(
        height,
        annotations=notes,
        margin={"t": 8, "l": 50, "b": 100 if not by_request else 44},
        legend={"y": -0.09, "yanchor": "top"},
        xaxis=kit.axis(
            {"text": "step: every running request generates one token", "standoff": 4},
            [-0.5, last - 0.5],
            fixed=True,
            grid=False,
            anchor=f"y{len(runs)}",
        ),
        **axes,
    )
    return build(data, layout)


def _states(run: MemoryRun) -> dict[str, Any]:
    kinds = [STATES[kind] for kind in range(len(STATES))]
    edges = [i / len(kinds) for i in range(len(kinds) + 1)]
    stops = [[edges[i + side], colour] for i, (_, colour) in enumerate(kinds) for side in (0, 1)]
    names = np.array([name for name, _ in kinds])
    return _map(run) | {
        "z": run.picture,
        "zmin": -0.5,
        "zmax": len(kinds) - 0.5,
        "colorscale": stops,
        "hovertemplate": "step %{x}, about slot %{y}: %{z}<br>"
        + "<br>".join(f"{i}: {name}" for i, name in enumerate(names))
        + "<extra></extra>",
    }


def _owners(run: MemoryRun) -> dict[str, Any]:
    """Whose it is, as one of the colours; what holds no token yet is left out, so that it looks like waste."""
    colours = len(CATEGORIES)
    z = np.where(run.owners == NOBODY, 0, 1 + run.owners % colours).astype(np.uint8)
    z[run.picture != TOKEN] = np.where(run.owners[run.picture != TOKEN] == NOBODY, 0, colours + 1)
    kinds = ["@grid/0.5", *(f"@cat{i}" for i in range(colours)), "@muted/0.45"]
    stops = [[(i + side) / len(kinds), colour] for i, colour in enumerate(kinds) for side in (0, 1)]
    return _map(run) | {
        "z": z,
        "zmin": -0.5,
        "zmax": len(kinds) - 0.5,
        "colorscale": stops,
        "hovertemplate": "step %{x}, about slot %{y}<extra></extra>",
    }


def _map(run: MemoryRun) -> dict[str, Any]:
    part = run.slots / len(run.picture)
    every = run.steps / len(run.moments)
    return {"type": "heatmap", "x0": (every - 1) / 2, "dx": every, "y0": part / 2, "dy": part, "showscale": False}


def _key(name: str, colour: str) -> dict[str, Any]:
    """An entry of the legend for a colour of the maps."""
    return kit.dots([None], [None], colour, name=name, symbol="square", size=11)


def shares_figure(runs: Mapping[Policy, MemoryRun], height: int) -> go.Figure:
    """Each state's share of the memory that is taken or stranded, over the whole trace."""
    names = [SHORT[policy] for policy in runs]
    data = []
    for state in (TOKEN, LATER, NEVER, STRANDED):
        name, colour = STATES[state]
        shares = [run.share(state) for run in runs.values()]
        data.append(
            kit.bars(
                shares,
                names,
                colour,
                name=name,
                hover="%{x:.1%} " + name,
                orientation="h",
                text=[f"{share:.0%}" if share >= 0.06 else "" for share in shares],
                textposition="inside",
                insidetextanchor="middle",
                textfont={"size": 13, "color": _ink(state)},
                textangle=0,
            )
        )
    layout = base_layout(
        height,
        barmode="stack",
        bargap=0.35,
        margin={"t": 8, "b": 110},
        legend={"y": -0.2, "yanchor": "top", "traceorder": "normal"},
        xaxis=kit.axis(None, [0, 1], fixed=True, tickformat=".0%"),
        yaxis=kit.axis(fixed=True, autorange="reversed", tickfont={"size": 12, "color": "@ink"}),
    )
    return build(data, layout)


def _ink(state: int) -> str:
    return "@ink" if state == LATER else "@paper"


def crowd_figure(runs: Mapping[Policy, MemoryRun], height: int) -> go.Figure:
    """How many requests run at once, over time."""
    data = [
        {
            "type": "scatter",
            "mode": "lines",
            "x0": 0,
            "dx": 1,
            "y": run.running.astype(np.uint8),
            "name": SHORT[policy],
            "line": {"color": COLOURS[policy], "width": 2.2, "shape": "hv", "dash": DASHES[policy]},
            "hovertemplate": "%{y} at step %{x}<extra>" + NAMES[policy] + "</extra>",
        }
        for policy, run in runs.items()
    ]
    layout = base_layout(
        height,
        margin={"t": 8, "b": 110},
        legend={"y": -0.32, "yanchor": "top"},
        xaxis=kit.axis("step", fixed=True),
        yaxis=kit.axis("requests at once", fixed=True, rangemode="tozero"),
    )
    return build(data, layout)
