"""Part of the page on routing: total and active parameters, operations, fine-grained and shared experts."""

import pandas as pd
import streamlit as st

from pages.experts.routing import experiments, reading
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.loading import presets
from pages.ui.program import made
from tfcore import shipped
from tfcore.analysis.experts import expert_sizes as analysis
from tfcore.analysis.experts.expert_sizes import ExpertSizes, active_parameters
from tfcore.config import ModelConfig
from tfcore.experts import Experts
from tfcore.figures.experts import expert_sizes as figures
from tfcore.measures import parameter_count
from tfcore.measures.quantities import short, whole

STRIPS = 210
WEIGHTS = 270
SPLITS = (1, 2, 4, 8)
SHARED = 4  # experts, at most
BATCHES = (1, 8, 64)  # tokens
BASES = {"mixtral_8x7b": "Mixtral 8x7B", "deepseek_moe_16b": "DeepSeekMoE 16B", "ours": "our stories-moe"}
NAMED = {  # what the papers say
    "mixtral_8x7b": "The paper says 47 B and 13 B (arXiv:2401.04088, section 3).",
    "deepseek_moe_16b": "The paper says 16.4 B and about 2.8 B (arXiv:2401.06066, section 5).",
}

QUESTION = (
    "Mixtral 8x7B has 12.9 billion active parameters per token. Is memory for 12.9 billion enough?",
    "No: the next token may go to other experts, so all 46.7 billion must be in memory. A mixture of experts saves "
    "operations, not memory; and in a batch of many tokens nearly every expert gets some, so all of them are read.",
)


def config_of(base: str) -> ModelConfig:
    """The config that is split and counted."""
    if base != "ours":
        return presets.known(base)
    name = reading.TRAINED if reading.TRAINED in shipped() else reading.UNTRAINED
    found: ModelConfig = reading.network(name)[0].config
    return found


@cache.data(max_entries=64)
def counted(base: str, split: int, shared: int) -> ExpertSizes:
    """The arithmetic of a model whose experts were cut."""
    return analysis.expert_sizes(analysis.finer(config_of(base), split, shared))


def show() -> None:
    """The section."""
    left, right = st.columns([1, 3], gap="large")
    with left:
        base = controls.select("Model", "base", list(BASES), "mixtral_8x7b", BASES)
        experts = config_of(base).experts
        assert experts is not None
        split = controls.stops(
            "Cut every expert into m",
            "split",
            SPLITS,
            4,
            help="Fine-grained experts: m times as many, each 1/m as wide, m times as many per token.",
        )
        shared = controls.slider(
            "Shared experts s",
            "shared",
            0,
            min(SHARED, experts.top_k * split - 1),
            1,
            help="Taken from those a token is routed to: every token goes through them. DeepSeekMoE has 2 already.",
        )
    now, plain = counted(base, split, shared), counted(base, 1, 0)
    with right:
        show_strips(base, plain, now)
        show_weights(base, now, plain)
    show_numbers(now, plain)
    st.markdown("**The count**")
    what_shared_means(now)
    page.what_to_see(
        f"{active_parameters(now, plain).share_words} of the parameters are active per token: the strong part of the "
        "bars decides the operations, the whole bars the memory. Finer experts change neither much, but allow many "
        "more combinations per token. The router's own matrix grows with the number of experts, and stays small."
    )
    published = config_of(base)
    cut = made(analysis.finer, published, split, shared)
    page.question(*QUESTION)
    page.how_it_is_computed(
        page.experiment(experiments.sizes, made(analysis.expert_sizes, cut), made(analysis.expert_sizes, published)),
        formula=analysis.count_latex(config_of(base), now),
        code=(analysis.finer, analysis.expert_sizes, parameter_count.parameters, Experts),
        papers=reading.PAPERS,
    )


def show_strips(base: str, plain: ExpertSizes, now: ExpertSizes) -> None:
    """One layer, as published and cut."""
    st.markdown("**The experts of one layer**, as wide as they are")
    rows = [("as published", plain)] + ([("cut finer", now)] if now != plain else [])
    shown = experiments.strips(BASES[base], rows)
    figure(
        shown.figure,
        key="strips",
        height=STRIPS,
        min_width=350,
        alt=shown.alt,
        caption=f"{shown.caption} Which of the routed ones are active differs from token to token.",
        table=lambda: pd.DataFrame(
            [
                {
                    "": name,
                    "routed": sizes.n_experts,
                    "a token": sizes.top_k,
                    "shared": sizes.n_shared,
                    "width": sizes.width,
                    "sets": str(sizes.combinations),
                }
                for name, sizes in rows
            ]
        ),
    )


def show_weights(base: str, now: ExpertSizes, plain: ExpertSizes) -> None:
    """Total and active."""
    shown = experiments.sizes(now, plain)
    figure(
        shown.figure,
        key="weights",
        height=WEIGHTS,
        table=lambda: pd.DataFrame(
            {
                "component": list(now.count.by_component),
                "in memory": list(now.count.by_component.values()),
                "at work": [figures.at_work(now, *pair) for pair in now.count.by_component.items()],
            }
        ),
        alt=shown.alt,
        caption=f"{shown.caption} {NAMED.get(base, '')}",
    )


def show_numbers(now: ExpertSizes, plain: ExpertSizes) -> None:
    """The numbers that decide what it costs."""
    for column, (name, value, note) in zip(
        st.columns(4),
        (
            ("Parameters in memory", short(now.count.total), None),
            ("Active per token", short(now.count.active), now.active_words),
            ("Operations per token", short(now.forward), now.saving_words),
            ("Sets of experts in a layer", now.combination_words, f"as published: {plain.combination_words}"),
        ),
        strict=True,
    ):
        column.metric(name, value, note, delta_color="off", delta_arrow="off")
    st.caption(
        f"Operations: forward pass over {whole(now.seq)} tokens, 2 per multiply-add. All experts must be in memory, "
        f"for the next token may go to any. {analysis.batch_use(now, BATCHES)}"
    )


def what_shared_means(now: ExpertSizes) -> None:
    """What a shared expert is for."""
    st.markdown(
        "**Shared experts** are not routed: every token goes through all of them, with weight 1, and the routed ones "
        "are added (arXiv:2401.06066, equations 9 to 11). What all tokens need then has to be learned once, not again "
        "in every expert."
    )
    st.latex(
        r"y = \sum_{i=1}^{s} E^{\mathrm{shared}}_i(x) + \sum_{i \in \mathrm{top}_k} w_i\, E_i(x), \qquad "
        rf"s = {now.n_shared},\ k = {now.top_k},\ N = {now.n_experts}"
    )
