"""Part of the page on routing: a text coloured by who takes each token, the router's probabilities, the loads."""

from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.experts.routing import experiments as experiments
from pages.experts.routing import reading as reading
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import Event, figure
from tfcore import routing
from tfcore.analysis.experts import text_routing
from tfcore.analysis.experts.text_routing import Agreement, TextRouting, agreement
from tfcore.experts import mix
from tfcore.figures.experts import routing as figures

OVERVIEW, BESIDE = 200, 290
CODE = "def add(a, b):\n    return a + b\n\ndef sub(a, b):\n    return a - b\n\nprint(add(3, 4), sub(9, 2))"
SAID = '"Can I have a cake?" asked Tom. "No, Tom," said his mom. "You can have an apple." "Thank you!" said Tom.'
TRY: dict[str, dict[str, Any]] = {
    "first layer": {"show": "text", "layer": 0, "text": reading.TEXT},
    "dialogue": {"show": "text", "layer": 3, "text": SAID},
    "code": {"show": "text", "layer": 1, "text": CODE},
    "specialisation: expert 7": {"show": "experts", "layer": 2, "expert": 7, "by": "share"},
    "capacity factor 0.75": {"show": "what if", "layer": 0, "who": "tokens", "k": 2, "capacity": 0.75, "noise": 0.0},
    "expert choice": {"show": "what if", "who": "experts", "k": 1, "noise": 0.0},
    "without the shared expert": {"show": "shared", "layer": 1, "text": reading.TEXT},
    "DeepSeek": {"show": "size", "base": "deepseek_moe_16b", "split": 1, "shared": 0},
}
QUESTION = (
    "In the first two layers of stories-moe equal tokens go to the same experts nearly always, whatever stands before "
    "them. Does the router not see the context?",
    "It does: attention comes before it in the block. But the stream still consists mostly of the embedding of the "
    "token itself, so the router's logits of equal tokens are close, and the same experts are chosen. Later layers "
    "have written more context into the stream, and equal tokens are routed differently.",
)


@cache.data(max_entries=96)
def agreed(name: str, pasted: str) -> Agreement:
    """Whether equal tokens have equal experts."""
    return agreement(reading.first_tokens(name, pasted)[0], reading.routed(name, pasted).first)


def show() -> None:
    """The section."""
    left, right = st.columns([1, 3], gap="large")
    with left:
        now = reading.read()
        layer, at = reading.choose_layer(now)
        token = controls.slider("Token", "token", 0, len(now.ids) - 1, min(16, len(now.ids) - 1))
    found = reading.routed(now.model, now.pasted)
    with right:
        expert = choose_expert(now)
        text.chips(
            now.tokens,
            key="chips",
            selected=token,
            parts=reading.parts(found, at),
            titles=reading.titles(now, found, at),
            on_select=lambda i: controls.set_values(token=i),
            faint=None if expert < 0 else (~found.taken[at, :, expert]).tolist(),
            label=f"The text, each token with its experts in layer {layer}; click one for its probabilities",
        )
        shared = reading.network(now.model)[0].config.experts.n_shared
        besides = f" Besides, every token goes through {shared} shared, which no router chooses." if shared else ""
        st.caption(
            f"Layer {layer}. Under each token its experts, as wide as their weight: a colour and a number for each."
            f" Click a token for its probabilities, an expert's bar for its tokens.{besides}"
        )
        st.markdown(f"**Found.** {finding(now, found, agreed(now.model, now.pasted), at, layer)}")
        show_overview(now, found, at, token)
    left, right = st.columns(2, gap="large")
    with left:
        show_probs(now, found, layer, at, token)
    with right:
        show_load(now, found, layer, at, expert)
    page.what_to_see(
        "Follow one word through the text: does it keep its expert? The line “Found” counts it, layer by layer: where "
        "equal tokens agree far more often than any two tokens, the token itself decides; where they agree less, the "
        "context does. No expert is assigned to anything by hand; training adds only a loss for a balanced load."
    )
    page.source(routing.choose_experts, routing.expert_weights, mix, text_routing.route)
    page.experiment(experiments.who_takes_what, now.model, now.pasted, reading.TOKENS, layer, token)


def choose_expert(now: reading.Reading) -> int:
    """An expert whose tokens stand out; -1 is none."""
    names = {0: "all"} | {i: str(i) for i in range(1, now.n_experts + 1)}
    draw = controls.segmented if now.n_experts <= reading.FEW else controls.select
    return int(draw("Tokens of expert", "only", list(names), 0, names)) - 1


def finding(now: reading.Reading, found: TextRouting, pairs: Agreement, at: int, layer: int) -> str:
    """What is true of this text in this layer, in numbers."""
    n, load = len(now.ids), found.load[at]
    busiest = int(load.argmax())
    words = (
        f"In layer {layer}, expert {busiest + 1} has the largest load: {load[busiest]} of {n} tokens, "
        f"{load[busiest] / n:.0%}, where an even load would be {now.top_k / now.n_experts:.0%}. "
    )
    if not pairs.pairs:
        return words + "No token comes twice in this text, so there are no equal tokens to compare."
    by_layer = ", ".join(f"{share:.0%}" for share in pairs.equal)
    return words + (
        f"Of {pairs.pairs} pairs of equal tokens, {pairs.equal[at]:.0%} have the same first expert; of any two tokens "
        f"{pairs.all[at]:.0%}. Layer by layer, equal tokens agree in {by_layer}."
    )


