"""The page on long context: attention in pieces, tile by tile on one chip and block by block around a ring."""

from functools import partial
from typing import Any

import streamlit as st

from pages.inference.long_context import choices
from pages.ui import cache, controls, head_links, page, text
from pages.ui.components.figure import Event
from pages.ui.components.player import player
from pages.ui.frame import panel
from tfcore.views.inference import long_context as views
from tfcore.views.inference.long_context.measure.flash import FlashRun, tile_at
from tfcore.views.inference.long_context.measure.ring import Layout, RingRun
from tfcore.views.inference.long_context.say import pieces as say
from tfcore.views.inference.long_context.say.traffic import moved_so_far

# ---- flash attention ----

_SAME = {"text": choices.TEXT, "sram": 1024, "order": "queries", "row": 36}
TRY: dict[str, dict[str, Any]] = {
    "the maximum rises often": {**_SAME, "layer": 1, "head": 4, "tile": 15},
    "the first tile has the maximum": {**_SAME, "layer": 3, "head": 1, "tile": 15},
    "small SRAM": {**_SAME, "sram": 384, "tile": 80},
    "outer loop over keys": {**_SAME, "order": "keys", "tile": 10},
}


def flash() -> None:
    """The tiles, the numbers of one query, and the result beside that of standard attention."""
    with panel((1, 4)) as p:
        p.examples(TRY)
        with p.controls:
            box, more = st.container(), page.more_settings()
        with box:
            chosen = choices.choose_head(more)
            n, d_head = len(chosen.read.ids), cache.model(choices.MODEL)[0].config.head_size
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
            order = controls.segmented(
                "Outer loop over", "order", list(choices.ORDERS), "queries", choices.ORDERS, help=choices.WHICH
            )
            row = controls.place("Query to follow", "row", n, n - 1)
        given = chosen.reading, chosen.layer, chosen.head, sram, order, row
        run = views.flash_of(*given)
        count = len(run.tiles)
        with p.picture:
            with st.container(horizontal=True, vertical_alignment="bottom"):
                tile = controls.slider("Tile", "tile", 1, count, max(1, count - 1)) - 1
                player("tile", 1, count, tile + 1, label="Go through the tiles", period=0.8)
            first, second = st.columns([5, 7], gap="medium")
        tokens = chosen.read.tokens
        with first:
            p.show(views.tiles(*given, tile), on_click=partial(choose_cell, run))
            there = head_links.of_ids(choices.MODEL, chosen.read.ids, chosen.layer, chosen.head, chosen.reading.text)
            there.link(row, int(run.pattern[row].argmax()), tokens, tokens)
        with second:
            step_of_query(run, tile, tokens[row])
            p.show(views.scores(*given, tile))
            p.show(views.ledger(*given, tile))
        flash_metrics(run, tile)
        st.markdown(
            "**Flash attention never writes the scores to memory.** A GPU has a large slow memory (HBM) and a small "
            "fast one (SRAM). The scores are computed in SRAM tile by tile, used, and discarded; the result is the "
            "same up to rounding."
        )
        p.what_to_see(
            "Each tile of scores exists only in SRAM: it is used and discarded (grey); the matrix is never stored "
            "whole. For the framed query three things are kept (online softmax): the running maximum m, the normaliser "
            "l and the weighted sum of values. When a tile has a larger score, what was accumulated is multiplied by "
            f"e^(old m − new m). {say.rescaling(run)} In the end out ÷ l is the softmax attention output, up to "
            "rounding. Hatched tiles are masked wholly: they are neither loaded nor computed."
        )
        p.question(
            "Could one leave out the maximum m, and just add up e^s and e^s · v?",
            "On paper yes: e^m cancels in out ÷ l. In float16 e^s overflows above s = 11, in float32 above 88. With "
            "the running maximum every exponent is at most 0, so nothing overflows; the price is one multiplication of "
            "what was added up, whenever the maximum moves.",
        )


def choose_cell(run: FlashRun, event: Event) -> None:
    """A click on a cell of the score matrix chooses its query and its tile."""
    x, y = event["x"], event["y"]
    if isinstance(x, int | float) and isinstance(y, int | float):
        tile = tile_at(run, y, x)
        if tile is not None:
            controls.set_values(row=int(y), tile=tile + 1)


def step_of_query(run: FlashRun, tile: int, token: str) -> None:
    """The arithmetic of the followed query in its last tile."""
    done = run.done(tile)
    name = text.escape(text.visible(token))
    if not done:
        st.markdown(f"Query {run.row}, **{name}**: its first tile is number {run.steps[0].at + 1}.")
        st.latex(r"m = -\infty,\quad \ell = 0,\quad out = 0")
    else:
        when = "at hand" if done[-1].at == tile else f"its last one was tile {done[-1].at + 1}"
        st.markdown(f"Query {run.row}, **{name}**, {when}:")
        st.latex(done[-1].equation)


