"""Panel of the page on attention: any two words of a text, compared by their embeddings and by one head."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.foundations.attention import experiments
from pages.ui import cache, controls, fragments, head_links, links, notices, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.loading import models
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.program import made
from pages.ui.reading import first_tokens, say_nothing_read, text_box
from tfcore.analysis.foundations.attention_steps import (
    ClosestTokens,
    Measure,
    TokenSimilarity,
    closest_tokens,
    embedding_pair,
    score_pair,
    token_similarity,
)
from tfcore.attention import attention_scores

MODEL = "stories"
CHARACTERS = 2_000  # of a text
TOKENS = 48  # compared
TEXT = "The king and the queen had a cat and a dog. The dog was happy, but the cat was sad."
WIDEST = 2.0  # where the colours of embedding products end; a word with itself is beyond that
SCORE = 10.0  # and those of a head's scores
MEASURES: dict[str, Measure] = {"product": "dot product", "cosine": "cosine"}
PAIRS = {"cat and dog": ("cat", "dog"), "king and queen": ("king", "queen"), "happy and sad": ("happy", "sad")}
OPPOSITES = "happy and sad"
TRY: dict[str, dict[str, Any]] = {
    "cosine": {"measure": "cosine"},
    "a previous-token head of stories": {"model": MODEL, "layer": 1, "head": 1},
}


similarity = cache.of_model(max_entries=12)(experiments.similarity)


def examples(model_name: str) -> dict[str, dict[str, Any]]:
    """The pairs of words that are tokens of this model, where they stand in TEXT."""
    tokens = [token.strip() for token in first_tokens(model_name, TEXT, TOKENS).tokens]
    return {
        name: {"text": TEXT, "first": tokens.index(one), "second": tokens.index(other)}
        for name, (one, other) in PAIRS.items()
        if one in tokens and other in tokens
    }


def panel() -> None:
    """Two heatmaps of the same text, and one pair of its words in numbers."""
    box, choice = st.columns([4, 1], vertical_alignment="bottom")
    with choice:
        model_name = models.choose("decoder", "encoder", default=MODEL)
    with box:
        pasted = text_box(model_name, "Text", "text", TEXT, CHARACTERS, height=68, named=False)
    offer_real(model_name, pasted)
    pairs = examples(model_name)
    page.try_this(pairs | TRY)
    _, tokens, total = first_tokens(model_name, pasted, TOKENS)
    if not tokens:
        say_nothing_read(
            model_name, pasted, "text", "There is no text yet: type or paste some, or press Ctrl+Z in the box."
        )
        return
    result = similarity(model_name, pasted, TOKENS)
    notices.tokens(total, len(tokens))
    latest = page.Latest()
    closest = closest_tokens(result.cosines, tokens)
    _pair(result, tokens, model_name, pasted, closest, latest)
    page.what_to_see(
        "The left map is symmetric: a dot product does not depend on the order of its two vectors. "
        f"{text.escape(closest or 'All tokens of this text are the same.')} Alike here means used alike, not meaning "
        f"the same{f': try “{OPPOSITES}”' if OPPOSITES in pairs else ''}. The right map compares the same tokens "
        "through the head's own query and key matrices, and is not symmetric: W_Q and W_K are two matrices."
    )
    page.question(
        "If similar words are what matters, why does a head not simply use the embeddings' dot product?",
        "Each token would then attend most to itself and to tokens used like it. With one matrix for queries and "
        "another for keys, a token can attend to tokens of quite another kind, and a to b without b to a.",
    )
    page.how_it_is_computed(
        latest,
        formula=r"s_{ij} = \frac{(W_Q x_i) \cdot (W_K x_j)}{\sqrt{d_k}}",
        code=(token_similarity, attention_scores),
        papers=(
            "Queries and keys: arXiv:1706.03762, section 3.2. The scores come before the mask, and in models with RoPE "
            "(arXiv:2104.09864) after the rotation by position."
        ),
    )


@fragments.fragment
def _pair(
    result: TokenSimilarity,
    tokens: list[str],
    model_name: str,
    pasted: str,
    closest: ClosestTokens | None,
    latest: page.Latest,
) -> None:
    """The two maps and the chosen pair, at first the two words whose embeddings are most alike."""
    n = len(tokens)
    begin = (7, 10) if closest is None or links.is_old() else (closest.first, closest.second)
    n_layers, n_heads = result.scores.shape[:2]
    left, right = st.columns(2, gap="medium")
    one, two, three = st.columns([2, 2, 1], vertical_alignment="bottom")
    with one:
        first = controls.place("First word (position)", "first", n, begin[0])
    with two:
        second = controls.place("Second word (position)", "second", n, begin[1])
    with three, page.more_settings():
        layer = controls.place("Layer", "layer", n_layers, 2)
        head = controls.place("Head", "head", n_heads, 3)
    a, b = (text.escape(text.visible(tokens[i])) for i in (first, second))
    st.markdown(f"**{a}** ({first}) and **{b}** ({second}):")
    pair = (result, tokens, first, second)
    metrics = zip(
        ("Dot product of the embeddings", "Cosine", f"Score, query {a}, key {b}", f"Score, query {b}, key {a}"),
        embedding_pair(*pair, "cosine").texts + score_pair(*pair, layer, head).texts,
        strict=True,
    )
    for column, (name, value) in zip(st.columns(4), metrics, strict=True):
        column.metric(name, value)
    chosen = controls.segmented("Compare embeddings by", "measure", list(MEASURES), "product", MEASURES)
    measure = MEASURES[chosen]
    widest = WIDEST if model_name == MODEL else result.largest_between  # tables are as large as they were trained
    with left:
        shown = experiments.embeddings(*pair, measure, 1.0 if measure == "cosine" else widest)
        compared = result.cosines if measure == "cosine" else result.products
        figure(
            shown.figure,
            key="embeddings",
            height=460,
            min_width=420,
            cursor=True,
            on_click=_choose,
            table=lambda: _rows(compared, tokens, measure),
            alt=f"The embeddings of {n} tokens compared with each other. {shown.alt}",
            caption=f"Embeddings, shape ({n}, {n}). {shown.caption} Click a cell to choose its two words.",
        )
    with right:
        shown = experiments.similar(*pair, layer, head, SCORE)
        figure(
            shown.figure,
            key="scores",
            height=460,
            min_width=420,
            cursor=True,
            on_click=_choose,
            table=lambda: _rows(result.scores[layer, head], tokens, "score"),
            alt=f"The scores of a head for {n} tokens. {shown.alt}",
            caption=f"Scores, (query, key) = ({n}, {n}). {shown.caption}",
        )
        ids = first_tokens(model_name, pasted, TOKENS).ids
        there = head_links.of_ids(model_name, ids, layer, head, pasted)
        causal = cache.model(model_name)[0].config.architecture == "decoder"
        if first >= second or not causal:
            there.link(first, second, tokens, tokens)
    result_made = made(experiments.similarity, model_name, pasted, TOKENS)
    latest.offer(experiments.similar, result_made, tokens, first, second, layer, head, SCORE)


def _choose(event: Event) -> None:
    """A click on a cell: its row and its column are the two words."""
    if isinstance(event["y"], int | float) and isinstance(event["x"], int | float):
        controls.set_values(first=int(event["y"]), second=int(event["x"]))


def _rows(matrix: object, tokens: list[str], name: str) -> pd.DataFrame:
    """A matrix as rows of two tokens and a value."""
    rows = pd.DataFrame(matrix).stack().rename(name).rename_axis(["row", "column"]).reset_index()
    return rows.assign(row_token=[tokens[i] for i in rows["row"]], column_token=[tokens[i] for i in rows["column"]])
