"""Paste a text, see the attention of every head of a trained model."""

from html import unescape
from typing import Any

import streamlit as st

from pages.ui import cache, controls, page, text
from pages.ui.figure import figure
from tfcore import shipped
from tfcore.analysis.attention_maps import AttentionMaps, attention_maps, pool
from tfcore.analysis.head_tables import SCORE_COLUMNS, head_table, map_table, order, token_table
from tfcore.analysis.heads import repeated_tokens, score_heads
from tfcore.attention import attention_scores, attention_weights
from tfcore.figures import heads as figures
from tfcore.figures.tokens import token_heatmap

TEXT = (
    "Once upon a time there was a little dog named Max. Max had a red ball. "
    "One day the little dog lost the red ball. Max was sad because he loved it."
)
ANIMAL = "The animal didn't cross the street because it was too tired."
NONSENSE = "zab mip tol wex run fod zab mip tol wex run fod"
TRY: dict[str, dict[str, Any]] = {
    "what came next": {"model": "stories", "text": TEXT, "layer": 3, "head": 0, "token": 25},
    "the word before": {"model": "stories", "text": TEXT, "layer": 1, "head": 1, "token": 25},
    "who is “he”?": {"model": "stories", "text": TEXT, "layer": 2, "head": 3, "token": 32},
    "animal or street?": {"model": "stories", "text": ANIMAL, "layer": 3, "head": 4, "token": 10},
    "nonsense, twice": {"model": "stories", "text": NONSENSE, "layer": 3, "head": 0, "token": 15},
    "a model that only copies": {"model": "induction", "text": NONSENSE, "layer": 1, "head": 3, "token": 32},
}
LAYER, HEAD, TOKEN = 3, 0, 25  # what the first visitor sees: “red” finds the ball
CHARACTERS = 2_000
THUMBNAIL = 48  # cells along a side of a mosaic tile
SORTS = {"place": "by layer", "kind": "by kind", "score": "by score"}


@cache.data(max_entries=4)
def inducing(model_name: str) -> Any:
    """How much each head of a model does induction, on random tokens said twice."""
    return repeated_tokens(cache.model(model_name)[0]).induction


@cache.data(max_entries=12)
def maps(model_name: str, pasted: str) -> tuple[AttentionMaps, list[str], int]:
    """Attention on a text: the maps, a label per token, and how many tokens did not fit."""
    model, tokenizer = cache.model(model_name)
    ids = tokenizer.encode(pasted)
    kept = ids[: model.config.max_seq_len]
    return attention_maps(model, kept, inducing(model_name)), tokenizer.tokens(kept), len(ids) - len(kept)


def choose_head(event: dict[str, Any]) -> None:
    """A click on a tile of the mosaic."""
    match event["customdata"]:
        case [int(layer), int(head)]:
            controls.set_values(layer=layer, head=head)


def choose_row(event: dict[str, Any]) -> None:
    """A click on a cell of the map: its row is the token that looks."""
    if isinstance(event["y"], int | float):
        controls.set_values(token=int(event["y"]))


page.begin(
    "What does each head look at?",
    "Each attention head of a trained model reads the text in its own way: one looks at the word before, another finds "
    "what followed the last time. Paste a text and see all of them at once.",
)

box, choice = st.columns([4, 1], vertical_alignment="bottom")
with box:
    pasted = controls.text_area("Text", "text", TEXT, CHARACTERS, height=80)
with choice:
    name = controls.select("Model", "model", shipped(), "stories")
page.try_this(TRY)

if not pasted:
    st.info("There is no text yet: type or paste some above, or pick an example.")
    st.stop()

found, tokens, dropped = maps(name, pasted)
labels = text.tick_labels(tokens)
n_layers, n_heads = found.heads.kind.shape
if dropped:
    st.info(f"The model reads {len(tokens)} tokens at once; the last {dropped} of this text are left out.")

