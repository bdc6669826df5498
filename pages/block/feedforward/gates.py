"""Panel of the page on the feed-forward layer: gated layers, their widths, and one of their units."""

import pandas as pd
import streamlit as st

from pages.block.feedforward import experiments
from pages.ui import controls, page
from pages.ui.components.figure import figure
from tfcore.analysis.block.feedforward import GATE_NAMES, UNIT_LIMIT, compare_widths, gated_unit, layer_cost
from tfcore.config import Activation
from tfcore.feedforward import FeedForward

# What a unit without a gate can be.
PLAIN: dict[Activation, str] = {
    "swiglu": "A plain SiLU unit cannot be negative but for its dip.",
    "geglu": "A plain GELU unit cannot be negative but for its dip.",
    "reglu": "A plain ReLU unit cannot be negative.",
}


def gates() -> None:
    """The panel of gated layers."""
    st.markdown(
        "**A gated layer (GLU) multiplies two projections of the input**: one, through the activation function, gates "
        "the other. It has three matrices, so it gets two thirds of the width for the same number of parameters."
    )
    page.try_this(
        {
            "LLaMA's width": {"glu": "swiglu", "d": 4096},
            "a negative second input": {"up": -3.0},
            "GEGLU, small": {"glu": "geglu", "d": 512},
            "ReGLU: hard gates": {"glu": "reglu", "up": 2.0},
        }
    )
    left, right = st.columns([1, 3], gap="large")
    with left:
        kind = controls.select("Gate", "glu", list(GATE_NAMES), "swiglu", GATE_NAMES)
        d_model = controls.slider("Width d_model", "d", 64, 8192, 4096, 64)
        up = controls.slider("Second input: W_up x", "up", -UNIT_LIMIT, UNIT_LIMIT, -2.0, 0.1)
    layers, widths = compare_widths(kind, d_model)
    with left:
        st.metric("d_ff for the same parameters", widths.width, widths.unrounded, delta_color="off", delta_arrow="off")
    with right:
        shown = experiments.gates(kind, d_model)
        figure(
            shown.figure,
            key="matrices",
            height=260,
            min_width=560,
            table=lambda: pd.DataFrame(
                [(name, cost.d_ff, cost.matrices, cost.count) for name, cost in layers],
                columns=["layer", "d_ff", "matrices", "parameters"],
            ),
            alt=f"Parameters of three layers of width {d_model}. {shown.alt}",
            caption=shown.caption,
        )
        found = gated_unit(kind)
        surface, line = st.columns(2, gap="medium")
        with surface:
            shown = experiments.unit(kind, up)
            figure(
                shown.figure,
                key="unit",
                height=340,
                table=lambda: pd.DataFrame(found.gated, columns=found.gate.round(2)),
                alt=f"{shown.alt} Closest to 0 on the left, where the gate is closed.",
                caption=f"{shown.caption} Left: the gate is closed.",
            )
        with line:
            shown = experiments.slice_of_unit(kind, up)
            figure(
                shown.figure,
                key="slice",
                height=340,
                table=lambda: pd.DataFrame({"gate": found.gate, "plain": found.plain}),
                alt=f"{shown.alt} {PLAIN[kind]}",
                caption=shown.caption,
            )
    page.what_to_see(
        "The first two bars are as good as equal: three narrow matrices have as many parameters as two wide ones, but "
        "for rounding to a multiple of 8. The surface is one gated unit: a product that takes the sign of the second "
        "input where the gate is open, on the right, and is close to 0 where it is closed, on the left."
    )
    page.question(
        "With both inputs of a ReGLU unit doubled, its output is four times as large. What can one layer do with that?",
        "It is a product of two numbers that depend on the token: a gated layer can compute products of features in "
        "one layer, where a plain one needs many units to approximate one.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.gates, kind, d_model),
        formula=(
            r"\mathrm{FFN}(x) = W_{down}\,\mathrm{act}(W_{up}\,x) \qquad "
            r"\mathrm{GLU}(x) = W_{down}\big(\mathrm{act}(W_{gate}\,x) \odot W_{up}\,x\big), \quad "
            r"3\,d \cdot \tfrac{8}{3}d = 2\,d \cdot 4d"
        ),
        code=(FeedForward, layer_cost),
        papers=(
            "GLU variants: arXiv:2002.05202, equations 5 and 6; widths: section 2. LLaMA (arXiv:2302.13971, section "
            "2.2) uses 8/3 d, rounded up to 11,008 at d = 4,096."
        ),
    )
