"""Section of the page on interventions: zero ablation, mean ablation, and scaling."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st

from pages.inside import reading as _reading
from pages.inside.continuations import NEW_TOKENS, continuations
from pages.inside.effects import prediction
from pages.inside.interventions import experiments
from pages.inside.reading import Reading
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.program import made
from pages.ui.work import progress
from tfcore.analysis import one_text
from tfcore.analysis.inside import interventions
from tfcore.analysis.inside.interventions import ABLATIONS, Action, Effect, LossOf, Part, PartLossIncreases

TOKENS = 48  # of the text
TYPED = 400  # characters in the box of parts
DEFAULT = "2.5"  # the head that carries whether Sam is a boy
ACTIONS: dict[Action, str] = {**ABLATIONS, "scale": "scaling"}
LOSSES: dict[str, LossOf] = {"the next token": "prediction", "the whole text": "text"}
EVERYWHERE = "every token"
ONE = "one token"


@cache.data(max_entries=64)
def increases(model: str, pasted: str, layer: int, action: Action) -> PartLossIncreases:
    ids = _reading.read(model, pasted, TOKENS).ids
    return interventions.ablate_each_part(cache.model(model)[0], ids, layer, action)


edited = cache.of_model(max_entries=256)(experiments.edited)
continued = cache.of_model(max_entries=256)(experiments.continued)


@dataclass(frozen=True, slots=True)
class Changes:
    """What is done to which parts; position None is every token."""

    parts: tuple[Part, ...]
    action: Action
    factor: float
    position: int | None

    @property
    def values(self) -> tuple[str, Action, float, int | None]:
        """As experiments take them."""
        return interventions.written(self.parts), self.action, self.factor, self.position

    @property
    def words(self) -> str:
        return interventions.described(self.parts, self.action, self.factor)


def switch(reading: Reading) -> None:
    """The section."""
    text_values = reading.model, reading.pasted, TOKENS
    left, right = st.columns([5, 6], gap="large")
    with left:
        board = st.container()  # above the controls that it depends on
        changes = choose(reading)
    found = edited(*text_values, *changes.values)
    with board:
        offered = every_part(reading, changes, found)
    with right:
        best = int(found.before.argmax())
        prediction(reading, len(reading.ids) - 1, found, ("whole model", changes.words), best)
        rows = {
            "Whole model continues": continued(*text_values, "", "zero", 0.0, None, NEW_TOKENS),
            changes.words.capitalize(): continued(*text_values, *changes.values, NEW_TOKENS),
        }
        continuations(reading.model, rows)
    example = (
        (
            " Head 2.5 carries whether Sam is a boy or a girl: times −2, it turns “he” into “she”, and the "
            "story goes on "
            "about her."
        )
        if (reading.model, reading.pasted) == ("stories", _reading.BOY)
        else ""
    )
    page.what_to_see(
        "Each field is the loss increase when this part alone is ablated: near 0 where the rest of the model does "
        f"without it.{example} Marked tokens are those that the edit has changed."
    )
    st.latex(
        r"\begin{gathered}\text{zero: }\;\mathrm{head}_{\ell,h} \to 0 \\ \text{scaling: }\;\mathrm{head}_{\ell,h} "
        r"\to a \cdot \mathrm{head}_{\ell,h} \\ \text{mean: }\; \mathrm{head}_{\ell,h}(i) \to \frac{1}{n} "
        r"\sum_{j} \mathrm{head}_{\ell,h}(j)\end{gathered}"
    )
    page.source(interventions.edits_for, interventions.ablate_each_part, interventions.run_each)
    page.experiment(experiments.switched, *offered)
    st.caption(
        "Zero ablation of single heads: arXiv:1905.10650, section 3.2; mean ablation: arXiv:2211.00593. The edits "
        "belong to one pass of one visitor; the shared model is never written to."
    )
    page.question(
        "Why does zero ablation often raise the loss more than mean ablation?",
        "Zero is out of distribution for the later layers: a head that always writes nearly the same vector acts like "
        "a bias, and they depend on it. Mean ablation keeps that bias and removes only what varies from token to "
        "token. Compare both for head 0.3 of stories.",
    )


def choose(reading: Reading) -> Changes:
    """Which parts are edited, how, and where."""
    config = cache.model(reading.model)[0].config
    words = controls.text_area(
        "Edited parts, as layer.head or layer.ff",
        "parts",
        DEFAULT,
        TYPED,
        height=68,
        help="such as: 2.5 3.0 1.ff; a click on the board adds or removes a part",
    )
    chosen: tuple[Part, ...] = ()
    try:
        chosen = interventions.read_parts(words, config)
    except ValueError as problem:
        st.info(f"{text.escape(str(problem), 200)}. Nothing is edited until then.")
    with st.container(horizontal=True, gap="medium"):
        action = controls.segmented("Intervention", "action", list(ACTIONS), "scale", ACTIONS)
        where = controls.segmented("At", "where", [EVERYWHERE, ONE], EVERYWHERE)
    factor, position = 0.0, None
    if action == "scale":
        factor = controls.slider("Factor: 1 changes nothing, −1 flips the sign", "factor", -4.0, 4.0, -2.0, 0.25)
    if where == ONE:
        n = len(reading.ids)
        position = controls.slider("Token", "at", 0, n - 1, n - 1)
        st.caption(f"Only at {_reading.shown(reading.tokens[position])}.")
    return Changes(chosen, action, factor, position)


def every_part(reading: Reading, changes: Changes, found: Effect) -> tuple[Any, ...]:
    """The board: the loss increase when each part alone is ablated. Returns the arguments of its experiment."""
    by = controls.segmented("Loss increase when a part is ablated, for", "by", list(LOSSES), next(iter(LOSSES)))
    of = LOSSES[by]
    alone: Action = "mean" if changes.action == "mean" else "zero"
    every = interventions.parts_of(cache.model(reading.model)[0].config)
    layers = progress.in_turn(
        lambda layer: increases(reading.model, reading.pasted, layer, alone),
        range(len(every)),
        lambda layer: f"the parts of layer {layer}, one at a time",
    )
    parts, action, factor, _ = changes.values
    network, tokenizer = cache.model(reading.model)
    shown = experiments.switched(network, tokenizer, layers, reading.first, found, parts, action, factor, of)
    figure(
        shown.figure,
        key="board",
        height=shown.figure.layout.height,
        min_width=360,
        on_click=partial(toggle_part, every, changes.parts),
        table=lambda: table(every, layers),
        alt=shown.alt,
        caption=f"{shown.findings[0]} Click to edit a part; framed: edited now.",
    )
    text_values = reading.model, reading.pasted, TOKENS
    return (
        reading.model,
        made(experiments.every_part, *text_values, alone),
        made(one_text.first_tokens, *text_values),
        made(experiments.edited, *text_values, *changes.values),
        parts,
        action,
        factor,
        of,
    )


def toggle_part(every: list[list[Part]], chosen: Sequence[Part], event: Event) -> None:
    """A click on a field adds its part to those edited, or takes it away."""
    match event["customdata"]:
        case [int(layer), int(column)] if 0 <= layer < len(every) and 0 <= column < len(every[layer]):
            controls.set_values(parts=interventions.written(set(chosen) ^ {every[layer][column]}))


def table(every: list[list[Part]], found: list[PartLossIncreases]) -> pd.DataFrame:
    rows = [
        {"part": str(part), "next token (nats)": one.prediction[i], "text (nats per token)": one.text[i]}
        for parts, one in zip(every, found, strict=True)
        for i, part in enumerate(parts)
    ]
    return pd.DataFrame(rows)
