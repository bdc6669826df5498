"""Section of the page on circuits: the attribution graph of a prediction, made of transcoder features."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import streamlit as st

from pages.inside import metric
from pages.inside import reading as _reading
from pages.inside.circuits import experiments
from pages.inside.reading import Reading
from pages.ui import cache, controls, links, page, text
from pages.ui.components.figure import Event, figure, place_of
from pages.ui.loading import models
from pages.ui.program import made
from tfcore.analysis.inside.attribution_graphs import diagram as diagrams
from tfcore.analysis.inside.attribution_graphs import effects, influence
from tfcore.analysis.inside.attribution_graphs import graph as graphs
from tfcore.analysis.inside.attribution_graphs.effects import TakenOff
from tfcore.analysis.inside.attribution_graphs.export import to_json
from tfcore.analysis.inside.attribution_graphs.of_text import Drawn, Traced, draw_traced, take_strongest_off, trace_text
from tfcore.figures.inside.attribution_graphs import graph_width, node_place
from tfcore.measures.effect_metric import Kind, Quantity

MODEL = "stories"
TOKENS = 24
CHARACTERS = 500
TEXT = _reading.BOY
BALL = "Max had a red ball. One day Max lost the red"
PARK = "Lily was very happy. She went to the park and saw a big"
HER = "There was a little girl. One day, Lily said that"
TRY: dict[str, dict[str, Any]] = {
    "he, not she": {"story": TEXT, **metric.two_tokens(" he", " she")},
    "she, not he": {"story": HER, **metric.two_tokens(" she", " he")},
    "a dog, not a tree": {"story": PARK, **metric.two_tokens(" dog", " tree")},
    "the red ball again": {"story": BALL, "by": "prediction", "word": 0},
}


@cache.shared(max_entries=4)
def traced(pasted: str, token: int, against: int | None) -> Traced:
    """The whole graph; 40 MB at 24 tokens."""
    return trace_text(*cache.model(MODEL), MODEL, pasted, TOKENS, token, against)


@cache.data(max_entries=64)
def drawn(pasted: str, token: int, against: int | None, nodes: float, edges: float, grouped: bool) -> Drawn:
    found = traced(pasted, token, against)
    return draw_traced(*cache.model(MODEL), MODEL, found, nodes, edges, grouped)


@cache.data(max_entries=32)
def taken_off(pasted: str, token: int, against: int | None) -> TakenOff:
    return take_strongest_off(cache.model(MODEL)[0], MODEL, traced(pasted, token, against))


def features() -> None:
    """The section."""
    pasted = controls.text_area("Text", "story", TEXT, CHARACTERS, height=68, named=False)
    page.try_this(TRY)
    reading = _reading.checked(MODEL, pasted, TOKENS)
    picture = st.container()
    with st.container(horizontal=True, vertical_alignment="top", gap="medium"):
        token, against = choose_output(reading)
        with page.more_settings():
            kept = controls.slider("Nodes kept (% of influence)", "nodes", 30, 95, 70, 5)
            shown_links = controls.slider("Links kept (% of influence)", "links", 30, 98, 80, 2)
            grouped = controls.toggle("Join features that do the same", "grouped", True)
    given = pasted, token, against
    found, left = traced(*given), drawn(*given, kept / 100, shown_links / 100, grouped)
    st.subheader("One node: what it reads, and what reads it", anchor=False)
    with st.container(width=330):
        node = choose_node(left)
    highlighted = None if left.diagram.kind[node] == graphs.OUTPUT else node
    tokenizer = cache.model(MODEL)[1]
    shown = experiments.graph(tokenizer, found, left, highlighted)
    labels = text.tick_labels(reading.tokens, 10)
    with picture:
        figure(
            shown.figure,
            key="graph",
            height=560,
            min_width=graph_width(left.diagram, labels),
            at=node_place(left.diagram, labels, node),
            on_click=partial(click, left),
            table=lambda: table(left),
            alt=shown.alt,
            caption=f"{shown.caption} Numbers at features: their effect on the output, in logits, as the graph "
            "predicts it; a number in a node: a group of that many. Click a node for its links.",
        )
        models.only(MODEL, "transcoders are trained for its layers alone.")
    begun = made(trace_text, MODEL, MODEL, pasted, TOKENS, token, against)
    programs = [
        page.experiment_of(
            "The graph",
            experiments.graph,
            MODEL,
            begun,
            made(draw_traced, MODEL, MODEL, begun, kept / 100, shown_links / 100, grouped),
            highlighted,
        )
    ]
    one_node(found, left, node)
    programs.append(test_it(given, found, begun))
    st.download_button(
        "The graph as JSON",
        lambda: to_json(found.graph, found.influence, left.pruned, left.diagram, reading.tokens, MODEL).encode(),
        "attribution-graph.json",
        on_click="ignore",
        type="tertiary",
        help="In the format of circuit-tracer and Neuronpedia",
    )
    if len(reading.ids) == reading.total:  # elsewhere the text is not cut here
        explained = Quantity("prediction", token) if against is None else Quantity("difference", token, against)
        metric.elsewhere(metric.GRAPH, reading, explained)
    words(programs)


def choose_output(reading: Reading) -> tuple[int, int | None]:
    """Controls for what is explained: the logit of a token less that of another, or (None) less the mean of all."""
    offered = metric.candidates(reading, TOKENS)
    default: Kind = "prediction"
    if reading.pasted == TEXT:  # “he” against “she”, as in links of the first release
        default, she = "difference", cache.model(MODEL)[1].encode(" she")[0]
        offered = replace(offered, second=offered.ids.index(she))
    quantity = metric.choose(offered, metric.OF_TOKENS, default, section="features")
    if quantity.kind == "difference":
        return quantity.token, quantity.against
    links.forget("against")  # in links of earlier releases it names the mean
    return quantity.token, None


def choose_node(left: Drawn) -> int:
    """A control for the node whose links are listed: at first the output. The same for the keyboard as a click."""
    diagram = left.diagram
    order = [len(diagram.keys) - 1, *np.argsort(-diagram.influence[:-1], kind="stable").tolist()]
    options: Mapping[str, str] = {diagram.keys[node]: title(left, node) for node in order}
    name = controls.select("Node", "node", list(options), diagram.keys[-1], options)
    return diagram.keys.index(name)


def title(left: Drawn, node: int) -> str:
    """A name, and of a group how many there are."""
    count = len(left.diagram.members[node])
    return left.diagram.keys[node] + (f" and {count - 1} like it" if count > 1 else "")


def click(left: Drawn, event: Event) -> None:
    """A click on a node chooses it."""
    if (node := place_of(event, len(left.diagram.keys))) is not None:
        controls.set_values(node=left.diagram.keys[node])


def table(left: Drawn) -> pd.DataFrame:
    """Every link in the picture."""
    diagram = left.diagram
    targets, sources = diagram.edges.nonzero()
    names = [title(left, node) for node in range(len(diagram.keys))]
    rows = [
        (names[source], names[target], diagram.edges[target, source])
        for target, source in zip(targets.tolist(), sources.tolist(), strict=True)
    ]
    return pd.DataFrame(rows, columns=["from", "to", "contribution"])


def one_node(found: Traced, left: Drawn, node: int) -> None:
    """What the chosen node reads, and what reads it."""
    shown = experiments.node(*cache.model(MODEL), MODEL, found, left.diagram.members[node])
    figure(
        shown.figure,
        key="links",
        height=320,
        min_width=380 * len(shown.figure.data),
        alt=shown.alt,
        caption=f"{shown.caption} Nothing is left out of these sums. Rows: layer/feature, its token, and the token "
        "that it promotes most.",
    )


def test_it(given: tuple[str, int, int | None], found: Traced, begun: Any) -> page.Experiment:
    """The graph's claims in the real model."""
    st.subheader("Does it hold in the real model?", anchor=False)
    tested = taken_off(*given)
    shown = experiments.forecast(cache.model(MODEL)[1], found, tested)
    names = [effects.feature_name(found.graph, place, cache.model(MODEL)[1]) for place in tested.nodes.tolist()]
    figure(
        shown.figure,
        key="forecast",
        height=400,
        table=lambda: pd.DataFrame(
            {
                "feature": names,
                "predicted": tested.predicted,
                "measured": tested.measured,
                "attention and norms held": tested.frozen,
            }
        ),
        alt=shown.alt,
        caption=f"{shown.caption} Hollow: attention and the norms' scales stay as they are. Dotted: measured as "
        "predicted.",
    )
    return page.experiment_of(
        "The test", experiments.forecast, MODEL, begun, made(take_strongest_off, MODEL, MODEL, begun)
    )


