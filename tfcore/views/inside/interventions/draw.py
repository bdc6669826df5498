"""Charts of interventions: estimates against exact effects, means over a set of prompts, attributions to tokens."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.tokens import MOST_LABELS, SLANT, label_room, ticks
from tfcore.views.inside.interventions.measure.prompt_means import Means

ROW = 32  # pixels of a part
ROLES = {"head": "@attention", "mixer": "@cat2", "feed-forward": "@feedforward"}  # kind of part -> its colour


def estimate_scatter(
    estimate: Float[ndarray, " part"],
    exact: Float[ndarray, " part"],
    names: Sequence[str],
    kinds: Sequence[str],
    end: float,
    unit: str,
    height: int,
) -> go.Figure:
    """Estimated against exact effects, one point a part; on the diagonal they agree.

    Args:
        kinds: of the parts, see ROLES.
        end: where both axes end; points beyond lie on the border, as triangles.
    """
    border = 1.1 * end
    traces: list[dict[str, Any]] = [
        kit.line(
            [-border, border], [-border, border], "@muted", name="estimate = exact", width=1, dash="dot", hover=False
        )
    ]
    for kind, role in ROLES.items():
        kept = [i for i, one in enumerate(kinds) if one == kind]
        if not kept:
            continue
        x, y = exact[kept], estimate[kept]
        far = (np.abs(x) > border) | (np.abs(y) > border)
        traces.append(
            kit.dots(
                x.clip(-border, border).astype(np.float32),
                y.clip(-border, border).astype(np.float32),
                role,
                name="feed-forward layer" if kind == "feed-forward" else kind,
                size=[9 if one else 6 for one in far.tolist()],
                symbol=["triangle-up" if one else "circle" for one in far.tolist()],
                hover="%{text}: exact %{customdata[0]:+.2f}, estimate %{customdata[1]:+.2f}",
                text=[names[i] for i in kept],
                customdata=np.stack([x, y], 1).round(3).tolist(),
                cliponaxis=False,
            )
        )
    axis = {"range": [-border, border], "fixedrange": True, "zeroline": True, "zerolinecolor": "@grid"}
    layout = theme.base_layout(
        height,
        xaxis={**axis, "title": f"exact effect ({unit})"},
        yaxis={**axis, "title": f"estimate ({unit})"},
        legend={"y": 1.06},
        margin={"t": 40, "r": 14},
    )
    return theme.build(traces, layout)


def rows_height(n_rows: int) -> int:
    """The height of a figure with a row for each part, in pixels: with more rows they are lower."""
    return 120 + min(34 * n_rows, max(620, 9 * n_rows))


def dots_height(n_rows: int) -> int:
    """The height of `interval_dots`, in pixels."""
    return 90 + ROW * n_rows


def interval_dots(
    means: Means,
    values: Float[ndarray, "prompt part"],
    names: Sequence[str],
    kinds: Sequence[str],
    prompts: Sequence[str],
    axis: str,
    height: int,
) -> go.Figure:
    """A row for each part, the first on top; open dots are means whose interval includes 0.

    Args:
        means: of `values` over the prompts.
        names: of the parts.
        kinds: of the parts, see ROLES.
        prompts: in words, safe for plotly.
        axis: what the numbers are, with their unit.
        height: in pixels.
    """
    rows = np.arange(len(names))
    every = np.concatenate([means.low.ravel(), means.high.ravel(), values.ravel(), [0.0]])
    room = 0.04 * max(float(np.ptp(every)), 1e-3)
    traces: list[dict[str, Any]] = [
        kit.dots(
            values.ravel().astype(np.float32),
            np.tile(rows, len(values)),
            "@muted",
            name="prompt",
            size=5,
            marker={"opacity": 0.45},
            hover="%{customdata}: %{x:+.2f}",
            customdata=[prompt for prompt in prompts for _ in names],
        )
    ]
    for kind, role in ROLES.items():
        kept = [place for place, one in enumerate(kinds) if one == kind]
        if not kept:
            continue
        mean, low, high = (part[kept] for part in (means.mean, means.low, means.high))
        traces.append(
            kit.dots(
                mean.astype(np.float32),
                rows[kept],
                role,
                name=kind,
                size=10,
                symbol=["circle-open" if one else "circle" for one in means.unsure[kept].tolist()],
                marker={"line": {"color": role, "width": 2}},
                hover="%{text}: %{x:+.2f} (%{customdata[0]:+.2f} to %{customdata[1]:+.2f})",
                text=[names[place] for place in kept],
                customdata=np.stack([low, high], 1).round(3).tolist(),
                error_x={
                    "type": "data",
                    "array": (high - mean).astype(np.float32),
                    "color": role,
                    "thickness": 2.5,
                    "width": 5,
                },
            )
        )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(
            axis,
            [float(every.min()) - room, float(every.max()) + room],
            fixed=True,
            zeroline=True,
            zerolinecolor="@ink",
        ),
        yaxis=kit.axis(
            None,
            [len(names) - 0.4, -0.6],
            fixed=True,
            grid=False,
            tickvals=rows.tolist(),
            ticktext=list(names),
            automargin=True,
        ),
        legend={"traceorder": "normal", "y": 1.03},
        margin={"l": 110, "r": 12, "t": 36},
    )
    return theme.build(traces, layout)


def attribution_bars(
    methods: Mapping[str, Float[ndarray, " token"]], labels: Sequence[str], unit: str, chosen: int, height: int
) -> go.Figure:
    """A bar a method for every token, all from one zero line.

    Args:
        methods: name -> what each token adds; NaN where it is not known yet.
        labels: of the tokens, safe for plotly.
        unit: of the numbers.
        chosen: the token that stands on a band.
    """
    places = list(range(len(labels)))
    every = np.stack(list(methods.values()))
    ends = min(0.0, float(np.nanmin(every))), max(0.1, float(np.nanmax(every)))
    room = 0.08 * (ends[1] - ends[0])
    bars: list[dict[str, Any]] = [
        kit.bars(
            places,
            values.astype(np.float32),
            f"@cat{number}",
            name=name,
            customdata=list(labels),
            hovertemplate="'%{customdata}' (%{x}): %{y:+.2f} " + unit + "<extra>" + name + "</extra>",
        )
        for number, (name, values) in enumerate(methods.items())
    ]
    layout = theme.base_layout(
        height,
        barmode="group",
        bargap=0.25,
        bargroupgap=0.05,
        xaxis={
            **ticks(labels, 2 * MOST_LABELS),
            "range": [-0.6, len(labels) - 0.4],
            "tickangle": -SLANT,
            "fixedrange": True,
            "showgrid": False,
            "title": {"text": "token", "standoff": 4},
        },
        yaxis=kit.axis(f"adds ({unit})", [ends[0] - room, ends[1] + room], fixed=True, zero=True),
        legend={"traceorder": "normal", "y": 1.06},
        margin={"t": 44, "r": 8, "b": label_room(labels, SLANT) + 26},
        shapes=[kit.box(chosen - 0.5, chosen + 0.5, 0, 1, "@accent/0.12", width=0, below=True, paper="y")],
    )
    return theme.build(bars, layout)
