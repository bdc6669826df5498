"""Pictures of a joint table: entropies as lengths that overlap, and what each cell adds to the mutual information."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.views.training.information.measure.mutual_information import JointInformation

X = "@cat0"
Y = "@cat1"
SHARED = "@cat2"
END = 4.0  # bits: two variables of four values have no more


def overlap_figure(result: JointInformation, height: int) -> go.Figure:
    """H(X), H(Y) and H(X, Y) as bars above one another: where X's and Y's overlap is what they share."""
    shared = max(result.by_divergence, 0.0)
    pieces = [
        ("H(X)", [(0.0, result.h_x_given_y, X, "H(X | Y)"), (result.h_x_given_y, shared, SHARED, "I(X; Y)")]),
        ("H(Y)", [(result.h_x_given_y, shared, SHARED, "I(X; Y)"), (result.h_x, result.h_y_given_x, Y, "H(Y | X)")]),
        (
            "H(X, Y)",
            [
                (0.0, result.h_x_given_y, X, "H(X | Y)"),
                (result.h_x_given_y, shared, SHARED, "I(X; Y)"),
                (result.h_x, result.h_y_given_x, Y, "H(Y | X)"),
            ],
        ),
    ]
    end = next((top for top in (1.0, 2.0, 3.0) if result.h_xy <= top), END)
    data: list[dict[str, Any]] = []
    for row, parts in pieces:
        for start, length, role, words in parts:
            data.append(
                kit.bars(
                    [length],
                    [row],
                    f"{role}/0.5",
                    marker={"line": {"color": role, "width": 1.5}},
                    hover=f"{words}: {length:.4f} bits",
                    orientation="h",
                    base=[start],
                    showlegend=False,
                    text=[_written(words, length, end)],
                    textposition="inside",
                    insidetextanchor="middle",
                    textangle=0,
                    textfont={"size": 12, "color": "@ink"},
                )
            )
    layout = theme.base_layout(
        height,
        barmode="overlay",
        bargap=0.25,
        margin={"t": 10, "l": 60},
        xaxis=kit.axis("bits", [0, 1.02 * end]),
        yaxis=kit.axis(
            grid=False,
            categoryorder="array",
            categoryarray=["H(X, Y)", "H(Y)", "H(X)"],
            tickfont={"size": 13, "color": "@ink"},
        ),
    )
    return theme.build(data, layout)


def _written(words: str, length: float, end: float) -> str:
    """A name and its bits, as much of them as a bar of this length has room for."""
    return f"{words} {length:.3f}" if length > 0.17 * end else f"{length:.2f}" if length > 0.06 * end else ""


def cell_terms_figure(result: JointInformation, rows: Sequence[str], columns: Sequence[str], height: int) -> go.Figure:
    """The term of each cell in KL(joint || product): red where the pair is more frequent than if X and Y were
    independent, blue where it is less frequent.

    Args:
        rows, columns: names of the values of X and Y, safe for plotly.
    """
    terms = np.nan_to_num(result.terms)
    largest = float(np.abs(terms).max())
    limit = next((end for end in (0.05, 0.1, 0.2, 0.5) if largest <= end), 1.0)
    heat = kit.cells(
        terms.astype(np.float32),
        "@signed",
        -limit,
        limit,
        hover="P(x, y) = %{customdata[0]:.4f}, P(x) P(y) = %{customdata[1]:.4f}<br>adds %{z:+.4f} bits",
        text=[[f"{value:+.3f}" for value in row] for row in terms.tolist()],
        texttemplate="%{text}",
        textfont={"size": 13},
        xgap=2,
        ygap=2,
        customdata=np.stack((result.table, result.product), axis=-1).tolist(),
        colorbar=kit.colour_bar(),
    )
    named = {"showgrid": False, "tickfont": {"size": 13, "color": "@ink"}, "fixedrange": True}
    layout = theme.base_layout(
        height,
        margin={"t": 10},
        xaxis={**named, "tickvals": list(range(len(columns))), "ticktext": list(columns), "title": "Y"},
        yaxis={
            **named,
            "tickvals": list(range(len(rows))),
            "ticktext": list(rows),
            "title": "X",
            "autorange": "reversed",
        },
    )
    return theme.build([heat], layout)
