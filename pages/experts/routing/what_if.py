"""Part of the page on routing: the same trained router under other rules, the model run again with them."""

import math
from typing import get_args

import numpy as np
import pandas as pd
import streamlit as st

from pages.experts.routing import experiments, reading
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import figure
from pages.ui.program import made
from tfcore import routing
from tfcore.analysis.experts import routing_rules, text_routing
from tfcore.analysis.experts.routing_findings import token_titles
from tfcore.analysis.experts.routing_rules import RoutingSweep, RuleTotals, sweep
from tfcore.analysis.experts.text_routing import RoutedText, RouterChange, TextRouting
from tfcore.figures.shown import Shown
from tfcore.measures.quantities import whole
from tfcore.part_configs import Routing

HEIGHT = 300
CURVES = 330
WHO: dict[Routing, str] = {"tokens": "token choice", "experts": "expert choice"}
NO_LIMIT = 0.0  # the capacity factor that stands for none
CAPACITIES = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
CAPACITY_NAMES = {factor: f"{factor:g}" for factor in CAPACITIES} | {NO_LIMIT: "no limit"}
NOISES = (0.5, 1.0, 2.0, 4.0)
QUESTION = (
    "With expert choice, an expert takes the tokens with its highest router scores in the whole text. Why can a model "
    "not generate like this?",
    "Whether a token is among the highest depends on tokens that come after it, and during generation there are none "
    "yet. So expert choice is for training and for models that read a whole text at once.",
)


@cache.data(max_entries=24)
def swept(name: str, pasted: str, seed: int) -> RoutingSweep:
    """The loss for one change at a time."""
    return sweep(reading.network(name)[0], reading.first_tokens(name, pasted).ids, CAPACITIES, NOISES, seed)


def choose(now: reading.Reading) -> tuple[RouterChange, int, int]:
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
            (*CAPACITIES, NO_LIMIT),
            1.0,
            CAPACITY_NAMES,
            help="Capacity of an expert: c times an even share. Tokens beyond it are dropped.",
        )
    with page.more_settings():
        layer, at = reading.choose_layer(now)
        noise = controls.slider("Noise σ on the scores", "noise", 0.0, 4.0, 0.0, 0.25)
        seed = controls.slider("Seed of the noise", "seed", 0, 20, 0)
    change = RouterChange(top_k=k, routing=who, capacity=room or None, noise=noise, seed=seed if noise else 0)
    return change, layer, at


def show() -> None:
    """The section."""
    left, right = st.columns([1, 3], gap="large")
    with left:
        now = reading.read()
        change, layer, at = choose(now)
    before, after = reading.routed(now.model, now.pasted), reading.routed(now.model, now.pasted, change)
    shown = experiments.other_rules((before, after), change, at)
    with right:
        show_numbers(routing_rules.rule_totals(before.routing, after.routing))
        text.chips(
            now.text.tokens,
            key="chips",
            parts=reading.parts(after.routing, at),
            titles=token_titles(after, at),
            faint=(~after.routing.taken[at].any(1)).tolist(),
            label=f"The text, each token with its experts in layer {layer} under the changed rules",
        )
        st.caption(
            f"Layer {layer}. Hatched: dropped, beyond the expert's capacity. Faint: no expert computes the token, and "
            "the residual stream carries it past the layer as it is."
        )
        st.markdown(f"**Found.** {shown.findings[1]}")
    left, right = st.columns(2, gap="large")
    with left:
        show_load(now, after.routing, at)
    with right:
        show_cost(now, (before, after), shown, at)
    show_sweep(now, before.routing, after.routing, change.seed)
    page.what_to_see(
        f"The curves show the loss of this text for one change at a time; the model was trained with k = {now.top_k}. "
        "A capacity drops the tokens that come late, so it is the end of a sequence that suffers. With expert choice "
        "the load is even by construction, but some tokens get no expert, and each choice depends on tokens that come "
        "later, which a model does not have while it generates. Noise on the router's logits changes choices once it "
        "is as large as the gaps between them."
    )
    network = made(experiments.mixture, now.model)
    runs = made(experiments.compared, network, now.pasted, reading.TOKENS, change)
    page.question(*QUESTION)
    page.how_it_is_computed(
        page.experiment(experiments.other_rules, runs, change, at),
        formula=reading.formula(now.model),
        code=(
            routing.over_capacity,
            routing.choose_tokens,
            routing.expert_capacity,
            text_routing.rerouted,
            text_routing.noisy_scores,
        ),
        papers=reading.PAPERS,
    )


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


def show_load(now: reading.Reading, after: TextRouting, at: int) -> None:
    """The load of every expert."""
    shown = experiments.loads(after, at, -1, None, HEIGHT)
    st.markdown(f"**Load of each expert** in layer {now.layers[at]}")
    load, dropped = after.load[at], after.dropped[at].sum(0)
    figure(
        shown.figure,
        key="load",
        height=HEIGHT,
        table=lambda: pd.DataFrame({"expert": np.arange(1, len(load) + 1), "tokens": load, "dropped": dropped}),
        alt=shown.alt,
        caption=shown.caption,
    )


def show_cost(now: reading.Reading, runs: tuple[RoutedText, RoutedText], shown: Shown, at: int) -> None:
    """Which tokens are predicted worse."""
    before, after = runs
    st.markdown("**Change of each token's loss**: above 0 it is predicted worse")
    change = routing_rules.loss_changes(before.routing, after.routing, at)[0]
    figure(
        shown.figure,
        key="cost",
        height=HEIGHT,
        min_width=420,
        table=lambda: pd.DataFrame({"token": now.text.tokens, "change": change}),
        alt=shown.alt,
        caption=f"{shown.alt} Shaded: the token before it, from which it is predicted, has no expert in layer "
        f"{now.layers[at]}.",
    )


def show_sweep(now: reading.Reading, before: TextRouting, after: TextRouting, seed: int) -> None:
    """One change at a time."""
    if not len(before.losses):
        return
    with st.spinner("Running the text through the model once for each choice"):
        found = swept(now.model, now.pasted, seed)
    shown = experiments.one_at_a_time(found, before.loss, after.loss, now.top_k)
    st.markdown("**The loss of this text, one thing changed at a time** (dotted: as trained; dashed: as set above)")
    figure(
        shown.figure,
        key="sweep",
        height=CURVES,
        min_width=560,
        table=lambda: sweep_table(found),
        alt=shown.alt,
        caption=shown.caption,
    )


def sweep_table(found: RoutingSweep) -> pd.DataFrame:
    """The numbers behind the curves."""
    rows: list[tuple[str, float, float]] = []
    rows += [("token choice, k", *pair) for pair in zip(found.top_k, found.tokens, strict=True)]
    rows += [("expert choice, k", *pair) for pair in zip(found.top_k, found.experts, strict=True)]
    rows += [("capacity factor", *pair) for pair in zip(found.capacity, found.cut, strict=True)]
    rows += [("noise", *pair) for pair in zip(found.noise, found.noisy, strict=True)]
    return pd.DataFrame(rows, columns=["changed", "to", "loss"])
