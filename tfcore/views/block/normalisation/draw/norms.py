"""Figures of normalisation: a few numbers step by step, and the vectors that change when one token does."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.panels import column_domain, heading
from tfcore.charts.tokens import ticks
from tfcore.views.block.normalisation.measure.norms import Axis, AxisLeak, NormSteps

STAGES = ("@residual", "@norm/0.55", "@norm/0.55", "@norm")  # colour of the numbers at each step
LEAST_CHANGE = -4.0  # powers of ten: a change of 10^-4 and less has the palest colour
AXIS_HEADINGS: dict[Axis, str] = {
    "features": "over the features: right",
    "tokens": "over the tokens: wrong",
    "texts": "over the texts: wrong",
    "everything": "over everything: wrong",
}


def norm_steps_figure(layer: NormSteps, rms: NormSteps, height: int = 430) -> go.Figure:
    """Four bar charts of the same numbers, one a step: LayerNorm above, RMSNorm below."""
    titles = ("x", "x − mean", "÷ √(variance + ε)", "· γ + β")
    rms_titles = ("x", "no mean taken away", "÷ √(mean x² + ε)", "· γ")
    data: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    notes: list[dict[str, Any]] = []
    for row, (steps, names, kind) in enumerate(((layer, titles, "LayerNorm"), (rms, rms_titles, "RMSNorm"))):
        y_domain = [0.61, 0.94] if row == 0 else [0.08, 0.41]
        for column, (values, name) in enumerate(zip(steps.stages, names, strict=True)):
            number = str(row * 4 + column + 1) if row or column else ""
            x_domain = column_domain(column, 4)
            low, high = _range(layer, rms, column)
            data.append(_bars(values, number, f"{kind}, {name}", STAGES[column]))
            axes[f"xaxis{number}"] = {
                "domain": x_domain,
                "anchor": f"y{number}",
                "showgrid": False,
                "showticklabels": False,
                "range": [-0.6, len(values) - 0.4],
            }
            axes[f"yaxis{number}"] = {
                "domain": y_domain,
                "anchor": f"x{number}",
                "range": [low, high],
                "nticks": 5,
                "zeroline": True,
                "zerolinecolor": "@muted",
                "zerolinewidth": 1,
            }
            notes.append(heading(x_domain[0], y_domain[1] + 0.005, name, bold=f"{kind}: " if column == 0 else ""))
            mean, size = values.mean(), np.sqrt(np.mean(values**2))
            words = f"mean {tidy(mean)}, size {tidy(size)}"
            notes.append(heading(x_domain[0], y_domain[0] - 0.075, words, colour="@muted"))
    layout = theme.base_layout(
        height, showlegend=False, margin={"l": 44, "t": 6, "b": 10, "r": 8}, annotations=notes, **axes
    )
    return theme.build(data, layout)


def _bars(values: Float[ndarray, " feature"], number: str, name: str, colour: str) -> dict[str, Any]:
    return kit.bars(
        np.arange(len(values)),
        values,
        colour,
        hover=f"{name}, feature %{{x}}: %{{y:.6g}}",
        xaxis=f"x{number}",
        yaxis=f"y{number}",
    )


def _range(layer: NormSteps, rms: NormSteps, column: int) -> tuple[float, float]:
    """One range for both rows of a column, zero included, so that the two can be compared."""
    values = np.concatenate((layer.stages[column], rms.stages[column], np.zeros(1)))
    room = 0.08 * max(float(np.ptp(values)), 1e-9)
    return float(values.min()) - room, float(values.max()) + room


def tidy(value: float) -> str:
    """A number for people: three digits, and no minus zero."""
    words = f"{0.0 if abs(value) < 1e-12 else value:.3g}"
    return words.replace("-", "−")


def axis_figure(result: AxisLeak, tokens: Sequence[Sequence[str]], place: tuple[int, int], height: int) -> go.Figure:
    """One small map a choice of axis: how much each token's vector changed when the framed token was replaced.

    Args:
        result: the experiment.
        tokens: labels, safe for plotly, a row a text.
        place: row and position of the replaced token.
        height: in pixels.
    """
    row, position = place
    n_rows, n = len(tokens), len(tokens[0])
    data: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    notes: list[dict[str, Any]] = []
    shapes: list[dict[str, Any]] = []
    for i, (axis, change) in enumerate(result.change.items()):
        number = str(i + 1) if i else ""
        left, bottom = i % 2, 1 - i // 2
        x_domain, y_domain = column_domain(left, 2, 0.09), [0.59 * bottom, 0.59 * bottom + 0.33]
        data.append(_map(change, tokens, number, last=i == 0))
        axes[f"xaxis{number}"] = {
            **ticks([str(p) for p in range(n)]),
            "domain": x_domain,
            "anchor": f"y{number}",
            "showgrid": False,
            "range": [-0.5, n - 0.5],
            "fixedrange": True,
        }
        axes[f"yaxis{number}"] = {
            **ticks([f"text {r}" for r in range(n_rows)]),
            "domain": y_domain,
            "anchor": f"x{number}",
            "showgrid": False,
            "range": [n_rows - 0.5, -0.5],
            "fixedrange": True,
        }
        notes.append(heading(x_domain[0], y_domain[1] + 0.01, AXIS_HEADINGS[axis]))
        shapes.append(
            kit.box(
                position - 0.5,
                position + 0.5,
                row - 0.5,
                row + 0.5,
                edge="@accent",
                width=2.5,
                xref=f"x{number}",
                yref=f"y{number}",
            )
        )
    layout = theme.base_layout(
        height, margin={"l": 50, "t": 8, "b": 26, "r": 76}, annotations=notes, shapes=shapes, **axes
    )
    return theme.build(data, layout)


def _map(change: Float[ndarray, "batch seq"], tokens: Sequence[Sequence[str]], number: str, last: bool) -> dict:
    """Change as a colour, the words of the tokens and the number written into the cells."""
    with np.errstate(divide="ignore"):
        z = np.maximum(np.log10(change), LEAST_CHANGE - 1).astype(np.float32)
    words = [
        [f"{token}<br>{'0' if value == 0 else f'{value:.2g}'}" for token, value in zip(line, values, strict=True)]
        for line, values in zip(tokens, change.tolist(), strict=True)
    ]
    return kit.cells(
        z,
        "@seq:norm",
        LEAST_CHANGE,
        3.0,
        hover="text %{y}, token %{x}: changed by %{customdata:.4g}",
        text=words,
        texttemplate="%{text}",
        textfont={"size": 12, "color": "@ink"},
        xaxis=f"x{number}",
        yaxis=f"y{number}",
        customdata=change.astype(np.float32),
        xgap=2,
        ygap=2,
        showscale=last,
        colorbar={
            "thickness": 10,
            "outlinewidth": 0,
            "tickfont": {"size": 11, "color": "@muted"},
            "title": {"text": "change", "font": {"size": 12, "color": "@ink"}},
            "tickvals": [-4, -2, 0],
            "ticktext": ["≤ 10<sup>−4</sup>", "0.01", "1"],
        },
    )
