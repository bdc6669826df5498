"""Part of the page on routing: the same trained router under other rules, the model run again with them."""

import math
from typing import get_args

import numpy as np
import pandas as pd
import streamlit as st

from pages.experts.routing import experiments as experiments
from pages.experts.routing import reading as reading
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import figure
from tfcore import routing
from tfcore.analysis.experts import routing_rules, text_routing
from tfcore.analysis.experts.routing_rules import RoutingSweep, sweep
from tfcore.analysis.experts.text_routing import RouterChange, TextRouting
from tfcore.figures.experts import routing as figures
from tfcore.figures.experts import routing_rules as rule_figures
from tfcore.part_configs import Routing

HEIGHT, CURVES = 300, 330
WHO: dict[Routing, str] = {"tokens": "token choice", "experts": "expert choice"}
NO_LIMIT = 0.0
CAPACITIES = (0.5, 0.75, 1.0, 1.25, 1.5, 2.0)
ROOMS = {factor: f"{factor:g}" for factor in CAPACITIES} | {NO_LIMIT: "no limit"}
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
    return sweep(reading.network(name)[0], reading.first_tokens(name, pasted)[0], CAPACITIES, NOISES, seed)


def choose(now: reading.Reading) -> RouterChange:
    """The rules."""
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
            ROOMS,
            help="Capacity of an expert: c times an even share. Tokens beyond it are dropped.",
        )
    noise = controls.slider("Noise σ on the scores", "noise", 0.0, 4.0, 0.0, 0.25)
    seed = controls.slider("Seed of the noise", "seed", 0, 20, 0)
    return RouterChange(top_k=k, routing=who, capacity=room or None, noise=noise, seed=seed if noise else 0)


def show() -> None:
    """The section."""
    left, right = st.columns([1, 3], gap="large")
    with left:
        now = reading.read()
        layer, at = reading.choose_layer(now)
        change = choose(now)
    before, after = reading.routed(now.model, now.pasted), reading.routed(now.model, now.pasted, change)
    with right:
        show_numbers(now, before, after)
        text.chips(
            now.tokens,
            key="chips",
            parts=reading.parts(after, at),
            titles=reading.titles(now, after, at),
            faint=(~after.taken[at].any(-1)).tolist(),
            label=f"The text, each token with its experts in layer {layer} under the changed rules",
        )
        st.caption(
            f"Layer {layer}. Hatched: dropped, beyond the expert's capacity. Faint: no expert computes the token, and "
            "the residual stream carries it past the layer as it is."
        )
        st.markdown(f"**Found.** {finding(now, before, after, change, at, layer)}")
    left, right = st.columns(2, gap="large")
    with left:
        show_load(now, after, layer, at)
    with right:
        show_cost(now, before, after, layer, at)
    show_sweep(now, before, after, change.seed)
    page.what_to_see(
        f"The curves show the loss of this text for one change at a time; the model was trained with k = {now.top_k}. "
        "A capacity drops the tokens that come late, so it is the end of a sequence that suffers. With expert choice "
        "the load is even by construction, but some tokens get no expert, and each choice depends on tokens that come "
        "later, which a model does not have while it generates. Noise on the router's logits changes choices once it "
        "is as large as the gaps between them."
    )
    page.source(
        routing.over_capacity,
        routing.choose_tokens,
        routing.expert_capacity,
        text_routing.rerouted,
        text_routing.shaken,
    )
    page.experiment(experiments.other_rules, now.model, now.pasted, reading.TOKENS, at, change)


def show_numbers(now: reading.Reading, before: TextRouting, after: TextRouting) -> None:
    """Loss, drops, tokens without an expert."""
    chosen, n, layers = int(after.chosen.sum()), len(now.ids), len(now.layers)
    dropped, alone = int(after.dropped.sum()), int((~after.taken.any(-1)).sum())
    columns = st.columns(4)
    if len(after.losses):
        change = after.loss - before.loss
        columns[0].metric("Loss, nats per token", f"{after.loss:.3f}", f"{change:+.3f}", delta_color="inverse")
    columns[1].metric("Choices dropped", f"{dropped:,}", f"of {chosen:,}", delta_color="off", delta_arrow="off")
    columns[2].metric("Without an expert", f"{alone:,}", f"of {n} × {layers}", delta_color="off", delta_arrow="off")
    work = int(after.taken.sum())
    trained = int(before.taken.sum())
    columns[3].metric("Experts computed", f"{work:,}", f"trained: {trained:,}", delta_color="off", delta_arrow="off")


