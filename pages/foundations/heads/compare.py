"""The page on heads: two heads on one text, or one head on two texts, side by side."""

import itertools
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.foundations.heads import experiments
from pages.foundations.heads.reading import CHARACTERS, Choice, first_view, read
from pages.foundations.heads.why import NOTHING
from pages.ui import controls, fragments, page
from pages.ui.components.figure import Event, figure
from pages.ui.head_links import CLICK
from pages.ui.program import made
from tfcore.analysis.foundations.attention_maps import AttentionReading, map_range, map_table, overlap, shared_weight
from tfcore.analysis.foundations.head_ranking import striking_head, strongest_of
from tfcore.analysis.foundations.heads import head_kind, same_kind
from tfcore.figures.foundations.heads import SIDE_CELLS
from tfcore.figures.shown import Shown

OTHER_TEXT = (
    "Once upon a time there was a big cat named Tom. Tom had a blue hat. "
    "One day the big cat lost the blue hat. Tom was sad because he loved it."
)
WITH = {"head": "another head", "text": "another text"}


def side_by_side(choice: Choice) -> None:
    """The section with two maps."""
    reading, model_name, part = choice.reading, choice.model_name, choice.part
    n_layers, n_heads = reading.found.heads.kind.shape
    with choice.tries:
        page.try_this(examples(choice))
    left, right = st.columns(2, gap="medium")
    one, two = st.columns(2, gap="medium")
    with one:
        against = controls.segmented("Compare with", "with", list(WITH), "head", WITH)
    first_layer, first_head = first_view(choice)[:2]
    first = one if against == "text" else choice.more  # the other head is the one to choose
    with first:
        layer = controls.slider("Layer", "layer", 0, n_layers - 1, first_layer)
        head = controls.slider("Head", "head", 0, n_heads - 1, first_head)
    other, other_text, other_layer, other_head = reading, "", layer, head
    with two:
        if against == "head":
            other_layer = controls.slider("Other layer", "layer2", 0, n_layers - 1, min(1, n_layers - 1))
            other_head = controls.slider("Other head", "head2", 0, n_heads - 1, min(1, n_heads - 1))
        else:
            other_text = controls.text_area("Other text", "text2", OTHER_TEXT, CHARACTERS, height=122)
            if not other_text:
                st.info("There is no other text yet: type or paste some.")
                fragments.stop()
            found = read(model_name, other_text, part, choice.bos, choice.hide_sink)
            if found is None:
                st.info("The tokenizer of this model makes no token of the other text: type something else.")
                fragments.stop()
            other = found
    first = experiments.side(reading, layer, head, choice.log)
    one_map(left, "one", reading, (choice.pasted, layer, head), first)
    if against == "head":
        shown = experiments.two_heads(reading, layer, head, other_layer, other_head, choice.log)
        one_map(right, "other", other, (choice.pasted, other_layer, other_head), shown)
        patterns = reading.found.patterns
        st.metric(
            "Weight the two heads put on the same tokens",
            shared_weight(patterns[layer, head], patterns[other_layer, other_head]).percent,
            help="Mean over the query tokens of sum_k min(a, b): 100 % for equal maps.",
        )
    else:
        shown = experiments.two_texts(reading, other, layer, head, choice.log)
        one_map(right, "other", other, (other_text, layer, head), shown)
        st.metric(
            "Kind of the head on each text", same_kind(reading.found.heads, other.found.heads, layer, head).verdict
        )
    page.what_to_see(
        "A kind is measured on one text, and may change with it: compare the same head on another text. Two heads of "
        "one kind need not attend to the same tokens: beside another head stands the weight that both put on the same "
        "ones."
    )
    if against == "head":
        experiment = page.experiment(
            experiments.two_heads, choice.made, layer, head, other_layer, other_head, choice.log
        )
    else:
        made_other = made(experiments.read_other, model_name, other_text, part, choice.bos, choice.hide_sink)
        experiment = page.experiment(experiments.two_texts, choice.made, made_other, layer, head, choice.log)
    page.question(
        "Two heads of one layer are both called *first token*. Does the model need both?",
        "Attention weights alone cannot tell: a head may attend to the first token (an attention sink) on this text "
        "and to something else on another. Zero ablation, on the page of interventions, measures what each adds.",
    )
    page.how_it_is_computed(
        experiment,
        code=(overlap,),
        papers="Many heads can be taken out without loss: arXiv:1905.10650. Names of heads: arXiv:2209.11895",
    )


def examples(choice: Choice) -> dict[str, dict[str, Any]]:
    """Heads of this model that are worth a comparison."""
    found = {kind: strongest_of(choice.kinds, kind) for kind in ("induction", "previous token", "duplicate")}
    named: dict[str, dict[str, Any]] = {}
    for one, other in itertools.combinations_with_replacement(found, 2):
        first, second = found[one][:1], found[other][1:2] if one == other else found[other][:1]
        if first and second:
            values = {"layer": first[0][0], "head": first[0][1], "layer2": second[0][0], "head2": second[0][1]}
            label = f"two {one} heads" if one == other else f"{one} and {other}"
            named[label] = {"with": "head", **values}
    layer, head = striking_head(choice.kinds)
    chosen = dict(list(named.items())[:3])
    return {**chosen, "the same head, another text": {"with": "text", "layer": layer, "head": head}}


def one_map(place: DeltaGenerator, key: str, reading: AttentionReading, of: tuple[str, int, int], shown: Shown) -> None:
    """Draw one of the maps, `of` a text, layer and head; a click on a cell leads to why the head looks there."""
    pasted, layer, head = of
    pattern, found = reading.found.patterns[layer, head], head_kind(reading.found.heads, layer, head)
    drawn = map_range(pattern, None, SIDE_CELLS)
    step = drawn.pooled

    def ask(event: Event) -> None:
        match event:
            case {"x": int(column), "y": int(row)}:
                query, place = drawn.token(row), drawn.token(column)
                if query >= 0 and 0 <= place < pattern.shape[1] and pattern[query, place] > 0:
                    controls.set_values(
                        show="why", text=pasted, layer=layer, head=head, token=query, key=place, than=NOTHING
                    )

    note = f" A cell is the largest weight of {step} by {step}." if step > 1 else ""
    with place:
        figure(
            shown.figure,
            key=key,
            alt=f"Attention of layer {layer}, head {head}: {found.name}",
            height=520,
            min_width=400,
            caption=f"{shown.caption} Shape (query, key) = {pattern.shape}.{note} {CLICK}",
            on_click=ask,
            table=lambda: map_table(pattern, reading.queries, reading.keys),
            cursor=True,
        )
