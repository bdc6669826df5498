"""Section of the page on interventions: parts switched off, held at their mean, or scaled."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import streamlit as st

from pages.experiments import interventions as experiments
from pages.inside import _reading
from pages.inside._continuations import NEW_TOKENS, continuations
from pages.inside._effects import prediction
from pages.inside._reading import Reading
from pages.ui import cache, controls, page, progress, text
from pages.ui.figure import Event, figure
from tfcore.analysis import edit_effects, interventions
from tfcore.analysis.edit_effects import Effect
from tfcore.analysis.interventions import Action, Damage, Part
from tfcore.edits import Edit
from tfcore.figures import boards

TOKENS, SAID, DEFAULT = 48, 400, "2.5"
ACTIONS: dict[Action, str] = {"zero": "off", "mean": "at its mean", "scale": "scaled"}
GUESS, LOSS = "the guess at the end", "all tokens of the text"
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
        rows = {"The whole model goes on": continued(nothing), what.capitalize(): continued(changes)}
        continuations(reading.model, rows)
    page.what_to_see(
        "The board has one field for each part: how much worse the model does without it alone. Most heads can be "
        "spared, a few cannot. Head 2.5 carries the answer to the question who Sam is: turned round, it makes the boy "
        "a girl, and the story goes on about her. Marked tokens are those that the edit has changed."
    )
    st.latex(
        r"\begin{gathered}\text{off: }\;\mathrm{head}_{\ell,h} \to 0 \\ \text{scaled: }\;\mathrm{head}_{\ell,h} "
        r"\to a \cdot \mathrm{head}_{\ell,h} \\ \text{mean: }\; \mathrm{head}_{\ell,h}(i) \to \frac{1}{n} "
        r"\sum_{j} \mathrm{head}_{\ell,h}(j)\end{gathered}"
    )
    page.source(interventions.edits_for, interventions.knock_out, edit_effects.run_each)
    where = None if changes.position is None else [changes.position]
    page.experiment(
        experiments.switched, reading.model, reading.pasted, TOKENS, said(changes.parts), changes.action,
        changes.factor, where,
    )  # fmt: skip
    st.caption(
        "Leaving out single heads: arXiv:1905.10650, section 3.2; the mean in their place: arXiv:2211.00593. The edits "
        "belong to one pass of one visitor; the model that all share is never written to."
    )
    page.question(
        "Why does “off” often do more harm than “at its mean”?",
        "Zero is a value that no later layer has met: a head that always writes about the same vector acts like a "
        "bias, and taking that away disturbs everybody. The mean keeps the bias and takes away only what the head "
        "says about this token. Compare head 0.3 off with 0.3 at its mean.",
    )


def title(part: Part) -> str:
    return f"feed-forward {part.layer}" if part.head is None else f"head {part}"


def described(changes: Changes) -> str:
    """head 2.5 times -2."""
    if not changes.parts:
        return "nothing edited"
    done = {"zero": "off", "mean": "at mean", "scale": f"times {changes.factor:g}"}[changes.action]
    few = len(changes.parts) < 3
    return f"{' and '.join(map(title, changes.parts)) if few else f'{len(changes.parts)} parts'} {done}"


def choose(reading: Reading) -> Changes:
    """Which parts are edited, how, and where."""
    config = cache.model(reading.model)[0].config
    said = controls.text_area("Edited parts, as layer.head or layer.ff", "parts", DEFAULT, SAID, height=68,
                              help="such as: 2.5 3.0 1.ff; a click on the board adds or removes a part")  # fmt: skip
    chosen: tuple[Part, ...] = ()
    try:
        chosen = interventions.read_parts(said, config)
    except ValueError as problem:
        st.info(f"{text.escape(str(problem), 200)}. Nothing is edited until then.")
    with st.container(horizontal=True, gap="medium"):
        action = controls.segmented("What happens to them", "action", list(ACTIONS), "scale", ACTIONS)
        where = controls.segmented("At", "where", [EVERYWHERE, ONE], EVERYWHERE)
    factor, position = 0.0, None
    if action == "scale":
        factor = controls.slider("Factor: 1 changes nothing, −1 turns it round", "factor", -4.0, 4.0, -2.0, 0.25)
    if where == ONE:
        n = len(reading.ids)
        position = controls.slider("Token", "at", 0, n - 1, n - 1)
        st.caption(f"Only at {_reading.shown(reading.tokens[position])}.")
    return Changes(reading.model, reading.pasted, chosen, action, factor, position)


def every_part(reading: Reading, chosen: tuple[Part, ...], action: Action) -> None:
    """The board: what it costs to switch off each part alone."""
    by = controls.segmented("The board shows the harm done to", "by", [GUESS, LOSS], GUESS)
    every = interventions.parts_of(cache.model(reading.model)[0].config)
    key = reading.model, reading.pasted
    found = progress.in_turn(lambda layer: damage(*key, layer, action), range(len(every)),
                             lambda layer: f"the parts of layer {layer}, one at a time")  # fmt: skip
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
    of = f"“{text.visible(best)}”, the guess at the end" if by == GUESS else "the text, per token"
    figure(
        boards.board(values, columns, f"layer %{{y}}, part %{{text}} {ACTIONS[action]}: %{{z:+.2f}} nats",
                     limit=max(0.5, float(np.abs(values).max())), selected=selected, height=height),
        key="board", height=height, min_width=360, on_click=toggle_part, table=lambda: table(every, found),
        alt=f"Harm of each of {values.size} parts {ACTIONS[action]}, alone: most by {most} nats; {small} of them "
        "change less than 0.1.",
        caption=f"Each part {ACTIONS[action]}, alone: nats lost on {of}. Most by {most}; "
        f"{small} of {values.size} change it by less than 0.1. Click to edit a part; framed: edited now.",
    )  # fmt: skip


def said(parts: Iterable[Part]) -> str:
    """The parts as they stand in the box."""
    return " ".join(map(str, sorted(parts, key=lambda part: (part.layer, part.head is None, part.head or 0))))


def table(every: list[list[Part]], found: list[Damage]) -> pd.DataFrame:
    rows = [
        {"part": str(part), "guess (nats)": one.guess[i], "loss (nats per token)": one.loss[i]}
        for parts, one in zip(every, found, strict=True)
        for i, part in enumerate(parts)
    ]
    return pd.DataFrame(rows)