def finding(
    now: reading.Reading, before: TextRouting, after: TextRouting, change: RouterChange, at: int, layer: int
) -> str:
    """What was done, what came of it, and what was run again."""
    moved = np.abs(after.logits - before.logits).mean((1, 2)) if not change.noise else None
    words = "The whole model was run again with these rules in every layer, with the same weights. "
    if moved is not None:
        same = "exactly the same" if not moved[0] else f"moved by {moved[0]:.2f}"
        words += f"Scores of layer {now.layers[0]} are {same}"
        if len(moved) > 1:
            words += f"; those of layer {now.layers[-1]}, which read what other experts wrote, moved by {moved[-1]:.2f}"
        words += ". "
    load = after.load[at]
    if after.room is not None:
        words += (
            f"Each expert has a capacity of {after.room} tokens; in layer {layer} {int(after.dropped[at].sum())} "
            "choices are dropped. "
        )
    elif change.routing == "experts":
        words += f"In layer {layer} each expert takes {int(load.max())} tokens. "
    if math.isnan(after.loss):
        return words + "One token has nothing to predict, so there is no loss."
    return words + f"The loss of this text goes from {before.loss:.2f} to {after.loss:.2f} nats per token."


def show_load(now: reading.Reading, after: TextRouting, layer: int, at: int) -> None:
    """The load of every expert."""
    load, dropped = after.load[at], after.dropped[at].sum(0)
    room = "" if after.room is None else f", capacity {after.room}, {dropped.sum()} dropped"
    st.markdown(f"**Load of each expert** in layer {layer}")
    figure(
        figures.load_figure(load, dropped, after.room, -1, None, HEIGHT),
        key="load",
        height=HEIGHT,
        table=lambda: pd.DataFrame({"expert": np.arange(1, len(load) + 1), "tokens": load, "dropped": dropped}),
        alt=f"Load in layer {layer}: from {load.min()} to {load.max()} tokens{room}.",
        caption=f"Tokens each of {len(load)} experts computes, of {len(now.ids)}: from {load.min()} to "
        f"{load.max()}{room}.",
    )


def show_cost(now: reading.Reading, before: TextRouting, after: TextRouting, layer: int, at: int) -> None:
    """Which tokens are predicted worse."""
    change, lost = routing_rules.cost(before, after, at)
    worst = int(change.argmax())
    st.markdown("**Change of each token's loss**: above 0 it is predicted worse")
    figure(
        rule_figures.loss_changes_figure(text.tick_labels(now.tokens), change, lost, HEIGHT),
        key="cost",
        height=HEIGHT,
        min_width=420,
        table=lambda: pd.DataFrame({"token": now.tokens, "change": change}),
        alt=f"Change of the loss by token: worst is '{text.visible(now.tokens[worst])}' with {change[worst]:+.2f} "
        f"nats; the mean is {change[1:].mean() if len(change) > 1 else 0:+.2f}.",
        caption=f"Worst: '{text.visible(now.tokens[worst])}' ({worst}), {change[worst]:+.2f} nats. Shaded: the token "
        f"before it, from which it is predicted, has no expert in layer {layer}.",
    )


def show_sweep(now: reading.Reading, before: TextRouting, after: TextRouting, seed: int) -> None:
    """One change at a time."""
    if not len(before.losses):
        return
    with st.spinner("Running the text through the model once for each choice"):
        found = swept(now.model, now.pasted, seed)
    best = found.top_k[int(np.argmin(found.tokens))]
    st.markdown("**The loss of this text, one thing changed at a time** (dotted: as trained; dashed: as set above)")
    figure(
        rule_figures.sweep_figure(found, before.loss, after.loss, CURVES),
        key="sweep",
        height=CURVES,
        min_width=560,
        table=lambda: sweep_table(found),
        alt=f"Loss over experts per token, capacity and noise: with {found.top_k[0]} expert {found.tokens[0]:.2f}, "
        f"with {now.top_k} as trained {before.loss:.2f}; at capacity {found.capacity[0]:g} {found.cut[0]:.2f}; with "
        f"noise {found.noise[-1]:g} {found.noisy[-1]:.2f} nats per token.",
        caption=f"{len(found.tokens) + len(found.experts) + len(found.cut) + len(found.noisy)} runs of the model. Of "
        f"the numbers of experts, {best} is best on this text; trained with {now.top_k}.",
    )


def sweep_table(found: RoutingSweep) -> pd.DataFrame:
    """The numbers behind the curves."""
    rows: list[tuple[str, float, float]] = []
    rows += [("token choice, k", *pair) for pair in zip(found.top_k, found.tokens, strict=True)]
    rows += [("expert choice, k", *pair) for pair in zip(found.top_k, found.experts, strict=True)]
    rows += [("capacity factor", *pair) for pair in zip(found.capacity, found.cut, strict=True)]
    rows += [("noise", *pair) for pair in zip(found.noise, found.noisy, strict=True)]
    return pd.DataFrame(rows, columns=["changed", "to", "loss"])
