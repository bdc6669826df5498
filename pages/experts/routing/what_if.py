"""Part of the page on routing: the same trained router under other rules, the model run again with them."""

import math
from typing import get_args

import streamlit as st

from pages.experts.routing import choices
from pages.ui import controls, page, text
from pages.ui.frame import panel
from tfcore.measures.quantities import whole
from tfcore.part_configs import Routing
from tfcore.views.experts import routing as views
from tfcore.views.experts.routing.measure.text_routing import RouterChange
from tfcore.views.experts.routing.say.rules import RuleTotals, rule_effect, rule_totals
from tfcore.views.experts.routing.say.text import token_titles

WHO: dict[Routing, str] = {"tokens": "token choice", "experts": "expert choice"}
NO_LIMIT = 0.0  # the capacity factor that stands for none
CAPACITY_NAMES = {factor: f"{factor:g}" for factor in views.CAPACITIES} | {NO_LIMIT: "no limit"}
QUESTION = (
    "With expert choice, an expert takes the tokens with its highest router scores in the whole text. Why can a model "
    "not generate like this?",
    "Whether a token is among the highest depends on tokens that come after it, and during generation there are none "
    "yet. So expert choice is for training and for models that read a whole text at once.",
)


def choose(now: choices.Chosen) -> tuple[RouterChange, int, int]:
    """The rules; and the layer that is drawn, with its place among those with experts."""
    who = controls.segmented("Routing", "who", list(get_args(Routing)), "tokens", WHO)
    k = controls.slider(
        "Experts per token, k",
        "k",
        1,
        min(4, now.n_experts),
        min(now.top_k, 4),
        help=f"Trained with {now.top_k}. With expert choice, it is the mean.",
    )
    room = NO_LIMIT
    if who == "tokens":
        room = controls.stops(
            "Capacity factor c",
            "capacity",
            (*views.CAPACITIES, NO_LIMIT),
            1.0,
            CAPACITY_NAMES,
            help="Capacity of an expert: c times an even share. Tokens beyond it are dropped.",
        )
    with page.more_settings():
        layer, at = choices.choose_layer(now)
        noise = controls.slider("Noise σ on the scores", "noise", 0.0, 4.0, 0.0, 0.25)
        seed = controls.slider("Seed of the noise", "seed", 0, 20, 0)
    change = RouterChange(top_k=k, routing=who, capacity=room or None, noise=noise, seed=seed if noise else 0)
    return change, layer, at


def show() -> None:
    """Show the section."""
    with panel() as p:
        with p.controls:
            now = choices.read()
            change, layer, at = choose(now)
        before, after = views.routed_of(now.reading), views.routed_of(now.reading, change)
        with p.picture:
            show_numbers(rule_totals(before.routing, after.routing))
            text.chips(
                now.text.tokens,
                key="chips",
                parts=choices.parts(after.routing, at),
                titles=token_titles(after, at),
                faint=(~after.routing.taken[at].any(1)).tolist(),
                label=f"The text, each token with its experts in layer {layer} under the changed rules",
            )
            st.caption(
                f"Layer {layer}. Hatched: dropped, beyond the expert's capacity. Faint: no expert computes the token, "
                "and the residual stream carries it past the layer as it is."
            )
            st.markdown(f"**Found.** {rule_effect(before.routing, after.routing, change, at)}")
        left, right = st.columns(2, gap="large")
        with left:
            st.markdown(f"**Load of each expert** in layer {layer}")
            p.show(views.changed_load(now.reading, change, layer))
        with right:
            st.markdown("**Change of each token's loss**: above 0 it is predicted worse")
            p.show(views.other_rules(now.reading, change, layer))
        if len(before.routing.losses):
            with st.spinner("Running the text through the model once for each choice"):
                shown = views.one_at_a_time(now.reading, change)
            st.markdown(
                "**The loss of this text, one thing changed at a time** (dotted: as trained; dashed: as set above)"
            )
            p.show(shown)
        p.what_to_see(
            f"The curves show the loss of this text for one change at a time; the model was trained with k = "
            f"{now.top_k}. A capacity drops the tokens that come late, so it is the end of a sequence that suffers. "
            "With expert choice the load is even by construction, but some tokens get no expert, and each choice "
            "depends on tokens that come later, which a model does not have while it generates. Noise on the router's "
            "logits changes choices once it is as large as the gaps between them."
        )
        p.question(*QUESTION)


def show_numbers(totals: RuleTotals) -> None:
    """Loss, drops, tokens without an expert."""
    loss = {} if math.isnan(totals.after) else {"Loss, nats per token": totals.loss}
    counts = {
        "Choices dropped": (whole(totals.dropped), f"of {whole(totals.chosen)}"),
        "Without an expert": (whole(totals.alone), f"of {totals.tokens} × {totals.layers}"),
        "Experts computed": (whole(totals.computed), f"trained: {whole(totals.trained)}"),
    }
    first, *others = st.columns(4)
    for name, (value, change) in loss.items():
        first.metric(name, value, change, delta_color="inverse")
    for column, (name, (value, note)) in zip(others, counts.items(), strict=True):
        column.metric(name, value, note, delta_color="off", delta_arrow="off")
