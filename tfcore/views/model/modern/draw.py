"""Costs and savings of every switch from the block of 2017 to today's, as panels of bars beside each other."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.charts.tokens import label_room, token_heatmap
from tfcore.measures.quantities import round_count
from tfcore.views.model.modern.measure import Speed, SwitchedHead, Trained, Version

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
    """

    title: str
    values: Sequence[float | None]
    labels: Sequence[str]
    dots: Sequence[Sequence[float]] = ()
    near: bool = False


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


def _milliseconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def effects_figure(names: Sequence[str], panels: Sequence[QuantityPanel], chosen: int, height: int) -> go.Figure:
    """A row for each switch, the first on top; the chosen one is strong. Marks carry [step] for clicks."""
    data, axes = list[dict](), dict[str, dict]()
    width = (1 - GAP * (len(panels) - 1)) / len(panels)
    rows = list(range(len(names)))
    shades = ["@accent" if row == chosen else "@muted/0.55" for row in rows]
    for place, panel in enumerate(panels):
        number = "" if place == 0 else str(place + 1)
        start = place * (width + GAP)
        known = [value for value in panel.values if value is not None] + [dot for dots in panel.dots for dot in dots]
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        room = (high - low) or 1.0
        span = [low - 0.2 * room, high + 0.6 * room] if panel.near else [0, 1.38 * (high or 1.0)]
        axes[f"xaxis{number}"] = {
            "domain": [start, start + width],
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
            data += [
                kit.dots(
                    list(dots),
                    [row] * len(dots),
                    "@muted/0.6",
                    size=6,
                    hover=False,
                    xaxis=f"x{number}",
                    showlegend=False,
                )
                for row, dots in enumerate(panel.dots)
            ]
            style = {"size": 11, "symbol": "diamond", "color": shades}
            data.append(
                {
                    "type": "scatter",
                    "mode": "markers+text",
                    "x": list(panel.values),
                    "marker": style,
                    "textposition": "middle right",
                    "cliponaxis": False,
                    **common,
                }
            )
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
        for x, panel in zip((place * (width + GAP) for place in range(len(panels))), panels, strict=True)
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


def head_figure(result: SwitchedHead, which: int, labels: Sequence[str], height: int) -> go.Figure:
    """The weights of a head as it is (0), or with the switch (1); a learned sink is one more column."""
    weights, blocked, keys = result.weights[which], ~result.allowed, list(labels)
    if (sunk := result.sunk[which]).max() > 1e-4:
        weights = np.column_stack((weights, sunk))
        blocked = np.column_stack((blocked, np.zeros(len(sunk), bool)))
        keys.append("sink")
    return token_heatmap(weights, labels, keys, blocked=blocked, most_keys=MOST_KEYS, height=height)
