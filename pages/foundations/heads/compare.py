"""The page on heads: two heads on one text, one head on two texts, or heads of two models, side by side."""

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import streamlit as st

from pages.foundations.heads.choices import CHARACTERS, NOTHING, TIRED, first_view, size, tell_dropped
from pages.ui import beside, controls, fragments
from pages.ui.components.figure import Event
from pages.ui.frame import Panel
from pages.ui.head_links import CLICK
from pages.ui.loading import models
from pages.ui.reading import say_nothing_read
from tfcore.measures.heads.kinds import HeadScores, Place
from tfcore.views.foundations import heads as views
from tfcore.views.foundations.heads.draw.maps import SIDE_CELLS
from tfcore.views.foundations.heads.measure.attention import kinds, model_parts, part_of, read
from tfcore.views.foundations.heads.measure.attention_maps import map_range
from tfcore.views.foundations.heads.measure.head_ranking import striking_head, strongest_of
from tfcore.views.sources import Reading
from tfcore.views.view import View

OTHER_TEXT = (
    "Once upon a time there was a big cat named Tom. Tom had a blue hat. "
    "One day the big cat lost the blue hat. Tom was sad because he loved it."
)
IN_BOTH = "“it” in two models"
IT: dict[str, Any] = {
    "with": "model",
    "model": "minilm",
    "model2": "smollm2",
    "text": TIRED,
    "layer": 3,
    "head": 1,
    "layer2": 13,
    "head2": 8,
}
WITH = {"head": "another head", "text": "another text", "model": "another model"}


class Second(NamedTuple):
    """The picture on the right.

    Args:
        view: the picture.
        model, text, layer, head: what a click on it asks about.
        metric: name and help of the number below.
    """

    view: View
    model: str
    text: str
    place: Place
    metric: tuple[str, str | None]


def side_by_side(p: Panel, name: str, reading: Reading, log: bool, more: Any) -> None:
    """Show two maps side by side.

    Args:
        name: of the model.
        log: colours by the logarithm of the weight.
        more: the container of More settings.
    """
    layers, heads = size(reading)
    if not layers:
        st.info("No layer of this model has attention, of which two heads could be compared.")
        fragments.stop()
    p.examples(examples(name, kinds(reading)))
    left, right = st.columns(2, gap="medium")
    one, two = st.columns(2, gap="medium")
    with one:
        against = controls.segmented("Compare with", "with", list(WITH), "head", WITH, named=False)
    first_layer, first_head, _ = first_view(reading)
    with one if against == "text" else more:  # else the other head is the one to choose
        layer = controls.layer_among(layers, first_layer)
        head = controls.place("Head", "head", heads, first_head)
    with two:
        if against == "head":
            second = another_head(name, reading, (layer, head), log)
        elif against == "text":
            second = another_text(name, reading, (layer, head), log)
        else:
            second = another_model(name, reading, (layer, head), log)
    with left:
        shown = views.one_of_two(reading, layer, head, log, named=against == "model")
        p.show(shown, _asks(shown, name, reading.text, (layer, head)), CLICK)
    with right:
        p.show(second.view, _asks(second.view, second.model, second.text, second.place), CLICK)
    label, about = second.metric
    st.metric(label, second.view.result.verdict, help=about)
    p.what_to_see(
        "Here a kind is measured on one text, and may change with it: compare the same head on another. Two heads of "
        "one kind need not attend to the same tokens: beside another head stands the weight that both put on the same "
        "ones. Another model cuts the same text into tokens of its own; look whether it has a head of the same kind."
    )
    p.question(
        "Two heads of one layer are both called *first token*. Does the model need both?",
        "Attention weights alone cannot tell: a head may attend to the first token (an attention sink) on this text "
        "and to something else on another. Zero ablation, on the page of interventions, measures what each adds.",
    )


