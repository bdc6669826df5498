"""A panel of the page on long context: ring attention step by step over several devices."""

from functools import partial

import pandas as pd
import streamlit as st

from pages.inference.long_context import experiments as experiments
from pages.inference.long_context import text as source
from pages.inference.long_context.flash import ledger
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import figure
from pages.ui.components.player import player
from pages.ui.program import made
from tfcore.analysis.inference import online_softmax, ring_attention
from tfcore.analysis.inference.ring_attention import Layout, RingRun

LAYOUTS: dict[Layout, str] = {"contiguous": "contiguous", "striped": "striped"}
DEVICES = 8


around = cache.of_model(max_entries=32)(experiments.around)


def panel() -> None:
    """The ring, who met whom, the numbers of one query, and the work of every device."""
    page.try_this(
        {
            "the last step": {"devices": 4, "step": 4},
            "eight devices": {"devices": 8, "step": 3, "layout": "contiguous", "causal_ring": True},
            "striped": {"devices": 8, "step": 3, "layout": "striped", "causal_ring": True},
            "bidirectional": {"devices": 4, "causal_ring": False},
        }
    )
    left, right = st.columns([1, 4], gap="medium")
    with left:
        box, more = st.container(), page.more_settings()
    with box:
        chosen = source.choose(more)
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
    given = *chosen.key, chosen.layer, chosen.head, devices, layout, causal, row
    result = around(*given)
    with right, st.container(horizontal=True, vertical_alignment="bottom"):
        step = controls.slider("Step", "step", 1, devices, min(2, devices)) - 1
        player("step", 1, devices, step + 1, label="Around the ring", period=1.0)
    with right:
        first, second = st.columns([5, 7], gap="medium")
        with first:
            _ring(result, step)
        with second:
            _query(chosen, result, step)
    _work(n, devices, layout, causal, step)
    st.markdown(
        "**Sequence parallelism.** Each device holds the queries of its part of the sequence, and blocks of keys and "
        "values travel around the ring."
    )
    page.what_to_see(
        "Squares (KV blocks) travel, circles (queries) stay: after as many steps as there are devices every query has "
        "met every key, and no device ever held more than its own and one other block. Each block is merged by the "
        "same online softmax as a tile of flash attention. Under a causal mask the contiguous layout is unbalanced: "
        "device 0 has only the beginning, all it is sent later is masked, and it waits for the last one, which works "
        "at every step. Striped, every device has early and late tokens, and the load is nearly even."
    )
    page.question(
        "While a device computes, the next block is on its way. How large must a block be so that no device waits?",
        "A block of c tokens costs 4 d c² operations for each head and sends 4 d c bytes (keys and values, two bytes "
        "each). At F operations and B bytes per second nothing waits if c ≥ F ÷ B: an A100 with 312 TFLOP/s and 300 "
        "GB/s of NVLink needs blocks of about 1,040 tokens. The paper counts six such blocks of memory on each device, "
        "its own text and what comes and goes, and so asks for 6,200 tokens there (arXiv:2310.01889, table 2).",
    )
    page.how_it_is_computed(
        page.experiment(experiments.ring, made(experiments.around, *given), step),
        formula=(
            r"\begin{gathered} \text{device } i \text{ at step } t: \quad j = (i - t) \bmod N \\"
            r"\mathrm{state}_i \leftarrow \mathrm{merge}(\mathrm{state}_i,\ "
            r"\mathrm{attend}(Q_i, K_j, V_j)) \end{gathered}"
        ),
        code=(ring_attention.ring_attention, ring_attention.ring_work, online_softmax.merge),
        papers=(
            "Ring Attention with Blockwise Transformers, arXiv:2310.01889; Striped Attention, arXiv:2311.09431. One "
            "head of one layer; the devices are simulated one after the other on this machine."
        ),
    )


def _ring(result: RingRun, step: int) -> None:
    shown = experiments.ring(result, step)
    figure(
        shown.figure,
        key="ring",
        height=350,
        alt=shown.alt,
        caption="Circles: queries, at home. Squares: keys and values, by their home's colour, passed on clockwise. "
        f"{shown.caption}",
    )
    shown = experiments.blocks_met(result, step)
    figure(
        shown.figure,
        key="meetings",
        height=280,
        alt=shown.alt,
        caption=f"The step at which queries and keys meet. {shown.caption} –: masked.",
    )


def _query(chosen: source.Head, result: RingRun, step: int) -> None:
    """The state of one query, and how far all are from the result of standard attention."""
    device = int(result.home[result.row])
    name = text.escape(text.visible(chosen.read.tokens[result.row]))
    here = int(result.held[step, device])
    st.markdown(f"Query {result.row}, **{name}**, on device {device}; KV{here} arrived:")
    st.latex(result.steps[step].equation)
    shown = experiments.states(result, step)
    figure(
        shown.figure,
        key="states",
        height=60 + 34 * len(result.held),
        min_width=400,
        table=partial(ledger, result.steps),
        alt=shown.alt,
        caption=shown.caption,
    )
    found = ring_attention.still_to_come(result, step)
    hint = f"Over all queries, float32; in float64 it ends at {found.in_double}."
    for place, (label, (value, note), words) in zip(
        st.columns(2),
        (
            ("Weight still to come", (found.missing_share, "mean over all queries"), None),
            ("Off standard attention by", found.off_words, hint),
        ),
        strict=True,
    ):
        place.metric(label, value, note, help=words, delta_color="off", delta_arrow="off")


def _work(n: int, devices: int, layout: Layout, causal: bool, step: int) -> None:
    """Pairs of every device at every step, for both layouts."""
    st.subheader("Load balance", anchor=False)
    found = {one: ring_attention.ring_work(n, devices, one, causal) for one in LAYOUTS}
    for place, (one, work) in zip(st.columns(2, gap="medium"), found.items(), strict=True):
        shown = experiments.work(found, one, step)
        with place:
            st.markdown(f"**Tokens {LAYOUTS[one]}**{' (chosen above)' if one == layout else ''}")
            figure(
                shown.figure,
                key=f"work {one}",
                height=110 + 30 * devices,
                table=lambda w=work: pd.DataFrame(w).rename_axis("step").reset_index(),
                alt=shown.alt,
                caption=shown.caption,
            )
