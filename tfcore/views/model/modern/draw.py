"""Costs and savings of every switch from the block of 2017 to today's, as panels of bars beside each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.charts.panels import column_domain, heading
from tfcore.charts.tokens import label_room, token_heatmap
from tfcore.measures.quantities import round_count
from tfcore.training.multi_token import SecondGuesses
from tfcore.views.model.modern.measure import FirstTokenWeights, SecondWave, Speed, SwitchedHead, Trained, Version

GAP = 0.045  # between two panels, as a share of the width
MOST_KEYS = 16  # written under a map, two of which stand side by side


@dataclass(frozen=True, slots=True)
class QuantityPanel:
    """One quantity.

    Args:
        title: with its unit.
        values: one for each switch; None where it is not known yet.
        labels: the same as words.
        dots: single measurements of each, such as one for each seed.
        near: the axis begins near the smallest value and not at 0; the bars are then marks.
        intervals: of each mark, of differences to 0, which has a line of its own; the words then stand at the side, and
            the panel is twice as wide.
    """

    title: str
    values: Sequence[float | None]
    labels: Sequence[str]
    dots: Sequence[Sequence[float]] = ()
    near: bool = False
    intervals: Sequence[tuple[float, float]] = ()


def panels(versions: Sequence[Version], speeds: Sequence[Speed], trained: Trained | None) -> list[QuantityPanel]:
    """Panels of each version: counted at once, timed as far as it is, and trained beforehand.

    Args:
        speeds: the last of each step is its quickest.
    """
    by_step = {speed.step: speed for speed in speeds}
    read = [1e3 * by_step[i].read if i in by_step else None for i in range(len(versions))]
    written = [1e3 * by_step[i].written if i in by_step else None for i in range(len(versions))]
    drawn = [
        QuantityPanel("parameters", [v.parameters for v in versions], [round_count(v.parameters) for v in versions]),
        QuantityPanel(
            "KV cache, B/token", [v.cached_bytes for v in versions], [f"{v.cached_bytes:,}" for v in versions]
        ),
        QuantityPanel("prefill, ms", read, [_milliseconds(value) for value in read]),
        QuantityPanel("decode, ms/token", written, [_milliseconds(value) for value in written]),
    ]
    if trained is not None:
        means = [sum(seeds) / len(seeds) for seeds in trained.losses.values()]
        words = [f"{mean:.3f}" for mean in means]
        drawn.append(QuantityPanel("held-out loss, nats", means, words, list(trained.losses.values()), near=True))
    return drawn


def second_wave_panels(wave: SecondWave) -> list[QuantityPanel]:
    """Panels of the base and each switch of today: the difference of its loss to the base's, then sizes."""
    means = [one.difference.mean for one in wave.switches]
    words = [f"{np.mean(wave.base.losses):.3f}", *(f"{mean:+.3f}" for mean in means[1:])]
    intervals = [(one.difference.low, one.difference.high) for one in wave.switches]
    apart = [one.differences for one in wave.switches]
    sizes = [one.sizes for one in wave.switches]
    return [
        QuantityPanel("held-out loss less the base's, nats", means, words, apart, near=True, intervals=intervals),
        _sizes("largest, score", [one.score for one in sizes], ".1f"),
        _sizes("first token, % of weight", [100 * one.first for one in sizes], ".1f"),
        _sizes("no token, % of weight", [100 * one.sunk for one in sizes], ".1f"),
        _sizes("stream, rms", [one.stream for one in sizes], ".1f"),
    ]


