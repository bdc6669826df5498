"""A panel of the page on long context: flash attention tile by tile, with the numbers of one query."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.inference.long_context import experiments as experiments
from pages.inference.long_context import text as source
from pages.inference.long_context.words import metric
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import figure
from pages.ui.components.player import player
from tfcore.analysis.inference import flash, online_softmax
from tfcore.analysis.inference.flash import FlashRun, Order, Tiling
from tfcore.analysis.inference.memory_traffic import loaded, naive_traffic
from tfcore.analysis.inference.online_steps import RowStep
from tfcore.figures.inference import flash as figures
from tfcore.figures.inference import online_softmax as cells

ORDERS: dict[Order, str] = {"queries": "queries", "keys": "keys"}
WHICH = "Keys: as in FlashAttention. Queries: as in FlashAttention-2."
ENOUGH = 1e-5  # some ten roundings of float32 (1.2e-7) at values of a few units; how many depends on the processor
LINES = 12  # of the ledger, shown at a time
_SAME = {"text": source.TEXT, "sram": 1024, "order": "queries", "row": 36}
TRY: dict[str, dict[str, Any]] = {
    "the maximum rises often": {**_SAME, "layer": 1, "head": 4, "tile": 15},
    "the first tile has the maximum": {**_SAME, "layer": 3, "head": 1, "tile": 15},
    "small SRAM": {**_SAME, "sram": 384, "tile": 80},
    "outer loop over keys": {**_SAME, "order": "keys", "tile": 10},
}


@cache.data(max_entries=24)
def run(pasted: str, layer: int, head: int, tiling: Tiling, row: int) -> FlashRun:
    return flash.follow(source.vectors(pasted, layer, head), tiling, row)


def panel() -> None:
    """The tiles, the numbers of one query, and the result beside the plain way's."""
    st.markdown(
        "**Flash attention never writes the scores to memory.** A GPU has a large slow memory (HBM) and a small fast "
        "one (SRAM). The scores are computed in SRAM tile by tile, used, and discarded; the result is the same up to "
        "rounding."
    )
    st.latex(
        r"\begin{gathered} m = \max(m_{old}, m_{tile}), \quad O = out \,/\, \ell \\"
        r"\begin{aligned} \ell &= e^{m_{old} - m}\,\ell_{old} + e^{m_{tile} - m}\,\ell_{tile} \\"
        r"out &= e^{m_{old} - m}\,out_{old} + e^{m_{tile} - m}\,out_{tile} \end{aligned} \end{gathered}"
    )
    left, right = st.columns([1, 4], gap="medium")
    with left:
        chosen = source.choose()
        n, d_head = len(chosen.tokens), cache.model(source.MODEL)[0].config.head_size
        sram = controls.slider(
            "SRAM: values that fit",
            "sram",
            8 * d_head,
            64 * d_head,
            32 * d_head,
            4 * d_head,
            help="The M of the paper; a tile has M / 4d tokens in a side.",
        )
        order = controls.segmented("Outer loop over", "order", list(ORDERS), "queries", ORDERS, help=WHICH)
        row = controls.slider("Query to follow", "row", 0, n - 1, n - 1)
    tiling = Tiling(n=n, d_head=d_head, sram=sram, order=order)
    result = run(chosen.pasted, chosen.layer, chosen.head, tiling, row)
    count = len(result.tiles)
    with right, st.container(horizontal=True, vertical_alignment="bottom"):
        tile = controls.slider("Tile", "tile", 1, count, max(1, count - 1)) - 1
        player("tile", 1, count, tile + 1, label="Go through the tiles", period=0.8)
    with right:
        first, second = st.columns([5, 7], gap="medium")
        with first:
            _tiles(chosen, result, tile)
        with second:
            _numbers(chosen, tiling, result, tile)
    _metrics(tiling, result, tile)
    page.try_this(TRY)
    page.what_to_see(
        "Each tile of scores exists only in SRAM: it is used and discarded (grey); the matrix is never stored whole. "
        "For the framed query three things are kept (online softmax): the running maximum m, the normaliser l and the "
        "weighted sum of values. When a tile has a larger score, what was accumulated is multiplied by e^(old m − new "
        f"m). {_strongest(result)} In the end out ÷ l is the softmax attention output, up to rounding. Hatched tiles "
        "are masked wholly: they are neither loaded nor computed."
    )
    page.source(online_softmax.merge, online_softmax.of_tile, flash.tiled_attention)
    page.experiment(experiments.flash, chosen.pasted, source.TOKENS, chosen.layer, chosen.head, sram, order, row, tile)
    st.caption(
        "FlashAttention, algorithm 1, arXiv:2205.14135; FlashAttention-2, arXiv:2307.08691; online softmax, "
        "arXiv:1805.02867. Click a tile to go there."
    )
    page.question(
        "Could one leave out the maximum m, and just add up e^s and e^s · v?",
        "On paper yes: e^m cancels in out ÷ l. In float16 e^s overflows above s = 11, in float32 above 88. With the "
        "running maximum every exponent is at most 0, so nothing overflows; the price is one multiplication of what "
        "was added up, whenever the maximum moves.",
    )


def _strongest(result: FlashRun) -> str:
    """The strongest rescaling of the followed query, in one sentence."""
    later = [step for step in result.steps[1:] if step.rescale < 1]
    if not later:
        return "For this query no tile beats the first: the factor stays 1."
    least = min(later, key=lambda step: step.rescale)
    return (
        f"For this query the factor is below 1 in {len(later)} of {len(result.steps)} tiles, the smallest in tile "
        f"{least.at + 1}: what was there before then counts {cells.number(least.rescale)} of what it did."
    )


