"""Section of the page on attention: any two words of a text, compared by their embeddings and by one head."""

from typing import Any

import streamlit as st

from pages.ui import cache, controls, fragments, head_links, links, notices, page, text
from pages.ui.components.figure import Event
from pages.ui.frame import Panel, panel
from pages.ui.loading import models
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.reading import first_tokens, say_nothing_read, text_box
from tfcore.views.foundations import attention as views
from tfcore.views.foundations.attention.measure.similarity import Measure
from tfcore.views.foundations.attention.say import ClosestTokens, closest_tokens
from tfcore.views.foundations.attention.word_pairs import MODEL, TOKENS, similarity_of

CHARACTERS = 2_000  # of a text
TEXT = "The king and the queen had a cat and a dog. The dog was happy, but the cat was sad."
MEASURES: dict[str, Measure] = {"product": "dot product", "cosine": "cosine"}
PAIRS = {"cat and dog": ("cat", "dog"), "king and queen": ("king", "queen"), "happy and sad": ("happy", "sad")}
OPPOSITES = "happy and sad"
TRY: dict[str, dict[str, Any]] = {
    "cosine": {"measure": "cosine"},
    "a previous-token head of stories": {"model": MODEL, "layer": 1, "head": 1},
}


def examples(model_name: str) -> dict[str, dict[str, Any]]:
    """The pairs of words that are tokens of this model, where they stand in TEXT."""
    tokens = [token.strip() for token in first_tokens(model_name, TEXT, TOKENS).tokens]
    return {
        name: {"text": TEXT, "first": tokens.index(one), "second": tokens.index(other)}
        for name, (one, other) in PAIRS.items()
        if one in tokens and other in tokens
    }


def words() -> None:
    """Two heatmaps of the same text, and one pair of its words in numbers."""
    box, choice = st.columns([4, 1], vertical_alignment="bottom")
    with choice:
        model_name = models.choose("decoder", "encoder", default=MODEL, reads="a head")
    with box:
        pasted = text_box(model_name, "Text", "text", TEXT, CHARACTERS, height=68, named=False, end="first")
    offer_real(model_name, pasted)
    pairs = examples(model_name)
    with panel(None) as p:
        p.examples(pairs | TRY)
        _, tokens, total = first_tokens(model_name, pasted, TOKENS)
        if not tokens:
            say_nothing_read(
                model_name, pasted, "text", "There is no text yet: type or paste some, or press Ctrl+Z in the box."
            )
            return
        notices.tokens(total, len(tokens), which="first")
        closest = closest_tokens(similarity_of(model_name, pasted).cosines, tokens)
        _pair(p, tokens, model_name, pasted, closest)
        p.what_to_see(
            "The left map is symmetric: a dot product does not depend on the order of its two vectors. "
            f"{text.escape(closest or 'All tokens of this text are the same.')} Alike here means used alike, not "
            f"meaning the same{f': try “{OPPOSITES}”' if OPPOSITES in pairs else ''}. The right map compares the same "
            "tokens through the head's own query and key matrices, and is not symmetric: W_Q and W_K are two matrices."
        )
        p.question(
            "If similar words are what matters, why does a head not simply use the embeddings' dot product?",
            "Each token would then attend most to itself and to tokens used like it. With one matrix for queries and "
            "another for keys, a token can attend to tokens of quite another kind, and a to b without b to a.",
        )


@fragments.fragment
def _pair(p: Panel, tokens: list[str], model_name: str, pasted: str, closest: ClosestTokens | None) -> None:
    """The two maps and the chosen pair, at first the two words whose embeddings are most alike."""
    n, config = len(tokens), cache.model(model_name)[0].config
    begin = (7, 10) if closest is None or links.is_old() else (closest.first, closest.second)
    left, right = st.columns(2, gap="medium")
    one, two, three = st.columns([2, 2, 1], vertical_alignment="bottom")
    with one:
        first = controls.place("First word (position)", "first", n, begin[0])
    with two:
        second = controls.place("Second word (position)", "second", n, begin[1])
    with three, page.more_settings():
        layer = controls.layer_among(config.attention_layers, 2)
        head = controls.place("Head", "head", config.attention.n_heads, 3)
    a, b = (text.escape(text.visible(tokens[i])) for i in (first, second))
    st.markdown(f"**{a}** ({first}) and **{b}** ({second}):")
    numbers = st.columns(4)
    measure = MEASURES[controls.segmented("Compare embeddings by", "measure", list(MEASURES), "product", MEASURES)]
    embedded = views.embeddings(model_name, pasted, first, second, measure)
    scored = views.scores(model_name, pasted, first, second, layer, head)
    names = ("Dot product of the embeddings", "Cosine", f"Score, query {a}, key {b}", f"Score, query {b}, key {a}")
    values = embedded.result.pair.texts + scored.result.pair.texts
    for column, name, value in zip(numbers, names, values, strict=True):
        column.metric(name, value)
    with left:
        p.show(embedded, _choose, "Click a cell to choose its two words.")
    with right:
        p.show(scored, _choose)
        ids = first_tokens(model_name, pasted, TOKENS).ids
        there = head_links.of_ids(model_name, ids, layer, head, pasted)
        if first >= second or config.architecture != "decoder":
            there.link(first, second, tokens, tokens)


def _choose(event: Event) -> None:
    """A click on a cell: its row and its column are the two words."""
    if isinstance(event["y"], int | float) and isinstance(event["x"], int | float):
        controls.set_values(first=int(event["y"]), second=int(event["x"]))
