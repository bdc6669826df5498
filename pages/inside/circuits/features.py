"""Section of the page on circuits: the attribution graph of a prediction, made of transcoder features."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from pages.inside import dictionaries, metric
from pages.inside import reading as _reading
from pages.inside.reading import ReadText
from pages.ui import cache, controls, links, page
from pages.ui.components.figure import Event, place_of
from pages.ui.frame import panel
from pages.ui.loading.models import REAL
from pages.ui.reading import text_box
from tfcore.measures.effect_metric import Kind, Quantity
from tfcore.views.inside import circuits as views
from tfcore.views.inside.circuits.features import MODEL, TOKENS, Detail, drawn, graph_json, node_title
from tfcore.views.inside.circuits.measure.diagram import Diagram
from tfcore.views.inside.circuits.measure.graph import Output

CHARACTERS = 500
TEXT = _reading.BOY
BALL = "Max had a red ball. One day Max lost the red"
PARK = "Lily was very happy. She went to the park and saw a big"
HER = "There was a little girl. One day, Lily said that"
FEW, SOME, ALL = 12, 40, 0  # links that are drawn
MOST = {FEW: "the 12 strongest", SOME: "40", ALL: "all"}
MOON = "In 1969 the first people walked on the Moon. Three days later the crew came back to"
CAPITAL = "The capital of France is Paris. The capital of Italy is"
FIRST = {REAL: CAPITAL}
RIVALS = {TEXT: " she", CAPITAL: " Paris"}  # what the prediction is compared with at first, as in links of before
TRY_REAL: dict[str, dict[str, Any]] = {
    "Rome, not Paris": {"of": REAL, "story": CAPITAL, **metric.two_tokens(" Rome", " Paris")},
    "back to Earth": {"of": REAL, "story": MOON, "by": "prediction", "word": 0},
}
TRY: dict[str, dict[str, Any]] = {
    "he, not she": {"of": MODEL, "story": TEXT, **metric.two_tokens(" he", " she")},
    "she, not he": {"of": MODEL, "story": HER, **metric.two_tokens(" she", " he")},
    "a dog, not a tree": {"of": MODEL, "story": PARK, **metric.two_tokens(" dog", " tree")},
    "the red ball again": {"of": MODEL, "story": BALL, "by": "prediction", "word": 0},
}


def features() -> None:
    """Show the section."""
    box, beside = st.columns([5, 1], vertical_alignment="bottom")
    with beside:
        model = dictionaries.choose("of")
    with box:
        first = FIRST.get(model, TEXT)
        pasted = text_box(model, "Text", "story", first, CHARACTERS, height=68, named=False, end="last")
    with panel(None) as p, p.picture:
        p.examples({**(TRY_REAL if REAL in dictionaries.there() else {}), **TRY})
        reading = _reading.checked(model, pasted, TOKENS, key="story")
        picture = st.container()
        with st.container(horizontal=True, vertical_alignment="top", gap="medium"):
            output = choose_output(reading)
            with page.more_settings():
                most = controls.segmented("Links drawn", "most", list(MOST), most_links(model), MOST)
                kept = controls.slider("Nodes kept (% of influence)", "nodes", 30, 95, 70, 5)
                shown_links = controls.slider("Links kept (% of influence)", "links", 30, 98, 80, 2)
                grouped = controls.toggle("Join features that do the same", "grouped", True)
        detail = Detail(kept / 100, shown_links / 100, grouped, most or None)
        diagram = drawn(reading.whole, output, detail).diagram
        st.subheader("One node: what it reads, and what reads it", anchor=False)
        with st.container(width=330):
            node = choose_node(diagram)
        with picture:
            graph = views.graph(reading.whole, output, detail, node)
            p.show(graph, partial(click, diagram), "Click a node for its links.")
        p.show(views.links(reading.whole, output, detail, node))
        st.subheader("Does it hold in the real model?", anchor=False)
        p.show(views.forecast(reading.whole, output))
        st.download_button(
            "The graph as JSON",
            lambda: graph_json(reading.whole, output, detail).encode(),
            "attribution-graph.json",
            on_click="ignore",
            type="tertiary",
            help="In the format of circuit-tracer and Neuronpedia",
        )
        if len(reading.ids) == reading.total:  # elsewhere the text is not cut here
            token, against = output.token, output.against
            explained = Quantity("prediction", token) if against is None else Quantity("difference", token, against)
            metric.elsewhere(metric.GRAPH, reading, explained)
        p.what_to_see(
            "Read upward from the tokens: a dot is a feature, or a group of features, of one layer at one token, as "
            "large as its influence. Orange ones raise what is explained, blue ones lower it, and so do the links. "
            "Long links from one token to another go through attention. Diamonds are what the transcoders miss: paths "
            "that begin there are not explained. Features of one layer at one token are joined where every two of them "
            "have nearly the same part in all that reads them (cosine of at least 0.7), while “Join features that do "
            "the same” is on; nobody chose the groups."
        )
        p.question(
            "Why does the effect measured in the real model differ from the one that the graph predicts?",
            "The graph holds fixed where attention looks, what the norms divide by, which features are active, and the "
            "errors of the transcoders. In the real model all four may change when a feature is taken off, and later "
            "layers may make up for it. The hollow dots hold the first two fixed in the real model as well: what is "
            "still off the line there is up to the other two.",
        )


def most_links(model: str) -> int:
    """How many links are drawn at first: more where the strongest ones begin in layers without a transcoder."""
    if links.is_old("3"):
        return ALL
    return FEW if model == MODEL else SOME


def choose_output(reading: ReadText) -> Output:
    """Controls for what is explained: the logit of a token less that of another, or (None) less the mean of all."""
    offered = metric.candidates(reading, TOKENS)
    default: Kind = "prediction"
    if rival := RIVALS.get(reading.pasted):
        token = cache.model(reading.model)[1].encode(rival)[0]
        if token in offered.ids:
            default, offered = "difference", replace(offered, second=offered.ids.index(token))
    quantity = metric.choose(offered, metric.OF_TOKENS, default, section="features")
    if quantity.kind == "difference":
        return Output(quantity.token, quantity.against)
    links.forget("against")  # in links of earlier releases it names the mean
    return Output(quantity.token)


def choose_node(diagram: Diagram) -> int:
    """A control for the node whose links are listed: at first the output. The same for the keyboard as a click."""
    order = [len(diagram.keys) - 1, *np.argsort(-diagram.influence[:-1], kind="stable").tolist()]
    options: Mapping[str, str] = {diagram.keys[node]: node_title(diagram, node) for node in order}
    name = controls.select("Node", "node", list(options), diagram.keys[-1], options)
    return diagram.keys.index(name)


def click(diagram: Diagram, event: Event) -> None:
    """A click on a node chooses it."""
    if (node := place_of(event, len(diagram.keys))) is not None:
        controls.set_values(node=diagram.keys[node])