def flash_metrics(run: FlashRun, tile: int) -> None:
    """The numbers moved until a tile, and how far all queries are from standard attention."""
    moved, off = moved_so_far(run, tile), say.off_by(run)
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


# ---- ring attention ----

LAYOUTS: dict[Layout, str] = {"contiguous": "contiguous", "striped": "striped"}
DEVICES = 8


def ring() -> None:
    """The ring, who met whom, the numbers of one query, and the work of every device."""
    with panel((1, 4)) as p:
        p.examples(
            {
                "the last step": {"devices": 4, "step": 4},
                "eight devices": {"devices": 8, "step": 3, "layout": "contiguous", "causal_ring": True},
                "striped": {"devices": 8, "step": 3, "layout": "striped", "causal_ring": True},
                "bidirectional": {"devices": 4, "causal_ring": False},
            }
        )
        with p.controls:
            box, more = st.container(), page.more_settings()
        with box:
            chosen = choices.choose_head(more)
            n = len(chosen.read.ids)
            devices = controls.slider("Devices", "devices", 1, min(DEVICES, n), min(4, n))
            layout = controls.segmented(
                "Tokens are",
                "layout",
                list(LAYOUTS),
                "contiguous",
                LAYOUTS,
                help="Contiguous: the first device has the beginning, the last one the end. "
                "Striped: token i is on device i mod N.",
            )
            with more:
                causal = controls.toggle("Causal", "causal_ring", True)
                row = controls.place("Query to follow", "row", n, n - 1)
        given = chosen.reading, chosen.layer, chosen.head, devices, layout, causal, row
        with p.picture:
            with st.container(horizontal=True, vertical_alignment="bottom"):
                step = controls.slider("Step", "step", 1, devices, min(2, devices)) - 1
                player("step", 1, devices, step + 1, label="Around the ring", period=1.0)
            first, second = st.columns([5, 7], gap="medium")
        with first:
            p.show(views.ring(*given, step))
            p.show(views.blocks_met(*given, step))
        with second:
            run = views.ring_of(*given)
            block_of_query(run, step, chosen.read.tokens[row])
            p.show(views.states(*given, step))
            ring_metrics(run, step)
        st.subheader("Load balance", anchor=False)
        works = {
            "contiguous": views.contiguous_work(n, devices, causal, step),
            "striped": views.striped_work(n, devices, causal, step),
        }
        for place, (one, shown) in zip(st.columns(2, gap="medium"), works.items(), strict=True):
            with place:
                st.markdown(f"**Tokens {one}**{' (chosen above)' if one == layout else ''}")
                p.show(shown)
        st.markdown(
            "**Sequence parallelism.** Each device holds the queries of its part of the sequence, and blocks of keys "
            "and values travel around the ring."
        )
        p.what_to_see(
            "Squares (KV blocks) travel, circles (queries) stay: after as many steps as there are devices every query "
            "has met every key, and no device ever held more than its own and one other block. Each block is merged by "
            "the same online softmax as a tile of flash attention. Under a causal mask the contiguous layout is "
            "unbalanced: device 0 has only the beginning, all it is sent later is masked, and it waits for the last "
            "one, which works at every step. Striped, every device has early and late tokens, and the load is nearly "
            "even."
        )
        p.question(
            "While a device computes, the next block is on its way. How large must a block be so that no device waits?",
            "A block of c tokens costs 4 d c² operations for each head and sends 4 d c bytes (keys and values, two "
            "bytes each). At F operations and B bytes per second nothing waits if c ≥ F ÷ B: an A100 with 312 TFLOP/s "
            "and 300 GB/s of NVLink needs blocks of about 1,040 tokens. The paper counts six such blocks of memory on "
            "each device, its own text and what comes and goes, and so asks for 6,200 tokens there (arXiv:2310.01889, "
            "table 2).",
        )


def block_of_query(run: RingRun, step: int, token: str) -> None:
    """The block that reached the followed query, and its arithmetic."""
    device = int(run.home[run.row])
    name = text.escape(text.visible(token))
    st.markdown(f"Query {run.row}, **{name}**, on device {device}; KV{int(run.held[step, device])} arrived:")
    st.latex(run.steps[step].equation)


def ring_metrics(run: RingRun, step: int) -> None:
    """How far all queries are from the result of standard attention."""
    missing = say.still_to_come(run, step)
    hint = f"Over all queries, float32; in float64 it ends at {missing.in_double}."
    for place, (label, (value, note), words) in zip(
        st.columns(2),
        (
            ("Weight still to come", (missing.missing_share, "mean over all queries"), None),
            ("Off standard attention by", missing.off_words, hint),
        ),
        strict=True,
    ):
        place.metric(label, value, note, help=words, delta_color="off", delta_arrow="off")
