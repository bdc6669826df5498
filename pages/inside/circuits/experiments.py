"""The experiments of the page on circuits."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.inside.attribution_graphs.diagram import Naming, largest_node, links_of, node_sum
from tfcore.analysis.inside.attribution_graphs.effects import TakenOff, feature_name, predicted_against_measured
from tfcore.analysis.inside.attribution_graphs.of_text import Drawn, Traced
from tfcore.analysis.inside.head_circuits import (
    BASELINES,
    EdgesOfText,
    HeadCircuit,
    by_estimate,
    edge_estimates,
    faithfulness,
    find_circuit,
    largest_edges,
    largest_estimates,
)
from tfcore.analysis.inside.head_edges import CutEdges, estimate_edges
from tfcore.figures.inside.attribution_graphs import forecast_figure, graph_figure, links_figure
from tfcore.figures.inside.head_circuits import edges_figure, faithfulness_figure, graph_height
from tfcore.figures.shown import Shown
from tfcore.loading.transcoders import load_transcoders
from tfcore.measures.effect_metric import Quantity, quantity_name, rival_name
from tfcore.measures.one_text import first_tokens, next_logits
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


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


def forecast(tokenizer: Tokenizer, found: Traced, tested: TakenOff) -> Shown:
    """What the graph predicts of each feature, beside what happens in the real model without it."""
    names = [feature_name(found.graph, place, tokenizer) for place in tested.nodes.tolist()]
    figure = forecast_figure(tested, names, height=400)
    return Shown(figure, (predicted_against_measured(found.graph, tested, tokenizer),))


# ---- edges between heads ----


@torch.no_grad()
def rival(
    model: Transformer, tokenizer: Tokenizer, text: str, other: str, limit: int, bos: bool | None = None
) -> int | None:
    """What the prediction is compared with at first: that of the other text, where it is another, else another name
    in the text."""
    both = [first_tokens(model, tokenizer, one, limit, bos).ids for one in (text, other)]
    best, theirs = (int(next_logits(model, ids).argmax()) if ids else None for ids in both)
    return theirs if theirs not in (best, None) else rival_name(model, both[0], tokenizer)


def estimated(
    model: Transformer, tokenizer: Tokenizer, asked: EdgesOfText
) -> Float[ndarray, "input layer head earlier_layer earlier_head"]:
    """An estimate of the fall of a quantity when each edge between heads alone is cut, of all at once."""
    ids, baseline = asked.ids(model, tokenizer), asked.baseline(model, tokenizer)
    return estimate_edges(model, ids, asked.quantity, baseline, asked.steps)


def measured(
    model: Transformer,
    tokenizer: Tokenizer,
    asked: EdgesOfText,
    estimate: Float[ndarray, "input layer head earlier_layer earlier_head"] | None = None,
) -> Iterator[CutEdges | HeadCircuit]:
    """The strongest edges cut one by one, and last the circuit that they make; `estimate` where it is known."""
    if estimate is None:
        estimate = estimated(model, tokenizer, asked)
    ids, baseline = asked.ids(model, tokenizer), asked.baseline(model, tokenizer)
    return find_circuit(model, ids, asked.quantity, baseline, estimate)


def every_step(model: Transformer, tokenizer: Tokenizer, asked: EdgesOfText) -> list[CutEdges | HeadCircuit]:
    """The same, all at once."""
    return list(measured(model, tokenizer, asked))


def edge_graph(
    model: Transformer, tokenizer: Tokenizer, found: list[CutEdges | HeadCircuit], quantity: Quantity, count: int
) -> Shown:
    """The circuit of the edges between heads that a quantity depends on most (arXiv:2310.10348)."""
    circuit = complete(found)
    edges, effects = circuit.edges[:count], circuit.effects[:count]
    figure = edges_figure(edges, effects, quantity.unit, graph_height(model.config.n_layers))
    said = largest_edges(circuit, quantity_name(quantity, tokenizer), quantity.unit)
    return Shown(figure, (said, edge_estimates(circuit)))


def first_edge_graph(
    model: Transformer,
    tokenizer: Tokenizer,
    estimate: Float[ndarray, "input layer head earlier_layer earlier_head"],
    quantity: Quantity,
    count: int,
) -> Shown:
    """The same from the estimates alone, before any edge is cut."""
    edges, effects = by_estimate(estimate)
    figure = edges_figure(edges[:count], effects[:count], quantity.unit, graph_height(model.config.n_layers))
    return Shown(figure, (largest_estimates(estimate, quantity_name(quantity, tokenizer), quantity.unit),))


def edges_left(found: list[CutEdges | HeadCircuit], quantity: Quantity, kind: str, count: int) -> Shown:
    """How much of the quantity the circuit alone keeps (arXiv:2403.17806, section 2)."""
    circuit = complete(found)
    figure = faithfulness_figure(circuit, count, quantity.unit, height=300)
    return Shown(figure, (faithfulness(circuit, count, BASELINES[kind], quantity.unit),))


def complete(found: list[CutEdges | HeadCircuit]) -> HeadCircuit:
    """The circuit, which comes last.

    Raises:
        ValueError: it is not there yet.
    """
    if not found or not isinstance(found[-1], HeadCircuit):
        raise ValueError("the edges are still being cut; the circuit comes after the last of them")
    return found[-1]
