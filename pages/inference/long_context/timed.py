"""A panel of the page on long context: plain and fused attention timed on this machine, now."""

import pandas as pd
import streamlit as st

from pages.inference.long_context import experiments as experiments
from pages.ui import controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from pages.ui.work import jobs, live
from tfcore.analysis.inference import attention_timing as timing
from tfcore.analysis.inference.attention_timing import Timed, TimingConfig
from tfcore.measures.quantities import prefixed


def panel() -> None:
    """Both races, drawn as they run."""
    st.markdown("**On this machine, now.** The same attention, plain and fused, on random vectors of growing length.")
    page.try_this(
        {
            "one head": {"heads": 1},
            "eight heads": {"heads": 8},
            "no mask": {"causal_timed": False},
            "wide heads": {"head_size": 128},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        heads = controls.slider("Heads", "heads", 1, 8, 2)
        d_head = controls.select("Width of a head, d", "head_size", [32, 64, 128], 64)
        causal = controls.toggle("Causal", "causal_timed", True)
        with page.more_settings():
            seed = controls.slider("Seed of the vectors", "seed", 0, 20, 0)
        beside = st.container()
    config = TimingConfig(heads=heads, d_head=d_head, causal=causal, seed=seed)

    def draw(job: jobs.Job) -> None:
        with beside:
            total, again = 2 * len(timing.LENGTHS), {"seed": controls.next_seed(seed)}
            live.bar(config, job, len(job.items), total, again, work="measurement", step="point", fresh="Measure again")
        with right:
            show(list(job.items))

    live.watch(config, draw, live.begin(config, lambda: timing.race(config)))
    page.what_to_see(
        "The captions compare both at the longest length that both were measured on. Plain attention makes several "
        "matrices of n × n, writes them and reads them again, and under a causal mask it computes the half that is "
        "then masked. Where these matrices dominate, its time grows fourfold for each doubling. In bytes the slopes "
        "differ: n² for plain, n for fused attention. Where the plain matrices would take more than "
        f"{prefixed(timing.LARGEST)} they are left out (open marks)."
    )
    st.caption(
        f"Measured on {timing.where()}; the quickest of up to {timing.REPEATS} runs each. The link brings back the "
        "settings, the times are those of the machine. Bytes: scores and weights, or the output (computed); the most "
        "that torch had allocated at once (measured). FlashAttention: arXiv:2205.14135."
    )
    page.question(
        "Without a mask, fused attention does not skip a single multiplication. Where does its speed come from?",
        "From memory. Standard attention writes scores, reads them for the softmax, writes weights and reads them "
        "again; with long sequences none of that fits into a cache. The fused kernel keeps a tile where the arithmetic "
        "happens. Under a causal mask it also skips the tiles that lie in the future, which standard attention "
        "computes and hides.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.timed, made(timing.timed_points, config)),
        formula=(
            r"\begin{gathered} \text{plain: } S = QK^\top/\sqrt{d},\ \ P = \mathrm{softmax}(S),\ \ O = PV \\"
            r"\text{fused: one kernel, tile by tile} \end{gathered}"
        ),
        code=(timing.naive_attention, timing.fused_attention, timing.race, timing.allocated),
    )


def show(points: list[Timed]) -> None:
    """Both figures and the finding, as far as it is known."""
    first, second = st.columns(2, gap="medium")
    with first:
        shown = experiments.timed(points)
        figure(
            shown.figure,
            key="seconds",
            height=380,
            table=lambda: pd.DataFrame(points),
            alt=f"Time against length on this machine. {shown.alt}",
            caption=f"Quickest run, milliseconds. {shown.caption}",
        )
    with second:
        shown = experiments.at_once(points)
        figure(
            shown.figure,
            key="bytes",
            height=380,
            table=lambda: pd.DataFrame(points),
            alt=shown.alt,
            caption=f"{shown.caption} Dashed: computed from the shapes, marks: measured, open: left out.",
        )
