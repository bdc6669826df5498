"""Figures of published models: tokens against parameters, and parameters over the years."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.measures.quantities import power, round_count
from tfcore.views.training.scaling.draw.scaling import counts_axis
from tfcore.views.training.scaling.measure.compute_budget import Training
from tfcore.views.training.scaling.measure.known_models import KnownModel

# kind: (words, colour role, symbol)
LOOKS = {
    "recurrent": ("recurrent", "@cat3", "square"),
    "dense": ("Transformer", "@cat0", "circle"),
    "mixture": ("Transformer with experts", "@cat1", "diamond"),
}
BUDGETS = (1e20, 1e22, 1e24, 1e26)
LETTER, LINE = 7.2, 15.0  # pixels of a label
OURS = 4  # of our own models in a line of their label


def plane_figure(models: Sequence[KnownModel], way: Sequence[Training], chosen: str | None, height: int) -> go.Figure:
    """Tokens against parameters used, with lines of equal compute, 20 tokens per parameter and a law's optimum.

    Args:
        models: those with a number of tokens.
        way: optima of growing budgets.
        chosen: name of the model to ring.
        height: in pixels.
    """
    spans = ([7.5, 12.3], [9.0, 14.0])
    ends = np.array([10.0 ** spans[0][0], 10.0 ** spans[0][1]])
    data = [
        _rule(ends, budget / (6 * ends), f"C = {power(budget)}", "@muted", "dot", legend=False) for budget in BUDGETS
    ]
    data.append(_rule(ends, 20 * ends, "20 tokens per parameter", "@ink", "dash"))
    data.append(
        _rule(
            np.array([t.n for t in way]), np.array([t.d for t in way]), "best by the refitted law", "@accent", "solid"
        )
    )
    data += _points(models, [(m.used, m.tokens or math.nan) for m in models])
    data += _ring([(m.used, m.tokens) for m in models if m.name == chosen and m.tokens])
    notes = _labels(models, [(math.log10(m.used), math.log10(m.tokens or 1.0)) for m in models], spans, height, chosen)
    for budget in BUDGETS:  # at the upper end of its line
        x = max(spans[0][0], math.log10(budget / 6) - spans[1][1])
        notes.append(
            kit.note(power(budget), x, math.log10(budget / 6) - x, size=11, xanchor="left", xshift=8, yanchor="top")
        )
    layout = theme.base_layout(
        height,
        xaxis=counts_axis("parameters used for a token", spans[0]),
        annotations=notes,
        yaxis=counts_axis("tokens of training", spans[1]),
        margin={"t": 64},
    )
    return theme.build(data, layout)


def years_figure(
    models: Sequence[KnownModel], ours: Mapping[str, int], chosen: str | None, until: float, height: int
) -> go.Figure:
    """All parameters of every model over the years, the largest so far as steps, our own as lines across.

    Args:
        models: any.
        ours: name -> parameters of the models that ship.
        chosen: name of the model to ring.
        until: right end of the axis.
        height: in pixels.
    """
    spans = ([2013.0, until], [5.0, 13.0])
    order = sorted(models, key=lambda m: m.year)
    x = [m.year for m in order]
    largest = np.maximum.accumulate([m.parameters for m in order]) if order else np.empty(0)
    data: list[dict[str, Any]] = [
        {
            "type": "scatter",
            "mode": "lines",
            "x": [*x, until],
            "y": [*largest, *largest[-1:]],
            "name": "largest so far",
            "line": {"color": "@muted", "width": 1.5, "shape": "hv", "dash": "dash"},
            "hoverinfo": "skip",
        }
    ]
    data += _points(models, [(m.year, m.parameters) for m in models])
    data += _ring([(m.year, m.parameters) for m in models if m.name == chosen])
    notes = _labels(models, [(m.year, math.log10(m.parameters)) for m in models], spans, height, chosen)
    shapes = [kit.across(count, "@accent", width=1, dash="dot") for count in ours.values()]
    notes += _ours(ours)
    layout = theme.base_layout(
        height,
        annotations=notes,
        shapes=shapes,
        margin={"t": 64},
        yaxis=counts_axis("parameters, all", spans[1]),
        xaxis=kit.axis("published", spans[0], fixed=True, dtick=2, tick0=2013),
    )
    return theme.build(data, layout)


def _ours(ours: Mapping[str, int]) -> list[dict[str, Any]]:
    """One label for all of our own, at the bottom, where the others are not: their lines lie too close for one each."""
    if not ours:
        return []
    order = sorted(ours.items(), key=lambda one: -one[1])
    named = [f"{name} {round_count(count)}" for name, count in order]
    rows = [", ".join(named[i : i + OURS]) for i in range(0, len(named), OURS)]
    return [
        kit.note(
            f"ours: {'<br>'.join(rows)}",
            0.01,
            0.02,
            "@accent",
            paper="xy",
            xanchor="left",
            yanchor="bottom",
            align="left",
            bgcolor="@paper/0.7",
        )
    ]


def _points(models: Sequence[KnownModel], places: Sequence[tuple[float, float]]) -> list[dict[str, Any]]:
    """One trace a kind; the hover says where the numbers are from."""
    data = []
    for kind, (words, colour, symbol) in LOOKS.items():
        mine = [(m, place) for m, place in zip(models, places, strict=True) if m.kind == kind]
        data.append(
            kit.dots(
                [x for _, (x, _) in mine],
                [y for _, (_, y) in mine],
                colour,
                name=words,
                size=9,
                symbol=symbol,
                marker={"line": {"color": "@paper", "width": 1}},
                hover="%{text}",
                text=[_facts(m) for m, _ in mine],
                customdata=[m.name for m, _ in mine],
                showlegend=bool(mine),
            )
        )
    return data


def _facts(model: KnownModel) -> str:
    size = round_count(model.parameters)
    size += f", {round_count(model.active)} used for a token" if model.active else ""
    on = f"<br>{round_count(model.tokens)} tokens, {model.ratio:,.1f} per parameter" if model.tokens else ""
    return f"<b>{model.name}</b><br>{size}{on}<br>{model.source}"


def _ring(places: Sequence[tuple[float, float]]) -> list[dict[str, Any]]:
    return [
        kit.dots(
            [x],
            [y],
            "@accent/0",
            size=18,
            marker={"line": {"color": "@accent", "width": 2.5}},
            hover=False,
            showlegend=False,
        )
        for x, y in places
    ]


def _labels(
    models: Sequence[KnownModel],
    places: Sequence[tuple[float, float]],
    spans: Sequence[Sequence[float]],
    height: int,
    chosen: str | None,
    width: int = 600,
) -> list[dict[str, Any]]:
    """Names beside the points, as many as fit without touching each other; the chosen one first, then as listed.

    Args:
        places: in the units of the axes, which of a logarithmic axis are powers of ten.
        width: of the picture that the names have to fit into, in pixels.
    """
    across, up = ((span[1] - span[0]) / pixels for span, pixels in zip(spans, (width, height - 110), strict=True))
    spots = [(x / across, y / up) for x, y in places]
    taken = [(x - 6, x + 6, y - 6, y + 6) for x, y in spots]
    notes = []
    for i in sorted(range(len(models)), key=lambda i: models[i].name != chosen):
        x, y = spots[i]
        for side in (1, -1):
            ends = sorted((x + side * 8, x + side * (8 + LETTER * len(models[i].name))))
            box = (ends[0], ends[1], y - LINE / 2, y + LINE / 2)
            inside = spans[0][0] / across < ends[0] and ends[1] < spans[0][1] / across
            if inside and not any(_touch(box, other) for other in taken):
                taken.append(box)
                notes.append(
                    kit.note(
                        models[i].name,
                        x * across,
                        y * up,
                        "@ink",
                        xshift=8 * side,
                        xanchor="left" if side > 0 else "right",
                        yanchor="middle",
                        bgcolor="@paper/0.7",
                    )
                )
                break
    return notes


def _touch(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[1] and b[0] < a[1] and a[2] < b[3] and b[2] < a[3]


def _rule(x: Any, y: Any, name: str, colour: str, dash: str, *, legend: bool = True) -> dict[str, Any]:
    return kit.line(x, y, colour, name=name, width=2 if legend else 1, dash=dash, hover=False, showlegend=legend)