def another_head(name: str, reading: Reading, place: Place, log: bool) -> Second:
    """Two heads on one text."""
    layers, heads = size(reading)
    other = (controls.layer_among(layers, 1, "Other layer", "layer2"), controls.place("Other head", "head2", heads, 1))
    about = "Mean over the query tokens of sum_k min(a, b): 100 % for equal maps."
    shown = views.two_heads(reading, *place, *other, log)
    return Second(shown, name, reading.text, other, ("Weight the two heads put on the same tokens", about))


def another_text(name: str, reading: Reading, place: Place, log: bool) -> Second:
    """One head on two texts."""
    pasted = beside.other_text(name, OTHER_TEXT, CHARACTERS, height=122)
    other = Reading(name, pasted, part_of(reading), reading.bos, reading.hide_sink)
    if (second := read(other)) is None:
        said = "The tokenizer of this model makes no token of the other text: type something else."
        say_nothing_read(name, pasted, "text2", said)
        fragments.stop()
    tell_dropped(other, second, "other text")
    shown = views.two_texts(reading, other, *place, log)
    return Second(shown, name, pasted, place, ("Kind of the head on each text", None))


def another_model(name: str, reading: Reading, place: Place, log: bool) -> Second:
    """A head of another model on the same text."""
    chosen = beside.other_model(name)
    parts = model_parts(chosen)
    *_, last = parts
    part = part_of(reading) if part_of(reading) in parts else last
    other = Reading(chosen, reading.text, part, None, reading.hide_sink)
    if (second := read(other)) is None:
        st.info("The tokenizer of the other model makes no token of this text: choose another model.")
        fragments.stop()
    tell_dropped(other, second, "text in the other model")
    layers, heads = size(other)
    first_layer, first_head = striking_head(kinds(other))
    there = (
        controls.layer_among(layers, first_layer, "Other layer", "layer2"),
        controls.place("Other head", "head2", heads, first_head),
    )
    shown = views.two_models(reading, other, place, there, log)
    return Second(shown, chosen, reading.text, there, ("Kind of the head in each model", None))


def examples(name: str, known: HeadScores) -> dict[str, dict[str, Any]]:
    """Heads of this model that are worth a comparison."""
    strongest = {kind: strongest_of(known, kind) for kind in ("induction", "previous token", "duplicate")}
    named: dict[str, dict[str, Any]] = {}
    for one, other in itertools.combinations_with_replacement(strongest, 2):
        pairs = zip(strongest[one], strongest[other][1:] if one == other else strongest[other], strict=False)
        for (layer, head), (layer2, head2) in itertools.islice(pairs, 1):
            label = f"two {one} heads" if one == other else f"{one} and {other}"
            named[label] = {"with": "head", "layer": layer, "head": head, "layer2": layer2, "head2": head2}
    layer, head = striking_head(known)
    chosen = dict(list(named.items())[:3])
    second = beside.other_of(name)
    it = {IN_BOTH: IT} if all(IT[key] in models.names() for key in ("model", "model2")) else {}
    return {
        **it,
        **chosen,
        "the same head, another text": {"with": "text", "layer": layer, "head": head},
        f"the same text in {second}": {"with": "model", "model2": second, "layer": layer, "head": head},
    }


def _asks(shown: View, model: str, pasted: str, place: Place) -> Callable[[Event], None]:
    """A click on a cell of a map leads to why the head looks there."""
    pattern = shown.result.pattern
    drawn = map_range(pattern, None, SIDE_CELLS)

    def ask(event: Event) -> None:
        match event:
            case {"x": int(column), "y": int(row)}:
                query, key = drawn.token(row), drawn.token(column)
                if query >= 0 and 0 <= key < pattern.shape[1] and pattern[query, key] > 0:
                    controls.set_values(
                        show="why",
                        model=model,
                        text=pasted,
                        layer=place[0],
                        head=place[1],
                        token=query,
                        key=key,
                        than=NOTHING,
                    )

    return ask
