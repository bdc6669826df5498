"""A panel of the page on long context: operations and memory against length."""

import pandas as pd
import streamlit as st

from pages.inference.long_context import experiments as experiments
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.program import made
from tfcore.analysis.inference import length_cost
from tfcore.measures import flop_count
from tfcore.measures.flop_count import LengthCost
from tfcore.presets import PRESETS

POWERS = range(7, 21)
LENGTHS = [2**power for power in POWERS]
# name: key of the published shape
MODELS = {"GPT-2 small": "gpt2_small", "GPT-3": "gpt3_175b", "LLaMA-3 8B": "llama3_8b"}

preset_cost = cache.data(max_entries=8)(experiments.preset_cost)


def panel() -> None:
    """One head to scale, and both costs as lines."""
    page.try_this(
        {
            "512 tokens": {"tokens": 9},
            "4,096 tokens": {"tokens": 12, "shape": "GPT-2 small"},
            "131,072 tokens": {"tokens": 17, "shape": "LLaMA-3 8B"},
            "a million tokens": {"tokens": 20, "shape": "LLaMA-3 8B"},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        power = controls.slider("Sequence length n: 2 to the power of", "tokens", POWERS[0], POWERS[-1], 12)
        name = controls.select("Model", "shape", list(MODELS), "GPT-2 small")
        preset, at = MODELS[name], power - POWERS[0]
        config, cost = PRESETS[preset](), preset_cost(preset, LENGTHS)
        memory = length_cost.layer_memory(cost, at)
        st.metric("Scores per head", length_cost.score_matrix(name, 2**power, config.head_size).scores, help="n × n")
        st.metric(
            "Scores of one layer, 2 bytes each", memory.score_bytes, memory.times, delta_color="off", delta_arrow="off"
        )
        st.metric("FLOPs that grow with n²", length_cost.operations(name, cost, at).share)
    with right:
        shown = experiments.to_scale(name, 2**power, config.head_size)
        figure(shown.figure, key="scale", height=380, alt=shown.alt, caption=shown.caption)
    _lines(name, cost, at)
    page.what_to_see(
        "At 4,096 tokens one head has 16,777,216 scores, and one layer of GPT-2 small 403 MB of them. Move n by one "
        "step: the picture keeps its size, and the strips beside the square are half as wide. Below, n² is the steeper "
        f"line: two powers up for one to the right. {length_cost.crossings(config, cost)}"
    )
    page.question(
        "GPT-3's FLOPs cross over at a far longer sequence than GPT-2's. Why?",
        "Products with weights cost about 24 n d² a layer, scores and values 4 n² d: equal at n = 6 d, and GPT-3's d "
        "is sixteen times as large: 73,728. (The unembedding moves it further, in GPT-2 small by nearly half.) The "
        "wider a model, the longer its weights outweigh the square in time. In memory d counts for much less, as the "
        "other figure shows.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.length, name, made(experiments.preset_cost, preset, LENGTHS), at),
        formula=(
            r"\underbrace{QK^\top}_{2n^2d\ \text{FLOPs}} \to \underbrace{n \times n}_{\text{scores}} \to "
            r"\underbrace{AV}_{2n^2d\ \text{FLOPs}} \quad\text{all else: } \propto n"
        ),
        code=(flop_count.length_cost,),
        papers=(
            "Attention Is All You Need, table 1 (n² · d a layer), arXiv:1706.03762. FLOPs as in arXiv:2001.08361, "
            "table 1; every pair is counted, as if the matrix were filled whole."
        ),
    )


def _lines(name: str, cost: LengthCost, at: int) -> None:
    first, second = st.columns(2, gap="medium")
    with first:
        shown = experiments.length(name, cost, at)
        figure(
            shown.figure,
            key="operations",
            height=320,
            table=lambda: pd.DataFrame({"n": cost.n, "with weights": cost.linear, "n squared": cost.squared}),
            alt=shown.alt,
            caption=shown.caption,
        )
    with second:
        shown = experiments.memory(cost, at)
        figure(
            shown.figure,
            key="memory",
            height=320,
            table=lambda: pd.DataFrame({"n": cost.n, "scores": cost.matrices, "Q, K, V, output": cost.vectors}),
            alt=shown.alt,
            caption=shown.caption,
        )
