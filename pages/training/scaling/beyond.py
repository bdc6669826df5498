"""Panel of the page on scaling: over-training, what it costs in loss and when it pays in inference."""

import pandas as pd
import streamlit as st

from pages.training.scaling import experiments
from pages.training.scaling.words import choose_law, metrics, ten_to
from pages.ui import page
from pages.ui.components.figure import figure
from tfcore.analysis.training import over_training
from tfcore.analysis.training.compute_budget import optimum
from tfcore.analysis.training.over_training import RATIOS, OverTraining
from tfcore.measures.quantities import round_count
from tfcore.measures.scaling_laws import LAWS, LawName


def panel() -> None:
    """The section."""
    page.try_this(
        {
            "ten times the tokens": {"r": 2.3, "t": 13.0, "c": 23.76},
            "like Llama 3 8B": {"c": 23.86, "r": 3.25, "t": 15.0},
            "10¹⁰ inference tokens": {"t": 10.0, "r": 1.3},
            "10¹⁶ inference tokens": {"t": 16.0, "r": 3.0},
            "too large, as in 2020": {"r": 0.25, "c": 23.5},
        }
    )
    left, right = st.columns([1, 3], gap="medium")
    with left:
        flops = ten_to("Budget C, operations", "c", 17.0, 28.0, 23.76)
        ratio = ten_to("Tokens per parameter", "r", 0.0, 4.5, 2.3, 0.05)
        served = ten_to("Inference tokens T", "t", 9.0, 17.0, 13.0, 0.1)
        with page.more_settings():
            name = choose_law()
    found = over_training.over_training(LAWS[name], flops, ratio)
    with right:
        first, second = st.columns(2, gap="medium")
        with first:
            extra = experiments.beyond(name, flops, ratio)
            figure(
                extra.figure,
                key="extra",
                height=360,
                table=lambda: pd.DataFrame(
                    {
                        "tokens per parameter": RATIOS,
                        "extra loss": over_training.extra_losses(LAWS[name], flops, RATIOS),
                    }
                ),
                alt=f"Extra loss of one budget against tokens per parameter. {extra.alt}",
                caption=extra.alt,
            )
        with second:
            life = experiments.whole_life(name, flops, served, ratio)
            figure(
                life.figure,
                key="life",
                height=360,
                min_width=300,
                table=lambda: _table(name, flops, served),
                alt=f"Operations of training and inference against tokens per parameter. {life.alt}",
                caption=life.caption,
            )
    with right:
        _numbers(found)
    page.what_to_see(
        f"{found} On the right, inference moves the cheapest point away from the compute-optimal training, the further "
        "the more tokens are served. The law was fitted at moderate ratios; beyond a few hundred tokens per parameter "
        "it is an extrapolation."
    )
    page.question(
        "If inference costs so much, why not train a model of a million parameters for ever?",
        "No number of tokens brings its loss below E + A / N^α. As the loss asked for comes near that, the tokens go "
        "to infinity: on the right the curve of training turns up ever more steeply.",
    )
    page.how_it_is_computed(
        page.experiment_of("The extra loss", experiments.beyond, name, flops, ratio),
        page.experiment_of("Training and inference", experiments.whole_life, name, flops, served, ratio),
        formula=(
            r"\text{total} = \underbrace{6\,N D}_{\text{training}} + "
            r"\underbrace{2\,N\,T}_{T\text{ inference tokens}}"
        ),
        code=(over_training.over_training, over_training.for_loss, over_training.lifetime),
        papers=(
            "2 N operations per inference token: arXiv:2001.08361, section 2.1. Training and inference together: "
            "arXiv:2401.00448."
        ),
    )


def _numbers(found: OverTraining) -> None:
    """The same budget and the same loss in numbers."""
    budget, same = found.same_budget, found.same_loss
    loss, inference, training, pays = found.numbers
    metrics(
        ("Same budget: loss", loss, "nats per token"),
        ("inference costs", inference, f"{round_count(budget.n)} parameters"),
        ("Same loss: training", training, f"{round_count(same.n)} on {round_count(same.d)}"),
        ("which pays after", pays, "inference tokens"),
    )


def _table(name: LawName, flops: float, served: float) -> pd.DataFrame:
    life = over_training.lifetime(LAWS[name], optimum(LAWS[name], flops).loss, served, RATIOS)
    return pd.DataFrame(
        {
            "tokens per parameter": life.ratio,
            "parameters": life.n,
            "training": life.training,
            "inference": life.inference,
        }
    )