def show_overview(now: reading.Reading, found: TextRouting, at: int, token: int) -> None:
    """All layers at a glance."""

    def go(event: Event) -> None:
        column, row = event["x"], event["y"]
        if isinstance(column, int | float) and isinstance(row, int | float):
            rows, n = len(now.layers), len(now.ids)
            controls.set_values(
                layer=now.layers[min(max(int(row), 0), rows - 1)], token=min(max(int(column), 0), n - 1)
            )

    labels, first = text.tick_labels(now.tokens), found.first
    height = OVERVIEW + max(0, len(now.layers) - 4) * 22
    figure(
        figures.overview_figure(first, found.first_weight, labels, now.layers, (at, token), height),
        key="overview",
        height=height,
        min_width=max(520, 13 * len(labels)),
        on_click=go,
        table=lambda: table(now, found),
        alt=f"The expert with the largest weight for each of {len(labels)} tokens in {len(now.layers)} layers. "
        f"'{text.visible(now.tokens[token])}' goes first to "
        + ", ".join(f"expert {e + 1} in layer {i}" for i, e in zip(now.layers, first[:, token], strict=True))
        + ".",
        caption=f"The expert with the largest weight, (layer, token) = {first.shape}. One column is one token on its "
        f"way up; '{text.visible(now.tokens[token])}' takes "
        + " → ".join(f"{e + 1}" if e >= 0 else "none" for e in first[:, token])
        + ". Click a cell to go there.",
    )


def table(now: reading.Reading, found: TextRouting) -> pd.DataFrame:
    """One row for each token and expert that came together."""
    at, position, expert = found.chosen.nonzero()
    return pd.DataFrame(
        {
            "layer": np.asarray(now.layers)[at],
            "position": position,
            "token": [now.tokens[i] for i in position],
            "expert": expert + 1,
            "probability": found.probs[at, position, expert],
            "weight": found.weights[at, position, expert],
            "dropped": found.dropped[at, position, expert],
        }
    )


def show_probs(now: reading.Reading, found: TextRouting, layer: int, at: int, token: int) -> None:
    """The router's distribution for one token."""
    probs, weights, chosen = found.probs[at, token], found.weights[at, token], found.chosen[at, token]
    name, usual = text.visible(now.tokens[token]), usual_of(now, at, token)
    shown = text.escape(name, 40)
    st.markdown(f"**Router's probabilities for “{shown}”** in layer {layer}; above the chosen, the weight")
    best = sorted(chosen.nonzero()[0].tolist(), key=lambda i: -probs[i])
    said = " and ".join(f"expert {i + 1} ({probs[i]:.2f}, weight {weights[i]:.2f})" for i in best) or "no expert"
    has_bias = reading.network(now.model)[0].config.experts.bias_rate > 0
    biased = " Each expert also has a fixed bias that counts only for the choice and keeps the load even." * has_bias
    dots = " Diamonds: how often it goes there in the held-out stories." if usual is not None else ""
    figure(
        figures.probs_figure(probs, weights, chosen, usual, BESIDE),
        key="probs",
        height=BESIDE,
        table=lambda: pd.DataFrame(
            {
                "expert": np.arange(1, len(probs) + 1),
                "score": found.logits[at, token],
                "probability": probs,
                "weight": weights,
            }
        ),
        alt=f"Probabilities of {len(probs)} experts for '{name}' in layer {layer}: it goes to {said}.",
        caption=f"Token {token}, '{name}', goes to {said}: softmax over all {len(probs)}, then the chosen ones' "
        f"weights{' made to sum to 1' if abs(float(weights.sum()) - 1) < 1e-3 else ''}.{biased}{dots}",
    )


def usual_of(now: reading.Reading, at: int, token: int) -> np.ndarray | None:
    """How often this token goes to each expert in the held-out stories, if that is known."""
    scan = reading.scan_of(now.model)
    if scan is None:
        return None
    where = (scan.ids == now.ids[token]).nonzero()[0]
    return np.asarray(scan.share[at, where[0]]) if len(where) else None


def show_load(now: reading.Reading, found: TextRouting, layer: int, at: int, expert: int) -> None:
    """The load of the experts of a layer."""
    load, scan = found.load[at], reading.scan_of(now.model)
    st.markdown(f"**Load of each expert** in layer {layer}: tokens of this text")
    usual = None if scan is None else scan.choices[at] * load.sum()
    low, high = int(load.min()), int(load.max())
    dots = " Diamonds: by its share of the held-out stories." if usual is not None else ""
    figure(
        figures.load_figure(load, np.zeros_like(load), None, expert, usual, BESIDE),
        key="load",
        height=BESIDE,
        on_click=go_to_expert,
        table=lambda: pd.DataFrame({"expert": np.arange(1, len(load) + 1), "tokens": load}),
        alt=f"Load in layer {layer}: from {low} to {high} of {len(now.ids)} tokens, evenly "
        f"{load.sum() / len(load):.1f}.",
        caption=f"{load.sum()} choices ({now.top_k} per token) over {len(load)} experts: from {low} to {high}, evenly "
        f"{load.sum() / len(load):.1f}.{dots} Click a bar to see whose tokens these are.",
    )


def go_to_expert(event: Event) -> None:
    if isinstance(event["x"], int | float):
        controls.set_values(only=int(event["x"]), expert=int(event["x"]))
