"""Each claim of an attribution graph put to the test: features taken off in the real model, and what was predicted."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.inspection.edits import Edit
from tfcore.inspection.transcoders import Transcoder
from tfcore.measures.one_text import one_text, piece_of
from tfcore.measures.shared_layers import BATCH, plain_run
from tfcore.measures.token_text import visible
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.inside.circuits.measure.graph import FEATURE, Graph, Output, output_direction
from tfcore.views.inside.circuits.measure.influence import Influence

FROZEN = ("ln1.scale", "attn.pattern", "ln2.scale")  # of each block, by the graph
TESTED = 48  # features that are taken off at most, those with the most influence


@dataclass(frozen=True, slots=True)
class TakenOff:
    """The first of a graph's outputs with features taken off, one at a time.

    Args:
        nodes: their places in the graph.
        predicted: by how much the logit falls, as the graph says: along all its paths.
        direct: the same along the edge to the output alone.
        measured: by how much it falls in the real model.
        frozen: the same where attention patterns, the scales of the norms and what feed-forward layers without a
            transcoder write stay what they are, as in the graph.
        output: what is measured.
        value: its value in the model as it is.
    """

    nodes: Int[ndarray, " feature"]
    predicted: Float[ndarray, " feature"]
    direct: Float[ndarray, " feature"]
    measured: Float[ndarray, " feature"]
    frozen: Float[ndarray, " feature"]
    output: Output
    value: float


def total_effects(graph: Graph) -> Float[ndarray, " node"]:
    """The fall of the first output without each node, along all paths of the graph.

    A feature that loses the share edges[target, source] / activation of what it reads writes that much less:
    effect = e + e M + e M^2 + ... with e the edges to the output and M[t, s] = edges[t, s] / activation[t].
    """
    first = len(graph.nodes) - len(graph.outputs)
    effects = graph.edges[first].astype(np.float64)
    for layer in reversed(range(graph.n_layers)):
        start, stop = np.searchsorted(graph.nodes.layer, [layer, layer + 1])
        features = np.flatnonzero(graph.nodes.kind[start:stop] == FEATURE) + start
        effects[:start] += (effects[features] / graph.nodes.activation[features]) @ graph.edges[features, :start]
    return effects


def strongest(graph: Graph, influences: Influence, count: int = TESTED) -> Int[ndarray, " feature"]:
    """The features with the most influence, in the order of the graph."""
    features = graph.of_kind(FEATURE)
    return np.sort(features[np.argsort(-influences.nodes[features], kind="stable")[:count]])


@torch.no_grad()
def take_off(
    model: Transformer, transcoders: Mapping[int, Transcoder], graph: Graph, places: Int[ndarray, " feature"]
) -> TakenOff:
    """Take features off in the real model, one at a time: from what its feed-forward layer writes at the feature's
    position, activation times row of W_dec is subtracted. Attention, norms and all later layers answer as they do; a
    second time only the feed-forward layers that have a transcoder answer.
    """
    run, output = plain_run(model, graph.ids), graph.outputs[0]
    read = output_direction(model, output)
    value = float(run.hidden[:, -1] @ read)
    nodes, seq = graph.nodes, len(graph.ids)
    of_layer = [
        [f"blocks.{i}.{part}" for part in (*FROZEN, *(() if i in transcoders else ("mlp_out",)))]
        for i in range(graph.n_layers)
    ]
    names = [*(name for own in of_layer for name in own), "ln_final.scale"]
    # a pass of its own: one that keeps patterns computes attention another way, which differs by rounding
    as_is = model.activations(one_text(model, graph.ids), names)
    measured, frozen = np.zeros(len(places)), np.zeros(len(places))
    for layer in range(graph.n_layers):
        chosen = np.flatnonzero(nodes.layer[places] == layer)
        for some in (chosen[i : i + BATCH] for i in range(0, len(chosen), BATCH)):
            at = places[some]
            rows = transcoders[layer].W_dec[torch.tensor(nodes.feature[at])]
            size = torch.tensor(nodes.activation[at][:, None]).to(rows)
            change = rows.new_zeros(len(at), seq, model.config.d_model)
            change[torch.arange(len(at)), torch.tensor(nodes.position[at])] = -rows * size
            stream = run.streams[layer].expand(len(at), -1, -1)
            lost = Edit.add(f"blocks.{layer}.mlp_out", change)
            above = [*(name for own in of_layer[layer:] for name in own), "ln_final.scale"]
            held = [Edit.replace(name, as_is[name].expand(len(at), *as_is[name].shape[1:])) for name in above]
            for fallen, edits in ((measured, [lost]), (frozen, [lost, *held])):
                hidden = model.resume(stream, layer, edits=edits)
                fallen[some] = value - (hidden[:, -1] @ read).cpu().numpy()
    first = len(nodes) - len(graph.outputs)
    predicted = total_effects(graph)[places]
    return TakenOff(places, predicted, graph.edges[first, places].astype(np.float64), measured, frozen, output, value)


def feature_name(graph: Graph, place: int, tokenizer: Tokenizer) -> str:
    """The name of a feature, as in "feature 2/517 at '·red' (12)": layer, number, token and position."""
    nodes = graph.nodes
    position = int(nodes.position[place])
    token = visible(piece_of(tokenizer, graph.ids[position]))
    return f"feature {nodes.layer[place]}/{nodes.feature[place]} at '{token}' ({position})"
