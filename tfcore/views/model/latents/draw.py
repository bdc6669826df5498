"""What is cached of a text and what is rebuilt from it, and the loss by the size of what is cached."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.charts.heatmaps import full_colour
from tfcore.charts.panels import heading
from tfcore.charts.tokens import label_room
from tfcore.measures.quantities import counted
from tfcore.views.model.latents.measure import CachedVectors

GAP = 0.02  # between two panels, as a share of the width
ROOM = 0.11  # above a row of panels for its two lines of words, as a share of the height of a figure of two rows
STRONG = 97  # percentile of absolute values from which on colours are full
WIDEST = 1_024  # numbers of keys or of values that are drawn: more are less than a pixel each
MOST_TOKENS = 12  # named beside a row


def vectors_figure(vectors: CachedVectors, labels: Sequence[str], heads: int, height: int) -> go.Figure:
    """Keys and values of every token, and what is cached beside them, from which they are rebuilt; each panel as wide
    as it has numbers. Where they are not rebuilt exactly, those that the model makes stand above.

    Args:
        labels: of the tokens.
        heads: that have keys and values of their own.
        height: of a figure of two rows.
    """
    made = _parts(vectors.made, vectors.n_keys, heads, "")
    rebuilt = _parts(vectors.rebuilt, vectors.n_keys, heads, ", rebuilt")
    limits = {name: full_colour(values, percentile=STRONG) for name, (values, _) in made.items()}
    cached = {"latent": vectors.latent, "rotated key": vectors.rotated}
    cached = {name: values for name, values in cached.items() if values.shape[1]}
    limits |= {name: full_colour(values, percentile=STRONG) for name, values in cached.items()}
    sizes = {name: values.shape[1] for name, values in cached.items()}
    sizes |= {name: values.shape[1] for name, (values, _) in made.items()}
    words = " and ".join(f"a {name} of {values.shape[1]} numbers" for name, values in cached.items())
    below = _Row(f"cached of a token: {words}", {name: (values, "") for name, values in cached.items()} | rebuilt)
    rows = [below] if vectors.rotated.shape[1] else [_Row("cached by the model: keys and values", made), below]
    room = ROOM * 2 / len(rows)
    each = 1 / len(rows)
    spans = [(1 - (row + 1) * each + 0.01, 1 - row * each - room) for row in range(len(rows))]
    data, notes, axes = list[dict](), list[dict](), dict[str, dict]()
    columns = _columns(sizes)
    for row, span in zip(rows, spans, strict=True):
        notes.append(heading(0, span[1] + 0.55 * room, row.words, colour="@muted"))
        for name, (values, title) in row.panels.items():
            number = str(len(data) + 1) if data else ""
            first = name == next(iter(row.panels))
            data.append(_cells(values, title or name, limits[name], number))
            axes[f"xaxis{number}"] = kit.axis(
                None,
                [-0.5, sizes[name] - 0.5],
                fixed=True,
                grid=False,
                domain=columns[name],
                anchor=f"y{number}",
                showticklabels=False,
            )
            axes[f"yaxis{number}"] = _tokens(labels if first else [""] * len(labels), span, f"x{number}")
            if title:
                notes.append(heading(columns[name][0], span[1] + 0.05 * room, title))
    layout = theme.base_layout(
        round(height * (1 + len(rows)) / 3), **axes, annotations=notes, margin={"t": 8, "b": 8, "l": label_room(labels)}
    )
    return theme.build(data, layout)


@dataclass(frozen=True, slots=True)
class _Row:
    """Panels beside each other.

    Args:
        words: above them.
        panels: name -> values and their title, which may be empty.
    """

    words: str
    panels: dict[str, tuple[np.ndarray, str]]


def _parts(values: np.ndarray, n_keys: int, heads: int, how: str) -> dict[str, tuple[np.ndarray, str]]:
    """Keys and values with their titles, of as many heads as are drawn."""
    drawn = min(heads, max(1, WIDEST * heads // max(n_keys, values.shape[1] - n_keys)))
    of = counted(heads, "head") if drawn == heads else f"the first {drawn} of {heads} heads"
    keys, own = (part[:, : part.shape[1] * drawn // heads] for part in (values[:, :n_keys], values[:, n_keys:]))
    return {
        "keys": (keys, f"keys of {of}{how}: {keys.shape[1]}"),
        "values": (own, f"their values{how}: {own.shape[1]}"),
    }


def _columns(sizes: Mapping[str, int]) -> dict[str, list[float]]:
    """The part of the width that each panel takes, by its numbers."""
    unit, start, columns = (1 - GAP * (len(sizes) - 1)) / sum(sizes.values()), 0.0, {}
    for name, size in sizes.items():
        columns[name] = [start, min(1.0, start + size * unit)]
        start += size * unit + GAP
    return columns


def _cells(values: np.ndarray, title: str, limit: float, number: str) -> dict:
    return kit.cells(
        values.astype(np.float32),
        "@signed",
        -limit,
        limit,
        hover=f"{title}, number %{{x}}: %{{z:.2f}}",
        xaxis=f"x{number}",
        yaxis=f"y{number}",
        showscale=False,
    )


def losses_figure(losses: Mapping[int, float], base: float, rank: int, height: int) -> go.Figure:
    """The loss by the numbers of a latent, the chosen size marked, and the model's own loss as a line."""
    sizes = sorted(losses)
    values = [losses[size] for size in sizes]
    data = [
        kit.line(sizes, values, "@accent", hover="%{x} numbers: %{y:.2f} nats per token", marks={"size": 7}),
        kit.dots([rank], [losses[rank]], "@accent", size=15, hover=False),
    ]
    for trace in data:
        trace["showlegend"] = False
    room = max(max(values) - base, 0.1)
    layout = theme.base_layout(
        height,
        margin={"t": 12},
        xaxis=kit.axis("numbers cached of a token in each layer", [0, 1.08 * sizes[-1]], fixed=True),
        yaxis=kit.axis("loss, nats per token", [base - 0.15 * room, max(values) + 0.2 * room], fixed=True),
        shapes=[kit.across(base, dash="dot")],
        annotations=[
            kit.note(f"as the model is: {base:.2f}", 1, base, paper="x", xanchor="right", yanchor="top"),
            kit.note(
                f"<b>{losses[rank]:.2f}</b>", rank, losses[rank], "@ink", size=13, xanchor="left", xshift=8, yshift=14
            ),
        ],
    )
    return theme.build(data, layout)


def _tokens(labels: Sequence[str], span: Sequence[float], anchor: str) -> dict:
    """An axis with a row for each token, named as far as there is room."""
    places = list(range(0, len(labels), max(1, -(-len(labels) // MOST_TOKENS))))
    return kit.axis(
        None,
        [len(labels) - 0.5, -0.5],
        fixed=True,
        grid=False,
        domain=list(span),
        anchor=anchor,
        tickvals=places,
        ticktext=[labels[place] for place in places],
        automargin=False,
        tickfont={"size": 11, "color": "@ink"},
    )
