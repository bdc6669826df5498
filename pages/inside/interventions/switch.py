"""Section of the page on interventions: zero ablation, mean ablation, and scaling."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from pages.inside import reading as _reading
from pages.inside.continuations import NEW_TOKENS, continuations
from pages.inside.effects import prediction
from pages.inside.interventions import experiments as experiments
from pages.inside.reading import Reading
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.work import progress
from tfcore.analysis.inside import edit_effects, interventions
from tfcore.analysis.inside.edit_effects import Effect
from tfcore.analysis.inside.interventions import Action, Damage, Part
from tfcore.figures.inside import boards
from tfcore.inspection.edits import Edit

TOKENS, SAID, DEFAULT = 48, 400, "2.5"
ACTIONS: dict[Action, str] = {"zero": "zero ablation", "mean": "mean ablation", "scale": "scaling"}
GUESS, LOSS = "the next token", "the whole text"
EVERYWHERE, ONE = "every token", "one token"


@cache.data(max_entries=64)
def damage(model: str, pasted: str, layer: int, action: Action) -> Damage:
    return interventions.knock_out(cache.model(model)[0], _reading.read(model, pasted, TOKENS).ids, layer, action)


@dataclass(frozen=True, slots=True)
class Changes:
    """What is done, to which text of which model; position None is every token."""

    model: str
    pasted: str
    parts: tuple[Part, ...]
    action: Action
    factor: float
    position: int | None

    def edits(self) -> list[Edit]:
        network, ids = cache.model(self.model)[0], _reading.read(self.model, self.pasted, TOKENS).ids
        where = None if self.position is None else [self.position]
        return interventions.edits_for(network, ids, self.parts, self.action, self.factor, where)


@cache.data(max_entries=256)
def effect_of(changes: Changes) -> Effect:
    """On the prediction at the end, and on the loss."""
    network, ids = cache.model(changes.model)[0], _reading.read(changes.model, changes.pasted, TOKENS).ids
    return edit_effects.effect(network, ids, changes.edits(), len(ids) - 1)


@cache.data(max_entries=256)
def continued(changes: Changes) -> list[int]:
    network, ids = cache.model(changes.model)[0], _reading.read(changes.model, changes.pasted, TOKENS).ids
    return interventions.goes_on(network, ids, changes.edits(), NEW_TOKENS)


def switch(reading: Reading) -> None:
    """The section."""
    left, right = st.columns([5, 6], gap="large")
    with left:
        board = st.container()  # above the controls that it depends on
        changes = choose(reading)
    with board:
        every_part(reading, changes.parts, "mean" if changes.action == "mean" else "zero")
    nothing = Changes(reading.model, reading.pasted, (), "zero", 0.0, None)
    what = described(changes)
    with right:
        prediction(reading, len(reading.ids) - 1, effect_of(changes), ("whole model", what))
        rows = {"Whole model continues": continued(nothing), what.capitalize(): continued(changes)}
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
    page.source(interventions.edits_for, interventions.knock_out, edit_effects.run_each)
    where = None if changes.position is None else [changes.position]
    page.experiment(
        experiments.switched,
        reading.model,
        reading.pasted,
        TOKENS,
        said(changes.parts),
        changes.action,
        changes.factor,
        where,
    )
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


def title(part: Part) -> str:
    return f"feed-forward {part.layer}" if part.head is None else f"head {part}"


def described(changes: Changes) -> str:
    """head 2.5 times -2."""
    if not changes.parts:
        return "nothing edited"
    done = {"zero": "zero-ablated", "mean": "mean-ablated", "scale": f"times {changes.factor:g}"}[changes.action]
    few = len(changes.parts) < 3
    return f"{' and '.join(map(title, changes.parts)) if few else f'{len(changes.parts)} parts'} {done}"


def choose(reading: Reading) -> Changes:
    """Which parts are edited, how, and where."""
    config = cache.model(reading.model)[0].config
    said = controls.text_area(
        "Edited parts, as layer.head or layer.ff",
        "parts",
        DEFAULT,
        SAID,
        height=68,
        help="such as: 2.5 3.0 1.ff; a click on the board adds or removes a part",
    )
    chosen: tuple[Part, ...] = ()
    try:
        chosen = interventions.read_parts(said, config)
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
    return Changes(reading.model, reading.pasted, chosen, action, factor, position)


def every_part(reading: Reading, chosen: tuple[Part, ...], action: Action) -> None:
    """The board: the loss increase when each part alone is ablated."""
    by = controls.segmented("Loss increase when a part is ablated, for", "by", [GUESS, LOSS], GUESS)
    every = interventions.parts_of(cache.model(reading.model)[0].config)
    key = reading.model, reading.pasted
    found = progress.in_turn(
        lambda layer: damage(*key, layer, action),
        range(len(every)),
        lambda layer: f"the parts of layer {layer}, one at a time",
    )
    values = np.stack([one.guess if by == GUESS else one.loss for one in found])
    worst = every[(at := np.unravel_index(values.argmax(), values.shape))[0]][at[1]]

    def toggle_part(event: Event) -> None:
        match event["customdata"]:
            case [int(layer), int(column)] if 0 <= layer < len(every) and 0 <= column < len(every[layer]):
                controls.set_values(parts=said(set(chosen) ^ {every[layer][column]}))

    columns = ["FF" if part.head is None else str(part.head) for part in every[0]]
    selected = [(part.layer, every[part.layer].index(part)) for part in chosen]
    most = f"{title(worst)}, {values.max():+.2f}"
    height = 60 + 40 * len(every)
    small = int((np.abs(values) < 0.1).sum())
    best = _reading.guesses(*key, TOKENS, len(reading.ids) - 1)[1][0]
    of = f"“{text.visible(best)}”, the prediction at the end" if by == GUESS else "the text, per token"
    figure(
        boards.board(
            values,
            columns,
            f"{ACTIONS[action]} of layer %{{y}}, part %{{text}}: %{{z:+.2f}} nats",
            limit=max(0.5, float(np.abs(values).max())),
            selected=selected,
            height=height,
        ),
        key="board",
        height=height,
        min_width=360,
        on_click=toggle_part,
        table=lambda: table(every, found),
        alt=f"Loss increase by {ACTIONS[action]} of each of {values.size} parts alone: most {most} nats; {small} of "
        "them change less than 0.1.",
        caption=f"{ACTIONS[action].capitalize()} of each part alone: loss increase in nats, of {of}. Most: {most}; "
        f"{small} of {values.size} change it by less than 0.1. Click to edit a part; framed: edited now.",
    )


def said(parts: Iterable[Part]) -> str:
    """The parts as they stand in the box."""
    return " ".join(map(str, sorted(parts, key=lambda part: (part.layer, part.head is None, part.head or 0))))


def table(every: list[list[Part]], found: list[Damage]) -> pd.DataFrame:
    rows = [
        {"part": str(part), "next token (nats)": one.guess[i], "text (nats per token)": one.loss[i]}
        for parts, one in zip(every, found, strict=True)
        for i, part in enumerate(parts)
    ]
    return pd.DataFrame(rows)
