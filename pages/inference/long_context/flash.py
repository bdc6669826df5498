"""A panel of the page on long context: flash attention tile by tile, with the numbers of one query."""

from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from pages.inference.long_context import experiments as experiments
from pages.inference.long_context import text as source
from pages.ui import cache, controls, head_links, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.components.player import player
from pages.ui.program import made
from tfcore.analysis.inference import flash_attention, memory_traffic, online_softmax
from tfcore.analysis.inference.flash_attention import FlashRun, Order
from tfcore.analysis.inference.online_softmax import RowStep
from tfcore.figures.inference.online_softmax import SHOWN
from tfcore.measures import one_text

ORDERS: dict[Order, str] = {"queries": "queries", "keys": "keys"}
WHICH = "Keys: as in FlashAttention. Queries: as in FlashAttention-2."
_SAME = {"text": source.TEXT, "sram": 1024, "order": "queries", "row": 36}
TRY: dict[str, dict[str, Any]] = {
    "the maximum rises often": {**_SAME, "layer": 1, "head": 4, "tile": 15},
    "the first tile has the maximum": {**_SAME, "layer": 3, "head": 1, "tile": 15},
    "small SRAM": {**_SAME, "sram": 384, "tile": 80},
    "outer loop over keys": {**_SAME, "order": "keys", "tile": 10},
}


tiled = cache.of_model(max_entries=24)(experiments.tiled)


def panel() -> None:
    """The tiles, the numbers of one query, and the result beside that of standard attention."""
    page.try_this(TRY)
    left, right = st.columns([1, 4], gap="medium")
    with left:
        box, more = st.container(), page.more_settings()
    with box:
        chosen = source.choose(more)
        n, d_head = len(chosen.read.ids), cache.model(source.MODEL)[0].config.head_size
        with more:
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
        row = controls.place("Query to follow", "row", n, n - 1)
    given = *chosen.key, chosen.layer, chosen.head, sram, order, row
    result = tiled(*given)
    count = len(result.tiles)
    with right, st.container(horizontal=True, vertical_alignment="bottom"):
        tile = controls.slider("Tile", "tile", 1, count, max(1, count - 1)) - 1
        player("tile", 1, count, tile + 1, label="Go through the tiles", period=0.8)
    with right:
        first, second = st.columns([5, 7], gap="medium")
        with first:
            _tiles(chosen, result, tile)
        with second:
            _numbers(chosen, result, tile)
    _metrics(result, tile)
    st.markdown(
        "**Flash attention never writes the scores to memory.** A GPU has a large slow memory (HBM) and a small fast "
        "one (SRAM). The scores are computed in SRAM tile by tile, used, and discarded; the result is the same up to "
        "rounding."
    )
    page.what_to_see(
        "Each tile of scores exists only in SRAM: it is used and discarded (grey); the matrix is never stored whole. "
        "For the framed query three things are kept (online softmax): the running maximum m, the normaliser l and the "
        "weighted sum of values. When a tile has a larger score, what was accumulated is multiplied by e^(old m − new "
        f"m). {flash_attention.rescaling(result)} In the end out ÷ l is the softmax attention output, up to "
        "rounding. Hatched tiles are masked wholly: they are neither loaded nor computed."
    )
    page.question(
        "Could one leave out the maximum m, and just add up e^s and e^s · v?",
        "On paper yes: e^m cancels in out ÷ l. In float16 e^s overflows above s = 11, in float32 above 88. With the "
        "running maximum every exponent is at most 0, so nothing overflows; the price is one multiplication of what "
        "was added up, whenever the maximum moves.",
    )
    page.how_it_is_computed(
        page.experiment(
            experiments.flash, made(experiments.tiled, *given), made(one_text.first_tokens, *chosen.key), tile
        ),
        formula=(
            r"\begin{gathered} m = \max(m_{old}, m_{tile}), \quad O = out \,/\, \ell \\"
            r"\begin{aligned} \ell &= e^{m_{old} - m}\,\ell_{old} + e^{m_{tile} - m}\,\ell_{tile} \\"
            r"out &= e^{m_{old} - m}\,out_{old} + e^{m_{tile} - m}\,out_{tile} \end{aligned} \end{gathered}"
        ),
        code=(online_softmax.merge, online_softmax.of_tile, flash_attention.tiled_attention),
        papers=(
            "FlashAttention, algorithm 1, arXiv:2205.14135; FlashAttention-2, arXiv:2307.08691; online softmax, "
            "arXiv:1805.02867. Click a tile to go there."
        ),
    )


