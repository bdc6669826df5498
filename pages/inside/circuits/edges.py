"""Section of the page on circuits: edges between heads, by Q, K and V."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pandas as pd
import streamlit as st

from pages.inside import metric
from pages.inside import reading as _reading
from pages.inside.circuits import experiments
from pages.inside.reading import Reading
from pages.ui import cache, controls, notices, page
from pages.ui.components.figure import Event, figure
from pages.ui.head_links import HeadOfText
from pages.ui.loading import models
from pages.ui.loading.unfamiliar import offer_real
from pages.ui.program import made
from pages.ui.reading import choose_bos, text_box
from pages.ui.work.filling import fill
from tfcore.analysis.inside import head_circuits, head_edges
from tfcore.analysis.inside.head_circuits import CANDIDATES, COUNTS, EdgesOfText, HeadCircuit
from tfcore.config import ModelConfig
from tfcore.measures import knock_outs
from tfcore.measures.effect_metric import Quantity

TOKENS = 64  # of the text
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
estimated = cache.of_model(max_entries=16)(experiments.estimated)
every_step = cache.of_model(max_entries=24)(experiments.every_step)
rival = cache.of_model(max_entries=64)(experiments.rival)


def edges() -> None:
    """The section."""
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
    real = TRY_REAL if REAL in models.fitting("decoder", why_not=why_not) else {}
    page.try_this({**real, **TRY})
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
        page.what_to_see(SEE)
        return
    with chosen:
        quantity = choose_quantity(reading, other)
        count = controls.stops("Edges left", "edges", [count for count in COUNTS if count], 20)
    asked = EdgesOfText(pasted, TOKENS, quantity, kind, other, steps, bos)
    with above:
        picture(reading, asked, count)
    words(reading, asked, count)


def choose_quantity(reading: Reading, other: str) -> Quantity:
    """The two tokens whose logit difference is explained: at first what tells both texts apart."""
    offered = metric.candidates(reading, TOKENS)
    named = rival(reading.model, reading.pasted, other, TOKENS, reading.bos)
    return metric.choose_tokens("difference", replace(offered, rival=named))


def why_not(config: ModelConfig, tokenizer: Any) -> str | None:
    """Why a model cannot be shown, or None."""
    return models.silent(config, tokenizer) or head_edges.why_no_edges(config)


def no_baseline(kind: str, reading: Reading, other: Reading) -> str | None:
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


def picture(reading: Reading, asked: EdgesOfText, count: int) -> None:
    """The graph, and how much of the quantity its edges keep."""
    network, tokenizer = cache.model(reading.model)
    quantity, estimate = asked.quantity, estimated(reading.model, asked)

    def draw(found: Sequence[Any]) -> None:
        circuit = found[-1] if found and isinstance(found[-1], HeadCircuit) else None
        left, right = st.columns([3, 2], gap="large")
        if circuit is None:
            shown = experiments.first_edge_graph(network, tokenizer, estimate, quantity, count)
        else:
            shown = experiments.edge_graph(network, tokenizer, list(found), quantity, kept(circuit, count))
        with left:
            figure(
                shown.figure,
                key="graph",
                height=shown.figure.layout.height,
                min_width=340,
                on_click=lambda event: open_head(reading, event),
                table=lambda: table(circuit),
                alt=shown.alt,
                caption=f"{shown.caption} Dotted: cutting it raises what is measured. Click a head to see its "
                "attention.",
            )
        with right:
            if circuit is None:
                st.info("Edges are being cut one by one; what they keep alone is measured after the last of them.")
            else:
                faithful(circuit, quantity, asked.kind, count)

    candidates = head_edges.strongest_edges(estimate, CANDIDATES)
    fill(
        ("edges", reading.model, asked),
        knock_outs.operations(network, CANDIDATES + 2 * len(COUNTS), len(reading.ids)),
        lambda: experiments.measured(network, tokenizer, asked, estimate),
        lambda: every_step(reading.model, asked),
        draw,
        1 + len({edge.receiver[0] for edge in candidates}),
        "step",
    )


def kept(circuit: HeadCircuit, count: int) -> int:
    """The number of edges left, or of all where there are fewer."""
    return count if count in circuit.counts else circuit.counts[-1]


def faithful(circuit: HeadCircuit, quantity: Quantity, kind: str, count: int) -> None:
    """How much of the quantity is left, by the number of edges."""
    alone = experiments.edges_left([circuit], quantity, kind, kept(circuit, count))
    st.metric("Faithfulness", head_circuits.faithfulness(circuit, kept(circuit, count), "", quantity.unit).share_text)
    figure(
        alone.figure,
        key="left",
        height=300,
        min_width=300,
        table=lambda: pd.DataFrame({"edges": circuit.counts, quantity.unit: circuit.values}),
        alt=alone.alt,
        caption=alone.caption,
    )


def table(circuit: HeadCircuit | None) -> pd.DataFrame:
    """Every edge that was cut."""
    if circuit is None:
        return pd.DataFrame()
    rows = zip(circuit.edges, circuit.effects, circuit.estimates, strict=True)
    return pd.DataFrame(
        [
            (
                f"{edge.sender[0]}.{edge.sender[1]}",
                f"{edge.receiver[0]}.{edge.receiver[1]}",
                edge.input,
                exact,
                estimate,
            )
            for edge, exact, estimate in rows
        ],
        columns=["from", "to", "input", "exact", "estimate"],
    )


def open_head(reading: Reading, event: Event) -> None:
    """A click on a head leads to its attention on the same text."""
    match event["customdata"]:
        case [int(layer), int(head)]:
            HeadOfText(reading.model, reading.pasted, layer, head, reading.bos).open(len(reading.ids) - 1)


SEE = (
    "Read it from below: each line is what one head writes, as it is read by a later head, and its colour says where: "
    "in the query (what the later head looks for), the key (where it can be found) or the value (what it takes along). "
    "Its width is how much what is measured falls when this line alone is cut: first by an estimate, then exactly."
)


def words(reading: Reading, asked: EdgesOfText, count: int) -> None:
    """What to see, the question, how it is computed."""
    page.what_to_see(
        f"{SEE} The curve is the test of the whole: all edges between heads are cut but those drawn. Embeddings, "
        "feed-forward layers, and what heads pass on to these and to the output stay."
    )
    metric.elsewhere("edges between heads", reading, asked.quantity)
    page.question(
        "The effects of edges that are cut one at a time need not add up to what the same edges keep when they are "
        "left alone. Why?",
        "Many edges that matter little one by one matter when they are cut together. And where two heads do the same, "
        "cutting one of them shows nothing, as the other takes its place. Move the slider and compare.",
    )
    quantity, found = asked.quantity, made(experiments.every_step, reading.model, asked)
    page.how_it_is_computed(
        page.experiment_of("The circuit", experiments.edge_graph, reading.model, found, quantity, count),
        page.experiment_of("What it keeps", experiments.edges_left, found, quantity, asked.kind, count),
        formula=(
            r"\begin{gathered}\text{estimate} = \sum_i \big(z_i W_O - z_i^{base} W_O\big) \cdot "
            r"\frac{\partial\, \text{difference}}{\partial x_i^{Q, K \text{ or } V}} \\ "
            r"\text{faithfulness} = \frac{d(\text{circuit}) - d(\text{all cut})}{d(\text{model}) - "
            r"d(\text{all cut})}\end{gathered}"
        ),
        code=(head_edges.estimate_edges, head_edges.cut_each, head_circuits.circuits_alone),
        papers=(
            "Edge attribution patching: arXiv:2310.10348, section 3; with integrated gradients, and faithfulness: "
            "arXiv:2403.17806, section 2. The example of Mary and John: arXiv:2211.00593."
        ),
        terms=("edge attribution patching", "faithfulness"),
    )
