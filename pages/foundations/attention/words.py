"""Panel of the page on attention: any two words of a text, compared by their embeddings and by one head."""

from typing import Any

import pandas as pd
import streamlit as st

from pages.foundations.attention import experiments as experiments
from pages.ui import cache, controls, fragments, notices, page, text
from pages.ui.components.figure import Event, figure
from pages.ui.loading import models
from pages.ui.reading import first_tokens
from tfcore.analysis.foundations.attention_steps import TokenSimilarity, closest, token_similarity
from tfcore.attention import attention_scores
from tfcore.figures.tokens import token_heatmap

MODEL = "stories"
CHARACTERS = 2_000  # of a text
TOKENS = 48  # compared
TEXT = "The king and the queen had a cat and a dog. The dog was happy, but the cat was sad."
WIDEST = 2.0  # where the colours of embedding products end; a word with itself is beyond that
SCORE = 10.0  # and those of a head's scores
MEASURES = {"product": "dot product", "cosine": "cosine"}
TRY: dict[str, dict[str, Any]] = {
    "cat and dog": {"text": TEXT, "first": 7, "second": 10},
    "king and queen": {"text": TEXT, "first": 1, "second": 4},
    "happy and sad": {"text": TEXT, "first": 15, "second": 21},
    "cosine": {"measure": "cosine"},
    "a previous-token head": {"layer": 1, "head": 1},
}


@cache.data(max_entries=12)
def similarity(model_name: str, pasted: str) -> tuple[TokenSimilarity, list[str], int] | None:
    """Every pair of the first tokens of a text, the tokens, and how many there are in all; None without a token."""
    ids, tokens, total = first_tokens(model_name, pasted, TOKENS)
    return (token_similarity(cache.model(model_name)[0], ids), tokens, total) if ids else None


def panel() -> None:
    """Two heatmaps of the same text, and one pair of its words in numbers."""
    box, choice = st.columns([4, 1], vertical_alignment="bottom")
    with box:
        pasted = controls.text_area("Text", "text", TEXT, CHARACTERS, height=68)
    with choice:
        model_name = models.choose("decoder", "encoder", default=MODEL)
    compared = similarity(model_name, pasted)
    if compared is None:
        st.info("There is no text yet: type or paste some, or press Ctrl+Z in the box.")
        return
    result, tokens, total = compared
    notices.tokens(total, len(tokens))
    _pair(result, tokens, model_name, pasted)
    page.try_this(TRY)
    page.what_to_see(
        "The left map is symmetric: a dot product does not depend on the order of its two vectors. "
        f"{_closest(result, tokens)} Alike here means used alike, not meaning the same: try “happy and sad”. The right "
        "map compares the same tokens through the head's own query and key matrices, and is not symmetric: W_Q and "
        "W_K are two matrices."
    )
    page.source(token_similarity, attention_scores)
    st.caption(
        "Queries and keys: arXiv:1706.03762, section 3.2. The scores include the rotation by position (RoPE, "
        "arXiv:2104.09864) and come before the causal mask."
    )
    page.question(
        "If similar words are what matters, why does a head not simply use the embeddings' dot product?",
        "Each token would then attend most to itself and to tokens used like it. With one matrix for queries and "
        "another for keys, a token can attend to tokens of quite another kind, and a to b without b to a.",
    )


def _closest(result: TokenSimilarity, tokens: list[str]) -> str:
    """The two different tokens of the text whose embeddings are most alike."""
    pair = closest(result.cosines, tokens)
    if pair is None:
        return "All tokens of this text are the same."
    a, b = (text.escape(text.visible(tokens[i]).removeprefix("·")) for i in pair[:2])
    return f"Of its different tokens, “{a}” and “{b}” have the most similar embeddings, cosine {pair[2]:.2f}."


