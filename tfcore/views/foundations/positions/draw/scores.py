"""Figures of what positions do to scores and outputs: RoPE, ALiBi, every scheme on one head, the shuffle test."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go

from tfcore.charts import kit, theme
from tfcore.charts.heatmaps import Panel, heatmap, side_by_side, square_axes
from tfcore.charts.tiles import tiles
from tfcore.part_configs import Positions
from tfcore.views.foundations.positions.measure.effects import SCHEMES, SchemeEffect, ShuffleResult
from tfcore.views.foundations.positions.measure.scores import LinearBiases, RotaryScores, TwoBases

SPACING, ROW = 3.6, 3.2  # from circle to circle, whose radius is 1, to the right and down
FAINT = -8.0  # ALiBi: a bias of -8 divides the weight by 2981, which no one would see
TABLE = 24  # dimensions shown of output vectors
SCORE_LIMIT = 8.0  # of the colour scale of what a scheme changes scores by


def rotary_scores_figure(result: RotaryScores, moved: int, distance: int, height: int) -> go.Figure:
    """q . k by distance: a line with the key at position 0, and dots with both moved, that lie on it."""
    every = max(1, len(result.distances) // 64)
    traces = [
        kit.line(
            result.distances,
            result.scores[0],
            "@position",
            name="key at position 0",
            hover="distance %{x}: q · k = %{y:.3f}",
        ),
        kit.dots(
            result.distances[::every],
            np.ascontiguousarray(result.scores[1, ::every]),
            "@cat1",
            name=f"key at position {moved:,}",
            size=6,
            hover=f"key at {moved:,}, distance %{{x}}: q · k = %{{y:.3f}}",
        ),
    ]
    d_head = 2 * len(result.wavelengths)
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("distance: query position − key position", [-1, len(result.distances)]),
        yaxis=kit.axis("q · k", [-0.75 * d_head, 1.08 * d_head]),
        shapes=[kit.upright(distance, width=1, dash="dash", below=False)],
    )
    return theme.build(traces, layout)


def two_bases_figure(result: TwoBases, height: int) -> go.Figure:
    """What is left of q . k by distance, on a logarithmic axis: a line for each of two bases."""
    names = [f"base {base:,.0f}" for base in result.bases]
    traces = [
        kit.line(result.distances, row, colour, name=name, hover=f"{name}, distance %{{x:,}}: %{{y:.0%}}")
        for row, name, colour in zip(result.left, names, ("@cat0", "@cat1"), strict=True)
    ]
    ends = [0.0, math.log10(result.distances[-1])]
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("distance in tokens", ends, log=True, tickvals=[10**i for i in range(6)], tickformat=","),
        yaxis=kit.axis("share of q · k that is left", [-0.35, 1.05], tickformat=".0%"),
        shapes=[kit.across(0.5, width=1, dash="dash", below=False)],
    )
    return theme.build(traces, layout)


def rotary_pairs_figure(result: RotaryScores, height: int) -> go.Figure:
    """Pairs of dimensions as arrows in their planes: which way the query points and, shorter, the key."""
    n = len(result.pairs)
    columns = -(-n // 2)  # in two rows
    centres, middles = SPACING * (np.arange(n) % columns), -ROW * (np.arange(n) // columns)
    circle = np.linspace(0, 2 * math.pi, 49)
    x, y = centres[:, None] + np.cos(circle), middles[:, None] + np.sin(circle)
    traces = [kit.line(_broken(x), _broken(y), "@grid", name="", width=1, hover=False, showlegend=False)]
    for points, role, length in ((result.query, "query", 1.0), (result.key, "key", 0.72)):
        tips = length * points / np.hypot(*points.T)[:, None]
        turn = np.degrees(np.arctan2(tips[:, 0], tips[:, 1]))  # clockwise from upwards, as plotly counts
        traces.append(
            kit.line(
                _broken(np.column_stack((centres, centres + tips[:, 0]))),
                _broken(np.column_stack((middles, middles + tips[:, 1]))),
                f"@{role}",
                name=role,
                width=2.5,
                hover=False,
                marks={
                    "symbol": "arrow",
                    "color": f"@{role}",
                    "size": _broken(np.tile([0.0, 13.0], (n, 1)), 0),
                    "angle": _broken(np.column_stack((turn, turn)), 0),
                },
            )
        )
    notes = []
    for x0, y0, pair, share in zip(centres, middles, result.pairs, result.products, strict=True):
        turns = result.wavelengths[pair]
        words = f"one turn in {turns:,.0f}" if turns >= 100 else f"one turn in {turns:.1f}"
        place = {"x": x0, "showarrow": False, "font": {"size": 12, "color": "@ink"}}
        notes.append({**place, "y": y0 + 1.08, "yanchor": "bottom", "text": f"pair {pair}: <b>{share:+.2f}</b>"})
        notes.append({**place, "y": y0 - 1.1, "yanchor": "top", "text": words})
    hidden = {"visible": False, "showgrid": False}
    layout = theme.base_layout(
        height,
        xaxis={**hidden, "range": [-SPACING / 2, (columns - 0.5) * SPACING]},
        yaxis={**hidden, "range": [-ROW - 1.6, 1.5], "scaleanchor": "x"},
        annotations=notes,
        margin={"l": 4, "r": 4, "b": 16},
    )
    return theme.build(traces, layout)


def _broken(rows: np.ndarray, gap: int | float = math.nan) -> np.ndarray:
    """Rows one after the other with a gap between them, so that one trace draws them as separate lines."""
    return np.column_stack((rows, np.full(len(rows), gap))).ravel().astype(np.float32)


def slopes_figure(result: LinearBiases, head: int, height: int) -> go.Figure:
    """The slope of every head, on a logarithmic axis; the chosen head stands out."""
    n = len(result.slopes)
    trace = kit.bars(
        np.arange(n),
        result.slopes,
        ["@position" if h == head else "@position/0.35" for h in range(n)],
        hover="head %{x}: m = %{y:.4g}, mean distance %{customdata:.1f}",
        text=[f"{m:.3g}" for m in result.slopes] if n <= 12 else None,
        textposition="outside",
        cliponaxis=False,
        customdata=result.reach,
    )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("head", [-0.6, n - 0.4], grid=False, dtick=1 if n <= 16 else 4),
        yaxis=kit.axis("slope m", [-3, 0.35], log=True, dtick=1),
        margin={"t": 8},
    )
    return theme.build([trace], layout)


def bias_figure(result: LinearBiases, height: int) -> go.Figure:
    """The bias map of the chosen head: nothing on the diagonal, more and more against looking back."""
    trace = heatmap(result.bias, "@seq:position", FAINT, 0, "query %{y}, key %{x}: %{z:.3f}", reversescale=True)
    trace["colorbar"] |= {"tickvals": [-8, -6, -4, -2, 0], "ticktext": ["≤ −8", "−6", "−4", "−2", "0"]}
    layout = theme.base_layout(
        height,
        **square_axes(len(result.bias), "key token", "query token"),
        margin={"t": 8},
        plot_bgcolor="@grid",  # shows where there is no bias at all: in the future
    )
    return theme.build([trace], layout)


def reach_figure(result: LinearBiases, head: int, height: int) -> go.Figure:
    """Attention by distance if every q . k were the same: the chosen head, and the others faintly."""
    distances = np.arange(result.weights.shape[1])
    order = [h for h in range(len(result.slopes)) if h != head] + [head]
    traces = [
        kit.line(
            distances,
            np.ascontiguousarray(result.weights[h]),
            "@attention" if h == head else "@attention/0.25",
            name=f"head {h}",
            width=3 if h == head else 1,
            hover=f"head {h}, distance %{{x}}: weight %{{y:.3f}}",
        )
        for h in order
    ]
    layout = theme.base_layout(
        height,
        xaxis=kit.axis("distance: tokens back from the last query", [-0.3, len(distances) - 0.7]),
        yaxis=kit.axis("attention weight", [0, 0.65]),  # no slope reaches 1, so no weight 1 - 1/e
        showlegend=False,
        margin={"t": 8},
    )
    return theme.build(traces, layout)


def differences_figure(
    result: ShuffleResult, chosen: Positions, names: Mapping[Positions, str], height: int
) -> go.Figure:
    """Largest change of any token's output when the tokens are shuffled, per scheme, on a logarithmic axis."""
    values = [result.largest[scheme] for scheme in SCHEMES]
    trace = kit.bars(
        [max(v, 1e-9) for v in values],
        [names[s] for s in SCHEMES],
        ["@position" if s == chosen else "@position/0.35" for s in SCHEMES],
        hover="%{y}: largest difference %{text}",
        orientation="h",
        text=[f"{v:.2g}" for v in values],
        textposition="outside",
        cliponaxis=False,
    )
    layout = theme.base_layout(
        height,
        xaxis=kit.axis(
            "largest difference of any token's output", [-8, 1.6], log=True, dtick=2, exponentformat="power"
        ),
        yaxis=kit.axis(grid=False, autorange="reversed"),
        margin={"t": 8, "r": 40},
    )
    return theme.build([trace], layout)


