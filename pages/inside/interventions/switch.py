"""Section of the page on interventions: zero ablation, mean ablation, and scaling."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import pandas as pd
import streamlit as st
from numpy import ndarray

from pages.inside import metric
from pages.inside import reading as _reading
from pages.inside.continuations import NEW_TOKENS, when_asked
from pages.inside.effects import prediction
from pages.inside.interventions import experiments
from pages.inside.interventions.defaults import CHOSEN, defaults
from pages.inside.reading import Reading
from pages.ui import cache, controls, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.program import made
from pages.ui.work import live
from pages.ui.work.filling import fill
from tfcore.analysis.inside import interventions
from tfcore.measures import attribution_patching, knock_outs
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.interventions import (
    ABLATIONS,
    Action,
    EditedRun,
    Part,
    edits_for,
    effect_between,
    part_title,
    parts_of,
    read_parts,
    run_edited,
    written,
)
from tfcore.measures.knock_outs import LayerEffects

TOKENS = 128  # of the text
TYPED = 400  # characters in the box of parts
ACTIONS: dict[Action, str] = {**ABLATIONS, "scale": "scaling"}
EVERYWHERE = "every token"
ONE = "one token"


estimated = cache.of_model(max_entries=128)(experiments.estimated)
every_part = cache.of_model(max_entries=64)(experiments.every_part)
continued = cache.of_model(max_entries=256)(experiments.continued)


@cache.shared(max_entries=32)
def run(model: str, pasted: str, bos: bool | None, changes: tuple[str, Action, float, int | None] | None) -> EditedRun:
    """A text run under these changes (None: the whole model), for every position: 0.3 MB of 128 tokens of smollm2."""
    network, plain = cache.model(model)[0], _reading.plain(model, pasted, TOKENS, bos)
    if changes is None:
        return run_edited(network, plain, ())
    parts, action, factor, position = changes
    where = None if position is None else [position]
    chosen = read_parts(parts, network.config)
    edits = edits_for(network, plain.ids, chosen, action, factor, where)
    return run_edited(network, plain, edits)


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
        return written(self.parts), self.action, self.factor, self.position

    @property
    def words(self) -> str:
        return interventions.described(self.parts, self.action, self.factor)


def switch(reading: Reading, more: Any) -> None:
    """The section; what is measured is chosen below the board, which begins higher for it."""
    offered = metric.candidates(reading, TOKENS)
    left, right = st.columns([5, 6], gap="large")
    with left:
        board = st.container()  # above the controls that it depends on
        with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
            kind = metric.choose_kind(metric.KINDS, defaults().by(offered.rival), "switch")
            with more:
                quantity = metric.choose_tokens(kind, offered)
        action = controls.segmented("Intervention", "action", list(ACTIONS), defaults().action, ACTIONS)
    alone: Action = "mean" if action == "mean" else "zero"
    estimate = estimated(reading.model, reading.pasted, TOKENS, quantity, alone, reading.bos)
    every = parts_of(cache.model(reading.model)[0].config)
    with left:
        changes = choose(reading, more, action, knock_outs.strongest_head(estimate, every))
    with board:
        every_effect(reading, changes, quantity, alone, estimate)
    with right:
        prediction_column(reading, changes, quantity)
    words(reading, quantity, alone, changes)


def choose(reading: Reading, more: Any, action: Action, strongest: Part) -> Changes:
    """Which parts are edited, how, and where."""
    config = cache.model(reading.model)[0].config
    with more:
        edit = controls.segmented("Edited parts", "edit", list(CHOSEN), defaults().edit, CHOSEN)
    chosen: tuple[Part, ...] = (strongest,)
    if edit == "own":
        words = controls.text_area(
            "Parts, as layer.head or layer.ff",
            "parts",
            defaults().parts,
            TYPED,
            height=68,
            help="such as: 2.5 3.0 1.ff; a click on the board adds or removes a part",
        )
        try:
            chosen = read_parts(words, config)
        except ValueError as problem:
            chosen = ()
            st.info(f"{text.escape(str(problem), text.MESSAGE)}. Nothing is edited until then.")
    else:
        st.caption(f"Edited: {part_title(strongest)}, by the estimate. Click a field to add or remove one.")
    with more:
        where = controls.segmented("At", "where", [EVERYWHERE, ONE], EVERYWHERE)
    factor, position = 0.0, None
    if action == "scale":
        factor = controls.slider("Factor: 1 changes nothing, −1 flips the sign", "factor", -4.0, 4.0, -2.0, 0.25)
    if where == ONE:
        n = len(reading.ids)
        with more:
            position = controls.place("Token", "at", n, n - 1)
        st.caption(f"Only at {_reading.shown(reading.tokens[position])}.")
    return Changes(chosen, action, factor, position)


def prediction_column(reading: Reading, changes: Changes, quantity: Quantity) -> None:
    """The prediction with the edits, and how the text continues with them."""
    text_values = reading.model, reading.pasted, TOKENS
    whole, changed = (run(reading.model, reading.pasted, reading.bos, values) for values in (None, changes.values))
    found = effect_between(cache.model(reading.model)[0], whole, changed, -1)
    best = int(found.before.argmax())
    token = best if quantity.kind == "text" else quantity.token
    against = quantity.against if quantity.kind == "difference" else None
    prediction(reading, len(reading.ids) - 1, found, ("whole model", changes.words), token, against)
    rows: dict[str, Callable[[], list[int]]] = {
        "Whole model continues": lambda: continued(*text_values, "", "zero", 0.0, None, NEW_TOKENS, reading.bos),
        changes.words.capitalize(): lambda: continued(*text_values, *changes.values, NEW_TOKENS, reading.bos),
    }
    when_asked(reading.model, len(reading.ids), rows)


def every_effect(reading: Reading, changes: Changes, quantity: Quantity, alone: Action, estimate: ndarray) -> None:
    """The board: what ablating each part alone does; estimates first, exact effects as they come."""
    text_values = reading.model, reading.pasted, TOKENS
    network, tokenizer = cache.model(reading.model)
    every = parts_of(network.config)
    parts = changes.values[0]

    def draw(found: Sequence[LayerEffects]) -> None:
        shown = experiments.switched(network, tokenizer, estimate, found, quantity, alone, parts)
        figure(
            shown.figure,
            key="board",
            height=shown.figure.layout.height,
            min_width=350,
            on_click=partial(toggle_part, every, changes.parts),
            table=lambda: table(every, estimate, found),
            alt=shown.alt,
            caption=f"{shown.caption} Click to edit a part; framed: edited now.",
        )
        if len(found) == len(every):
            with st.expander("The estimate against the exact effects"):
                against_exact(reading, quantity, estimate, found)

    fill(
        ("effects", *text_values, quantity, alone, reading.bos),
        knock_outs.operations(network, sum(map(len, every)), len(reading.ids)),
        lambda: experiments.by_layer(network, tokenizer, reading.pasted, TOKENS, quantity, alone, reading.bos),
        lambda: every_part(*text_values, quantity, alone, reading.bos),
        draw,
        len(every),
        "layer",
        wait=0.0,  # the estimates are there
    )


def against_exact(reading: Reading, quantity: Quantity, estimate: ndarray, found: Sequence[LayerEffects]) -> None:
    """The scatter of estimates and exact effects."""
    network = cache.model(reading.model)[0]
    shown = experiments.agreement(network, estimate, found, quantity.unit)
    figure(
        shown.figure,
        key="agreement",
        height=360,
        min_width=320,
        table=lambda: table(parts_of(network.config), estimate, found),
        alt=shown.alt,
        caption=f"One point per part. {shown.caption} An estimate follows the slope where the model is; it misses "
        "parts that the rest depends on far beyond a small change.",
    )


def words(reading: Reading, quantity: Quantity, alone: Action, changes: Changes) -> None:
    """What to see, the equations, the code, the program, a question."""
    text_values = reading.model, reading.pasted, TOKENS
    page.what_to_see(
        "Each field says by how much the chosen quantity falls when this part alone is ablated: near 0 where the rest "
        "of the model does without it, below 0 where the part was in its way. Pale fields are estimates from one "
        "backward pass, all at once; the exact effects take a run of the model each. Marked tokens are those that the "
        "edit has changed."
    )
    estimate, found = (
        made(one, *text_values, quantity, alone, reading.bos) for one in (experiments.estimated, experiments.every_part)
    )
    metric.elsewhere("ablation", reading, quantity)
    page.question(
        "Which raises the loss more, zero ablation or mean ablation?",
        "That depends on the head. One that always writes nearly the same vector acts like a bias, on which later "
        "layers depend: zero takes it away, the mean keeps it and removes only what varies from token to token. "
        "Where a head writes something else at every token, the mean puts a mixture everywhere, and that can be worse "
        "than nothing. Compare both for several heads of this text.",
    )
    page.how_it_is_computed(
        page.experiment_of(
            "The board", experiments.switched, reading.model, estimate, found, quantity, alone, changes.values[0]
        ),
        page.experiment_of("Estimate and exact", experiments.agreement, reading.model, estimate, found, quantity.unit),
        formula=(
            r"\begin{gathered}\text{zero: }\;\mathrm{head}_{\ell,h} \to 0 \\ \text{scaling: }\;\mathrm{head}_{\ell,h} "
            r"\to a \cdot \mathrm{head}_{\ell,h} \\ \text{mean: }\; \mathrm{head}_{\ell,h}(i) \to \frac{1}{n} "
            r"\sum_{j} \mathrm{head}_{\ell,h}(j) \\ \text{estimate} = \sum_i \big(x_i - x_i^{ablated}\big) \cdot "
            r"\frac{\partial\, \text{quantity}}{\partial x_i}\end{gathered}"
        ),
        code=(edits_for, knock_outs.knock_out_each, attribution_patching.estimate_effects),
        papers=(
            "Zero ablation of single heads: arXiv:1905.10650, section 3.2; mean ablation: arXiv:2211.00593; "
            "attribution patching: arXiv:2310.10348, section 2. The edits belong to one pass of one visitor; the "
            "shared model is never written to."
        ),
    )


def toggle_part(every: list[list[Part]], chosen: Sequence[Part], event: Event) -> None:
    """A click on a field adds its part to those edited, or takes it away."""
    match event["customdata"]:
        case [int(layer), int(column)] if 0 <= layer < len(every) and 0 <= column < len(every[layer]):
            live.set_values(edit="own", parts=written(set(chosen) ^ {every[layer][column]}))


def table(every: list[list[Part]], estimate: ndarray, found: Sequence[LayerEffects]) -> pd.DataFrame:
    """Every part with its estimated and its exact effect."""
    exact = knock_outs.all_effects(found, len(every)) if found else float("nan") * estimate
    flat = [str(part) for layer in every for part in layer]
    return pd.DataFrame({"part": flat, "estimate": estimate.ravel(), "exact": exact.ravel()})
