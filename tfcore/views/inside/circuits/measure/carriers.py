"""Attention's part in the edges of an attribution graph: which head brings a contribution to where it is read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.block import Block
from tfcore.inspection.transcoders import Transcoder
from tfcore.model import Transformer
from tfcore.views.inside.circuits.measure.graph import (
    EMBEDDING,
    FEATURE,
    OUTPUT,
    FrozenRun,
    Graph,
    frozen_run,
    output_direction,
)


@dataclass(frozen=True, slots=True)
class Carried:
    """The edges from some sources to a target, by how they come to the target's token.

    Args:
        heads: what each head writes of them at that token, after all that heads and the stream brought to where it
            looked.
        direct: what was written there already. Together with all heads it is the edge.
    """

    heads: Float[ndarray, "source layer head"]
    direct: Float[ndarray, " source"]

    def largest(self, source: int, count: int) -> list[tuple[int, int, float]]:
        """The heads that carry most of one edge, by size: layer, head, contribution."""
        own = self.heads[source]
        order = np.argsort(-np.abs(own), axis=None, kind="stable")[:count]
        places = zip(*np.unravel_index(order, own.shape), strict=True)
        return [(int(layer), int(head), float(own[layer, head])) for layer, head in places]


def link_from_elsewhere(graph: Graph, targets: Sequence[int]) -> int | None:
    """The source of the largest edge from another token to a target; None where there is none."""
    elsewhere = graph.nodes.position != graph.nodes.position[targets[0]]
    reads = np.abs(graph.edges[list(targets)].sum(0)) * elsewhere
    return int(reads.argmax()) if reads.any() else None


@torch.no_grad()
def carriers(
    model: Transformer,
    transcoders: Mapping[int, Transcoder],
    graph: Graph,
    sources: Sequence[int],
    targets: Sequence[int],
) -> Carried:
    """Follow what sources write through the frozen attention layers up to a target, a layer at a time.

    The edge of a source is direct . d + sum over layers and heads of (A^h norm(x) W_V W_O)[t] . d, with x what is left
    of the source in the stream before the layer, t the target's token and d the direction in which the target reads.

    Args:
        sources, targets: places in the graph; targets are an output, or features of one layer at one token, whose
            edges are added up.
    """
    run = frozen_run(model, transcoders, graph.ids)
    blocks: list[Block] = list(model.decoder.blocks)  # type: ignore[arg-type]
    direction = torch.stack([_read_by(model, transcoders, run, graph, target) for target in targets]).sum(0)
    at, last = int(graph.nodes.position[targets[0]]), min(int(graph.nodes.layer[targets[0]]), len(blocks) - 1)
    x = run.embeddings.new_zeros(len(sources), *run.embeddings.shape)
    heads = x.new_zeros(len(sources), len(blocks), blocks[0].attn.n_heads)
    direct = x.new_zeros(len(sources))
    for layer in range(-1, last + 1):
        if layer >= 0:
            written = head_outputs(x, blocks[layer], run.patterns[layer], run.attention_scale[layer])
            heads[:, layer] = written[:, :, at] @ direction
            x = x + written.sum(1)
        for i, source in enumerate(sources):
            if int(graph.nodes.layer[source]) == layer:
                vector = _written(transcoders, run, graph, source)
                x[i, int(graph.nodes.position[source])] = vector
                if int(graph.nodes.position[source]) == at:
                    direct[i] = vector @ direction
    return Carried(heads.cpu().numpy(), direct.cpu().numpy())


def head_outputs(
    x: Float[Tensor, "source seq d_model"],
    block: Block,
    pattern: Float[Tensor, "head query key"],
    scale: Float[Tensor, "seq 1"],
) -> Float[Tensor, "source head seq d_model"]:
    """What each head of a layer writes of x, with the pattern and the scale of the norm fixed."""
    attn = block.attn
    values = (x * (block.ln1.weight / scale)) @ attn.qkv.weight[-attn.kv_heads * attn.d_head :].T
    values = values.view(*x.shape[:2], attn.kv_heads, attn.d_head).transpose(1, 2)  # (source, kv head, key, d_head)
    values = pattern @ values.repeat_interleave(attn.n_heads // attn.kv_heads, dim=1)  # (source, head, query, d_head)
    out = attn.out.weight.view(-1, attn.n_heads, attn.d_head)  # (d_model, head, d_head)
    return torch.einsum("bhqe,dhe->bhqd", values, out)


def _read_by(
    model: Transformer, transcoders: Mapping[int, Transcoder], run: FrozenRun, graph: Graph, target: int
) -> Float[Tensor, " d_model"]:
    """The direction in which a target reads the stream.

    Raises:
        ValueError: a node that reads nothing.
    """
    nodes = graph.nodes
    if nodes.kind[target] == OUTPUT:
        output = graph.outputs[target - len(nodes) + len(graph.outputs)]
        gain: Tensor = model.decoder.ln_final.weight
        return output_direction(model, output) * gain / run.final_scale
    if nodes.kind[target] != FEATURE:
        raise ValueError("a token and an error read nothing; give a feature or an output")
    layer, position = int(nodes.layer[target]), int(nodes.position[target])
    weight: Tensor = model.decoder.blocks[layer].ln2.weight  # type: ignore[union-attr, assignment]
    read = transcoders[layer].W_enc[int(nodes.feature[target])]
    return read * weight / run.mlp_scale[layer, position]


def _written(
    transcoders: Mapping[int, Transcoder], run: FrozenRun, graph: Graph, source: int
) -> Float[Tensor, " d_model"]:
    """What a node writes into the stream."""
    nodes = graph.nodes
    layer, position = int(nodes.layer[source]), int(nodes.position[source])
    if nodes.kind[source] == EMBEDDING:
        return run.embeddings[position]
    if nodes.kind[source] == FEATURE:
        return transcoders[layer].W_dec[int(nodes.feature[source])] * float(nodes.activation[source])
    missed = run.errors[layer, position]
    if layer not in transcoders:
        return missed
    here = (nodes.kind == FEATURE) & (nodes.layer == layer) & (nodes.position == position)
    active = run.activations[layer, position] > 0
    features, values = run.features[layer, position][active], run.activations[layer, position][active]
    own = torch.tensor(nodes.feature[here], device=features.device)
    joined = ~torch.isin(features, own)  # which the graph counts as error
    return missed + values[joined] @ transcoders[layer].W_dec[features[joined]]
