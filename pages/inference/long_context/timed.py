"""A panel of the page on long context: plain and fused attention timed on this machine, now."""

import pandas as pd
import streamlit as st

from pages.inference.long_context import experiments as experiments
from pages.inference.long_context.words import size
from pages.ui import controls, page
from pages.ui.components.figure import figure
from pages.ui.work import jobs, live
from tfcore.analysis.inference import attention_timing as timing
from tfcore.analysis.inference.attention_timing import Timed, TimingConfig
from tfcore.figures.inference import attention_timing as figures

NAMES: dict[timing.Way, str] = {"naive": "plain", "fused": "fused"}


def panel() -> None:
    """Both races, drawn as they run."""
    st.markdown("**On this machine, now.** The same attention, plain and fused, on random vectors of growing length.")
    st.latex(
        r"\begin{gathered} \text{plain: } S = QK^\top/\sqrt{d},\ \ P = \mathrm{softmax}(S),\ \ O = PV \\"
        r"\text{fused: one kernel, tile by tile} \end{gathered}"
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        heads = controls.slider("Heads", "heads", 1, 8, 2)
        d_head = controls.select("Width of a head, d", "head_size", [32, 64, 128], 64)
        causal = controls.toggle("Causal", "causal_timed", True)
        seed = controls.slider("Seed of the vectors", "seed", 0, 20, 0)
        beside = st.container()
    config = TimingConfig(heads=heads, d_head=d_head, causal=causal, seed=seed)

    def draw(job: jobs.Job) -> None:
        with beside:
            total, again = 2 * len(timing.LENGTHS), {"seed": (seed + 1) % 21}
            live.bar(config, job, len(job.items), total, again, work="measurement", step="point", fresh="Measure again")
        with right:
            show(list(job.items))

    live.watch(config, draw, live.begin(config, lambda: timing.race(config)))
    page.try_this(
        {
            "one head": {"heads": 1},
            "eight heads": {"heads": 8},
            "no mask": {"causal_timed": False},
            "wide heads": {"head_size": 128},
        }
    )
    page.what_to_see(
        "The captions compare both at the longest length that both were measured on. Plain attention makes several "
        "matrices of n × n, writes them and reads them again, and under a causal mask it computes the half that is "
        "then masked. Where these matrices dominate, its time grows fourfold for each doubling. In bytes the slopes "
        "differ: n² for plain, n for fused attention. Where the plain matrices would take more than "
        f"{size(timing.LARGEST)} they are left out (open marks)."
    )
    page.source(timing.naive_attention, timing.fused_attention, timing.race, timing.allocated)
    page.experiment(experiments.timed, config)
    st.caption(
        f"Measured on {timing.where()}; the quickest of up to {timing.REPEATS} runs each. The link brings back the "
        "settings, the times are those of the machine. Bytes: scores and weights, or the output (computed); the most "
        "that torch had allocated at once (measured). FlashAttention: arXiv:2205.14135."
    )
    page.question(
        "Without a mask, fused attention does not skip a single multiplication. Where does its speed come from?",
        "From memory. The plain way writes scores, reads them for the softmax, writes weights and reads them again; "
        "with long sequences none of that fits into a cache. The fused kernel keeps a tile where the arithmetic "
        "happens. Under a causal mask it also skips the tiles that lie in the future, which the plain way computes and "
        "hides.",
    )


def show(points: list[Timed]) -> None:
    """Both figures and the finding, as far as it is known."""
    said = found(points)
    first, second = st.columns(2, gap="medium")
    with first:
        figure(
            figures.seconds_figure(points, 380),
            key="seconds",
            height=380,
            table=lambda: pd.DataFrame(points),
            alt=f"Time against length on this machine. {said}",
            caption=f"Quickest run, milliseconds. {said}",
        )
    with second:
        kept = [p for p in points if p.n == points[-1].n] if points else []
        words = "; ".join(
            f"{NAMES[p.way]} at {p.n:,} tokens: {size(p.computed)} computed"
            + (f", {size(p.measured)} measured" if p.measured else ", left out" if not p.runs else "")
            for p in kept
        )
        figure(
            figures.bytes_figure(points, 380),
            key="bytes",
            height=380,
            table=lambda: pd.DataFrame(points),
            alt=f"Bytes at once against length. {words or 'Nothing yet'}.",
            caption=f"Bytes at once beside Q, K, V. Dashed: computed from the shapes, marks: measured, open: left out. "
            f"{words or 'Nothing yet'}.",
        )


def found(points: list[Timed]) -> str:
    """The longest text that both ways were measured on, in one sentence."""
    ways = {(p.n, p.way): p for p in points if p.runs}
    both = [n for n in timing.LENGTHS if (n, "naive") in ways and (n, "fused") in ways]
    if not both:
        return "Nothing to compare yet."
    n = both[-1]
    plain, fused = ways[n, "naive"], ways[n, "fused"]
    ratio = plain.seconds / fused.seconds
    words = f"{ratio:.1f} times quicker" if ratio >= 1 else f"{1 / ratio:.1f} times slower"
    memory = ""
    if plain.measured and fused.measured:
        memory = f" and takes {plain.measured / fused.measured:.0f} times less memory"
    return (
        f"At {n:,} tokens fused attention is {words}{memory}: {_ms(plain)} and "
        f"{_ms(fused)}; the results differ by {fused.difference or 0:.0e} at most."
    )


def _ms(point: Timed) -> str:
    """A time in milliseconds, with three digits that count."""
    time = 1e3 * point.seconds
    return f"{time:,.0f} ms" if time >= 100 else f"{time:.3g} ms"
