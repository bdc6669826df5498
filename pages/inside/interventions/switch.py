"""Section of the page on interventions: zero ablation, mean ablation, and scaling."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

from pages.inside import effects, metric
from pages.inside import reading as _reading
from pages.inside.continuations import when_asked
from pages.inside.interventions.defaults import CHOSEN, defaults
from pages.inside.reading import ReadText
from pages.ui import cache, controls, in_your_text, text
from pages.ui.components.figure import Event
from pages.ui.frame import Panel, panel
from pages.ui.loading import models
from pages.ui.work import live
from pages.ui.work.filling import fill
from tfcore.config import Architecture
from tfcore.measures import knock_outs
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.interventions import ABLATIONS, Action, Part, flat_parts, part_title, parts_of, read_parts, written
from tfcore.measures.knock_outs import LayerEffects
from tfcore.views.highlights import Chip
from tfcore.views.inside import interventions as views
from tfcore.views.inside.interventions.switches import TOKENS, Changes, continued, estimated_of, exact_of, plain_of

TYPED = 400  # characters in the box of parts
ACTIONS: dict[Action, str] = {**ABLATIONS, "scale": "scaling"}
SUCH: dict[Architecture, str] = {
    **dict.fromkeys(("decoder", "encoder"), "2.5 3.0 1.ff"),
    "encoder-decoder": "encoder.0.3 decoder.1.ff cross.1.2",
}
EVERYWHERE = "every token"
ONE = "one token"


def switch(reading: ReadText, more: Any) -> None:
    """Show the section; what is measured is chosen below the board, which begins higher for it."""
    offered = metric.candidates(reading, TOKENS)
    with panel(None) as p, p.picture:
        left, right = st.columns([5, 6], gap="large")
        with left:
            board = st.container()  # above the controls that it depends on
            with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
                kind = metric.choose_kind(metric.KINDS, defaults().by(offered.rival), "switch", offered.classes)
                with more:
                    quantity = metric.choose_tokens(kind, offered)
            action = controls.segmented("Intervention", "action", list(ACTIONS), defaults().action, ACTIONS)
            alone: Action = "mean" if action == "mean" else "zero"
            every = parts_of(cache.model(reading.model)[0].config)
            strongest = knock_outs.strongest_head(estimated_of(reading.whole, quantity, alone), every)
            changes = choose(reading, more, action, strongest)
        with board:
            every_effect(p, reading, changes, quantity, alone)
        with right:
            prediction_column(p, reading, changes, quantity)
        in_your_text.reserve()
        metric.elsewhere("ablation", reading, quantity)
        p.what_to_see(
            "Each field says by how much the chosen quantity falls when this part alone is ablated: near 0 where the "
            "rest of the model does without it, below 0 where the part was in its way. Pale fields are estimates from "
            "one backward pass, all at once; the exact effects take a run of the model each. Marked tokens are those "
            "that the edit has changed."
        )
        p.question(
            "Which raises the loss more, zero ablation or mean ablation?",
            "That depends on the head. One that always writes nearly the same vector acts like a bias, on which later "
            "layers depend: zero takes it away, the mean keeps it and removes only what varies from token to token. "
            "Where a head writes something else at every token, the mean puts a mixture everywhere, and that can be "
            "worse than nothing. Compare both for several heads of this text.",
        )


def choose(reading: ReadText, more: Any, action: Action, strongest: Part) -> Changes:
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
            help=f"such as: {SUCH[config.architecture]}; a click on the board adds or removes a part",
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
            position = controls.place("Token", "at", n, n - 1, of=tuple(reading.tokens))
        st.caption(f"Only at {_reading.shown(reading.tokens[position])}.")
    return Changes(written(chosen), action, factor, position)


def shows(last: int, chip: Chip) -> dict[str, Any] | None:
    """The values that show a highlight here, see in_your_text: the answer to the text without the heads that decide it.

    Args:
        last: position at which the answer is read.
    """
    values = in_your_text.in_interventions(chip)
    return None if values is None or chip.token != last else {**values, "where": EVERYWHERE}


def prediction_column(p: Panel, reading: ReadText, changes: Changes, quantity: Quantity) -> None:
    """The prediction with the edits, and how the text continues with them."""
    read, token = reading.whole, None if quantity.kind == "text" else quantity.token
    against = quantity.against if quantity.kind == "difference" else None
    prediction = views.edited(read, changes, token, against)
    p.show(prediction)
    effects.numbers(prediction)
    if not models.config(reading.model).scores_tokens:
        return  # it writes nothing
    rows: dict[str, Callable[[], list[int]]] = {
        "Whole model continues": lambda: continued(read, None),
        changes.words(cache.model(reading.model)[0]).capitalize(): lambda: continued(read, changes),
    }
    when_asked(reading.model, len(reading.ids), rows)


def every_effect(p: Panel, reading: ReadText, changes: Changes, quantity: Quantity, alone: Action) -> None:
    """The board: what ablating each part alone does; estimates first, exact effects as they come."""
    read, network = reading.whole, cache.model(reading.model)[0]
    every = parts_of(network.config)

    def draw(so_far: Sequence[LayerEffects]) -> None:
        shown = views.switched(read, quantity, alone, changes.parts, so_far=so_far)
        toggle = partial(toggle_part, every, read_parts(changes.parts, network.config))
        p.show(shown, toggle, "Click to edit a part; framed: edited now.")
        if len(so_far) == len(every):
            with st.expander("The estimate against the exact effects"):
                p.show(views.agreement(read, quantity, alone, so_far=so_far))

    fill(
        ("effects", read, quantity, alone),
        knock_outs.operations(network, len(flat_parts(every)), len(reading.ids)),
        lambda: knock_outs.knock_out_each(network, plain_of(read).ids, quantity, alone),
        lambda: exact_of(read, quantity, alone),
        draw,
        len(every),
        "layer",
        wait=0.0,  # the estimates are there
    )


def toggle_part(every: list[list[Part | None]], chosen: Sequence[Part], event: Event) -> None:
    """A click on a field adds its part to those edited, or takes it away."""
    match event["customdata"]:
        case [int(layer), int(column)] if 0 <= layer < len(every) and 0 <= column < len(every[layer]):
            if (part := every[layer][column]) is not None:
                live.set_values(edit="own", parts=written(set(chosen) ^ {part}))
