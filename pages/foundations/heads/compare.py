"""The page on heads: two heads on one text, one head on two texts, or heads of two models, side by side."""

import itertools
from typing import Any, NamedTuple

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.foundations.heads import experiments
from pages.foundations.heads.reading import CHARACTERS, TIRED, Choice, first_view, model_parts, read, tell_dropped
from pages.foundations.heads.why import NOTHING
from pages.ui import controls, fragments, page
from pages.ui.components.figure import Event, figure
from pages.ui.head_links import CLICK
from pages.ui.loading import models
from pages.ui.program import made
from pages.ui.reading import kinds_of, say_nothing_read, text_box
from tfcore.analysis.foundations.attention_maps import AttentionReading, map_range, map_table, overlap, shared_weight
from tfcore.analysis.foundations.head_ranking import striking_head, strongest_of
from tfcore.analysis.foundations.heads import head_kind, heads_of_models, same_kind
from tfcore.figures.foundations.heads import SIDE_CELLS
from tfcore.figures.shown import Shown

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
    """What stands on the right.

    Args:
        at: whose map it is: model, text, layer, head.
        metric: name, value and help of the number below.
    """

    reading: AttentionReading
    at: tuple[str, str, int, int]
    shown: Shown
    metric: tuple[str, str, str | None]
    experiment: page.Experiment


def side_by_side(choice: Choice) -> None:
    """The section with two maps."""
    n_layers, n_heads = choice.reading.found.heads.kind.shape
    with choice.tries:
        page.try_this(examples(choice))
    left, right = st.columns(2, gap="medium")
    one, two = st.columns(2, gap="medium")
    with one:
        against = controls.segmented("Compare with", "with", list(WITH), "head", WITH, named=False)
    first_layer, first_head = first_view(choice)[:2]
    with one if against == "text" else choice.more:  # else the other head is the one to choose
        layer = controls.place("Layer", "layer", n_layers, first_layer)
        head = controls.place("Head", "head", n_heads, first_head)
    with two:
        second = {"head": another_head, "text": another_text, "model": another_model}[against](choice, layer, head)
    of = choice.model_name if against == "model" else ""
    shown = experiments.side(choice.reading, layer, head, choice.log, of)
    one_map(left, "one", choice.reading, (choice.model_name, choice.pasted, layer, head), shown)
    one_map(right, "other", second.reading, second.at, second.shown)
    name, value, about = second.metric
    st.metric(name, value, help=about)
    words(second.experiment)


def another_head(choice: Choice, layer: int, head: int) -> Second:
    """Two heads on one text."""
    n_layers, n_heads = choice.reading.found.heads.kind.shape
    place = (controls.place("Other layer", "layer2", n_layers, 1), controls.place("Other head", "head2", n_heads, 1))
    shown = experiments.two_heads(choice.reading, layer, head, *place, choice.log)
    patterns = choice.reading.found.patterns
    shared = shared_weight(patterns[layer, head], patterns[place]).percent
    about = "Mean over the query tokens of sum_k min(a, b): 100 % for equal maps."
    return Second(
        choice.reading,
        (choice.model_name, choice.pasted, *place),
        shown,
        ("Weight the two heads put on the same tokens", shared, about),
        page.experiment(experiments.two_heads, choice.made, layer, head, *place, choice.log),
    )


def another_text(choice: Choice, layer: int, head: int) -> Second:
    """One head on two texts."""
    pasted = text_box(choice.model_name, "Other text", "text2", OTHER_TEXT, CHARACTERS, height=122, kind="other")
    if not pasted:
        st.info("There is no other text yet: type or paste some.")
        fragments.stop()
    what = choice.model_name, pasted, choice.part, choice.bos, choice.hide_sink
    other = read(*what)
    if other is None:
        said = "The tokenizer of this model makes no token of the other text: type something else."
        say_nothing_read(choice.model_name, pasted, "text2", said)
        fragments.stop()
    tell_dropped(other, "other text")
    return Second(
        other,
        (choice.model_name, pasted, layer, head),
        experiments.two_texts(choice.reading, other, layer, head, choice.log),
        (
            "Kind of the head on each text",
            same_kind(choice.reading.found.heads, other.found.heads, layer, head).verdict,
            None,
        ),
        page.experiment(
            experiments.two_texts, choice.made, made(experiments.read_other, *what), layer, head, choice.log
        ),
    )


