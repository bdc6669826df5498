"""Panel of the page on scaling: over-training, what it costs in loss and when it pays in inference."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.training.scaling import experiments as experiments
from pages.training.scaling.words import choose_law, metrics, ten_to, times
from pages.ui import cache, page
from pages.ui.components.figure import figure
from tfcore.analysis.quantities import power, round_count
from tfcore.analysis.training import compute_budget
from tfcore.analysis.training.compute_budget import Lifetime, OverTraining
from tfcore.analysis.training.scaling_laws import LAWS, LawName
from tfcore.figures.training import over_training as figures

RATIOS = np.logspace(0, 4.5, 73)


@cache.data(max_entries=256)
def compared(name: LawName, flops: float, ratio: float) -> OverTraining:
    return compute_budget.over_training(LAWS[name], flops, ratio)


@cache.data(max_entries=64)
def losses(name: LawName, flops: float) -> list[float]:
    """At every ratio, of the same budget."""
    return [compute_budget.at_ratio(LAWS[name], flops, float(ratio)).loss for ratio in RATIOS]


@cache.data(max_entries=64)
def whole_life(name: LawName, flops: float, served: float) -> Lifetime:
    best = compute_budget.optimum(LAWS[name], flops)
    return compute_budget.lifetime(LAWS[name], best.loss, served, RATIOS)


def panel() -> None:
    """The section."""
    st.latex(r"\text{total} = \underbrace{6\,N D}_{\text{training}} + \underbrace{2\,N\,T}_{T\text{ inference tokens}}")
    left, right = st.columns([1, 3], gap="medium")
    with left:
        flops = ten_to("Budget C, operations", "c", 17.0, 28.0, 23.76)
        ratio = ten_to("Tokens per parameter", "r", 0.0, 4.5, 2.3, 0.05)
        served = ten_to("Inference tokens T", "t", 9.0, 17.0, 13.0, 0.1)
        name = choose_law()
    found, life = compared(name, flops, ratio), whole_life(name, flops, served)
    best, budget, same = found.best, found.same_budget, found.same_loss
    with right:
        first, second = st.columns(2, gap="medium")
        with first:
            extra = np.array(losses(name, flops)) - best.loss
            figure(
                figures.extra_loss_figure(RATIOS, extra, best.ratio, ratio, found.extra_loss, 360),
                key="extra",
                height=360,
                table=lambda: pd.DataFrame({"tokens per parameter": RATIOS, "extra loss": extra}),
                alt=f"Extra loss of one budget against tokens per parameter: 0 at {times(best.ratio)}, "
                f"{found.extra_loss:.4f} nats at {times(ratio)}.",
                caption=f"Same budget, {power(flops)}: {times(ratio)} tokens per parameter make a model of "
                f"{round_count(budget.n)} instead of {round_count(best.n)}, {found.extra_loss:+.4f} nats.",
            )
        with second:
            cheapest = life.cheapest
            figure(
                figures.lifetime_figure(life, ratio, 360),
                key="life",
                height=360,
                min_width=300,
                table=lambda: pd.DataFrame(
                    {
                        "tokens per parameter": life.ratio,
                        "parameters": life.n,
                        "training": life.training,
                        "inference": life.use,
                    }
                ),
                alt=f"Operations of training and inference against tokens per parameter, all at loss {best.loss:.3f}: "
                f"cheapest at {times(life.ratio[cheapest])} with {round_count(served)} inference tokens.",
                caption=f"Same loss, {best.loss:.3f}, and {round_count(served)} inference tokens: cheapest in all at "
                f"{times(life.ratio[cheapest])} tokens per parameter, {round_count(life.n[cheapest])} parameters.",
            )
    with right:
        numbers(found)
    page.try_this(
        {
            "ten times the tokens": {"r": 2.3, "t": 13.0, "c": 23.76},
            "like Llama 3 8B": {"c": 23.86, "r": 3.25, "t": 15.0},
            "10¹⁰ inference tokens": {"t": 10.0, "r": 1.3},
            "10¹⁶ inference tokens": {"t": 16.0, "r": 3.0},
            "too large, as in 2020": {"r": 0.25, "c": 23.5},
        }
    )
    page.what_to_see(
        f"At {times(ratio)} tokens per parameter the same budget ends {found.extra_loss:.4f} nats above the optimum, "
        f"and each inference token costs {budget.n / best.n:.0%} of what it would. For the same loss, train with "
        f"{same.flops / best.flops:.2f} times the operations: the model then has {round_count(same.n)} parameters "
        f"instead of {round_count(best.n)}. On the right, inference moves the cheapest point away from the "
        "compute-optimal training, the further the more tokens are served. The law was fitted at moderate ratios; "
        "beyond a few hundred tokens per parameter it is an extrapolation."
    )
    page.source(compute_budget.over_training, compute_budget.for_loss, compute_budget.lifetime)
    page.experiment_of("The extra loss", experiments.beyond, name, flops, ratio)
    page.experiment_of("Training and inference", experiments.whole_life, name, flops, served, ratio)
    st.caption(
        "2 N operations per inference token: arXiv:2001.08361, section 2.1. Training and inference together: "
        "arXiv:2401.00448."
    )
    page.question(
        "If inference costs so much, why not train a model of a million parameters for ever?",
        "No number of tokens brings its loss below E + A / N^α. As the loss asked for comes near that, the tokens go "
        "to infinity: on the right the curve of training turns up ever more steeply.",
    )


def numbers(found: OverTraining) -> None:
    """The two ways in numbers."""
    best, budget, same = found.best, found.same_budget, found.same_loss
    pays = round_count(found.pays_after) if np.isfinite(found.pays_after) else "never"
    metrics(
        ("Same budget: loss", f"{found.extra_loss:+.4f}", "nats per token"),
        ("inference costs", f"{budget.n / best.n:.0%}", f"{round_count(budget.n)} parameters"),
        ("Same loss: training", f"{same.flops / best.flops:.2f} ×", f"{round_count(same.n)} on {round_count(same.d)}"),
        ("which pays after", pays, "inference tokens"),
    )
