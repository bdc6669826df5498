"""A panel of the page on long context: ring attention step by step over several devices."""

from functools import partial

import pandas as pd
import streamlit as st

from pages.inference.long_context import experiments as experiments
from pages.inference.long_context import text as source
from pages.inference.long_context.flash import arithmetic, ledger, verdict
from pages.inference.long_context.words import metric
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import figure
from pages.ui.components.player import player
from tfcore.analysis.inference import online_softmax, ring
from tfcore.analysis.inference.ring import Layout, RingRun
from tfcore.figures.inference import online_softmax as cells
from tfcore.figures.inference import ring as figures

LAYOUTS: dict[Layout, str] = {"contiguous": "contiguous", "striped": "striped"}
DEVICES = 8


@cache.data(max_entries=32)
def run(pasted: str, layer: int, head: int, devices: int, layout: Layout, causal: bool, row: int) -> RingRun:
    return ring.follow_ring(source.vectors(pasted, layer, head), devices, layout, causal, row)


def panel() -> None:
    """The ring, who met whom, the numbers of one query, and the work of every device."""
    st.markdown(
        "**Sequence parallelism.** Each device holds the queries of its part of the sequence, and blocks of keys and "
        "values travel around the ring."
    )
    st.latex(
        r"\begin{gathered} \text{device } i \text{ at step } t: \quad j = (i - t) \bmod N \\"
        r"\mathrm{state}_i \leftarrow \mathrm{merge}(\mathrm{state}_i,\ \mathrm{attend}(Q_i, K_j, V_j)) \end{gathered}"
    )
    left, right = st.columns([1, 4], gap="medium")
    with left:
        chosen = source.choose()
        n = len(chosen.tokens)
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
        causal = controls.toggle("Causal", "causal_ring", True)
        row = controls.slider("Query to follow", "row", 0, n - 1, n - 1)
    result = run(chosen.pasted, chosen.layer, chosen.head, devices, layout, causal, row)
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
    page.try_this(
        {
            "the last step": {"devices": 4, "step": 4},
            "eight devices": {"devices": 8, "step": 3, "layout": "contiguous", "causal_ring": True},
            "striped": {"devices": 8, "step": 3, "layout": "striped", "causal_ring": True},
            "bidirectional": {"devices": 4, "causal_ring": False},
        }
    )
    page.what_to_see(
        "Squares (KV blocks) travel, circles (queries) stay: after as many steps as there are devices every query has "
        "met every key, and no device ever held more than its own and one other block. Each block is merged by the "
        "same online softmax as a tile of flash attention. Under a causal mask the contiguous layout is unbalanced: "
        "device 0 has only the beginning, all it is sent later is masked, and it waits for the last one, which works "
        "at every step. Striped, every device has early and late tokens, and the load is nearly even."
    )
    page.source(ring.ring_attention, ring.ring_work, online_softmax.merge)
    page.experiment(
        experiments.ring, chosen.pasted, source.TOKENS, chosen.layer, chosen.head, devices, layout, causal, row, step
    )
    st.caption(
        "Ring Attention with Blockwise Transformers, arXiv:2310.01889; Striped Attention, arXiv:2311.09431. One head "
        "of one layer; the devices are simulated one after the other on this machine."
    )
    page.question(
        "While a device computes, the next block is on its way. How large must a block be so that no device waits?",
        "A block of c tokens costs 4 d c² operations for each head and sends 4 d c bytes (keys and values, two bytes "
        "each). At F operations and B bytes per second nothing waits if c ≥ F ÷ B: an A100 with 312 TFLOP/s and 300 "
        "GB/s of NVLink needs blocks of about 1,040 tokens. The paper counts six such blocks of memory on each device, "
        "its own text and what comes and goes, and so asks for 6,200 tokens there (arXiv:2310.01889, table 2).",
    )


def _ring(result: RingRun, step: int) -> None:
    devices = len(result.held)
    idle = int((result.work[step] == 0).sum())
    where = ", ".join(f"device {i} has KV{j}" for i, j in enumerate(result.held[step]))
    figure(
        figures.devices_figure(result, step, 350),
        key="ring",
        height=350,
        alt=f"Step {step + 1} of {devices}: {where}; {idle} idle.",
        caption=f"Circles: queries, at home. Squares: keys and values, by their home's colour, passed on clockwise. "
        f"Step {step + 1}: {idle} of {devices} devices idle.",
    )
    met = int((result.held[: step + 1] >= 0).sum())
    figure(
        figures.meetings_figure(result, step, 280),
        key="meetings",
        height=280,
        alt=f"{met} of {devices * devices} blocks of queries and keys have met after step {step + 1}.",
        caption=f"The step at which queries and keys meet; {met} of {devices * devices} have; –: masked.",
    )


def _query(chosen: source.Head, result: RingRun, step: int) -> None:
    """The state of one query, and how far all are from the plain way's result."""
    device = int(result.home[result.row])
    name = text.escape(text.visible(chosen.tokens[result.row]))
    now = result.steps[step]
    here = int(result.held[step, device])
    st.markdown(f"Query {result.row}, **{name}**, on device {device}; KV{here} arrived:")
    st.latex(arithmetic(now))
    names = [f"KV{int(block)}" for block in result.held[:, device]]
    height = 60 + 34 * len(names)
    figure(
        cells.ledger_figure(result.steps[: step + 1], names, height),
        key="states",
        height=height,
        min_width=400,
        table=partial(ledger, result.steps),
        alt=f"After step {step + 1}: m {now.m:.3f}, l {now.l:.3f}, rescale {now.rescale:.3g}.",
        caption=f"{step + 1} of {len(names)} blocks merged.",
    )
    one, two = st.columns(2)
    metric(one, "Weight still to come", f"{result.missing[step]:.1%}", "mean over all queries")
    last = step + 1 == len(result.held)
    hint = f"Over all queries, float32; in float64 it ends at {result.exact:.0e}."
    said = verdict(result.difference) if last else "not done yet"
    metric(two, "Off the plain way by", f"{result.off[step]:.1e}", said, hint)


def _work(n: int, devices: int, layout: Layout, causal: bool, step: int) -> None:
    """Pairs of every device at every step, for both layouts."""
    st.subheader("Load balance", anchor=False)
    found = {one: ring.ring_work(n, devices, one, causal) for one in LAYOUTS}
    top = max(int(work.max()) for work in found.values())
    for place, (one, work) in zip(st.columns(2, gap="medium"), found.items(), strict=True):
        slowest, total = int(work.max(axis=1).sum()), int(work.sum())
        busy = total / (devices * slowest)
        with place:
            st.markdown(f"**Tokens {LAYOUTS[one]}**{' (chosen above)' if one == layout else ''}")
            figure(
                figures.work_figure(work, step, top, 110 + 30 * devices),
                key=f"work {one}",
                height=110 + 30 * devices,
                table=lambda w=work: pd.DataFrame(w).rename_axis("step").reset_index(),
                alt=f"Tokens {LAYOUTS[one]}: {total:,} pairs in all; the slowest of each step add up to {slowest:,}, "
                f"so they are busy {busy:.0%} of the time.",
                caption=f"(query, key) pairs of each device at each step: {total:,} in all, "
                f"{slowest:,} on the slowest device of each step: busy {busy:.0%} of the time.",
            )
