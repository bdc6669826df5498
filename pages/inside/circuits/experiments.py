"""The experiments of the page on circuits."""

from collections.abc import Sequence
from typing import NamedTuple

from tfcore.analysis.inside.attribution_graphs.diagram import (
    ALIKE,
    Diagram,
    Naming,
    draw,
    largest_node,
    links_of,
    node_sum,
)
from tfcore.analysis.inside.attribution_graphs.effects import (
    TakenOff,
    feature_name,
    predicted_against_measured,
    strongest,
    take_off,
)
from tfcore.analysis.inside.attribution_graphs.graph import Graph, Output, attribution_graph
from tfcore.analysis.inside.attribution_graphs.influence import (
    GraphScores,
    Influence,
    Pruned,
    graph_scores,
    measure_influence,
    prune,
)
from tfcore.analysis.one_text import first_tokens
from tfcore.analysis.token_text import tick_labels
from tfcore.figures.inside.attribution_graphs import forecast_figure, graph_figure, links_figure
from tfcore.figures.shown import Shown
from tfcore.loading.transcoders import load_transcoders
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


class Traced(NamedTuple):
    """A graph, and the influence of its nodes."""

    graph: Graph
    influence: Influence


class Drawn(NamedTuple):
    """What is left of a graph, as it is drawn, and its scores."""

    diagram: Diagram
    pruned: Pruned
    scores: GraphScores


def traced(
    model: Transformer, tokenizer: Tokenizer, name: str, text: str, limit: int, token: int, against: int | None
) -> Traced:
    """The attribution graph of the first tokens of a text, for one logit after them; `name` is whose transcoders."""
    ids = first_tokens(model, tokenizer, text, limit).ids
    graph = attribution_graph(model, load_transcoders(name).of_mlps, ids, (Output(token, against),))
    return Traced(graph, measure_influence(graph))


def drawn(
    model: Transformer, tokenizer: Tokenizer, name: str, found: Traced, nodes: float, edges: float, grouped: bool
) -> Drawn:
    """The nodes and links with most of the influence; features that do the same in one node, or each in its own."""
    graph, influence = found
    pruned = prune(graph, influence, nodes, edges)
    dictionaries, alike = load_transcoders(name).of_mlps, ALIKE if grouped else None
    diagram = draw(model, dictionaries, tokenizer, graph, influence, pruned, alike)
    return Drawn(diagram, pruned, graph_scores(graph, influence, pruned))


def graph(tokenizer: Tokenizer, found: Traced, left: Drawn, selected: int | None) -> Shown:
    """An attribution graph: tokens along the bottom, layers upward, the prediction on top."""
    labels = tick_labels(tokenizer.tokens(found.graph.ids), 10)
    figure = graph_figure(left.diagram, labels, selected, height=560)
    return Shown(figure, (largest_node(left.diagram, found.influence), left.scores))


def node(model: Transformer, tokenizer: Tokenizer, name: str, found: Traced, members: Sequence[int]) -> Shown:
    """What one node reads and what reads it, over the whole graph."""
    naming = Naming(model, load_transcoders(name).of_mlps, tokenizer, *found)
    incoming, outgoing = links_of(naming, members)
    return Shown(links_figure(incoming, outgoing, height=320), (node_sum(naming, members, incoming),))


def taken_off(model: Transformer, name: str, found: Traced) -> TakenOff:
    """The features with the most influence, taken off in the real model, one at a time."""
    return take_off(model, load_transcoders(name).of_mlps, found.graph, strongest(*found))


def forecast(tokenizer: Tokenizer, found: Traced, tested: TakenOff) -> Shown:
    """What the graph predicts of each feature, beside what happens in the real model without it."""
    names = [feature_name(found.graph, place, tokenizer) for place in tested.nodes.tolist()]
    figure = forecast_figure(tested, names, height=400)
    return Shown(figure, (predicted_against_measured(found.graph, tested, tokenizer),))
