"""Part of the page on routing: a text coloured by who takes each token, the router's probabilities, the loads."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from pages.experts.routing import choices
from pages.ui import controls, text
from pages.ui.components.figure import Event
from pages.ui.frame import panel
from tfcore.measures.quantities import counted
from tfcore.views.experts import routing as views
from tfcore.views.experts.routing.say.text import token_titles

LETTERS = 40  # of a token in a heading
CODE = "def add(a, b):\n    return a + b\n\ndef sub(a, b):\n    return a - b\n\nprint(add(3, 4), sub(9, 2))"
DIALOGUE = '"Can I have a cake?" asked Tom. "No, Tom," said his mom. "You can have an apple." "Thank you!" said Tom.'
TRY: dict[str, dict[str, Any]] = {
    "first layer": {"show": "text", "layer": 0, "text": choices.TEXT},
    "dialogue": {"show": "text", "layer": 3, "text": DIALOGUE},
    "code": {"show": "text", "layer": 1, "text": CODE},
    "specialisation: expert 7": {"show": "experts", "layer": 2, "expert": 7, "by": "share"},
    "capacity factor 0.75": {"show": "what if", "layer": 0, "who": "tokens", "k": 2, "capacity": 0.75, "noise": 0.0},
    "expert choice": {"show": "what if", "who": "experts", "k": 1, "noise": 0.0},
    "without the shared expert": {"show": "shared", "layer": 1, "text": choices.TEXT},
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
    """Show the section."""
    with panel() as p:
        with p.controls:
            now = choices.read()
            layer, at = choices.choose_layer(now)
            token = controls.place("Token", "token", len(now.text.ids), 16, of=tuple(now.text.ids))
        routed = views.routed_of(now.reading)
        with p.picture:
            expert = choose_expert(now)
            text.chips(
                now.text.tokens,
                key="chips",
                selected=token,
                parts=choices.parts(routed.routing, at),
                titles=token_titles(routed, at),
                on_select=lambda i: controls.set_values(token=i),
                faint=None if expert < 0 else (~routed.routing.taken[at, :, expert]).tolist(),
                label=f"The text, each token with its experts in layer {layer}; click one for its probabilities",
            )
            shared = views.network(now.reading.model)[0].config.experts.n_shared
            also = f" Besides, every token goes through {counted(shared, 'shared expert')}, which no router chooses."
            besides = also if shared else ""
            st.caption(
                f"Layer {layer}. Under each token its experts, as wide as their weight: a colour and a number for each."
                f" Click a token for its probabilities, an expert's bar for its tokens.{besides}"
            )
            click = partial(go_to_cell, now.layers, len(now.text.tokens))
            p.show(views.who_takes_what(now.reading, layer, token), click, "Click a cell to go there.")
        left, right = st.columns(2, gap="large")
        with left:
            name = text.escape(text.visible(now.text.tokens[token]), LETTERS)
            st.markdown(f"**Router's probabilities for “{name}”** in layer {layer}; above the chosen, the weight")
            p.show(views.probabilities(now.reading, layer, token))
        with right:
            st.markdown(f"**Load of each expert** in layer {layer}: tokens of this text")
            p.show(views.load(now.reading, layer, expert), go_to_expert, "Click a bar to see whose tokens these are.")
        p.what_to_see(
            "Follow one word through the text: does it keep its expert? The line “Found” counts it, layer by layer: "
            "where equal tokens agree far more often than any two tokens, the token itself decides; where they agree "
            "less, the context does. No expert is assigned to anything by hand. The training of stories-moe and "
            "stories-shared added a loss for a balanced load and one that keeps the router's logits small (z-loss); "
            "after it, 200 batches moved a bias of each expert towards an even load."
        )
        p.question(*QUESTION)


def choose_expert(now: choices.Chosen) -> int:
    """An expert whose tokens stand out; -1 is none."""
    names = {0: "all"} | {i: str(i) for i in range(1, now.n_experts + 1)}
    draw = controls.segmented if now.n_experts <= choices.FEW else controls.select
    return int(draw("Tokens of expert", "only", list(names), 0, names)) - 1


def go_to_cell(layers: Sequence[int], tokens: int, event: Event) -> None:
    """A click on a cell chooses its layer and its token."""
    column, row = event["x"], event["y"]
    if isinstance(column, int | float) and isinstance(row, int | float):
        place = min(max(int(row), 0), len(layers) - 1)
        controls.set_values(layer=layers[place], token=min(max(int(column), 0), tokens - 1))


def go_to_expert(event: Event) -> None:
    """A click on a bar chooses its expert."""
    if isinstance(event["x"], int | float):
        controls.set_values(only=int(event["x"]), expert=int(event["x"]))
