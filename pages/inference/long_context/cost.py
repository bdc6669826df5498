"""A panel of the page on long context: operations and memory against length."""

from collections.abc import Callable

import pandas as pd
import streamlit as st

from pages.inference.long_context import experiments as experiments
from pages.inference.long_context.words import metric, size
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from tfcore import presets
from tfcore.analysis.model import flop_count
from tfcore.analysis.model.flop_count import LengthCost
from tfcore.config import ModelConfig
from tfcore.figures.inference import length_cost as figures

POWERS = range(7, 21)
LENGTHS = [2**power for power in POWERS]
GPU = 80.0 * 2**30  # bytes: what is sold as 80 GB
# name: the published shape
MODELS: dict[str, Callable[[], ModelConfig]] = {
    "GPT-2 small": presets.gpt2_small,
    "GPT-3": presets.gpt3_175b,
    "LLaMA-3 8B": presets.llama3_8b,
}


@cache.data(max_entries=8)
def cost_of(name: str) -> LengthCost:
    return flop_count.length_cost(MODELS[name](), LENGTHS)


def panel() -> None:
    """One head to scale, and both costs as lines."""
    st.latex(
        r"\underbrace{QK^\top}_{2n^2d\ \text{FLOPs}} \to \underbrace{n \times n}_{\text{scores}} \to "
        r"\underbrace{AV}_{2n^2d\ \text{FLOPs}} \quad\text{all else: } \propto n"
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        power = controls.slider("Sequence length n: 2 to the power of", "tokens", POWERS[0], POWERS[-1], 12)
        name = controls.select("Model", "shape", list(MODELS), "GPT-2 small")
        config, cost, at, n = MODELS[name](), cost_of(name), power - POWERS[0], 2**power
        st.metric("Scores per head", f"{cost.cells[at]:,}", help="n × n")
        times = cost.matrices[at] / cost.vectors[at]
        metric(st, "Scores of one layer, 2 bytes each", size(cost.matrices[at]), f"{times:,.1f} × Q, K, V, output")
        st.metric("FLOPs that grow with n²", f"{cost.share[at]:.1%}")
    with right:
        cells = f"{cost.cells[at]:,} scores, {n / (4 * config.head_size):,.1f} times as many numbers as Q, K, V and "
        figure(
            figures.scale_figure(n, config.head_size, 380),
            key="scale",
            height=380,
            alt=f"One head at {n:,} tokens, to scale: a square of {n:,} by {n:,} beside strips of {n:,} by "
            f"{config.head_size}: {cells}output together.",
            caption=f"One head of {name} at n = {n:,}, d = {config.head_size}, drawn to scale: {cells}output together.",
        )
    _lines(name, cost, at)
    page.try_this(
        {
            "512 tokens": {"tokens": 9},
            "4,096 tokens": {"tokens": 12, "shape": "GPT-2 small"},
            "131,072 tokens": {"tokens": 17, "shape": "LLaMA-3 8B"},
            "a million tokens": {"tokens": 20, "shape": "LLaMA-3 8B"},
        }
    )
    page.what_to_see(
        "At 4,096 tokens one head has 16,777,216 scores, and one layer of GPT-2 small 403 MB of them. Move n by one "
        "step: the picture keeps its size, and the strips beside the square are half as wide. Below, n² is the steeper "
        f"line: two powers up for one to the right. Below {cost.crossing:,.0f} tokens the products with weights cost "
        "more operations; memory crosses much earlier, at n = 2 d (1 + KV heads ÷ heads), "
        f"here {2 * config.head_size * (1 + config.kv_heads / config.n_heads):,.0f}."
    )
    page.source(flop_count.length_cost)
    page.experiment(experiments.length, MODELS[name].__name__, LENGTHS, at)
    st.caption(
        "Attention Is All You Need, table 1 (n² · d a layer), arXiv:1706.03762. FLOPs as in arXiv:2001.08361, table 1; "
        "every pair is counted, as if the matrix were filled whole."
    )
    page.question(
        "GPT-3's FLOPs cross over at a far longer sequence than GPT-2's. Why?",
        "Products with weights cost about 24 n d² a layer, scores and values 4 n² d: equal at n = 6 d, and GPT-3's d "
        "is sixteen times as large: 73,728. (The unembedding moves it further, of a small model by nearly half.) The "
        "wider a model, the longer its weights outweigh the square in time. In memory d counts for much less, as the "
        "other figure shows.",
    )


def _lines(name: str, cost: LengthCost, at: int) -> None:
    n, linear, squared = cost.n[at], size(cost.linear[at], "FLOP"), size(cost.squared[at], "FLOP")
    first, second = st.columns(2, gap="medium")
    with first:
        figure(
            figures.operations_figure(cost, at, 320),
            key="operations",
            height=320,
            table=lambda: pd.DataFrame({"n": cost.n, "with weights": cost.linear, "n squared": cost.squared}),
            alt=f"FLOPs of one pass against length: at {n:,} tokens {squared} grow with n², "
            f"{linear} with n; they are equal at {cost.crossing:,.0f} tokens.",
            caption=f"{name}, n = {n:,}: {linear} with weights, {squared} for scores "
            f"and values. Equal at n = {cost.crossing:,.0f}.",
        )
    with second:
        fits = int(cost.n[cost.matrices <= GPU].max())
        figure(
            figures.memory_figure(cost, at, 320, GPU),
            key="memory",
            height=320,
            table=lambda: pd.DataFrame({"n": cost.n, "scores": cost.matrices, "Q, K, V, output": cost.vectors}),
            alt=f"Bytes in one layer against length: at {n:,} tokens {size(cost.matrices[at])} of scores and "
            f"{size(cost.vectors[at])} of vectors.",
            caption=f"n = {n:,}: {size(cost.matrices[at])} of scores, {size(cost.vectors[at])} of Q, K, V and output. "
            f"Scores of one layer fit into 80 GiB, a GPU sold as 80 GB, up to n = {fits:,}.",
        )
