"""Pictures of models that may be loaded: which fit into memory, and what one says first."""

import math
import re
from collections.abc import Sequence

import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.measures.quantities import gigabytes
from tfcore.views.model.your_model.measure import Need


def fits_figure(rows: Sequence[Need], chosen: str, room: int | None, limit: int | None, height: int) -> go.Figure:
    """One line a model, as long as what it needs on a logarithmic axis: full where it fits, dotted and hollow where it
    does not; upright lines where the free memory and the server's own limit end.

    Args:
        chosen: the row that stands out.
        room, limit: bytes; None where there is none.
    """
    bounds = [bound for bound in (room, limit) if bound is not None]
    end = min(bounds) if bounds else None
    low = min(row.total for row in rows) / 2
    data, notes = [], []
    for place, row in enumerate(rows):
        fits = end is None or row.fits(end)
        colour = "@accent" if row.name == chosen else "@ink" if fits else "@muted"
        data.append(
            kit.line(
                [low, row.total],
                [place, place],
                colour,
                width=5 if row.name == chosen else 3,
                dash="solid" if fits else "dot",
                hover=f"weights {gigabytes(row.weights)}, cache of {row.tokens:,} tokens {gigabytes(row.cache)}",
                marks={
                    "color": colour if fits else "@paper",
                    "size": [0, 11],
                    "opacity": 1,
                    "line": {"color": colour, "width": 2},
                },
                cliponaxis=False,
                showlegend=False,
            )
        )
        notes.append(
            kit.note(
                gigabytes(row.total),
                math.log10(row.total),
                place,
                colour,
                xanchor="left",
                xshift=9,
                bgcolor="@paper",
                borderpad=1,
            )
        )
    shapes = []
    for bound, word, side in ((room, "free now", "left"), (limit, "limit here", "right")):
        if bound is not None:
            other = limit if bound is room else room
            after = other is None or bound > other or (bound == other and side == "left")
            shapes.append(kit.upright(bound, width=1.5, dash="dash", below=False, xref="x"))
            notes.append(
                kit.note(
                    f"{word}: {gigabytes(bound)}",
                    math.log10(bound),
                    1,
                    "@ink",
                    paper="y",
                    yanchor="bottom",
                    xanchor="center" if other is None else "left" if after else "right",
                )
            )
    high = max([row.total for row in rows] + bounds)
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(
            "memory in bytes",
            [math.log10(low), math.log10(high * 30)],
            log=True,
            fixed=True,
            tickvals=[10.0**k for k in range(6, 14)],
            ticktext=["1 MB", "10 MB", "100 MB", "1 GB", "10 GB", "100 GB", "1 TB", "10 TB"],
        ),
        yaxis=kit.axis(
            None,
            [len(rows) - 0.5, -0.5],
            fixed=True,
            grid=False,
            tickmode="array",
            tickvals=list(range(len(rows))),
            ticktext=[plain(row.name) for row in rows],
            automargin=True,
        ),
        shapes=shapes,
        annotations=notes,
        margin={"l": 130, "t": 34},
    )
    return theme.build(data, layout)


def plain(name: str) -> str:
    """A name without what a label would interpret."""
    return re.sub(r"[^\w .+/-]", "?", name)
