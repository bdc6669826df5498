"""Part of the page on routing: an expert that every token goes through, beside those a router chooses."""

import streamlit as st

from pages.experts.routing import choices
from pages.ui import text
from pages.ui.frame import panel
from pages.ui.loading import models
from tfcore.views.experts import routing as views
from tfcore.views.experts.routing.measure.shared import SharedWork
from tfcore.views.experts.routing.say.shared import ablations, share_titles

QUESTION = (
    "A shared expert is computed for every token, as a dense layer is. Then why not make all of it dense?",
    "A dense layer as wide as all experts together would have all its parameters active for every token. What all "
    "tokens need can be shared; routing saves compute on what only some need.",
)


def show() -> None:
    """Show the section."""
    with panel() as p:
        with p.controls:
            now = choices.read(only=views.SHARED)
            layer, at = choices.choose_layer(now)
            models.only(views.SHARED, "its layers have a shared expert.")
        work = views.shared_of(now.reading)
        with p.picture:
            st.markdown(f"**Share of the shared expert in what layer {layer} adds to the stream**, token by token")
            text.chips(
                now.text.tokens,
                key="chips",
                shade=work.share[at].tolist(),
                titles=share_titles(work, at),
                label=f"The text, each token as dark as the shared expert's part in what layer {layer} adds",
            )
            p.show(views.shares(now.reading, layer))
            show_losses(now, work)
            st.markdown(
                f"In **{now.reading.model}** a router chooses {now.top_k} of {now.n_experts} experts for a token. One "
                "more, the shared expert, is not routed: every token goes through it, with weight 1."
            )
        if len(work.losses):
            st.markdown("**Change of each token's loss** when one of the two is ablated: above 0 it is predicted worse")
            p.show(views.without_the_shared(now.reading))
        example = (
            (
                " No expert is assigned to anything, yet they differ by kind of token: in layer 0 the articles are "
                "nearly all "
                "written by the routed experts, “and” and “said” mostly by the shared one."
            )
            if now.reading.text == choices.TEXT
            else ""
        )
        p.what_to_see(
            f"The outputs of the shared expert and of the routed ones are added.{example} Below, each is ablated in "
            "turn, in all layers at once, and the whole model is run again: compare which tokens lose most."
        )
        p.question(*QUESTION)


def show_losses(now: choices.Chosen, work: SharedWork) -> None:
    """The text predicted with both, and with one of the two."""
    if not len(work.losses):
        st.info("One token has nothing to predict, so there is no loss.")
        return
    losses = ablations(work, now.text.tokens)
    first, *others = st.columns(3)
    first.metric("Loss, nats per token", losses.trained_words, "as trained", delta_color="off", delta_arrow="off")
    names = {"Without the shared expert": losses.shared_words, "Without the routed ones": losses.routed_words}
    for column, (name, (value, change)) in zip(others, names.items(), strict=True):
        column.metric(name, value, change, delta_color="inverse")