def words(programs: list[page.Experiment]) -> None:
    """What to see, sources, the question."""
    page.what_to_see(
        "Read upward from the tokens: a dot is a feature, or a group of features, of one layer at one token, as large "
        "as its influence. Orange ones raise what is explained, blue ones lower it, and so do the links. Long links "
        "from one token to another go through attention. Diamonds are what the transcoders miss: paths that begin "
        "there are not explained. Features of one layer at one token are joined where every two of them have nearly "
        "the same part in all that reads them (cosine of at least 0.7), while “Join features that do the same” is on; "
        "nobody chose the groups."
    )
    page.question(
        "Why does the effect measured in the real model differ from the one that the graph predicts?",
        "The graph holds fixed where attention looks, what the norms divide by, which features are active, and the "
        "errors of the transcoders. In the real model all four may change when a feature is taken off, and later "
        "layers may make up for it. The hollow dots hold the first two fixed in the real model as well: what is still "
        "off the line there is up to the other two.",
    )
    page.how_it_is_computed(
        *programs,
        formula=(
            r"\begin{gathered} a_t = \sum_s A_{ts} + b_t, \qquad A_{ts} = a_s\, d_s^\top \left[\prod_\ell "
            r"\Big(I + \sum_h A^h_\ell \otimes W_{OV}^{h\top}\Big)\right]^{\!\top} e_t \\ "
            r"\text{influence} = w\,\big((I - \hat A)^{-1} - I\big), \qquad "
            r"\hat A_{ts} = \frac{|A_{ts}|}{\sum_{s'} |A_{ts'}|} \end{gathered}"
        ),
        code=(
            graphs.attribution_graph,
            graphs.back_through_attention,
            influence.measure_influence,
            influence.prune,
            diagrams.groups,
            effects.total_effects,
            effects.take_off,
        ),
        papers=(
            "Transcoder circuits: arXiv:2406.11944, section 4.1. Local replacement model, influence, pruning and both "
            "scores: Circuit Tracing, transformer-circuits.pub 2025, and its library circuit-tracer. TopK features: "
            "arXiv:2406.04093, section 2.3."
        ),
        terms=("attribution graph", "transcoder"),
    )