places = order(found, "place")
names = {place: f"{found.heads.kind[place]} {found.heads.score[place]:.2f}" for place in places}
overview, beside = st.columns([11, 10], gap="medium")
with overview:
    left, right = st.columns(2)
    with left:
        layer = controls.slider("Layer", "layer", 0, n_layers - 1, LAYER)
    with right:
        head = controls.slider("Head", "head", 0, n_heads - 1, HEAD)
    sort = controls.segmented("Order of the heads", "sort", list(SORTS), "place", SORTS)
    note = "" if len(tokens) <= THUMBNAIL else f" Beyond {THUMBNAIL} tokens a cell shows the largest of its weights."
    figure(
        figures.mosaic(pool(found.patterns, THUMBNAIL), names, order(found, sort), (layer, head), height=620),
        key="mosaic",
        alt=f"Attention maps of {n_layers * n_heads} heads, each with what it does: "
        + ", ".join(f"{place[0]}.{place[1]} {names[place]}" for place in order(found, sort)),
        height=620,
        min_width=460,
        caption=f"Every head as layer.head with what it does on this text; induction is tested on random tokens said "
        f"twice. Rows look, columns are looked at, dark is weight 1; click one to look closer.{note}",
        table=lambda: head_table(found),
        on_click=choose_head,
    )
below = st.container()


@st.fragment
def closer(found: AttentionMaps, tokens: list[str], labels: list[str], layer: int, head: int, name: str) -> None:
    """One head in full and one token in every head: a change of the token redraws only these."""
    pattern, n = found.patterns[layer, head], len(tokens)
    with beside:
        token = controls.slider("Token that looks", "token", 0, n - 1, min(TOKEN, n - 1))
        strongest = int(pattern[token].argmax())
        finding = f"'{labels[token]}' looks most at '{labels[strongest]}', with weight {pattern[token, strongest]:.2f}"
        with st.container(horizontal=True, vertical_alignment="bottom"):
            st.subheader(f"Layer {layer}, head {head}: {name}", anchor=False)
            view = controls.segmented("Show as", "view", ["map", "lines"], "map")
        as_map = view == "map"
        figure(
            token_heatmap(pattern, labels, height=620, bar=False)
            if as_map
            else figures.lines(pattern, labels, token, height=620),
            key="closer",
            alt=f"Layer {layer}, head {head} is {name}; {unescape(finding)}",
            height=620,
            min_width=400,
            caption=f"{unescape(finding)}. Shape (query, key) = ({n}, {n}); each row sums to 1.",
            table=lambda: map_table(pattern, tokens),
            cursor=as_map,
            on_click=choose_row if as_map else None,
        )
    with below:
        st.subheader("Where one token looks, in every head", anchor=False)
        text.chips(
            tokens, key="chips", selected=token, shade=pattern[token].tolist(), label="Choose the token that looks",
            on_select=lambda i: controls.set_values(token=i),
        )  # fmt: skip
        figure(
            figures.one_token(found.patterns[:, :, token], labels, token, (layer, head), height=520),
            key="one token",
            alt=f"Where '{unescape(labels[token])}' looks in every head; in layer {layer}, head {head}: "
            f"{unescape(finding)}",
            height=520,
            min_width=640,
            caption=f"One row a head: the weights with which '{unescape(labels[token])}' (framed) looks at each token.",
            table=lambda: token_table(found, token, tokens),
        )


closer(found, tokens, labels, layer, head, names[layer, head])
st.subheader("Every head, measured", anchor=False)
st.dataframe(
    head_table(found),
    hide_index=True,
    height=260,
    column_config={c: st.column_config.NumberColumn(format="%.2f") for c in SCORE_COLUMNS},
)
page.what_to_see(
    "A stripe just below the diagonal is a *previous token* head. A dark first column is a *sink*: the head has "
    "nothing to do here and rests on the first token. Short slanted stripes far from the diagonal are *induction*: at "
    "a word seen before, the head looks at what came after it the last time."
)
st.latex(r"A = \mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_k}} + \text{mask}\right)")
st.caption("Vaswani et al. 2017, arXiv:1706.03762, equation 1.")
page.source(attention_scores, attention_weights, score_heads)
page.question(
    "In the text about Max, which token does an induction head look at from the second 'little'?",
    "At 'dog': the token that followed the first 'little'. The head predicts that it will follow again.",
)
