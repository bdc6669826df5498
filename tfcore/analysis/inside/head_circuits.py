"""Circuits of heads: a model in which all edges between heads are cut but some, and how much of a quantity is left."""

from collections.abc import Sequence
from typing import cast

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.inside.head_edges import INPUTS, Baseline, Edge, HeadsRun, Place, attended, projected, read_heads
from tfcore.analysis.inside.quantities import Quantity, measured
from tfcore.analysis.inside.shared_layers import rows_compete
from tfcore.analysis.one_text import one_text
from tfcore.block import Block
from tfcore.inspection.edits import Edit
from tfcore.model import Transformer

NUMBERS = 2**26  # of the streams of all runs that share a pass: 256 MB


@torch.no_grad()
def circuits_alone(
    model: Transformer,
    ids: Sequence[int],
    quantity: Quantity,
    baseline: Baseline,
    edges: Sequence[Edge],
    counts: Sequence[int],
) -> Float[ndarray, " count"]:
    """The quantity when the first n of these edges are left, and all other edges between heads are cut.

    Each head reads the stream without what earlier heads wrote there, the baseline in its place, but for the edges that
    are left. Embeddings, feed-forward layers and what heads pass on to those and to the logits stay, as they are in
    this run: outputs change along with what their heads read (as in arXiv:2403.17806, section 2).

    Args:
        edges: in their order.
        counts: how many of them are left, once for each run; 0 cuts all.
    """
    run = read_heads(model, ids, baseline)
    senders = len({edge.sender for edge in edges})
    step = 1 if rows_compete(model.config) else max(1, NUMBERS // ((senders + 30) * run.plain.hidden.numel()))
    values = []
    for start in range(0, len(counts), step):
        some = counts[start : start + step]
        edits = _Cuts(model, run, edges, some).edits()
        hidden = model(one_text(model, ids).expand(len(some), -1), edits=edits).hidden
        values.append(measured(model, hidden, ids, quantity))
    return torch.cat(values).float().cpu().numpy()


class _Cuts:
    """The edits of a pass in which each row has a circuit of its own: they follow the pass from layer to layer.

    Args:
        counts: how many edges each row has left.
    """

    def __init__(self, model: Transformer, run: HeadsRun, edges: Sequence[Edge], counts: Sequence[int]) -> None:
        self.model, self.run = model, run
        left = torch.tensor(counts, device=model.device)
        # receiver and input -> the senders, and in which rows each is left
        self.into: dict[tuple[Place, str], list[tuple[Place, Tensor]]] = {}
        for rank, (sender, receiver, kind) in enumerate(edges):
            rows = (rank < left).to(model.dtype)[:, None, None]
            self.into.setdefault((receiver, kind), []).append((sender, rows))
        self.senders = {edge.sender for edge in edges}
        self.written: dict[Place, Float[Tensor, "row seq d_model"]] = {}  # by senders, less their baseline
        self.below: Float[Tensor, "row seq d_model"] | float = 0.0  # the same of all heads below
        self.stream = torch.empty(0)

    def edits(self) -> list[Edit]:
        """Two for each layer: one sees the stream, the other says what the heads make of it."""
        layers = range(len(self.run.z))
        seen = [Edit(f"blocks.{layer}.resid_pre", self._see) for layer in layers]
        return seen + [Edit(f"blocks.{layer}.attn.z", lambda _, layer=layer: self._heads(layer)) for layer in layers]

    def _see(self, stream: Float[Tensor, "row seq d_model"]) -> Tensor:
        self.stream = stream
        return stream

    def _heads(self, layer: int) -> Float[Tensor, "row head seq d_head"]:
        """What the heads of a layer compute from the streams that are left to each."""
        block, heads = cast("Block", self.model.decoder.blocks[layer]), range(self.model.config.n_heads)
        cut = self.stream - self.below
        read = []
        for kind in INPUTS:
            inputs = projected(block, cut[:, None], kind, heads)
            for head in heads:
                if left := self.into.get(((layer, head), kind)):
                    own = cut + sum(rows * self.written[sender] for sender, rows in left)
                    inputs[:, head] = projected(block, own[:, None], kind, [head])[:, 0]
            read.append(inputs)
        z = attended(block, read[0], read[1], read[2], self.run.mask[layer])
        results = block.attn.results(z - self.run.base[layer])  # (row, seq, head, d_model)
        self.below = self.below + results.sum(2)
        self.written |= {(layer, head): results[:, :, head] for head in heads if (layer, head) in self.senders}
        return z