def _sizes(title: str, values: Sequence[float], digits: str) -> QuantityPanel:
    return QuantityPanel(title, values, [format(value, digits) for value in values])


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def effects_figure(names: Sequence[str], panels: Sequence[QuantityPanel], chosen: int, height: int) -> go.Figure:
    """A row for each switch, the first on top; the chosen one is strong. Marks carry [step] for clicks."""
    data, axes = list[dict](), dict[str, dict]()
    shares = [2.0 if panel.intervals else 1.0 for panel in panels]
    width = (1 - GAP * (len(panels) - 1)) / sum(shares)  # of a panel of share 1
    starts = [sum(shares[:place]) * width + place * GAP for place in range(len(panels))]
    rows = list(range(len(names)))
    shades = ["@accent" if row == chosen else "@muted/0.55" for row in rows]
    for place, panel in enumerate(panels):
        number = "" if place == 0 else str(place + 1)
        span = _span(panel)
        axes[f"xaxis{number}"] = {
            "domain": [starts[place], min(starts[place] + shares[place] * width, 1.0)],
            "range": span,
            "fixedrange": True,
            "showticklabels": False,
            "showgrid": False,
            "title": {"text": panel.title.replace(", ", ",<br>"), "font": {"size": 12}},
            "side": "top",
            "zeroline": False,
        }
        common = {
            "y": rows,
            "xaxis": f"x{number}",
            "text": list(panel.labels),
            "customdata": [[row] for row in rows],
            "hovertemplate": "%{text}<extra></extra>",
            "showlegend": False,
            "textfont": {"size": 12, "color": "@ink"},
        }
        if panel.near:
            data += _marks(panel, span, shades, common)
        else:
            data.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "x": list(panel.values),
                    "textposition": "outside",
                    "cliponaxis": False,
                    "marker": {"color": shades},
                    **common,
                }
            )
    waiting = [
        kit.note("being timed", x, 0.5, paper="xy", xanchor="left")
        for x, panel in zip(starts, panels, strict=True)
        if all(value is None for value in panel.values)
    ]
    labels = [f"<b>{name}</b>" if row == chosen else name for row, name in enumerate(names)]
    layout = theme.base_layout(
        height,
        **axes,
        annotations=waiting,
        bargap=0.35,
        margin={"l": label_room(names) + 10, "r": 8, "t": 52, "b": 8},
        yaxis=kit.axis(
            None,
            [len(names) - 0.5, -0.5],
            fixed=True,
            grid=False,
            tickvals=rows,
            ticktext=labels,
            automargin=False,
            tickfont={"size": 13, "color": "@ink"},
        ),
    )
    return theme.build(data, layout)


def _span(panel: QuantityPanel) -> list[float]:
    """The range of a panel's axis, with room for its words."""
    known = [value for value in panel.values if value is not None]
    known += [one for several in (*panel.dots, *panel.intervals) for one in several]
    low, high = (min(known), max(known)) if known else (0.0, 1.0)
    room = (high - low) or 1.0
    if panel.intervals:
        return [low - 0.08 * room, high + 0.5 * room]
    return [low - 0.2 * room, high + 0.6 * room] if panel.near else [0, 1.38 * (high or 1.0)]


def _marks(panel: QuantityPanel, span: Sequence[float], shades: Sequence[str], common: dict[str, Any]) -> list[dict]:
    """A diamond for each value, the measurements that it is the mean of, and its interval where there is one."""
    own = {"xaxis": common["xaxis"], "showlegend": False}
    drawn = [
        kit.dots(list(dots), [row] * len(dots), "@muted/0.6", size=6, hover=False, **own)
        for row, dots in enumerate(panel.dots)
    ]
    if panel.intervals:
        drawn.append(
            kit.line([0, 0], [-0.5, len(panel.values) - 0.5], "@muted", width=1, dash="dot", hover=False, **own)
        )
        drawn += [
            kit.line(list(ends), [row, row], shades[row], width=3, hover=False, **own)
            for row, ends in enumerate(panel.intervals)
        ]
        drawn.append(
            kit.words(
                [span[1]] * len(panel.labels),
                common["y"],
                list(panel.labels),
                "@ink",
                size=12,
                textposition="middle left",
                hover=False,
                **own,
            )
        )
    mode = "markers" if panel.intervals else "markers+text"
    drawn.append(
        {
            "type": "scatter",
            "mode": mode,
            "x": list(panel.values),
            "marker": {"size": 11, "symbol": "diamond", "color": shades},
            "textposition": "middle right",
            "cliponaxis": False,
            **common,
        }
    )
    return drawn


def guesses_panels(guesses: Sequence[SecondGuesses]) -> list[QuantityPanel]:
    """Panels of each seed: how often the decoder confirms the second prediction, and what that saves."""
    return [
        _sizes("confirmed, % of held-out text", [100 * one.confirmed for one in guesses], ".0f"),
        _sizes("confirmed, % of its own text", [100 * one.written for one in guesses], ".0f"),
        _sizes("tokens per pass, by formula", [1 + one.written for one in guesses], ".2f"),
        _sizes("tokens per pass, measured", [one.per_pass for one in guesses], ".2f"),
    ]


