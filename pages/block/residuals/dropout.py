"""Panel of the page on residual connections: dropout on an activation of a trained model."""

import pandas as pd
import streamlit as st

from pages.block.residuals import experiments
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.program import made
from pages.ui.reading import usual
from tfcore.analysis.block import ablation_and_dropout
from tfcore.analysis.block.ablation_and_dropout import TwoPasses, two_passes
from tfcore.figures.block.ablation_and_dropout import NUMBERS_DRAWN

MODEL = "stories"
TOKENS = 40
TEXT = (
    "Once upon a time, there was a little girl named Lily. She had a red ball. "
    "One day the ball rolled away and Lily ran after it."
)

draws = cache.of_model(max_entries=128)(experiments.draws)
passes = cache.data(max_entries=64)(two_passes)


def dropout() -> None:
    """The panel of dropout."""
    tries = st.container()
    left, right = st.columns([1, 3], gap="medium")
    with left:
        p = controls.slider("Share dropped p", "p", 0.0, 0.9, 0.3, 0.05)
        training = controls.toggle("Training (off: inference)", "training", True)
        seed = controls.slider("Draw", "draw", 0, 99, 0)
        model_name = models.choose("decoder", "encoder", default=MODEL, why_not=models.attention_alone)
        n_layers = models.config(model_name).n_layers
        with page.more_settings():
            layer = controls.place("Layer", "layer", n_layers, 1)
    pasted = usual(model_name, TEXT)
    drawn, apart = draws(model_name, pasted, TOKENS, layer, p, training, seed), TwoPasses(passes(p, training))
    with left:
        st.metric(
            "Two passes differ by up to",
            apart.number,
            apart.why,
            delta_color="off",
            delta_arrow="off",
            help="largest difference of a score, two layers with this p",
        )
    with right:
        shown = experiments.dropout(drawn, model_name, layer, p, training)
        figure(
            shown.figure,
            key="dropped",
            height=290,
            min_width=620,
            table=lambda: pd.DataFrame({"before": drawn.before, "after": drawn.after}),
            alt=shown.alt,
            caption=f"{shown.alt} Drawn: the first {NUMBERS_DRAWN}.",
        )
        shown = experiments.means(drawn)
        figure(
            shown.figure,
            key="means",
            height=290,
            min_width=340,
            table=lambda: pd.DataFrame({"mean after dropout": drawn.means}),
            alt=shown.alt,
            caption=shown.caption,
        )
    with tries:
        page.try_this(
            {
                "as in 2017": {"p": 0.1, "training": True},
                "half": {"p": 0.5, "training": True},
                "nearly all": {"p": 0.9, "training": True},
                "inference": {"training": False},
                "another draw": {"draw": controls.next_seed(seed, 99), "training": True},
            }
        )
    page.what_to_see(
        "What is dropped is drawn anew at every step of training. The rest is multiplied by 1/(1 − p), so that the "
        "mean is the same as at inference, when nothing is dropped: single draws scatter around it as the theory "
        "says. At inference dropout is the identity, and the same text gives the same numbers, bit by bit."
    )
    given = made(experiments.draws, model_name, pasted, TOKENS, layer, p, training, seed)
    page.question(
        "What would go wrong without the factor 1/(1 − p)?",
        "In training every sum would be 1 − p times as large on average as at inference, when nothing is dropped: "
        "then each layer would get larger inputs than it was trained on. The paper of 2012 does it the other way "
        "round, with smaller weights at inference.",
    )
    page.how_it_is_computed(
        page.experiment(experiments.dropout, given, model_name, layer, p, training),
        formula=(
            r"y_i = \frac{m_i\, x_i}{1 - p}, \quad m_i = 1 \text{ with probability } 1 - p \text{, else } 0, \qquad "
            r"\mathbb E[y_i] = x_i"
        ),
        code=(ablation_and_dropout.dropout, ablation_and_dropout.draw_dropout, ablation_and_dropout.two_passes),
        papers=(
            "Dropout, arXiv:1207.0580; in the Transformer on embeddings and on what each sublayer adds, with p = 0.1 "
            "(arXiv:1706.03762, section 5.4)"
        ),
    )
