"""Pictures of an image, a sound, a series and a protein cut into tokens, and of what their length costs."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.heatmaps import heatmap
from tfcore.measures.flop_count import LengthCost
from tfcore.measures.token_counts import RATE, frame_count
from tfcore.views.foundations.tokens.measure.protein import GROUPS, ResidueCounts
from tfcore.views.foundations.tokens.measure.signal_tokens import AudioFrames, SeriesWindows

COLUMNS = 600  # of a spectrogram, beyond which neighbouring frames share one
CHOSEN = {"line": {"color": "@accent", "width": 3}}


def picture_figure(address: str, side: int, patch: int, at: int, height: int) -> go.Figure:
    """An image under the cuts between its patches, one of them framed; what fills no patch is veiled.

    Args:
        address: the image, as data:image/...
        side: of the image in pixels.
        patch: side of a patch.
        at: the framed patch.
        height: of the figure in pixels.
    """
    count = side // patch
    edges = patch * np.arange(count + 1) - 0.5
    end = float(edges[-1])
    cuts = {"type": "scatter", "mode": "lines", "hoverinfo": "skip", "line": {"color": "@paper", "width": _cut(count)}}
    x, y = _grid(edges)
    cells: dict[str, Any] = heatmap(
        np.arange(count * count, dtype=np.int32).reshape(count, count),
        "@seq:ink",
        0,
        1,
        "patch %{z}",
        x0=(patch - 1) / 2,
        dx=patch,
        y0=(patch - 1) / 2,
        dy=patch,
        opacity=0,
        showscale=False,
    )
    top, left = divmod(at, count)
    frame = {
        "type": "rect",
        "x0": left * patch - 0.5,
        "x1": (left + 1) * patch - 0.5,
        "y0": top * patch - 0.5,
        "y1": (top + 1) * patch - 0.5,
        **CHOSEN,
    }
    veil = {"type": "rect", "line": {"width": 0}, "fillcolor": "@paper/0.8"}
    rest = (
        [
            {**veil, "x0": end, "x1": side - 0.5, "y0": -0.5, "y1": side - 0.5},
            {**veil, "x0": -0.5, "x1": end, "y0": end, "y1": side - 0.5},
        ]
        if end < side - 0.5
        else []
    )
    axis = {"showgrid": False, "fixedrange": True, "showticklabels": False, "constrain": "domain"}
    layout = theme.base_layout(
        height,
        xaxis={**axis, "range": [-0.5, side - 0.5]},
        yaxis={**axis, "range": [side - 0.5, -0.5], "scaleanchor": "x"},
        images=[
            {
                "source": address,
                "xref": "x",
                "yref": "y",
                "x": -0.5,
                "y": -0.5,
                "sizex": side,
                "sizey": side,
                "sizing": "stretch",
                "layer": "below",
            }
        ],
        shapes=[*rest, frame],
        showlegend=False,
        margin={"l": 4, "r": 4, "t": 4, "b": 4},
    )
    return theme.build([cells, {**cuts, "x": x, "y": y}], layout)


def _cut(count: int) -> float:
    return 2.5 if count <= 32 else 1.5 if count <= 64 else 0.6


def _grid(edges: Float[ndarray, " edge"]) -> tuple[ndarray, ndarray]:
    """The inner lines of a square grid as one line with gaps."""
    low, high, inner = edges[0], edges[-1], edges[1:-1]
    ends = np.stack([np.full_like(inner, low), np.full_like(inner, high), np.full_like(inner, np.nan)], axis=1).ravel()
    along = np.stack([inner, inner, np.full_like(inner, np.nan)], axis=1).ravel()
    nothing = np.full(1, np.nan)
    pair = np.concatenate((ends, along, nothing)), np.concatenate((along, ends, nothing))
    return pair[0].astype(np.float32), pair[1].astype(np.float32)


def strip_figure(addresses: Sequence[str], first: int, at: int, height: int) -> go.Figure:
    """Patches in a row, as the sequence holds them, with their numbers."""
    n = len(addresses)
    axis = {"showgrid": False, "fixedrange": True}
    ticks = {"tickmode": "array", "tickvals": list(range(n)), "ticktext": [f"{first + i}" for i in range(n)]}
    images = [
        {
            "source": source,
            "xref": "x",
            "yref": "y",
            "x": i - 0.45,
            "y": 0.45,
            "sizex": 0.9,
            "sizey": 0.9,
            "sizing": "stretch",
            "layer": "below",
        }
        for i, source in enumerate(addresses)
    ]
    frame = {"type": "rect", "x0": at - first - 0.47, "x1": at - first + 0.47, "y0": -0.47, "y1": 0.47, **CHOSEN}
    layout = theme.base_layout(
        height,
        xaxis={**axis, **ticks, "range": [-0.6, n - 0.4], "title": "place in the sequence", "constrain": "domain"},
        yaxis={**axis, "range": [-0.5, 0.5], "showticklabels": False, "scaleanchor": "x", "constrain": "domain"},
        images=images,
        shapes=[frame],
        margin={"l": 4, "r": 4, "t": 4, "b": 40},
        showlegend=False,
    )
    nothing = {"type": "scatter", "x": [None], "y": [None], "hoverinfo": "skip"}
    return theme.build([nothing], layout)


def frames_figure(samples: Float[ndarray, " sample"], window: int, hop: int, at: int, height: int) -> go.Figure:
    """The wave around one frame, with the Hann windows of the frames there, which overlap.

    Args:
        samples: of the sound, 16,000 a second.
        window: samples in a frame.
        hop: samples from one frame to the next.
        at: the frame.
        height: in pixels.
    """
    centre = at * hop
    reach = max(3 * hop + window, 200)
    low, high = max(0, centre - reach), min(len(samples), centre + reach)
    step = max(1, (high - low) // 1500)
    time = 1000 * np.arange(low, high, step, dtype=np.float32) / RATE
    wave = samples[low:high:step]
    loudest = max(float(np.abs(wave).max(initial=0)), 1e-3)
    line = kit.line(time, (wave / loudest).astype(np.float32), "@ink", name="wave", width=1, hover="%{x:.1f} ms")
    near = [f for f in range(at - 2, at + 3) if 0 <= f < frame_count(len(samples), hop)]
    hats = [_hat(f, window, hop, chosen=f == at) for f in near]
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("time (ms)", [1000 * (centre - reach) / RATE, 1000 * (centre + reach) / RATE]),
        yaxis=kit.axis("pressure, loudest = 1", [-1.15, 1.25]),
        showlegend=False,
        margin={"t": 8},
    )
    return theme.build([line, *hats], layout)


def _hat(frame: int, window: int, hop: int, *, chosen: bool) -> dict[str, Any]:
    """The window of one frame: how much each sample counts in it."""
    t = np.linspace(-0.5, 0.5, 41, dtype=np.float32)
    time = 1000 * (frame * hop + t * window) / RATE
    strength = (np.cos(np.pi * t) ** 2).astype(np.float32)
    style = {"color": "@accent", "width": 3} if chosen else {"color": "@embedding", "width": 1.5}
    fill = {"fill": "tozeroy", "fillcolor": "@accent/0.15"} if chosen else {}
    return {
        "type": "scatter",
        "mode": "lines",
        "x": time.astype(np.float32),
        "y": strength,
        "line": style,
        **fill,
        "name": f"frame {frame}",
        "hovertemplate": f"frame {frame}<extra></extra>",
    }


def spectrogram_figure(result: AudioFrames, at: int, height: int) -> go.Figure:
    """Loudness by pitch and frame: one column is one frame; the chosen one is marked."""
    every = math.ceil(result.frames / COLUMNS)
    top = float(result.mel.max())
    level = np.round((result.mel[:, ::every] - top + 8) / 8 * 255).clip(0, 255).astype(np.uint8)
    trace = heatmap(level, "@seq:embedding", 0, 255, "frame %{x}, band %{y}", dx=every)
    trace["colorbar"] |= {"tickvals": [0, 127.5, 255], "ticktext": ["−80 dB", "−40", "0"]}
    marks = [int(np.abs(result.hertz - hertz).argmin()) for hertz in (250, 500, 1000, 2000, 4000)]
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("frame", [-0.5, result.frames - 0.5], grid=False),
        yaxis=kit.axis(
            "pitch (Hz)",
            [-0.5, len(level) - 0.5],
            grid=False,
            tickmode="array",
            tickvals=marks,
            ticktext=["250", "500", "1,000", "2,000", "4,000"],
        ),
        shapes=[kit.upright(at, "@accent", width=2, below=False)],
        margin={"t": 8},
    )
    return theme.build([trace], layout)


def series_figure(result: SeriesWindows, at: int, height: int) -> go.Figure:
    """A series with its windows as bands below it, one of them marked; what is filled up at the end is dotted."""
    values, n, length = result.values, len(result.values), result.windows.shape[1]
    low, high = float(values.min()), float(values.max())
    room = (high - low) or 1.0
    line = kit.line(np.arange(n), values.astype(np.float32), "@ink", width=1.3, hover="step %{x}: %{y}")
    tail = kit.line(
        np.arange(n - 1, n + result.padded),
        np.full(result.padded + 1, values[-1], dtype=np.float32),
        "@muted",
        width=1.3,
        dash="dot",
        hover=False,
    )
    lanes = min(4, max(2, math.ceil(length / max(result.padded, 1)) + 1))
    x, y = _bars(result.starts, length, lanes, low - 0.08 * room, 0.07 * room)
    bars = kit.line(x, y, "@embedding", width=3, hover=False)
    first = int(result.starts[at])
    x, y = _bars(result.starts[at : at + 1], length, 1, low - (0.08 + 0.07 * (at % lanes)) * room, 0.0)
    mark = kit.line(x, y, "@accent", width=5, hover=False)
    band = kit.box(first, first + length - 1, 0, 1, "@accent/0.12", width=0, below=True, paper="y")
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("time step", [-1, n + result.padded]),
        yaxis=kit.axis("value", [low - (0.14 + 0.07 * lanes) * room, high + 0.06 * room]),
        shapes=[band],
        showlegend=False,
        margin={"t": 8},
    )
    return theme.build([line, tail, bars, mark], layout)


def _bars(starts: ndarray, length: int, lanes: int, top: float, gap: float) -> tuple[ndarray, ndarray]:
    """One short line a window, in lanes, so that overlapping ones stay apart."""
    lane = top - gap * (np.arange(len(starts)) % lanes)
    gaps = np.full(len(starts), np.nan)
    x = np.stack((starts, starts + length - 1, gaps), axis=1).ravel()
    y = np.stack((lane, lane, gaps), axis=1).ravel()
    return x.astype(np.float32), y.astype(np.float32)


def windows_figure(result: SeriesWindows, at: int, height: int) -> go.Figure:
    """The tokens themselves: one row a window, in deviations from the mean of the series."""
    count, length = result.windows.shape
    trace = heatmap(result.windows.astype(np.float32), "@signed", -3, 3, "window %{y}, step %{x}: %{z:.2f} deviations")
    frame = kit.box(-0.5, length - 0.5, at - 0.5, at + 0.5, edge="@accent", width=2)
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("step inside the window", [-0.5, length - 0.5], grid=False),
        yaxis=kit.axis("window (token)", [count - 0.5, -0.5], grid=False),
        shapes=[frame],
        margin={"t": 8},
    )
    return theme.build([trace], layout)


def cost_figure(sizes: Sequence[int | float], cost: LengthCost, now: int, title: str, height: int) -> go.Figure:
    """FLOPs of a forward pass against how finely something is cut: weights grow with n, attention with n squared.

    Args:
        sizes: what is on the axis, one for each length in `cost`.
        cost: of these lengths.
        now: the place in `sizes` that is marked.
        title: of the axis.
        height: in pixels.
    """
    x = np.array(sizes, dtype=np.float32)
    tokens = cost.n.tolist()
    traces = [
        kit.line(
            x,
            y.astype(np.float32),
            colour,
            name=name,
            width=2.5,
            customdata=tokens,
            hovertemplate="%{customdata:,} tokens: %{y:.3s} FLOPs<extra>" + name + "</extra>",
        )
        for name, y, colour in (
            ("weights, with n", cost.linear, "@feedforward"),
            ("attention, with n²", cost.squared, "@attention"),
        )
    ]
    dots = kit.dots(
        x[[now, now]],
        [float(cost.linear[now]), float(cost.squared[now])],
        ["@feedforward", "@attention"],
        size=11,
        hover=False,
        showlegend=False,
    )
    powers = [10.0**p for p in range(6, 19)]
    names = ["1 M", "10 M", "100 M", "1 G", "10 G", "100 G", "1 T", "10 T", "100 T", "1 P", "10 P", "100 P", "1 E"]
    low, high = (math.log10(max(float(bound), 1)) for bound in (cost.squared.min(), cost.total.max()))
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(title),
        yaxis=kit.axis("FLOPs", [low - 0.3, high + 0.3], log=True, tickvals=powers, ticktext=names),
        shapes=[kit.upright(float(x[now]), "@accent", width=1, dash="dot", below=False)],
        margin={"t": 36},
    )
    return theme.build([*traces, dots], layout)


# ---- a protein ----

# Of the groups, in their order; alike in the chips beside it.
GROUP_COLOURS = ("@cat0", "@cat2", "@cat6", "@cat1", "@cat5")


def composition_figure(residues: ResidueCounts, height: int) -> go.Figure:
    """How often each residue occurs, as bars coloured by group."""
    traces = []
    for i, name in enumerate(GROUPS):
        mine = [place for place, group in enumerate(residues.groups) if group == i]
        if mine:
            traces.append(
                kit.bars(
                    [residues.letters[place] for place in mine],
                    [residues.counts[place] for place in mine],
                    GROUP_COLOURS[i],
                    name=name,
                    hover="%{x}: %{y} times",
                )
            )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(
            "residue", grid=False, type="category", categoryorder="array", categoryarray=list(residues.letters)
        ),
        yaxis=kit.axis("times"),
        margin={"t": 52},
    )
    return theme.build(traces, layout)