def connections_figure(matrices: np.ndarray, names: Sequence[str], height: int) -> go.Figure:
    """The weights around each layer beside each other: from a row to a column.

    Args:
        matrices: (layer, row, column).
        names: of the layers.
    """
    data, notes, axes = list[dict](), list[dict](), dict[str, dict]()
    size = matrices.shape[1]
    streams = [str(stream) for stream in range(size - 1)]
    top = float(max(1.0, np.abs(matrices).max()))
    for place, (matrix, name) in enumerate(zip(matrices, names, strict=True)):
        number, domain = ("" if place == 0 else str(place + 1)), column_domain(place, len(names), 0.04)
        shown = matrix.astype(np.float32)
        shown[0, 0] = np.nan  # what a layer writes does not go into what it reads
        words = [["" if np.isnan(value) else f"{value:.1f}".replace("-0.0", "0.0") for value in row] for row in shown]
        data.append(
            kit.cells(
                shown,
                "@signed",
                -top,
                top,
                hover=f"{name}, from %{{y}} to %{{x}}: %{{z:.2f}}",
                text=words,
                texttemplate="%{text}",
                textfont={"size": 11},
                xaxis=f"x{number}",
                yaxis=f"y{number}",
                xgap=1,
                ygap=1,
                showscale=place == len(names) - 1,
                colorbar=kit.colour_bar(),
            )
        )
        ticks: dict[str, Any] = {"tickvals": list(range(size)), "tickfont": {"size": 11, "color": "@ink"}}
        ends = [-0.5, size - 0.5]
        axes[f"xaxis{number}"] = kit.axis(
            None,
            ends,
            fixed=True,
            grid=False,
            domain=domain,
            anchor=f"y{number}",
            ticktext=["reads", *streams],
            **ticks,
        )
        axes[f"yaxis{number}"] = kit.axis(
            None,
            ends[::-1],
            fixed=True,
            grid=False,
            anchor=f"x{number}",
            ticktext=["writes", *streams] if place == 0 else ["", *streams],
            **ticks,
        )
        notes.append(heading(domain[0], 1.01, name))
    return theme.build(data, theme.base_layout(height, **axes, annotations=notes, margin={"t": 30, "b": 34, "r": 8}))


def head_figure(result: SwitchedHead, which: int, labels: Sequence[str], height: int) -> go.Figure:
    """The weights of a head as it is (0), or with the switch (1); a learned sink is one more column."""
    weights, blocked, keys = result.weights[which], ~result.allowed, list(labels)
    if (sunk := result.sunk[which]).max() > 1e-4:
        weights = np.column_stack((weights, sunk))
        blocked = np.column_stack((blocked, np.zeros(len(sunk), bool)))
        keys.append("sink")
    return token_heatmap(weights, labels, keys, blocked=blocked, most_keys=MOST_KEYS, height=height)


def first_token_figure(result: FirstTokenWeights, height: int) -> go.Figure:
    """The weight of every head on the first token: a row for each layer, the first on top."""
    layers, heads = result.weights.shape
    names = [str(layer) for layer in result.layers]
    cells = kit.cells(
        result.weights.astype(np.float32),
        "@weights",
        0,
        1,
        hover="layer %{customdata[0]}, head %{customdata[1]}: %{z:.0%} of the weight on the first token",
        customdata=[[[layer, head] for head in range(heads)] for layer in result.layers],
        colorbar=kit.colour_bar(),
    )
    layout = theme.base_layout(
        height,
        margin={"t": 12, "b": 44, "l": 56},
        xaxis=kit.axis("head", [-0.5, heads - 0.5], fixed=True, grid=False, dtick=max(1, heads // 8)),
        yaxis=kit.axis(
            "layer",
            [layers - 0.5, -0.5],
            fixed=True,
            grid=False,
            tickvals=list(range(0, layers, max(1, layers // 10))),
            ticktext=names[:: max(1, layers // 10)],
        ),
    )
    return theme.build([cells], layout)
