"""Figures of a model that is trained with a mistake, and of its baseline: both curves, and a remark on one of them."""

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.training.pitfalls import PitfallEvaluation

BROKEN = "@cat1"
HEALTHY = "@cat0"
REMARK_WIDTH = 30  # of a line of a remark
MARK_WORDS = 0.06  # of the axis, above a mark: where its words stand


@dataclass(frozen=True, slots=True)
class Remark:
    """Words that point at a curve.

    Args:
        step, value: the place.
        text: what there is to see.
    """

    step: int
    value: float
    text: str


@dataclass(frozen=True, slots=True)
class Axis:
    """The axis of the number that shows a mistake.

    Args:
        title: the number's name and unit.
        log: whether it is logarithmic.
        top: its end, where it is known.
    """

    title: str
    log: bool = False
    top: float | None = None


def loss_figure(
    looks: Sequence[PitfallEvaluation], remark: Remark, marks: Sequence[tuple[float, str]], steps: int, height: int
) -> go.Figure:
    """The training loss of both models.

    Args:
        looks: until now.
        remark: on the loss of the model with the mistake.
        marks: losses to compare with, (value, words).
        steps: of the whole training, so that the axis stays while the curves grow.
        height: in pixels.
    """
    top = max(3.6, *(1.08 * loss for look in looks for loss in look.loss))
    layout = _layout(height, steps, "training loss, nats per symbol", [0, top])
    layout["shapes"] = [_mark(value) for value, _ in marks]
    layout["annotations"] = [
        *(_mark_words(value, words) for value, words in marks),
        _remark(remark, steps, remark.value, _free(looks, "loss", steps, [0, top], marks)),
    ]
    return theme.build(_curves(looks, "loss", ".3f"), layout)


def symptom_figure(
    looks: Sequence[PitfallEvaluation], remark: Remark, steps: int, axis: Axis, height: int
) -> go.Figure:
    """The number that shows the mistake, of both models.

    Args:
        looks, steps, height: see loss_figure.
        remark: on the number of the model with the mistake.
        axis: of the number.
    """
    log = axis.log
    values = [_height(value, log) for look in looks for value in look.symptom]
    low, high = (min(values), max(values)) if log else (0.0, axis.top or max(values))
    room = 0.12 * (high - low) + (0.3 if log else 0.0)
    span = [low - room, high + room] if log else [low - 0.02 * high, high * 1.08]
    layout = _layout(height, steps, axis.title, span)
    if log:
        layout["yaxis"] |= {"type": "log", "exponentformat": "power", "dtick": max(1, round((span[1] - span[0]) / 6))}
    words_at = _free(looks, "symptom", steps, span, (), log=log)
    layout["annotations"] = [_remark(remark, steps, _height(remark.value, log), words_at)]
    return theme.build(_curves(looks, "symptom", ".3g"), layout)


def _free(
    looks: Sequence[PitfallEvaluation],
    what: str,
    steps: int,
    axis: list[float],
    marks: Sequence[tuple[float, str]],
    *,
    log: bool = False,
) -> float:
    """The height at which a box of words hides least: farthest from the curves, where they pass it, and the marks."""
    beside = [look for look in looks if look.step > 0.35 * steps] or looks[-1:]
    taken = [value for look in beside for value in getattr(look, what)]
    words = MARK_WORDS * (axis[1] - axis[0])
    heights = np.array(
        [*(_height(value, log) for value in taken), *(mark + up for mark, _ in marks for up in (0, words))]
    )
    places = np.linspace(axis[0], axis[1], 13)[2:-2]
    return float(places[np.abs(places[:, None] - heights).min(axis=1).argmax()])


def _height(value: float, log: bool) -> float:
    """Where a value stands on the axis."""
    return math.log10(max(value, 1e-30)) if log else value


def _curves(looks: Sequence[PitfallEvaluation], what: str, digits: str) -> list[dict[str, Any]]:
    """Both curves, the baseline first, so that the model with the mistake is drawn above it."""
    steps = [look.step for look in looks]
    pairs = (("baseline", HEALTHY, 1, "dash"), ("with the mistake", BROKEN, 0, "solid"))
    return [
        {
            "type": "scatter",
            "mode": "lines+markers" if len(looks) < 3 else "lines",
            "name": name,
            "x": steps,
            "y": [getattr(look, what)[i] for look in looks],
            "line": {"color": colour, "width": 2.5, "dash": dash},
            "hovertemplate": f"step %{{x}}: %{{y:{digits}}}<extra>{name}</extra>",
        }
        for name, colour, i, dash in pairs
    ]


def _layout(height: int, steps: int, title: str, span: list[float]) -> dict[str, Any]:
    return theme.base_layout(
        height,
        xaxis=kit.axis("training step", [0, steps * 1.02], fixed=True),
        yaxis=kit.axis(title, span, fixed=True),
        margin={"t": 40, "l": 64},
    )


def _remark(remark: Remark, steps: int, at: float, words_at: float) -> dict[str, Any]:
    """Words in a box of paper, and an arrow to the place they speak of."""
    return {
        "x": remark.step,
        "y": at,
        "ax": steps * 0.66,
        "ay": words_at,
        "axref": "x",
        "ayref": "y",
        "xref": "x",
        "yref": "y",
        "showarrow": True,
        "arrowhead": 2,
        "arrowwidth": 1.5,
        "arrowcolor": BROKEN,
        "standoff": 3,
        "text": "<br>".join(textwrap.wrap(remark.text, REMARK_WIDTH)),
        "align": "center",
        "bgcolor": "@paper/0.9",
        "bordercolor": BROKEN,
        "borderpad": 4,
        "font": {"size": 13, "color": "@ink"},
    }


def _mark(value: float) -> dict[str, Any]:
    return kit.across(value, width=1, dash="dot")


def _mark_words(value: float, words: str) -> dict[str, Any]:
    return kit.note(f"{words} {value:.2f}", 1, value, size=11, paper="x", xanchor="right", yanchor="bottom")