@fragments.fragment
def _pair(result: TokenSimilarity, tokens: list[str], model_name: str, pasted: str) -> None:
    """The two maps and the chosen pair."""
    labels, n = text.tick_labels(tokens), len(tokens)
    n_layers, n_heads = result.scores.shape[:2]
    one, two, three, four = st.columns(4)
    with one:
        first = controls.slider("First word (position)", "first", 0, n - 1, min(7, n - 1))
    with two:
        second = controls.slider("Second word (position)", "second", 0, n - 1, min(10, n - 1))
    with three:
        layer = controls.slider("Layer", "layer", 0, n_layers - 1, min(2, n_layers - 1))
    with four:
        head = controls.slider("Head", "head", 0, n_heads - 1, min(3, n_heads - 1))
    a, b = (text.escape(text.visible(tokens[i])) for i in (first, second))
    st.markdown(f"**{a}** ({first}) and **{b}** ({second}):")
    scores = result.scores[layer, head]
    values = [
        ("Dot product of the embeddings", result.products[first, second]),
        ("Cosine", result.cosines[first, second]),
        (f"Score, query {a}, key {b}", scores[first, second]),
        (f"Score, query {b}, key {a}", scores[second, first]),
    ]
    for place, (name, value) in zip(st.columns(4), values, strict=True):
        place.metric(name, f"{value:.2f}")
    measure = controls.segmented("Compare embeddings by", "measure", list(MEASURES), "product", MEASURES)
    left, right = st.columns(2, gap="medium")
    shown = result.products if measure == "product" else result.cosines
    widest = WIDEST if model_name == MODEL else result.largest_between  # tables are as large as they were trained
    end = widest if measure == "product" else 1.0
    pair = f"'{text.visible(tokens[first])}' and '{text.visible(tokens[second])}'"
    with left:
        figure(
            token_heatmap(
                shown,
                labels,
                scale="@signed",
                zmin=-end,
                zmax=end,
                height=460,
                hover=f"{MEASURES[measure]} of %{{y}} and %{{x}}: %{{z:.2f}}",
            ),
            key="embeddings",
            height=460,
            min_width=420,
            cursor=True,
            on_click=_choose,
            table=lambda: _rows(shown, tokens, MEASURES[measure]),
            alt=f"{MEASURES[measure]} of the embeddings of {n} tokens with each other; {pair}: "
            f"{shown[first, second]:.2f}.",
            caption=f"Embeddings, {MEASURES[measure]}, shape ({n}, {n}): {pair} {shown[first, second]:.2f}. "
            "Click a cell to choose its two words.",
        )
    with right:
        figure(
            token_heatmap(
                scores,
                labels,
                scale="@signed",
                zmin=-SCORE,
                zmax=SCORE,
                height=460,
                hover="query %{y}, key %{x}: %{z:.2f}",
            ),
            key="scores",
            height=460,
            min_width=420,
            cursor=True,
            on_click=_choose,
            table=lambda: _rows(scores, tokens, "score"),
            alt=f"Scores of layer {layer}, head {head}: {pair} {scores[first, second]:.2f}, with query and key "
            f"exchanged {scores[second, first]:.2f}.",
            caption=f"Layer {layer}, head {head}: q · k ÷ √d_k, (query, key) = ({n}, {n}): {pair} "
            f"{scores[first, second]:.2f}, with query and key exchanged {scores[second, first]:.2f}.",
        )
    page.experiment(experiments.similar, model_name, pasted, TOKENS, first, second, layer, head)


def _choose(event: Event) -> None:
    """A click on a cell: its row and its column are the two words."""
    if isinstance(event["y"], int | float) and isinstance(event["x"], int | float):
        controls.set_values(first=int(event["y"]), second=int(event["x"]))


def _rows(matrix: object, tokens: list[str], name: str) -> pd.DataFrame:
    """A matrix as rows of two tokens and a value."""
    rows = pd.DataFrame(matrix).stack().rename(name).rename_axis(["row", "column"]).reset_index()
    return rows.assign(row_token=[tokens[i] for i in rows["row"]], column_token=[tokens[i] for i in rows["column"]])
