"""Pictures of a walk through a model: its stages as the stops of a map, one head on a stage, tensors as strips."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from jaxtyping import Float
from numpy import ndarray

from tfcore.charts import kit, theme
from tfcore.charts.heatmaps import full_colour
from tfcore.charts.tokens import LINE, SLANT, hatch, hover_ticks, label_room, ticks, token_heatmap
from tfcore.views.start.walkthrough.measure.heads import HeadSteps
from tfcore.views.start.walkthrough.measure.tensors import ShownTensor
from tfcore.views.view import Scene

MOST_CELLS = (
    44_000  # that travel for one stage; wider tensors are thinned out, on a screen they would run together anyway
)
PIECE_GAP = 0.035  # between pieces, of the width
TITLE_HEIGHT = 30  # pixels above the rows, for the titles
MAP_HEIGHT = 150  # pixels
FULL = 99  # the number that stands for the strongest colour of a vector's component, as in stage.js
# Pixels of the stage of a head: of what stands around the scores, of a row of them, of all rows at most, below these.
AROUND, CELL, HIGHEST, FOOT = 246, 27, 350, 36


@dataclass(frozen=True, slots=True, kw_only=True)
class MapStop:
    """A stage as a stop of the map.

    Args:
        label: a word or two.
        title: a longer name, for the tooltip and for screen readers.
        role: its colour role.
        beside: on a branch, not on the main line.
        branch: colour role of the branch it is on.
        carried: the main line carries the residual stream from here on.
        under: its label stands under the line.
    """

    label: str
    title: str
    role: str
    beside: bool = False
    branch: str = ""
    carried: bool = False
    under: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Area:
    """Stops from `first` to `last` that belong together, and the words under them."""

    first: int
    last: int
    title: str
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Layers on the line before a stop, which have no stops of their own: their numbers, and what they are in words."""

    before: int
    title: str
    words: str


def stage_map(stops: Sequence[MapStop], areas: Sequence[Area], folds: Sequence[Fold], at: int) -> Scene:
    """The map of a walk.

    Args:
        at: index of the stop where we are.
    """
    data = {
        "stops": [asdict(stop) for stop in stops],
        "parts": [asdict(area) for area in areas],
        "folds": [asdict(fold) for fold in folds],
        "value": at,
        "label": "The stages of a text through the model.",
    }
    return Scene(module="line_map", data=data, height=MAP_HEIGHT)


def head_stage(
    steps: HeadSteps, at: int, tokens: Sequence[str], labels: Sequence[str], stories: Sequence[str], label: str
) -> Scene:
    """One head on one stage: queries, keys and values, scores, mask, weights, output, each in its place.

    Args:
        at: index of the step that is shown.
        tokens: of the text, with nothing hidden.
        labels: of the steps.
        stories: what is said of each token.
        label: what is shown, for screen readers.
    """
    vectors, values = full_colour(*steps.queries, *steps.keys), full_colour(steps.values, steps.output)
    height = stage_height(len(tokens)) - FOOT
    data = {
        "steps": list(steps.steps),
        "labels": list(labels),
        "at": at,
        "tokens": list(tokens),
        "width": steps.values.shape[1],
        "queries": [_whole(one, vectors) for one in steps.queries],
        "keys": [_whole(one, vectors) for one in steps.keys],
        "values": _whole(steps.values, values),
        "output": _whole(steps.output, values),
        "scores": [one.round(2).ravel().tolist() for one in steps.scores],
        "allowed": steps.allowed.astype(int).ravel().tolist(),
        "weights": steps.weights.round(3).ravel().tolist(),
        "stories": list(stories),
        "label": label,
        "height": height,
    }
    return Scene(module="stage", data=data, height=height + FOOT)


def _whole(vectors: ndarray, limit: float) -> list[int]:
    """Whole numbers from -FULL to FULL: colours need no more."""
    colours: list[int] = (vectors / limit * FULL).round().clip(-FULL, FULL).astype(int).ravel().tolist()
    return colours


def stage_height(n: int) -> int:
    """Pixels of the pictures of a text of n tokens, the same at every stage: what stands below does not move."""
    return AROUND + min(CELL * n, HIGHEST) + FOOT


