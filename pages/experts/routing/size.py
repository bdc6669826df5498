"""Part of the page on routing: total and active parameters, operations, fine-grained and shared experts."""

import pandas as pd
import streamlit as st

from pages.experts.routing import experiments as experiments
from pages.experts.routing import reading as reading
from pages.ui import cache, controls, page
from pages.ui.components.figure import figure
from pages.ui.loading import presets
from tfcore import shipped
from tfcore.analysis.experts import expert_sizes as analysis
from tfcore.analysis.experts.expert_sizes import ExpertSizes
from tfcore.analysis.model import parameter_count
from tfcore.analysis.quantities import power, short
from tfcore.config import ModelConfig
from tfcore.experts import Experts
from tfcore.figures.experts import expert_sizes as figures

STRIPS, WEIGHTS = 210, 270
SPLITS, SHARED, BATCHES = (1, 2, 4, 8), 4, (1, 8, 64)
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
    arithmetic(config_of(base), now)
    what_shared_means(now)
    page.what_to_see(
        f"{now.count.active / now.count.total:.0%} of the parameters are active per token: the strong part of the bars "
        "decides the operations, the whole bars the memory. Finer experts change neither much, but allow many more "
        "combinations per token. The router's own matrix grows with the number of experts, and stays small."
    )
    page.source(analysis.finer, analysis.expert_sizes, parameter_count.parameters, Experts)
    page.experiment(experiments.sizes, config_of(base), split, shared)


def show_strips(base: str, plain: ExpertSizes, now: ExpertSizes) -> None:
    """One layer, as published and cut."""
    st.markdown("**The experts of one layer**, as wide as they are")
    rows = [("as published", plain)] + ([("cut finer", now)] if now != plain else [])
    words = "; ".join(f"{name}: {described(sizes)}" for name, sizes in rows)
    figure(
        figures.expert_strips_figure(rows, STRIPS),
        key="strips",
        height=STRIPS,
        min_width=480,
        alt=f"One layer of {BASES[base]}, {words}.",
        caption=f"{BASES[base]}, {words}. Which of the routed ones are active differs from token to token.",
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


def described(sizes: ExpertSizes) -> str:
    """A layer in words."""
    return (
        f"{sizes.n_experts} routed experts of width {sizes.width:,}, {sizes.top_k} per token, {sizes.n_shared} "
        f"shared, {ways(sizes)} possible sets"
    )


def ways(now: ExpertSizes) -> str:
    """How many sets of experts, in full where that can be read."""
    return f"{now.combinations:,}" if now.combinations < 10**12 else power(float(now.combinations))


def show_weights(base: str, now: ExpertSizes, plain: ExpertSizes) -> None:
    """Total and active."""
    total, active = now.count.total, now.count.active
    said = NAMED.get(base, "")
    if plain != now:
        said = f"As published: {plain.count.total:,} and {plain.count.active:,}. {said}"
    figure(
        figures.weights_figure(now, WEIGHTS),
        key="weights",
        height=WEIGHTS,
        table=lambda: pd.DataFrame(
            {
                "component": list(now.count.by_component),
                "in memory": list(now.count.by_component.values()),
                "at work": [figures.at_work(now, *pair) for pair in now.count.by_component.items()],
            }
        ),
        alt=f"{total:,} parameters in memory, {active:,} active per token, {active / total:.0%}.",
        caption=f"{total:,} parameters, of which {active:,} are active per token: {active / total:.1%}. {said}",
    )


def show_numbers(now: ExpertSizes, plain: ExpertSizes) -> None:
    """The numbers that decide what it costs."""
    columns = st.columns(4)
    columns[0].metric("Parameters in memory", short(now.count.total))
    columns[1].metric(
        "Active per token",
        short(now.count.active),
        f"{now.count.active / now.count.total:.1%}",
        delta_color="off",
        delta_arrow="off",
    )
    less = f"{now.all_at_work / now.forward:.1f} times less than all experts"
    columns[2].metric("Operations per token", short(now.forward), less, delta_color="off", delta_arrow="off")
    columns[3].metric(
        "Sets of experts in a layer", ways(now), f"as published: {ways(plain)}", delta_color="off", delta_arrow="off"
    )
    used = ", ".join(f"{tokens}: {now.used_by(tokens):.1f}" for tokens in BATCHES)
    st.caption(
        f"Operations: forward pass over {now.seq:,} tokens, 2 per multiply-add. All experts must be in "
        "memory, for the next token may go to any: of the "
        f"{now.n_experts} routed experts of a layer, a batch of so many tokens uses, with uniform routing, {used}."
    )


def arithmetic(config: ModelConfig, now: ExpertSizes) -> None:
    """The sums, with the numbers in them."""
    matrices = now.one // (config.d_model * now.width)
    st.markdown("**The count**")
    st.latex(
        rf"\begin{{aligned}} \text{{one expert}} &= {matrices}\, d\, d_e = {matrices} \cdot {config.d_model:,} \cdot "
        rf"{now.width:,} = {now.one:,} \\"
        rf"\text{{total}} &= \text{{rest}} + L\,(N + s)\,\text{{one}} = {now.rest:,} + {now.layers} \cdot "
        rf"({now.n_experts} + {now.n_shared}) \cdot {now.one:,} = {now.count.total:,} \\"
        rf"\text{{active}} &= \text{{rest}} + L\,(k + s)\,\text{{one}} = {now.rest:,} + {now.layers} \cdot "
        rf"({now.top_k} + {now.n_shared}) \cdot {now.one:,} = {now.count.active:,} \end{{aligned}}".replace(
            ",", "{,}"
        ).replace(r"\{,}", r"\,")
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
