"""A panel of the page on long context: traffic between slow and fast memory, counted and by the theorem."""

import math

import pandas as pd
import streamlit as st

from pages.inference.long_context import experiments as experiments
from pages.inference.long_context.flash import ORDERS, WHICH
from pages.inference.long_context.words import metric, size
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from tfcore.analysis.inference import memory_traffic
from tfcore.analysis.inference.flash import Order, Tiling
from tfcore.analysis.inference.memory_traffic import Traffic
from tfcore.analysis.precision import stored_bytes
from tfcore.figures.inference import flash as figures

BYTES = stored_bytes(1, "float16")
UNIT = 1000  # kB
SIZES = list(range(16, 257, 16))


@cache.data(max_entries=256)
def count(n: int, d_head: int, kilobytes: int, order: Order, causal: bool) -> tuple[Traffic, float]:
    """Counted for one size of SRAM, and the theorem's leading term, in numbers."""
    sram = kilobytes * UNIT // BYTES
    tiling = Tiling(n=n, d_head=d_head, sram=sram, causal=causal, order=order)
    return memory_traffic.tiled_traffic(tiling), memory_traffic.theorem(n, d_head, sram, order, causal)


def panel() -> None:
    """Bars of what is moved, and the same against the size of SRAM."""
    st.markdown(
        "**Memory traffic.** Arithmetic is fast, access to the large memory (HBM) is slow. Counted here: each value "
        "read from it or written to it, for one head, with M values of fast memory (SRAM)."
    )
    st.latex(
        r"\begin{gathered} \text{plain: } \Theta(nd + n^2) \qquad \text{tiles: } \Theta(n^2 d^2 / M) \\"
        r"\text{for } d \le M \le nd \quad \text{(Theorem 2)} \end{gathered}"
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        n = 2 ** controls.slider("Sequence length n: 2 to the power of", "length", 9, 17, 12)
        d_head = controls.select("Width of a head, d", "width", [32, 64, 128, 256], 64)
        kilobytes = controls.slider(
            "SRAM, kB",
            "kilobytes",
            SIZES[0],
            SIZES[-1],
            192,
            SIZES[1] - SIZES[0],
            help="192 kB for each multiprocessor of an A100, 256 of an H100.",
        )
        order = controls.segmented("Outer loop over", "loop", list(ORDERS), "keys", ORDERS, help=WHICH)
        causal = controls.toggle("Causal: skip masked tiles", "causal")
    naive = memory_traffic.naive_traffic(n, d_head)
    tiled, formula = count(n, d_head, kilobytes, order, causal)
    plain, counted = BYTES * naive.total, BYTES * tiled.total
    with right:
        _metrics(n, plain, counted, BYTES * formula)
        figure(
            figures.traffic_figure(naive, tiled, BYTES, 270),
            key="moved",
            height=270,
            table=lambda: bars(naive, tiled),
            alt=f"One head of {n:,} tokens: the plain way moves {size(plain)}, tiles {size(counted)}, "
            f"{plain / counted:.2f} times less.",
            caption=f"n = {n:,}, d = {d_head}, half precision. The plain way moves {size(plain)}, mostly scores and "
            f"weights, twice each; tiles {size(counted)} and no score at all.",
        )
        every = [count(n, d_head, kb, order, causal) for kb in SIZES]
        totals, curve = [BYTES * t.total for t, _ in every], [BYTES * f for _, f in every]
        figure(
            figures.sram_figure(SIZES, totals, curve, plain, SIZES.index(kilobytes), 300),
            key="sram",
            height=300,
            table=lambda: pd.DataFrame(
                {"SRAM kB": SIZES, "counted bytes": totals, "formula bytes": curve, "plain bytes": plain}
            ),
            alt=f"Bytes moved against SRAM: from {size(totals[0])} at {SIZES[0]} kB down to {size(totals[-1])} at "
            f"{SIZES[-1]} kB; the plain way {size(plain)} at any size.",
            caption=f"{SIZES[0]} kB: {size(totals[0])}, {SIZES[-1]} kB: {size(totals[-1])}, about as 1 ÷ M; plain: "
            f"{size(plain)}.",
        )
    page.try_this(
        {
            "an A100": {"length": 12, "width": 64, "kilobytes": 192, "loop": "keys", "causal": False},
            "little SRAM": {"width": 64, "kilobytes": 16, "loop": "keys"},
            "wide heads": {"width": 256, "kilobytes": 96, "loop": "keys"},
            "queries outside, causal": {"width": 128, "kilobytes": 192, "loop": "queries", "causal": True},
        }
    )
    page.what_to_see(
        "Plain and tiled traffic grow with n², but tiles move about n²d²/M values instead of 4 n²: with d = 64 and 192 "
        "kB the bars of scores and weights vanish and little comes in their place. The marks are the loads and stores "
        "of the loops added up, the dashed line is the theorem's term with its constant (12 with keys outside, 8 with "
        "queries outside). Try a small SRAM with wide heads: M < 3 d², and tiles move more than the plain way. The "
        "number of operations is the same; only the memory traffic changes."
    )
    page.source(memory_traffic.tiled_traffic, memory_traffic.naive_traffic, memory_traffic.theorem)
    page.experiment(experiments.traffic, n, d_head, kilobytes * UNIT // BYTES, order, causal, BYTES)
    st.caption(
        "FlashAttention, algorithms 0 and 1, theorem 2, arXiv:2205.14135; queries outside: arXiv:2307.08691. 1 kB is "
        "1,000 bytes; caches of the GPU between HBM and SRAM are left out, as in the papers."
    )
    page.question(
        "Tiles read the same queries, or the same keys, many times; the plain way reads them once. Why do tiles still "
        "move less?",
        "Their scores never leave SRAM: they are made there, used for the softmax's state and for the values, and "
        "dropped. The plain way writes them, reads them for the softmax, writes the weights and reads those: 4 n² "
        "numbers. A pass over the queries moves only n d, and there are few passes if a tile is large.",
    )


def _metrics(n: int, plain: int, counted: int, formula: float) -> None:
    one, two, three = st.columns(3)
    metric(one, "Plain way", size(plain), f"{plain / BYTES / n**2:.2f} n² numbers")
    less = f"{plain / counted:.2f} × less" if counted <= plain else f"{counted / plain:.2f} × more"
    metric(two, "Tiles, counted", size(counted), less)
    if math.isinf(formula):
        metric(three, "c n²d² ÷ M", "–", "holds for d ≤ M ≤ nd only")
    else:
        metric(three, "c n²d² ÷ M", size(formula), f"counted ÷ formula: {counted / formula:.3f}")


def bars(naive: Traffic, tiled: Traffic) -> pd.DataFrame:
    """What is moved, part by part."""
    return pd.DataFrame(
        [
            {"way": way, "direction": direction, "what": part, "numbers": numbers, "bytes": BYTES * numbers}
            for way, moved in (("plain", naive), ("tiles", tiled))
            for direction, parts in (("read", moved.reads), ("written", moved.writes))
            for part, numbers in parts.items()
        ]
    )
