"""Section of the page on circuits: edges between heads, by Q, K and V."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from pages.inside import metric
from pages.inside import reading as _reading
from pages.inside.reading import ReadText
from pages.ui import cache, controls, head_links, notices, page
from pages.ui.components.figure import Event
from pages.ui.frame import Panel, panel
from pages.ui.head_links import of_ids
from pages.ui.loading import models
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.reading import choose_bos, text_box
from pages.ui.work.filling import fill
from tfcore.config import ModelConfig
from tfcore.measures import knock_outs
from tfcore.measures.effect_metric import Quantity
from tfcore.views.inside import circuits as views
from tfcore.views.inside.circuits import edges as heads
from tfcore.views.inside.circuits.edges import TOKENS, Cuts
from tfcore.views.inside.circuits.measure.head_circuits import CANDIDATES, COUNTS, find_circuit
from tfcore.views.inside.circuits.measure.head_edges import strongest_edges, why_no_edges

CHARACTERS = 500  # of a text
BASE = {"text": "another text", "mean": "mean over the tokens", "zero": "zero"}
STEPS = {1: "one gradient", 5: "integrated gradients, 5 steps"}
REAL = "smollm2"
NAMES = "When Mary and John went to the store, {} gave a drink to"
JOHN, MARY = NAMES.format("John"), NAMES.format("Mary")
BALL, HAT = "Max had a red ball. One day Max lost the red", "Max had a red hat. One day Max lost the red"
BOY, GIRL = _reading.BOY, "There was a little girl. One day, Sam said that"
COPY, OTHER_COPY = "kqzvjxwbgp kqzvj", "kqzvmxwbgp kqzvj"
FIRST = {REAL: (JOHN, MARY), "induction": (COPY, OTHER_COPY)}
TRY: dict[str, dict[str, Any]] = {
    "a red ball again": {"model": "stories", "text": BALL, "other": HAT, "edges": 20},
    "he or she?": {"model": "stories", "text": BOY, "other": GIRL, "edges": 12},
    "a model that only copies": {"model": "induction", "text": COPY, "other": OTHER_COPY, "edges": 20},
}
TRY_REAL: dict[str, dict[str, Any]] = {
    "Mary or John?": {"model": REAL, "text": JOHN, "other": MARY, "edges": 20},
    "five edges": {"model": REAL, "text": JOHN, "other": MARY, "edges": 5},
}
SEE = (
    "Read it from below: each line is what one head writes, as it is read by a later head, and its colour says where: "
    "in the query (what the later head looks for), the key (where it can be found) or the value (what it takes along). "
    "Its width is how much what is measured falls when this line alone is cut: first by an estimate, then exactly."
)


def edges() -> None:
    """Show the section."""
    box, second, beside = st.columns([5, 5, 3], vertical_alignment="bottom")
    with beside:
        model = models.choose("decoder", why_not=why_not, default=models.first())
    first, contrast = FIRST.get(model, (BALL, HAT))
    with box:
        pasted = text_box(model, "Text", "text", first, CHARACTERS, height=68, named=False)
    with second:
        label = "Other text, of as many tokens"
        contrast = _reading.other_text(model, pasted, contrast, TOKENS)
        other = text_box(model, label, "other", contrast, CHARACTERS, height=68, named=False, kind="other")
    offer_real(model, pasted)
    with panel(None) as p, p.picture:
        p.examples({**(TRY_REAL if REAL in models.fitting("decoder", why_not=why_not) else {}), **TRY})
        above = st.container()
        with st.container(horizontal=True, gap="medium", vertical_alignment="bottom"):
            chosen = st.container(horizontal=True, gap="medium", vertical_alignment="bottom", width="content")
            with page.more_settings():
                kind = controls.segmented("In the place of what is cut", "base", list(BASE), "text", BASE)
                steps = controls.segmented("Estimate", "steps", list(STEPS), 1, STEPS) if kind == "text" else 1
                bos = choose_bos(model)
        reading = _reading.checked(model, pasted, TOKENS, bos=bos)
        theirs = _reading.read(model, other, TOKENS, bos)
        notices.tokens(theirs.total, len(theirs.ids), "other text")
        if problem := no_baseline(kind, reading, theirs):
            above.info(problem)
            p.what_to_see(SEE)
            return
        with chosen:
            quantity = choose_quantity(reading, other)
            count = controls.stops("Edges left", "edges", [count for count in COUNTS if count], 20)
        with above:
            picture(p, reading, Cuts(quantity, kind, other, steps), count)
        p.what_to_see(
            f"{SEE} The curve is the test of the whole: all edges between heads are cut but those drawn. Embeddings, "
            "feed-forward layers, and what heads pass on to these and to the output stay."
        )
        metric.elsewhere("edges between heads", reading, quantity)
        p.question(
            "The effects of edges that are cut one at a time need not add up to what the same edges keep when they "
            "are left alone. Why?",
            "Many edges that matter little one by one matter when they are cut together. And where two heads do the "
            "same, cutting one of them shows nothing, as the other takes its place. Move the slider and compare.",
        )


def choose_quantity(reading: ReadText, other: str) -> Quantity:
    """The two tokens whose logit difference is explained: at first what tells both texts apart."""
    offered = metric.candidates(reading, TOKENS)
    named = heads.first_rival(reading.model, reading.pasted, other, TOKENS, reading.bos)
    return metric.choose_tokens("difference", replace(offered, rival=named))


def why_not(config: ModelConfig, tokenizer: Any) -> str | None:
    """Why a model cannot be shown, or None."""
    return models.silent(config, tokenizer) or why_no_edges(config)


def no_baseline(kind: str, reading: ReadText, other: ReadText) -> str | None:
    """Why nothing would change where an edge is cut, or what is put in its place is missing; or None."""
    if kind == "mean" and len(reading.ids) == 1:
        return "A text of one token is its own mean, so no edge would carry anything else: type at least two tokens."
    if kind != "text":
        return None
    if len(reading.ids) != len(other.ids):
        return (
            f"The text has {len(reading.ids)} tokens and the other {len(other.ids)}; with equally many, each edge "
            "can carry what the other text would. Or choose the mean under More settings."
        )
    if reading.ids == other.ids:
        return "The two texts are the same, so no edge would carry anything else; change a word in one of them."
    return None


def picture(p: Panel, reading: ReadText, cuts: Cuts, count: int) -> None:
    """The graph, and how much of the quantity its edges keep."""
    network, read = cache.model(reading.model)[0], reading.whole
    estimate, baseline = heads.estimated_of(read, cuts), heads.baseline_of(read, cuts)

    def draw(so_far: Sequence[Any]) -> None:
        left, right = st.columns([3, 2], gap="large")
        with left:
            graph = views.edge_graph(read, cuts, count, so_far=so_far)
            p.show(graph, lambda event: open_head(reading, event), "Click a head to see its attention.")
        with right:
            if heads.circuit_of(so_far) is None:
                st.info("Edges are being cut one by one; what they keep alone is measured after the last of them.")
            else:
                p.show(views.edges_left(read, cuts, count, so_far=so_far))
        if graph.result is not None:
            ends = [place for edge in graph.result.edges[:count] for place in (edge.sender, edge.receiver)]
            head_links.sheets(reading.model, ends)

    fill(
        ("edges", read, cuts),
        knock_outs.operations(network, CANDIDATES + 2 * len(COUNTS), len(reading.ids)),
        lambda: find_circuit(network, reading.ids, cuts.quantity, baseline, estimate),
        lambda: heads.all_cut(read, cuts),
        draw,
        1 + len({edge.receiver[0] for edge in strongest_edges(estimate, CANDIDATES)}),
        "step",
    )


def open_head(reading: ReadText, event: Event) -> None:
    """A click on a head leads to its attention on the same text."""
    match event["customdata"]:
        case [int(layer), int(head)]:
            of_ids(reading.model, reading.ids, layer, head, reading.pasted).open(len(reading.ids) - 1)