def _tiles(chosen: source.Head, result: FlashRun, tile: int) -> None:
    shown = experiments.flash(result, chosen.read, tile)
    figure(
        shown.figure,
        key="tiles",
        height=430,
        min_width=320,
        on_click=partial(choose_cell, result),
        alt=shown.alt,
        caption=f"{shown.caption} In colour: in SRAM now. Grey: discarded. Hatched: skipped.",
    )
    there = head_links.of_ids(source.MODEL, chosen.read.ids, chosen.layer, chosen.head, chosen.pasted)
    there.link(result.row, int(result.pattern[result.row].argmax()), chosen.read.tokens, chosen.read.tokens)


def choose_cell(result: FlashRun, event: Event) -> None:
    """A click on a cell of the score matrix chooses its query and its tile."""
    x, y = event["x"], event["y"]
    if isinstance(x, int | float) and isinstance(y, int | float):
        tile = flash_attention.tile_at(result, y, x)
        if tile is not None:
            controls.set_values(row=int(y), tile=tile + 1)


def _numbers(chosen: source.Head, result: FlashRun, tile: int) -> None:
    """The followed query: its scores in the tile at hand, the arithmetic of the step, and the ledger."""
    done = result.done(tile)
    name = text.escape(text.visible(chosen.read.tokens[result.row]))
    if not done:
        st.markdown(f"Query {result.row}, **{name}**: its first tile is number {result.steps[0].at + 1}.")
        st.latex(r"m = -\infty,\quad \ell = 0,\quad out = 0")
    else:
        when = "at hand" if done[-1].at == tile else f"its last one was tile {done[-1].at + 1}"
        st.markdown(f"Query {result.row}, **{name}**, {when}:")
        st.latex(done[-1].equation)
    step = result.latest(tile)
    shown = experiments.scores(result, chosen.read, tile)
    figure(
        shown.figure,
        key="scores",
        height=120,
        min_width=42 * len(step.keys) + 100,
        alt=shown.alt,
        caption=f"(1, {len(step.keys)}): scores s for the keys of tile {step.at + 1}, weights e^(s − their largest).",
    )
    shown = experiments.ledger(result, tile)
    figure(
        shown.figure,
        key="ledger",
        height=56 + 30 * min(len(result.steps), experiments.LINES),
        min_width=400,
        table=partial(ledger, result.steps),
        alt=shown.alt,
        caption=f"{len(result.naive)} values of output, {SHOWN} of them shown, one line per tile. {shown.caption}",
    )


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


def _metrics(result: FlashRun, tile: int) -> None:
    moved, off = memory_traffic.moved_so_far(result, tile), result.off_by
    single, double = off.words
    few = f"{moved} “Memory traffic” counts it for long sequences."
    for place, (label, (value, note), hint) in zip(
        st.columns(4),
        (
            ("Tile", moved.tile_words, None),
            ("HBM: values moved so far", moved.moved_words, few),
            (
                "Difference to standard attention",
                (single, off.verdict),
                "Over all queries and all numbers of the output, in float32.",
            ),
            ("The same in float64", (double, "so it is rounding alone"), None),
        ),
        strict=True,
    ):
        place.metric(label, value, note, help=hint, delta_color="off", delta_arrow="off")
