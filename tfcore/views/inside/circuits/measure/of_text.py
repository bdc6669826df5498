"""The attribution graph of a text by a model whose transcoders ship: traced, pruned and drawn, put to the test."""

from typing import NamedTuple

from tfcore.loading.transcoders import load_transcoders
from tfcore.measures.one_text import last_tokens
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.inside.circuits.measure.diagram import ALIKE, Diagram, draw
from tfcore.views.inside.circuits.measure.effects import TakenOff, strongest, take_off
from tfcore.views.inside.circuits.measure.graph import Graph, Output, attribution_graph
from tfcore.views.inside.circuits.measure.influence import Influence, Pruned, measure_influence, prune

MANY_LAYERS = 8  # from which on
TRACED = 192  # features of a layer are traced, those with the most influence: of 24 tokens 736 are active at most


class Traced(NamedTuple):
    """A graph, and the influence of its nodes."""

    graph: Graph
    influence: Influence


class DrawnGraph(NamedTuple):
    """A pruned graph as it is drawn."""

    diagram: Diagram
    pruned: Pruned


def trace_text(
    model: Transformer, tokenizer: Tokenizer, name: str, text: str, limit: int, token: int, against: int | None
) -> Traced:
    """The attribution graph of the last tokens of a text, for one logit after them; `name` is whose transcoders."""
    ids = last_tokens(model, tokenizer, text, limit).ids
    graph = attribution_graph(
        model, load_transcoders(name).by_layer, ids, (Output(token, against),), traced_features(model)
    )
    return Traced(graph, measure_influence(graph))


def traced_features(model: Transformer) -> int | None:
    """How many features of a layer are traced; None: all, where there are few layers."""
    return TRACED if model.config.decoder_layers >= MANY_LAYERS else None


def draw_traced(
    model: Transformer, tokenizer: Tokenizer, name: str, traced: Traced, nodes: float, edges: float, grouped: bool
) -> DrawnGraph:
    """The nodes and links with most of the influence; features that do the same in one node, or each in its own."""
    graph, influence = traced
    pruned = prune(graph, influence, nodes, edges)
    dictionaries, alike = load_transcoders(name).by_layer, ALIKE if grouped else None
    return DrawnGraph(draw(model, dictionaries, tokenizer, graph, influence, pruned, alike), pruned)


def take_strongest_off(model: Transformer, name: str, traced: Traced) -> TakenOff:
    """The features with the most influence, taken off in the real model, one at a time."""
    return take_off(model, load_transcoders(name).by_layer, traced.graph, strongest(*traced))
