"""Part of the page on routing: an expert that every token goes through, beside those a router chooses."""

import pandas as pd
import streamlit as st

from pages.experts.routing import experiments, reading
from pages.ui import cache, page, text
from pages.ui.components.figure import figure
from pages.ui.loading import models
from pages.ui.program import made
from tfcore.analysis.experts import shared_experts as analysis
from tfcore.analysis.experts.shared_experts import SharedWork
from tfcore.experts import Experts
from tfcore.measures import one_text

SHARES = 280
MISSED = 320
QUESTION = (
    "A shared expert is computed for every token, as a dense layer is. Then why not make all of it dense?",
    "A dense layer as wide as all experts together would have all its parameters active for every token. What all "
    "tokens need can be shared; routing saves compute on what only some need.",
)


shared_in = cache.of_model(max_entries=48)(experiments.shared_in)


def show() -> None:
    """The section."""
    left, right = st.columns([1, 3], gap="large")
    with left:
        now = reading.read(only=reading.SHARED)
        _, at = reading.choose_layer(now)
        models.only(reading.SHARED, "its layers have a shared expert.")
    found = shared_in(now.model, now.pasted, reading.TOKENS)
    with right:
        show_shares(now, found, at)
        show_losses(now, found)
        st.markdown(
            f"In **{now.model}** a router chooses {now.top_k} of {now.n_experts} experts for a token. One more, the "
            "shared expert, is not routed: every token goes through it, with weight 1."
        )
    show_missed(now, found)
    example = (
        (
            " No expert is assigned to anything, yet they differ by kind of token: in layer 0 the articles are "
            "nearly all "
            "written by the routed experts, “and” and “said” mostly by the shared one."
        )
        if now.pasted == reading.TEXT
        else ""
    )
    page.what_to_see(
        f"The outputs of the shared expert and of the routed ones are added.{example} Below, each is ablated in turn, "
        "in all layers at once, and the whole model is run again: compare which tokens lose most."
    )
    beginning = now.model, now.pasted, reading.TOKENS
    work, read = made(experiments.shared_in, *beginning), made(one_text.first_tokens, *beginning)
    if len(found.losses):
        experiment = page.experiment(experiments.without_the_shared, work, read)
    else:
        experiment = page.experiment(experiments.shares, work, read, at, now.top_k)
    page.question(*QUESTION)
    page.how_it_is_computed(
        experiment,
        formula=(
            r"y = E^{\mathrm{shared}}(x) + \sum_{i \in \mathrm{top}_k} p_i(x)\, E_i(x), \qquad p = "
            r"\mathrm{softmax}(W_r\, x)"
        ),
        code=(Experts.forward, analysis.shared_work),
        papers="Shared experts: DeepSeekMoE, arXiv:2401.06066, section 3.2.",
    )


def show_losses(now: reading.Reading, found: SharedWork) -> None:
    """The text predicted with both, and with one of the two."""
    if not len(found.losses):
        st.info("One token has nothing to predict, so there is no loss.")
        return
    losses = analysis.ablations(found, now.text.tokens)
    first, *others = st.columns(3)
    first.metric("Loss, nats per token", losses.trained_words, "as trained", delta_color="off", delta_arrow="off")
    names = {"Without the shared expert": losses.shared_words, "Without the routed ones": losses.routed_words}
    for column, (name, (value, change)) in zip(others, names.items(), strict=True):
        column.metric(name, value, change, delta_color="inverse")


def show_shares(now: reading.Reading, found: SharedWork, at: int) -> None:
    """The shared expert's part in the output of a layer, token by token."""
    share, layer, tokens = found.share[at], now.layers[at], now.text.tokens
    shown = experiments.shares(found, now.text, at, now.top_k)
    st.markdown(f"**Share of the shared expert in what layer {layer} adds to the stream**, token by token")
    text.chips(
        tokens,
        key="chips",
        shade=share.tolist(),
        titles=analysis.share_titles(found, at),
        label=f"The text, each token as dark as the shared expert's part in what layer {layer} adds",
    )
    figure(
        shown.figure,
        key="shares",
        height=SHARES,
        min_width=max(420, 9 * len(share)),
        alt=shown.alt,
        caption=f"Its part along the sum of both; dotted: one of the active experts. {shown.caption}",
        table=lambda: pd.DataFrame({"token": tokens, "shared": share, "chosen": 1 - share}),
    )


def show_missed(now: reading.Reading, found: SharedWork) -> None:
    """Which tokens are predicted worse without one of the two."""
    if not len(found.losses):
        return
    tokens, shown = now.text.tokens, experiments.without_the_shared(found, now.text)
    st.markdown("**Change of each token's loss** when one of the two is ablated: above 0 it is predicted worse")
    figure(
        shown.figure,
        key="missed",
        height=MISSED,
        min_width=max(520, 12 * len(tokens)),
        alt=shown.alt,
        caption=shown.caption,
        table=lambda: pd.DataFrame(
            {"token": tokens[1:], "without shared": found.missing_shared, "without chosen": found.missing_routed}
        ),
    )