def _tiles(chosen: source.Head, result: FlashRun, tile: int) -> None:
    def go(event: dict[str, Any]) -> None:
        x, y = event["x"], event["y"]
        if isinstance(x, int | float) and isinstance(y, int | float):
            top, bottom, left, right = result.tiles.T
            inside = np.flatnonzero((top <= y) & (y < bottom) & (left <= x) & (x < right))
            if len(inside):
                controls.set_values(row=int(y), tile=int(inside[0]) + 1)

    top, bottom, left, right = result.tiles[tile]
    where = f"queries {top} to {bottom - 1}, keys {left} to {right - 1}"
    skipped = result.all_tiles - len(result.tiles)
    figure(
        figures.tiles_figure(result, tile, chosen.labels, 430),
        key="tiles",
        height=430,
        min_width=320,
        on_click=go,
        alt=f"Tile {tile + 1} of {len(result.tiles)}: {where}; {skipped} of {result.all_tiles} tiles are skipped.",
        caption=f"Tile {tile + 1} of {len(result.tiles)}: {where}. In colour: in SRAM now. Grey: discarded. Hatched: "
        f"{skipped} of {result.all_tiles} tiles skipped.",
    )


def _numbers(chosen: source.Head, tiling: Tiling, result: FlashRun, tile: int) -> None:
    """The followed query: its scores in the tile at hand, the arithmetic of the step, and the ledger."""
    done = result.done(tile)
    name = text.escape(text.visible(chosen.tokens[result.row]))
    now = done[-1] if done else None
    if now is None:
        st.markdown(f"Query {result.row}, **{name}**: its first tile is number {result.steps[0].at + 1}.")
        st.latex(r"m = -\infty,\quad \ell = 0,\quad out = 0")
        shown = result.steps[0]
    else:
        when = "at hand" if now.at == tile else f"its last one was tile {now.at + 1}"
        st.markdown(f"Query {result.row}, **{name}**, {when}:")
        st.latex(arithmetic(now))
        shown = now
    keys = [chosen.labels[key] for key in shown.keys]
    figure(
        cells.scores_figure(shown, keys, 120),
        key="scores",
        height=120,
        min_width=42 * len(keys) + 100,
        alt=f"Scores of query {result.row} in tile {shown.at + 1}: largest {cells.number(shown.tile_m)}, "
        f"weights adding up to {cells.number(shown.tile_l)}.",
        caption=f"(1, {len(keys)}): scores s for the keys of tile {shown.at + 1}, weights e^(s − their largest).",
    )
    names = [f"tile {step.at + 1}" for step in result.steps]
    first = max(0, min(len(done) - LINES + 3, len(names) - LINES))  # a window that moves on with the tiles
    height = 56 + 30 * min(len(names), LINES)
    figure(
        cells.ledger_figure(done[first:], names[first : first + LINES], height),
        key="ledger",
        height=height,
        min_width=400,
        table=partial(ledger, result.steps),
        alt="; ".join(f"after tile {s.at + 1}: m {s.m:.3f}, rescale {s.rescale:.3g}, l {s.l:.3f}" for s in done[-3:])
        or "nothing yet",
        caption=f"{tiling.d_head} values of output, {cells.SHOWN} of them shown. One line per tile, {len(done)} of "
        f"{len(result.steps)} done. The plain way's first number: {cells.number(float(result.naive[0]))}.",
    )


def arithmetic(step: RowStep) -> str:
    """The step with its numbers in the equation."""
    old, tile, m = (_tex(value) for value in (step.old_m, step.tile_m, step.m))
    factors = _tex(step.rescale), _tex(step.scale_tile)
    return (
        rf"\begin{{aligned}} m &= \max({old},\ {tile}) = {m} \\ "
        rf"\ell &= {factors[0]} \cdot {_tex(step.old_l)} + {factors[1]} \cdot {_tex(step.tile_l)} = {_tex(step.l)}"
        r" \end{aligned}"
    )


def _tex(value: float) -> str:
    word = cells.number(value).replace("−", "-").replace("∞", r"\infty")
    mantissa, _, power = word.partition("e")
    return rf"{mantissa} \cdot 10^{{{int(power)}}}" if power else mantissa


def ledger(steps: list[RowStep]) -> pd.DataFrame:
    """Every number of the followed query."""
    rows = [
        {
            "tile": s.at + 1,
            "first key": s.keys[0],
            "tile max": s.tile_m,
            "tile sum": s.tile_l,
            "m": s.m,
            "rescale": s.rescale,
            "l": s.l,
        }
        | {f"out[{i}]": value for i, value in enumerate(s.out)}
        for s in steps
    ]
    return pd.DataFrame(rows)


def _metrics(tiling: Tiling, result: FlashRun, tile: int) -> None:
    plain, moved = naive_traffic(tiling.n, tiling.d_head).total, loaded(tiling, tile + 1)
    one, two, three, four = st.columns(4)
    cells_at_once = f"{tiling.rows * tiling.columns} scores at a time, of {tiling.n**2:,}"
    metric(one, "Tile", f"{tiling.rows} × {tiling.columns}", cells_at_once)
    few = (
        f"{tiling.n} tokens are few: all tiles move {loaded(tiling, len(result.tiles)) / plain:.1f} times what the "
        "plain way moves. “Memory traffic” counts it for long sequences."
    )
    metric(two, "HBM: values moved so far", f"{moved:,}", f"plain way, in all: {plain:,}", few)
    hint = "Over all queries and all numbers of the output, in float32."
    metric(three, "Difference to the plain way", f"{result.difference:.1e}", verdict(result.difference), hint)
    metric(four, "The same in float64", f"{result.exact:.1e}", "so it is rounding alone")


def verdict(difference: float) -> str:
    """What a difference between two ways in float32 says."""
    return "equal to 1e-5" if difference <= ENOUGH else "rounding of float32"
