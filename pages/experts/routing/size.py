"""Part of the page on routing: total and active parameters, operations, fine-grained and shared experts."""

import streamlit as st

from pages.ui import controls
from pages.ui.frame import panel
from tfcore.measures.quantities import short, whole
from tfcore.views.experts import routing as views
from tfcore.views.experts.routing.measure.sizes import ExpertSizes
from tfcore.views.experts.routing.say.sizes import active_parameters, batch_use

SPLITS = (1, 2, 4, 8)
SHARED = 4  # experts, at most
BATCHES = (1, 8, 64)  # tokens
QUESTION = (
    "Mixtral 8x7B has 12.9 billion active parameters per token. Is memory for 12.9 billion enough?",
    "No: the next token may go to other experts, so all 46.7 billion must be in memory. A mixture of experts saves "
    "operations, not memory; and in a batch of many tokens nearly every expert gets some, so all of them are read.",
)


def show() -> None:
    """Show the section."""
    with panel() as p:
        with p.controls:
            base = controls.select("Model", "base", list(views.BASES), "mixtral_8x7b", views.BASES)
            experts = views.config_of(base).experts
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
        now, plain = views.sizes_of(base, split, shared), views.sizes_of(base, 1, 0)
        with p.picture:
            st.markdown("**The experts of one layer**, as wide as they are")
            p.show(views.strips(base, split, shared))
            p.show(views.weights(base, split, shared))
        show_numbers(now, plain)
        st.markdown("**The count**")
        what_shared_means(now)
        p.what_to_see(
            f"{active_parameters(now, plain).share_words} of the parameters are active per token: the strong part of "
            "the bars decides the operations, the whole bars the memory. Finer experts change neither much, but allow "
            "many more combinations per token. The router's own matrix grows with the number of experts, and stays "
            "small."
        )
        p.question(*QUESTION)


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
        f"for the next token may go to any. {batch_use(now, BATCHES)}"
    )


def what_shared_means(now: ExpertSizes) -> None:
    """Explain what a shared expert is for."""
    st.markdown(
        "**Shared experts** are not routed: every token goes through all of them, with weight 1, and the routed ones "
        "are added (arXiv:2401.06066, equations 9 to 11). What all tokens need then has to be learned once, not again "
        "in every expert."
    )
    st.latex(
        r"y = \sum_{i=1}^{s} E^{\mathrm{shared}}_i(x) + \sum_{i \in \mathrm{top}_k} w_i\, E_i(x), \qquad "
        rf"s = {now.n_shared},\ k = {now.top_k},\ N = {now.n_experts}"
    )