def limit_of(pieces: Sequence[ShownTensor]) -> float:
    """The number with full colour, a round one: the largest score, or what few features exceed (some columns of the
    stream are far larger than all others)."""
    largest = max((_usual(piece) for piece in pieces if not piece.weights and piece.columns != "id"), default=0.0)
    if not 0 < largest < np.inf:
        return 1.0
    power = 10.0 ** np.floor(np.log10(largest))
    return float(next(step * power for step in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if largest <= step * power))


def _usual(piece: ShownTensor) -> float:
    values = np.abs(piece.values if piece.blocked is None else piece.values[~piece.blocked])
    return float(np.quantile(values, 0.975 if piece.columns == "feature" else 1.0)) if values.size else 0.0


def pieces_figure(
    pieces: Sequence[ShownTensor],
    labels: Sequence[str],
    *,
    limit: float,
    height: int,
    sign: str = "",
    candidates: Sequence[str] = (),
) -> go.Figure:
    """Pieces of one stage side by side, a row a token: blue below 0, red above, or violet shares.

    Args:
        labels: of the tokens, safe for plotly.
        limit: the number with full colour.
        sign: between the pieces.
        candidates: labels of the columns that are ids of the vocabulary.
    """
    if len(pieces) == 1 and pieces[0].columns == "key":
        return _pairs(pieces[0], labels, limit, height)
    below = label_room(candidates, SLANT) + 6 if pieces[0].columns == "candidate" else 34
    traces: list[dict[str, Any]] = []
    shapes: list[dict[str, Any]] = []
    notes: list[dict[str, Any]] = []
    axes: dict[str, Any] = {}
    for i, (piece, domain) in enumerate(zip(pieces, _domains(pieces), strict=True)):
        number = str(i + 1) if i else ""
        traces += _traces(piece, number, limit, MOST_CELLS // (2 * len(pieces)))
        axes[f"xaxis{number}"] = _columns(piece, domain, labels, candidates, i == len(pieces) - 1)
        notes.append(_title(piece, domain[0]))
        if piece.framed is not None:
            shapes.append(_frame(piece.framed, number, len(labels)))
        if i and sign:
            notes.append(_sign(sign, domain[0] - PIECE_GAP / 2))
    rows = [len(labels) - 0.5, -0.5]
    axis = {"showgrid": False, "fixedrange": True, "automargin": False, "range": rows}
    most = int((height - TITLE_HEIGHT - below) / LINE)
    layout = theme.base_layout(
        height,
        **axes,
        shapes=shapes,
        annotations=notes,
        showlegend=False,
        margin={"l": label_room(labels) + 6, "r": 6, "t": TITLE_HEIGHT, "b": below},
        yaxis={**axis, **hover_ticks(labels)},
        yaxis2={**axis, **ticks(labels, most), "overlaying": "y", "anchor": "x", "side": "left"},
    )
    nothing = {"type": "scatter", "x": [None], "y": [None], "xaxis": "x", "yaxis": "y2", "hoverinfo": "skip"}
    return theme.build([*traces, nothing], layout)


def _pairs(piece: ShownTensor, labels: Sequence[str], limit: float, height: int) -> go.Figure:
    if piece.weights:
        return token_heatmap(piece.values, labels, blocked=piece.blocked, height=height, bar=False)
    return token_heatmap(
        piece.values,
        labels,
        blocked=piece.blocked,
        scale="@signed",
        zmin=-limit,
        zmax=limit,
        height=height,
        bar=False,
        hover="score of %{y} for %{x}: %{z:.2f}",
        blocked_hover="%{y} may not see %{x}: minus infinity",
    )


def _domains(pieces: Sequence[ShownTensor]) -> list[tuple[float, float]]:
    """Where each piece lies: as wide as its columns are many where all are features, else all alike."""
    alike = len({piece.columns for piece in pieces}) > 1
    wide = np.array([1.0 if alike else float(piece.values.shape[1]) for piece in pieces])
    wide = np.maximum(wide / wide.sum(), 0.14)
    wide = wide / wide.sum() * (1 - PIECE_GAP * (len(pieces) - 1))
    starts = np.concatenate([[0.0], np.cumsum(wide + PIECE_GAP)[:-1]])
    return [(float(a), float(min(a + w, 1.0))) for a, w in zip(starts, wide, strict=True)]


def thin(values: Float[ndarray, "row column"], most: int) -> tuple[Float[ndarray, "row shown"], int]:
    """At most `most` numbers, or one a row: of each few neighbouring columns the one furthest from 0, and how few."""
    rows, columns = values.shape
    few = -(-columns // max(most // rows, 1))
    if few <= 1:
        return values, 1
    padded = np.pad(values, ((0, 0), (0, -columns % few))).reshape(rows, -1, few)
    furthest = np.abs(padded).argmax(-1, keepdims=True)
    return np.take_along_axis(padded, furthest, -1)[..., 0], few


def _traces(piece: ShownTensor, number: str, limit: float, most: int) -> list[dict[str, Any]]:
    place = {"xaxis": f"x{number}", "yaxis": "y", "showscale": False}
    if piece.columns == "id":
        return [
            {
                **place,
                "type": "heatmap",
                "z": np.zeros(piece.values.shape, dtype=np.uint8),
                "zmin": 0,
                "zmax": 1,
                "colorscale": [[0, "@muted/0.12"], [1, "@muted/0.12"]],
                "ygap": 2,
                "text": piece.values.tolist(),
                "texttemplate": "%{text}",
                "textfont": {"family": theme.MONO, "size": 12, "color": "@ink"},
                "hovertemplate": "%{y} is id %{text}<extra></extra>",
            }
        ]
    values, few = thin(np.where(piece.blocked, 0, piece.values) if piece.blocked is not None else piece.values, most)
    drawn = {
        **place,
        "type": "heatmap",
        "z": values.astype(np.float32),
        "x0": piece.first + (few - 1) / 2,
        "dx": few,
        "zmin": 0 if piece.weights else -limit,
        "zmax": 1 if piece.weights else limit,
        "ygap": 2,
        "colorscale": "@weights" if piece.weights else "@signed",
        "hovertemplate": _hover(piece),
    }
    if piece.blocked is None or not piece.blocked.any():
        return [drawn]
    x, y = hatch(piece.blocked)
    lines = kit.line(x, y, "@muted/0.6", width=1, hover=False, xaxis=f"x{number}", yaxis="y")
    return [drawn, lines]


def _hover(piece: ShownTensor) -> str:
    what = {"feature": "number %{x}", "key": "on %{x}", "candidate": "%{x}", "expert": "expert %{x}"}[piece.columns]
    return "%{y}, " + what + ": %{z:.3f}<extra></extra>"


def _columns(
    piece: ShownTensor, domain: tuple[float, float], labels: Sequence[str], candidates: Sequence[str], is_last: bool
) -> dict[str, Any]:
    """The axis across: the first number (and the last, where no other piece follows), or tokens."""
    n = piece.values.shape[1]
    axis: dict[str, Any] = {
        "domain": list(domain),
        "range": [piece.first - 0.5, piece.first + n - 0.5],
        "showgrid": False,
        "fixedrange": True,
        "automargin": False,
    }
    if piece.columns == "candidate":
        return axis | ticks(candidates, len(candidates)) | {"tickangle": -SLANT}
    if piece.columns == "key":
        return axis | hover_ticks(labels) | {"title": {"text": "key token", "standoff": 2}}
    if piece.columns == "id":
        return axis | {"showticklabels": False}
    return axis | {"tickvals": [piece.first, piece.first + n - 1][: 1 + is_last], "tickangle": 0}


def _title(piece: ShownTensor, left: float) -> dict[str, Any]:
    return kit.note(
        f"<b>{piece.title}</b>",
        left,
        1,
        "@" + piece.role,
        size=13,
        paper="xy",
        xanchor="left",
        yanchor="bottom",
        yshift=4,
    )


def _sign(sign: str, at: float) -> dict[str, Any]:
    return kit.note(f"<b>{sign}</b>", at, 1, "@ink", size=18, paper="xy", xanchor="center", yanchor="bottom", yshift=2)


def _frame(columns: tuple[int, int], number: str, rows: int) -> dict[str, Any]:
    """Around the columns of the chosen head."""
    return kit.box(
        columns[0] - 0.5, columns[1] - 0.5, -0.5, rows - 0.5, edge="@ink", width=2, xref=f"x{number}", yref="y"
    )
