"""Views of the attribution graph of a prediction, made of transcoder features."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from tfcore.loading.transcoders import load_transcoders
from tfcore.measures.one_text import pieces_of
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.views.finding import Statement
from tfcore.views.inside.circuits import say
from tfcore.views.inside.circuits.draw.features import (
    forecast_figure,
    graph_figure,
    graph_width,
    links_figure,
    node_place,
)
from tfcore.views.inside.circuits.measure import carriers, effects, export, influence
from tfcore.views.inside.circuits.measure import diagram as diagrams
from tfcore.views.inside.circuits.measure import graph as graphs
from tfcore.views.inside.circuits.measure.diagram import Diagram, Naming
from tfcore.views.inside.circuits.measure.effects import TakenOff
from tfcore.views.inside.circuits.measure.graph import Output
from tfcore.views.inside.circuits.measure.of_text import DrawnGraph, Traced, draw_traced, take_strongest_off, trace_text
from tfcore.views.inside.circuits.measure.scores import load_graph_scores
from tfcore.views.kept import kept
from tfcore.views.sources import Reading, opened
from tfcore.views.view import View, view

MODEL = "stories"  # whose layers have transcoders
TOKENS = 24  # of a text


@dataclass(frozen=True, slots=True)
class Detail:
    """How much of a graph is drawn.

    Args:
        nodes, links: shares of the influence that those drawn have.
        grouped: whether features that do the same are joined.
        most: the strongest of these links are drawn, so many; None: all of them.
    """

    nodes: float = 0.7
    links: float = 0.8
    grouped: bool = True
    most: int | None = None


def _traced(reading: Reading, output: Output) -> Traced:
    model, tokenizer = opened(reading.model)
    return trace_text(model, tokenizer, str(reading.model), reading.text, TOKENS, output.token, output.against)


def _drawn(reading: Reading, output: Output, detail: Detail) -> DrawnGraph:
    trace, (model, tokenizer) = traced(reading, output), opened(reading.model)
    whole = draw_traced(model, tokenizer, str(reading.model), trace, detail.nodes, detail.links, grouped=detail.grouped)
    if detail.most is None:
        return whole
    return whole._replace(diagram=diagrams.strongest_links(whole.diagram, detail.most))


def _taken_off(reading: Reading, output: Output) -> TakenOff:
    return take_strongest_off(opened(reading.model)[0], str(reading.model), traced(reading, output))


traced = kept(_traced, entries=4)  # 40 MB each, of 24 tokens
drawn = kept(_drawn, entries=64)
taken_off = kept(_taken_off, entries=32)


def node_title(diagram: Diagram, node: int) -> str:
    """A name, and of a group how many there are."""
    count = len(diagram.members[node])
    return diagram.keys[node] + (f" and {count - 1} like it" if count > 1 else "")


@view
def graph(reading: Reading, output: Output, detail: Detail, node: int) -> View:
    """An attribution graph: tokens along the bottom, layers upward, the prediction on top.

    Args:
        reading: the first TOKENS tokens of a text; its model is a shipped one with transcoders.
        output: the logit that is explained.
        detail: how much is drawn.
        node: of those drawn, whose links stand out; of an output all links are alike.
    """
    trace, left = traced(reading, output), drawn(reading, output, detail)
    diagram, labels = left.diagram, tick_labels(pieces_of(opened(reading.model)[1], trace.graph.ids), 10)
    selected = None if diagram.kind[node] == graphs.OUTPUT else node
    return View(
        key="graph",
        title="The graph",
        result=left,
        chart=graph_figure(diagram, labels, selected, height=560),
        min_width=graph_width(diagram, labels),
        at=node_place(diagram, labels, node),
        findings=(say.largest_node(diagram, trace.influence),),
        note="Over a feature: a word that it promotes, or (…) the end of one; in it: how many are joined."
        + without_transcoders(str(reading.model), trace.graph.n_layers),
        metrics=say.graph_scores(trace.graph, trace.influence, left.pruned, load_graph_scores(str(reading.model))),
        table=lambda: link_table(diagram),
        formula=(
            r"\begin{gathered} a_t = \sum_s A_{ts} + b_t, \qquad A_{ts} = a_s\, d_s^\top \left[\prod_\ell "
            r"\Big(I + \sum_h A^h_\ell \otimes W_{OV}^{h\top}\Big)\right]^{\!\top} e_t \\ "
            r"\text{influence} = w\,\big((I - \hat A)^{-1} - I\big), \qquad "
            r"\hat A_{ts} = \frac{|A_{ts}|}{\sum_{s'} |A_{ts'}|} \end{gathered}"
        ),
        papers=(
            "Transcoder circuits: arXiv:2406.11944, section 4.1. Local replacement model, influence, pruning and both "
            "scores: Circuit Tracing, transformer-circuits.pub 2025, and its library circuit-tracer. TopK features: "
            "arXiv:2406.04093, section 2.3."
        ),
        terms=("attribution graph", "transcoder"),
        code=(
            graphs.attribution_graph,
            graphs.back_through_attention,
            influence.measure_influence,
            influence.prune,
            diagrams.groups,
            effects.total_effects,
            effects.take_off,
        ),
    )


def without_transcoders(name: str, n_layers: int) -> str:
    """A sentence on the layers that have no transcoder, with a space before it; "" where all have one."""
    layers = list(load_transcoders(name).by_layer)
    if len(layers) == n_layers:
        return ""
    listed = f"{', '.join(map(str, layers[:-1]))} and {layers[-1]}"
    return f" Layers {listed} have transcoders; all that the other {n_layers - len(layers)} write is error (diamonds)."


def link_table(diagram: Diagram) -> pd.DataFrame:
    """Every link that is drawn."""
    targets, sources = diagram.edges.nonzero()
    names = [node_title(diagram, node) for node in range(len(diagram.keys))]
    rows = [
        (names[source], names[target], diagram.edges[target, source])
        for target, source in zip(targets.tolist(), sources.tolist(), strict=True)
    ]
    return pd.DataFrame(rows, columns=["from", "to", "contribution"])


def _brought(model: Transformer, naming: Naming, members: Sequence[int]) -> tuple[Statement, ...]:
    """Which heads bring the largest link from another token; nothing where there is none."""
    if (source := carriers.link_from_elsewhere(naming.graph, members)) is None:
        return ()
    carried = carriers.carriers(model, naming.transcoders, naming.graph, [source], members)
    return (say.brought_by(naming, source, members[0], carried),)


@view
def links(reading: Reading, output: Output, detail: Detail, node: int) -> View:
    """Inputs of one node of a graph and the nodes that read it, over the whole graph; arguments as of `graph`."""
    trace, members = traced(reading, output), drawn(reading, output, detail).diagram.members[node]
    model, tokenizer = opened(reading.model)
    naming = Naming(model, load_transcoders(str(reading.model)).by_layer, tokenizer, *trace)
    incoming, outgoing = diagrams.links_of(naming, members)
    brought = _brought(model, naming, members)
    chart = links_figure(incoming, outgoing, height=320)
    return View(
        key="links",
        title="One node",
        result=(incoming, outgoing),
        chart=chart,
        min_width=380 * len(chart.data),
        findings=(say.node_sum(naming, members, incoming), *brought),
        code=(carriers.carriers, carriers.head_outputs),
        note="Rows: layer/feature, its token, and what it promotes most.",
    )


@view
def forecast(reading: Reading, output: Output) -> View:
    """A graph's forecast of the effect of each feature, beside what happens in the real model without it.

    Arguments as of `graph`.
    """
    trace, tested = traced(reading, output), taken_off(reading, output)
    tokenizer = opened(reading.model)[1]
    names = [effects.feature_name(trace.graph, place, tokenizer) for place in tested.nodes.tolist()]
    return View(
        key="forecast",
        title="The test",
        result=tested,
        chart=forecast_figure(tested, names, height=400),
        findings=(say.predicted_against_measured(tested, tokenizer),),
        metrics=say.forecast_details(trace.graph, tested, tokenizer),
        table=lambda: pd.DataFrame(
            {
                "feature": names,
                "predicted": tested.predicted,
                "measured": tested.measured,
                "attention and norms held": tested.frozen,
            }
        ),
    )


def graph_json(reading: Reading, output: Output, detail: Detail) -> str:
    """The part of a graph that is drawn, in the format of circuit-tracer and Neuronpedia; arguments as of `graph`."""
    trace, left = traced(reading, output), drawn(reading, output, detail)
    tokens = opened(reading.model)[1].tokens(trace.graph.ids)
    return export.to_json(trace.graph, trace.influence, left.pruned, left.diagram, tokens, str(reading.model))
