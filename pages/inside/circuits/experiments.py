"""The experiments of the page on circuits."""

from collections.abc import Sequence

from tfcore.analysis.inside.attribution_graphs.diagram import Naming, largest_node, links_of, node_sum
from tfcore.analysis.inside.attribution_graphs.effects import TakenOff, feature_name, predicted_against_measured
from tfcore.analysis.inside.attribution_graphs.of_text import Drawn, Traced
from tfcore.analysis.token_text import tick_labels
from tfcore.figures.inside.attribution_graphs import forecast_figure, graph_figure, links_figure
from tfcore.figures.shown import Shown
from tfcore.loading.transcoders import load_transcoders
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
