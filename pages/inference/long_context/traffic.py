"""A panel of the page on long context: traffic between slow and fast memory, counted and by the theorem."""

import pandas as pd
import streamlit as st

from pages.inference.long_context import experiments as experiments
from pages.inference.long_context.flash import ORDERS, WHICH
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from tfcore.analysis.inference import memory_traffic
from tfcore.analysis.inference.memory_traffic import MemoryTraffic, Moved
from tfcore.measures.precision import stored_bytes

BYTES = stored_bytes(1, "float16")
KB = 1000 // BYTES  # numbers in a kB
SIZES = list(range(16, 257, 16))  # kB


compare = cache.data(max_entries=256)(memory_traffic.compare_traffic)


def panel() -> None:
    """Bars of what is moved, and the same against the size of SRAM."""
    page.try_this(
        {
            "an A100": {"length": 12, "width": 64, "kilobytes": 192, "loop": "keys", "causal": False},
            "little SRAM": {"width": 64, "kilobytes": 16, "loop": "keys"},
            "wide heads": {"width": 256, "kilobytes": 96, "loop": "keys"},
            "queries outside, causal": {"width": 128, "kilobytes": 192, "loop": "queries", "causal": True},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        n = 2 ** controls.slider("Sequence length n: 2 to the power of", "length", 9, 17, 12)
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
        with page.more_settings():
            d_head = controls.select("Width of a head, d", "width", [32, 64, 128, 256], 64)
            causal = controls.toggle("Causal: skip masked tiles", "causal")
    every = [compare(n, d_head, size * KB, order, causal, BYTES) for size in SIZES]
    at = SIZES.index(kilobytes)
    found = every[at]
    with right:
        shown = experiments.traffic(found)
        figure(
            shown.figure,
            key="moved",
            height=270,
            table=lambda: bars(found.naive, found.tiled),
            alt=shown.alt,
            caption=shown.caption,
        )
        _metrics(memory_traffic.moved(found))
        shown = experiments.traffic_by_sram(SIZES, every, at)
        figure(
            shown.figure,
            key="sram",
            height=300,
            table=lambda: curve([memory_traffic.moved(one) for one in every]),
            alt=shown.alt,
            caption=shown.caption,
        )
    st.markdown(
        "**Memory traffic.** Arithmetic is fast, access to the large memory (HBM) is slow. Counted here: each value "
        "read from it or written to it, for one head, with M values of fast memory (SRAM)."
    )
    page.what_to_see(
        "Plain and tiled traffic grow with n², but tiles move about n²d²/M values instead of 4 n²: with d = 64 and 192 "
        "kB the bars of scores and weights vanish and little comes in their place. The marks are the loads and stores "
        "of the loops added up, the dashed line is the theorem's term with its constant (12 with keys outside, 8 with "
        "queries outside). Try a small SRAM with wide heads: where M < 3 d² (2 d² with queries outside), tiles move "
        "more than standard attention. The number of operations is the same; only the memory traffic changes."
    )
    page.question(
        "Tiles read the same queries, or the same keys, many times; standard attention reads them once. Why do tiles "
        "still move less?",
        "Their scores never leave SRAM: they are made there, used for the softmax's state and for the values, and "
        "dropped. Standard attention writes them, reads them for the softmax, writes the weights and reads those: 4 n² "
        "numbers. A pass over the queries moves only n d, and there are few passes if a tile is large.",
    )
    page.how_it_is_computed(
        page.experiment(
            experiments.traffic, made(memory_traffic.compare_traffic, n, d_head, kilobytes * KB, order, causal, BYTES)
        ),
        formula=(
            r"\begin{gathered} \text{plain: } \Theta(nd + n^2) \qquad \text{tiles: } \Theta(n^2 d^2 / M) \\"
            r"\text{for } d \le M \le nd \quad \text{(Theorem 2)} \end{gathered}"
        ),
        code=(memory_traffic.tiled_traffic, memory_traffic.naive_traffic, memory_traffic.theorem),
        papers=(
            "FlashAttention, algorithms 0 and 1, theorem 2, arXiv:2205.14135; queries outside: arXiv:2307.08691. 1 kB "
            "is 1,000 bytes; caches of the GPU between HBM and SRAM are left out, as in the papers."
        ),
    )


def _metrics(found: Moved) -> None:
    rows = (
        ("Standard attention", found.plain_words),
        ("Tiles, counted", found.tiled_words),
        ("c n²d² ÷ M", found.formula_words),
    )
    for place, (label, (value, note)) in zip(st.columns(3), rows, strict=True):
        place.metric(label, value, note, delta_color="off", delta_arrow="off")


def bars(naive: MemoryTraffic, tiled: MemoryTraffic) -> pd.DataFrame:
    """What is moved, part by part."""
    return pd.DataFrame(
        [
            {"way": way, "direction": direction, "what": part, "numbers": numbers, "bytes": BYTES * numbers}
            for way, moved in (("plain", naive), ("tiles", tiled))
            for direction, parts in (("read", moved.reads), ("written", moved.writes))
            for part, numbers in parts.items()
        ]
    )


def curve(every: list[Moved]) -> pd.DataFrame:
    """Bytes moved at each size of SRAM."""
    return pd.DataFrame(
        {
            "SRAM kB": SIZES,
            "counted bytes": [one.tiled for one in every],
            "formula bytes": [one.formula for one in every],
            "plain bytes": [one.plain for one in every],
        }
    )
