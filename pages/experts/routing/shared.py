"""Part of the page on routing: an expert that every token goes through, beside those a router chooses."""

import numpy as np
import pandas as pd
import streamlit as st

from pages.experts.routing import experiments as experiments
from pages.experts.routing import reading as reading
from pages.ui import cache, page, text
from pages.ui.components.figure import figure
from pages.ui.loading import models
from tfcore.analysis.experts import shared_experts as analysis
from tfcore.analysis.experts.shared_experts import SharedWork
from tfcore.experts import Experts
from tfcore.figures.experts import shared_experts as figures

SHARES, MISSED = 280, 320
QUESTION = (
    "A shared expert is computed for every token, as a dense layer is. Then why not make all of it dense?",
    "A dense layer as wide as all experts together would have all its parameters active for every token. What all "
    "tokens need can be shared; routing saves compute on what only some need.",
)


@cache.data(max_entries=48)
def worked(name: str, pasted: str) -> SharedWork:
    """What the shared expert does for a text."""
    return analysis.shared_work(reading.network(name)[0], reading.first_tokens(name, pasted)[0])


def show() -> None:
    """The section."""
    left, right = st.columns([1, 3], gap="large")
    with left:
        now = reading.read(only=reading.SHARED)
        layer, at = reading.choose_layer(now)
        models.only(reading.SHARED, "its layers have a shared expert.")
    found = worked(now.model, now.pasted)
    with right:
        st.markdown(
            f"In **{now.model}** a router chooses {now.top_k} of {now.n_experts} experts for a token. One more, the "
            "shared expert, is not routed: every token goes through it, with weight 1."
        )
        st.latex(
            r"y = E^{\mathrm{shared}}(x) + \sum_{i \in \mathrm{top}_k} p_i(x)\, E_i(x), \qquad p = "
            r"\mathrm{softmax}(W_r\, x)"
        )
        show_losses(found)
        show_shares(now, found, layer, at)
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
    page.source(Experts.forward, analysis.shared_work)
    page.experiment(experiments.without_the_shared, now.model, now.pasted, reading.TOKENS)


def show_losses(found: SharedWork) -> None:
    """The text predicted with both, and with one of the two."""
    if not len(found.losses):
        st.info("One token has nothing to predict, so there is no loss.")
        return
    columns, whole = st.columns(3), float(found.losses.mean())
    columns[0].metric("Loss, nats per token", f"{whole:.3f}", "as trained", delta_color="off", delta_arrow="off")
    for column, name, losses in (
        (columns[1], "Without the shared expert", found.without_shared),
        (columns[2], "Without the routed ones", found.without_routed),
    ):
        column.metric(name, f"{losses.mean():.3f}", f"{losses.mean() - whole:+.3f}", delta_color="inverse")


def show_shares(now: reading.Reading, found: SharedWork, layer: int, at: int) -> None:
    """The shared expert's part in the output of a layer, token by token."""
    share = found.share[at]
    most, least, even = int(share.argmax()), int(share.argmin()), 1 / (1 + now.top_k)
    by_layer = ", ".join(f"{mean:.0%} in layer {i}" for i, mean in zip(found.layers, found.share.mean(1), strict=True))
    st.markdown(f"**Share of the shared expert in what layer {layer} adds to the stream**, token by token")
    text.chips(
        now.tokens,
        key="chips",
        shade=np.clip(share, 0, 1).tolist(),
        titles=[f"{part:.0%} of what layer {layer} adds is the shared expert's" for part in share],
        label=f"The text, each token as dark as the shared expert's part in what layer {layer} adds",
    )
    figure(
        figures.share_figure(text.tick_labels(now.tokens), share, even, SHARES),
        key="shares",
        height=SHARES,
        min_width=max(420, 9 * len(share)),
        alt=f"The shared expert writes {share.mean():.0%} of what layer {layer} adds, from {share[least]:.0%} for "
        f"'{text.visible(now.tokens[least])}' to {share[most]:.0%} for '{text.visible(now.tokens[most])}'.",
        caption=f"Its part along the sum of both; dotted: {even:.0%}, one of the {1 + now.top_k} active experts. On "
        f"average it is {by_layer}. Most for '{text.visible(now.tokens[most])}' ({share[most]:.0%}), least for "
        f"'{text.visible(now.tokens[least])}' ({share[least]:.0%}).",
        table=lambda: pd.DataFrame({"token": now.tokens, "shared": share, "chosen": 1 - share}),
    )


def show_missed(now: reading.Reading, found: SharedWork) -> None:
    """Which tokens are predicted worse without one of the two."""
    if not len(found.losses):
        return
    shared, routed = found.without_shared - found.losses, found.without_routed - found.losses
    worst = int(shared.argmax())
    name, more = text.visible(now.tokens[worst + 1]), int((shared > routed).sum())
    st.markdown("**Change of each token's loss** when one of the two is ablated: above 0 it is predicted worse")
    figure(
        figures.missed_figure(text.tick_labels(now.tokens), shared, routed, MISSED),
        key="missed",
        height=MISSED,
        min_width=max(520, 12 * len(now.tokens)),
        alt=f"Without the shared expert the loss grows by {shared.mean():.2f} nats per token, most for '{name}' "
        f"({shared[worst]:+.2f}); without the routed ones by {routed.mean():.2f}.",
        caption=f"Without the shared expert {shared.mean():+.2f} nats per token, without the routed ones "
        f"{routed.mean():+.2f}. Ablating the shared one costs more for {more} of {len(shared)} tokens, most for "
        f"'{name}' ({shared[worst]:+.2f}).",
        table=lambda: pd.DataFrame({"token": now.tokens[1:], "without shared": shared, "without chosen": routed}),
    )
