"""Pictures of how large caches are: ways to share keys and values, real models, and what a GPU has to hold."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import plotly.graph_objects as go

from tfcore.charts import kit
from tfcore.charts.components import BYTES
from tfcore.charts.theme import base_layout, build
from tfcore.measures.kv_bytes import CacheShape
from tfcore.measures.quantities import Unit, amount, scale
from tfcore.views.inference.kv_cache.measure.serving import Budget

KINDS = {"MHA": "@cat1", "GQA": "@cat0", "MQA": "@cat3", "MLA": "@cat2"}
SYMBOLS = {"MHA": "diamond", "GQA": "circle", "MQA": "square", "MLA": "star"}


class Size(NamedTuple):
    """One bar or dot.

    Args:
        name: of the model or of the way to share.
        kind: of its attention, one of KINDS.
        value: bytes.
        marked: the one that is chosen.
    """

    name: str
    kind: str
    value: int
    marked: bool = False


def ways_figure(sizes: Sequence[Size], unit: Unit, height: int) -> go.Figure:
    """One bar for each way to share keys and values."""
    largest = max(max(size.value for size in sizes), 1)
    by, name = scale(largest, unit)
    trace = kit.bars(
        [size.value / by for size in sizes],
        list(range(len(sizes))),
        [KINDS[size.kind] if size.marked else f"{KINDS[size.kind]}/0.45" for size in sizes],
        hover="%{customdata[0]}: %{customdata[1]}",
        orientation="h",
        customdata=[[size.name, amount(size.value, unit)] for size in sizes],
    )
    layout = base_layout(
        height,
        bargap=0.3,
        margin={"t": 10, "r": 24},
        xaxis=kit.axis(f"KV cache of the batch, {name}", [0, largest / by * 1.03], fixed=True),
        yaxis=_rows({size.name: amount(size.value, unit) for size in sizes}),
    )
    return build([trace], layout)


def latents_figure(shape: CacheShape, height: int) -> go.Figure:
    """Two bars: the keys and values of all heads of one token in one layer, and what is kept in their place."""
    keys, values = shape.of_all_heads
    parts = [
        ("keys of all heads", "@key", 0, keys),
        ("values of all heads", "@value", 0, values),
        ("latent", "@cat6", 1, shape.latent - shape.rotated),
        ("rotated key", "@position", 1, shape.rotated),
    ]
    data = [
        kit.bars(
            [count], [row], colour, name=name, orientation="h", hover=f"{name}: {count:,} numbers", showlegend=True
        )
        for name, colour, row, count in parts
    ]
    layout = base_layout(
        height,
        barmode="stack",
        bargap=0.35,
        legend={"traceorder": "normal"},
        margin={"t": 34, "r": 24},
        xaxis=kit.axis("numbers of one token in one layer", [0, 1.03 * (keys + values)], fixed=True),
        yaxis=_rows({"made for every head": f"{keys + values:,}", "kept in the cache": f"{shape.latent:,}"}),
    )
    return build(data, layout)


def models_figure(sizes: Sequence[Size], unit: Unit, height: int) -> go.Figure:
    """One dot for each model, the largest cache on top, on a logarithmic axis: equal steps are equal factors."""
    ordered = sorted(sizes, key=lambda size: size.value)
    by, name = scale(ordered[-1].value, unit)
    places = {size.name: place for place, size in enumerate(ordered)}
    data: list[dict[str, Any]] = []
    for kind, colour in KINDS.items():
        some = [size for size in ordered if size.kind == kind]
        if not some:
            continue
        data.append(
            kit.dots(
                [size.value / by for size in some],
                [places[size.name] for size in some],
                colour,
                name=kind,
                symbol=SYMBOLS[kind],
                size=[15 if s.marked else 9 for s in some],
                marker={"opacity": 1, "line": {"width": [2.5 if s.marked else 0 for s in some], "color": "@ink"}},
                customdata=[[size.name, amount(size.value, unit)] for size in some],
                hovertemplate="%{customdata[0]}: %{customdata[1]}<extra>" + kind + "</extra>",
            )
        )
    layout = base_layout(
        height,
        margin={"t": 34, "l": 130},
        xaxis=kit.axis(f"KV cache, {name} (logarithmic)", log=True, fixed=True, dtick=1),
        yaxis=kit.axis(
            None,
            [-0.7, len(ordered) - 0.3],
            fixed=True,
            tickvals=list(range(len(ordered))),
            ticktext=[_name(size) for size in ordered],
            tickfont={"size": 12, "color": "@ink"},
        ),
    )
    return build(data, layout)


def _rows(rows: Mapping[str, str]) -> dict[str, Any]:
    """An axis of rows from top to bottom, each with its name and below it, bold, what there is to say."""
    return {
        "tickvals": list(range(len(rows))),
        "ticktext": [f"{name}<br><b>{words}</b>" for name, words in rows.items()],
        "range": [len(rows) - 0.5, -0.5],
        "showgrid": False,
        "fixedrange": True,
        "tickfont": {"size": 12, "color": "@ink"},
    }


def _name(size: Size) -> str:
    return f"<b>{size.name}</b>" if size.marked else size.name


def budget_figure(rows: Mapping[str, Budget], unit: Unit, height: int) -> go.Figure:
    """Bytes that the fullest GPU has to hold, a bar for each remedy, and a line where its memory ends."""
    budgets, names = list(rows.values()), list(rows)
    memory = budgets[0].memory
    end = 1.03 * max(memory, *(budget.memory - budget.free for budget in budgets))
    by, unit_name = scale(memory, unit)
    parts = {
        "weights": (BYTES["weights"], [budget.weights for budget in budgets]),
        "KV cache": (BYTES["KV cache"], [budget.cache for budget in budgets]),
        "kept free": ("@muted/0.4", [budget.spared for budget in budgets]),
    }
    data = [
        kit.bars(
            [value / by for value in values],
            list(range(len(names))),
            colour,
            name=part,
            orientation="h",
            customdata=[[name, amount(value, unit)] for name, value in zip(names, values, strict=True)],
            hovertemplate="%{customdata[0]}, " + part + ": %{customdata[1]}<extra></extra>",
        )
        for part, (colour, values) in parts.items()
    ]
    notes = [
        kit.note(
            f"one GPU: {amount(memory, unit)} ▾",
            memory / by,
            1,
            "@accent",
            paper="y",
            yanchor="bottom",
            xanchor="right",
            xshift=8,
        )
    ]
    line = kit.upright(memory / by, "@accent", width=2.5, below=False)
    layout = base_layout(
        height,
        barmode="stack",
        bargap=0.32,
        annotations=notes,
        shapes=[line],
        margin={"t": 64},
        legend={"y": 1.07, "traceorder": "normal"},
        xaxis=kit.axis(f"{unit_name} on the fullest GPU", [0, end / by], fixed=True),
        yaxis=_rows({name: budget.verdict(unit) for name, budget in rows.items()}),
    )
    return build(data, layout)