def outputs_figure(result: ShuffleResult, chosen: Positions, labels: Sequence[str], height: int) -> go.Figure:
    """Output vectors of the text, of its shuffle, and of the shuffle put back in the order of the text.

    Args:
        result: the experiment.
        chosen: the scheme to show.
        labels: the words, safe to show.
        height: in pixels.
    """
    scheme = SCHEMES.index(chosen)
    before, after = result.outputs[scheme, :, :TABLE], result.shuffled[scheme, :, :TABLE]
    back = after[np.argsort(result.permutation)]
    rows = len(labels)
    headings = ("text", "shuffled text", "shuffled, put back")
    moved = [labels[i] for i in result.permutation]
    panels: list[Panel] = [
        (
            heatmap(np.ascontiguousarray(z), "@signed", -3, 3, "dimension %{x}: %{z:.3f}"),
            heading,
            "dimension",
            {"tickvals": list(range(rows)), "ticktext": list(words)},
            TABLE,
        )
        for z, heading, words in zip((before, after, back), headings, (labels, moved, labels), strict=True)
    ]
    return side_by_side(panels, rows, height)


def added_figure(effects: Mapping[Positions, SchemeEffect], names: Mapping[str, str], height: int) -> go.Figure:
    """Changes of the scores by each scheme; the future is left out, as the mask will."""
    maps = [np.tril(effect.added) for effect in effects.values()]
    titles = [f"<b>{names[name]}</b><br>up to {np.abs(m).max():.1f}" for name, m in zip(effects, maps, strict=True)]
    return tiles(np.stack(maps), titles, len(maps), hovers=titles, limit=SCORE_LIMIT, height=height)


def scheme_weights_figure(
    effects: Mapping[Positions, SchemeEffect], names: Mapping[str, str], height: int
) -> go.Figure:
    """The attention weights that follow from the scores of each scheme."""
    titles = [f"<b>{names[name]}</b><br>{effect.distance:.1f} tokens back" for name, effect in effects.items()]
    return tiles(np.stack([e.weights for e in effects.values()]), titles, len(titles), hovers=titles, height=height)
