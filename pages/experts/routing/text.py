"""Part of the page on routing: a text coloured by who takes each token, the router's probabilities, the loads."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.experts.routing import experiments, reading
from pages.ui import controls, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.program import made
from tfcore import routing as routers
from tfcore.analysis.experts import text_routing
from tfcore.analysis.experts.routing_findings import token_titles
from tfcore.analysis.experts.text_routing import RoutedText, TextRouting
from tfcore.experts import mix
from tfcore.figures.shown import Shown
from tfcore.measures.quantities import counted

OVERVIEW = 200  # with up to four layers
BESIDE = 290
LETTERS = 40  # of a token in a heading
CODE = "def add(a, b):\n    return a + b\n\ndef sub(a, b):\n    return a - b\n\nprint(add(3, 4), sub(9, 2))"
DIALOGUE = '"Can I have a cake?" asked Tom. "No, Tom," said his mom. "You can have an apple." "Thank you!" said Tom.'
TRY: dict[str, dict[str, Any]] = {
    "first layer": {"show": "text", "layer": 0, "text": reading.TEXT},
    "dialogue": {"show": "text", "layer": 3, "text": DIALOGUE},
    "code": {"show": "text", "layer": 1, "text": CODE},
    "specialisation: expert 7": {"show": "experts", "layer": 2, "expert": 7, "by": "share"},
    "capacity factor 0.75": {"show": "what if", "layer": 0, "who": "tokens", "k": 2, "capacity": 0.75, "noise": 0.0},
    "expert choice": {"show": "what if", "who": "experts", "k": 1, "noise": 0.0},
    "without the shared expert": {"show": "shared", "layer": 1, "text": reading.TEXT},
    "DeepSeek": {"show": "size", "base": "deepseek_moe_16b", "split": 1, "shared": 0},
}
QUESTION = (
    "In the first two layers of stories-moe equal tokens of a story go to the same experts nearly always, whatever "
    "stands before them. Does the router not see the context?",
    "It does: attention comes before it in the block. But the stream still consists mostly of the embedding of the "
    "token itself, so the router's logits of equal tokens are close, and the same experts are chosen. Later layers "
    "have written more context into the stream, and equal tokens are more often routed differently.",
)


def show() -> None:
    """The section."""
    left, right = st.columns([1, 3], gap="large")
    with left:
        now = reading.read()
        layer, at = reading.choose_layer(now)
        token = controls.place("Token", "token", len(now.text.ids), 16)
    found = reading.routed(now.model, now.pasted)
    shown = experiments.who_takes_what(found, at, token)
    with right:
        expert = choose_expert(now)
        text.chips(
            now.text.tokens,
            key="chips",
            selected=token,
            parts=reading.parts(found.routing, at),
            titles=token_titles(found, at),
            on_select=lambda i: controls.set_values(token=i),
            faint=None if expert < 0 else (~found.routing.taken[at, :, expert]).tolist(),
            label=f"The text, each token with its experts in layer {layer}; click one for its probabilities",
        )
        shared = reading.network(now.model)[0].config.experts.n_shared
        also = f" Besides, every token goes through {counted(shared, 'shared expert')}, which no router chooses."
        besides = also if shared else ""
        st.caption(
            f"Layer {layer}. Under each token its experts, as wide as their weight: a colour and a number for each."
            f" Click a token for its probabilities, an expert's bar for its tokens.{besides}"
        )
        st.markdown(f"**Found.** {shown.findings[1]} {shown.findings[2]}")
        show_overview(now, found.routing, shown)
    left, right = st.columns(2, gap="large")
    with left:
        show_probs(now, found, at, token)
    with right:
        show_load(now, found.routing, at, expert)
    page.what_to_see(
        "Follow one word through the text: does it keep its expert? The line “Found” counts it, layer by layer: where "
        "equal tokens agree far more often than any two tokens, the token itself decides; where they agree less, the "
        "context does. No expert is assigned to anything by hand. The training of stories-moe and stories-shared added "
        "a loss for a balanced load and one that keeps the router's logits small (z-loss); after it, 200 batches moved "
        "a bias of each expert towards an even load."
    )
    routed = made(experiments.routed, made(experiments.mixture, now.model), now.pasted, reading.TOKENS)
    page.question(*QUESTION)
    page.how_it_is_computed(
        page.experiment(experiments.who_takes_what, routed, at, token),
        formula=reading.formula(now.model),
        code=(routers.choose_experts, routers.expert_weights, mix, text_routing.route),
        papers=reading.PAPERS,
    )


def choose_expert(now: reading.Reading) -> int:
    """An expert whose tokens stand out; -1 is none."""
    names = {0: "all"} | {i: str(i) for i in range(1, now.n_experts + 1)}
    draw = controls.segmented if now.n_experts <= reading.FEW else controls.select
    return int(draw("Tokens of expert", "only", list(names), 0, names)) - 1


def show_overview(now: reading.Reading, routing: TextRouting, shown: Shown) -> None:
    """The expert with the largest weight for each token in all layers."""
    labels = len(now.text.tokens)
    figure(
        shown.figure,
        key="overview",
        height=OVERVIEW + max(0, len(now.layers) - 4) * 22,
        min_width=max(520, 13 * labels),
        on_click=partial(go_to_cell, now.layers, labels),
        table=lambda: table(now, routing),
        alt=shown.alt,
        caption=f"{shown.alt} (layer, token) = {routing.first.shape}; one column is one token on its way up. Click a "
        "cell to go there.",
    )


def go_to_cell(layers: range, tokens: int, event: Event) -> None:
    """A click on a cell chooses its layer and its token."""
    column, row = event["x"], event["y"]
    if isinstance(column, int | float) and isinstance(row, int | float):
        place = min(max(int(row), 0), len(layers) - 1)
        controls.set_values(layer=layers[place], token=min(max(int(column), 0), tokens - 1))


def table(now: reading.Reading, routing: TextRouting) -> pd.DataFrame:
    """One row for each token and expert that came together."""
    at, position, expert = routing.chosen.nonzero()
    return pd.DataFrame(
        {
            "layer": np.asarray(now.layers)[at],
            "position": position,
            "token": [now.text.tokens[i] for i in position],
            "expert": expert + 1,
            "probability": routing.probs[at, position, expert],
            "weight": routing.weights[at, position, expert],
            "dropped": routing.dropped[at, position, expert],
        }
    )


def show_probs(now: reading.Reading, found: RoutedText, at: int, token: int) -> None:
    """The router's distribution for one token."""
    routing, scan = found.routing, reading.scan_of(now.model)
    usual = None if scan is None else scan.share_of(at, now.text.ids[token])
    shown = experiments.probabilities(found, usual, at, token)
    name = text.escape(text.visible(now.text.tokens[token]), LETTERS)
    st.markdown(f"**Router's probabilities for “{name}”** in layer {now.layers[at]}; above the chosen, the weight")
    has_bias = reading.network(now.model)[0].config.experts.bias_rate > 0
    biased = " Each expert also has a fixed bias that counts only for the choice and keeps the load even." * has_bias
    dots = " Diamonds: how often it goes there in the held-out stories." if usual is not None else ""
    figure(
        shown.figure,
        key="probs",
        height=BESIDE,
        table=lambda: pd.DataFrame(
            {
                "expert": np.arange(1, now.n_experts + 1),
                "score": routing.logits[at, token],
                "probability": routing.probs[at, token],
                "weight": routing.weights[at, token],
            }
        ),
        alt=shown.alt,
        caption=f"{shown.caption}{biased}{dots}",
    )


def show_load(now: reading.Reading, routing: TextRouting, at: int, expert: int) -> None:
    """The load of the experts of a layer."""
    scan = reading.scan_of(now.model)
    shown = experiments.loads(routing, at, expert, None if scan is None else scan.choices, BESIDE)
    st.markdown(f"**Load of each expert** in layer {now.layers[at]}: tokens of this text")
    dots = " Diamonds: by its share of the held-out stories." if scan is not None else ""
    figure(
        shown.figure,
        key="load",
        height=BESIDE,
        on_click=go_to_expert,
        table=lambda: pd.DataFrame({"expert": np.arange(1, now.n_experts + 1), "tokens": routing.load[at]}),
        alt=shown.alt,
        caption=f"{shown.caption} A token goes to {counted(now.top_k, 'expert')}.{dots} Click a bar to see whose "
        "tokens these are.",
    )


def go_to_expert(event: Event) -> None:
    """A click on a bar chooses its expert."""
    if isinstance(event["x"], int | float):
        controls.set_values(only=int(event["x"]), expert=int(event["x"]))