def another_model(choice: Choice, layer: int, head: int) -> Second:
    """A head of another model on the same text."""
    name = models.choose(key="model2", label="Other model", default=other_of(choice.model_name))
    parts = model_parts(name)
    *_, last = parts
    part = choice.part if choice.part in parts else last
    what = name, choice.pasted, part, None, choice.hide_sink
    other = read(*what)
    if other is None:
        st.info("The tokenizer of the other model makes no token of this text: choose another model.")
        fragments.stop()
    tell_dropped(other, "text in the other model")
    n_layers, n_heads = other.found.heads.kind.shape
    first = striking_head(kinds_of(name, part) or other.found.heads)
    place = (
        controls.place("Other layer", "layer2", n_layers, first[0]),
        controls.place("Other head", "head2", n_heads, first[1]),
    )
    both = choice.model_name, name
    found = heads_of_models(both, (choice.reading.found.heads, other.found.heads), ((layer, head), place))
    return Second(
        other,
        (name, choice.pasted, *place),
        experiments.two_models(both, choice.reading, other, (layer, head), place, choice.log),
        ("Kind of the head in each model", found.verdict, None),
        page.experiment(
            experiments.two_models,
            both,
            choice.made,
            made(experiments.read_other, *what),
            (layer, head),
            place,
            choice.log,
        ),
    )


def other_of(model_name: str) -> str:
    """The model that stands on the right at first: the one that ships beside a real one, and the other way round."""
    there = [name for name in models.names() if name != model_name]
    return next(name for name in (models.DEFAULT, models.REAL, *there) if name in there)


def words(experiment: page.Experiment) -> None:
    """What to see, the question, how it is computed."""
    page.what_to_see(
        "Here a kind is measured on one text, and may change with it: compare the same head on another. Two heads of "
        "one kind need not attend to the same tokens: beside another head stands the weight that both put on the same "
        "ones. Another model cuts the same text into tokens of its own; look whether it has a head of the same kind."
    )
    page.question(
        "Two heads of one layer are both called *first token*. Does the model need both?",
        "Attention weights alone cannot tell: a head may attend to the first token (an attention sink) on this text "
        "and to something else on another. Zero ablation, on the page of interventions, measures what each adds.",
    )
    page.how_it_is_computed(
        experiment,
        code=(overlap,),
        papers="Many heads can be taken out at little loss: arXiv:1905.10650. Names of heads: arXiv:2209.11895",
    )


def examples(choice: Choice) -> dict[str, dict[str, Any]]:
    """Heads of this model that are worth a comparison."""
    found = {kind: strongest_of(choice.kinds, kind) for kind in ("induction", "previous token", "duplicate")}
    named: dict[str, dict[str, Any]] = {}
    for one, other in itertools.combinations_with_replacement(found, 2):
        pairs = zip(found[one], found[other][1:] if one == other else found[other], strict=False)
        for (layer, head), (layer2, head2) in itertools.islice(pairs, 1):
            label = f"two {one} heads" if one == other else f"{one} and {other}"
            named[label] = {"with": "head", "layer": layer, "head": head, "layer2": layer2, "head2": head2}
    layer, head = striking_head(choice.kinds)
    chosen = dict(list(named.items())[:3])
    other = other_of(choice.model_name)
    it = {IN_BOTH: IT} if all(IT[key] in models.names() for key in ("model", "model2")) else {}
    return {
        **it,
        **chosen,
        "the same head, another text": {"with": "text", "layer": layer, "head": head},
        f"the same text in {other}": {"with": "model", "model2": other, "layer": layer, "head": head},
    }


def one_map(
    place: DeltaGenerator, key: str, reading: AttentionReading, of: tuple[str, str, int, int], shown: Shown
) -> None:
    """Draw one of the maps, `of` a model, text, layer and head; a click on a cell leads to why the head looks there."""
    model_name, pasted, layer, head = of
    pattern, found = reading.found.patterns[layer, head], head_kind(reading.found.heads, layer, head)
    drawn = map_range(pattern, None, SIDE_CELLS)
    step = drawn.pooled

    def ask(event: Event) -> None:
        match event:
            case {"x": int(column), "y": int(row)}:
                query, place = drawn.token(row), drawn.token(column)
                if query >= 0 and 0 <= place < pattern.shape[1] and pattern[query, place] > 0:
                    controls.set_values(
                        show="why",
                        model=model_name,
                        text=pasted,
                        layer=layer,
                        head=head,
                        token=query,
                        key=place,
                        than=NOTHING,
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
