"""The page on heads: two heads on one text, or one head on two texts, side by side."""

import streamlit as st
from numpy import ndarray
from streamlit.delta_generator import DeltaGenerator

from pages.foundations.heads import experiments as experiments
from pages.foundations.heads.maps import CHARACTERS, Reading, read
from pages.ui import controls, fragments, page, text
from pages.ui.components.figure import figure
from tfcore.analysis.foundations.attention_maps import Part, overlap, pool
from tfcore.analysis.foundations.head_tables import map_table
from tfcore.figures.tokens import token_heatmap

OTHER_TEXT = (
    "Once upon a time there was a big cat named Tom. Tom had a blue hat. "
    "One day the big cat lost the blue hat. Tom was sad because he loved it."
)
WITH = {"head": "another head", "text": "another text"}
SIDE = 96  # cells a side


def side_by_side(reading: Reading, model_name: str, part: Part | None) -> None:
    """The section with two maps."""
    n_layers, n_heads = reading.found.heads.kind.shape
    against = controls.segmented("Compare with", "with", list(WITH), "head", WITH)
    left, right = st.columns(2, gap="medium")
    with left:
        layer = controls.slider("Layer", "layer", 0, n_layers - 1, min(3, n_layers - 1))
        head = controls.slider("Head", "head", 0, n_heads - 1, 0)
    other, other_layer, other_head = reading, layer, head
    with right:
        if against == "head":
            other_layer = controls.slider("Other layer", "layer2", 0, n_layers - 1, min(1, n_layers - 1))
            other_head = controls.slider("Other head", "head2", 0, n_heads - 1, min(1, n_heads - 1))
        else:
            pasted = controls.text_area("Other text", "text2", OTHER_TEXT, CHARACTERS, height=122)
            if not pasted:
                st.info("There is no other text yet: type or paste some.")
                fragments.stop()
            found = read(model_name, pasted, part)
            if found is None:
                st.info("The tokenizer of this model makes no token of the other text: type something else.")
                fragments.stop()
            other = found
    one = one_map(left, "one", reading, layer, head)
    two = one_map(right, "other", other, other_layer, other_head)
    if against == "head":
        st.metric(
            "Weight the two heads put on the same tokens",
            f"{overlap(one, two):.0%}",
            help="Mean over the query tokens of sum_k min(a, b): 100 % for equal maps.",
        )
    else:
        kinds = [r.found.heads.kind[layer, head] for r in (reading, other)]
        same = "the same on both" if kinds[0] == kinds[1] else f"{kinds[0]} on one, {kinds[1]} on the other"
        st.metric("Kind of the head", same)
    page.try_this(
        {
            "two induction heads": {"with": "head", "layer": 3, "head": 0, "layer2": 3, "head2": 2},
            "induction and previous token": {"with": "head", "layer": 3, "head": 0, "layer2": 1, "head2": 1},
            "the same head, another text": {"with": "text", "layer": 3, "head": 0},
        }
    )
    page.what_to_see(
        "A kind is measured on one text, and may change with it: compare the same head on another text. Two heads of "
        "one kind need not attend to the same tokens: beside another head stands the weight that both put on the same "
        "ones."
    )
    page.source(overlap)
    if other is reading and reading.within:
        page.experiment(experiments.two_heads, model_name, reading.pasted, layer, head, other_layer, other_head)
    elif reading.within:
        page.experiment(experiments.two_texts, model_name, reading.pasted, other.pasted, layer, head)
    st.caption("Many heads can be taken out without loss: arXiv:1905.10650. Names of heads: arXiv:2209.11895")
    page.question(
        "Two heads of one layer are both called *first token*. Does the model need both?",
        "Attention weights alone cannot tell: a head may attend to the first token (an attention sink) on this text "
        "and to something else on another. Zero ablation, on the page of interventions, measures what each adds.",
    )


def one_map(place: DeltaGenerator, key: str, reading: Reading, layer: int, head: int) -> ndarray:
    """Draw one of the maps; returns its weights."""
    pattern = reading.found.patterns[layer, head]
    step = -(-max(pattern.shape) // SIDE)
    kind, score = reading.found.heads.kind[layer, head], reading.found.heads.score[layer, head]
    finding = f"layer {layer}, head {head}: {kind} {score:.2f}"
    note = f" A cell is the largest weight of {step} by {step}." if step > 1 else ""
    with place:
        figure(
            token_heatmap(
                pool(pattern, SIDE),
                text.tick_labels(reading.queries)[::step],
                text.tick_labels(reading.keys)[::step],
                height=520,
                bar=False,
            ),
            key=key,
            alt=f"Attention of {finding}",
            height=520,
            min_width=400,
            caption=f"{finding[0].upper()}{finding[1:]}. Shape (query, key) = {pattern.shape}.{note}",
            table=lambda: map_table(pattern, reading.queries, reading.keys),
            cursor=True,
        )
    return pattern
