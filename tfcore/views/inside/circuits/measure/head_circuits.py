"""Circuits of heads: a model in which all edges between heads are cut but some, and how much of a quantity is left."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.block import Block
from tfcore.inspection.edits import Edit
from tfcore.measures.effect_metric import Quantity, measured, rival_name
from tfcore.measures.one_text import last_tokens, next_logits, one_text
from tfcore.measures.shared_layers import rows_at_once
from tfcore.model import NO_LOGITS, Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.inside.circuits.measure.head_edges import (
    INPUTS,
    Baseline,
    CutEdges,
    Edge,
    HeadsRun,
    Place,
    attended,
    cut_each,
    effect_of,
    projected,
    read_heads,
    strongest_edges,
)

CANDIDATES = 64  # edges with the largest estimates, which are cut one by one
COUNTS = (0, 1, 2, 3, 5, 8, 12, 16, 20, 25, 30, 40, 50, CANDIDATES)  # edges left, in the runs of a measurement
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
    step = rows_at_once(model.config, NUMBERS // ((senders + 30) * run.plain.hidden.numel()))
    values = []
    for start in range(0, len(counts), step):
        some = counts[start : start + step]
        edits = _Cuts(model, run, edges, some).edits()
        hidden = model(one_text(model, ids).expand(len(some), -1), edits=edits, logits_to_keep=NO_LOGITS).hidden
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
        for rank, edge in enumerate(edges):
            rows = (rank < left).to(model.dtype)[:, None, None]
            self.into.setdefault((edge.receiver, edge.input), []).append((edge.sender, rows))
        self.senders = {edge.sender for edge in edges}
        self.written: dict[Place, Float[Tensor, "row seq d_model"]] = {}  # by senders, less their baseline
        self.below: Float[Tensor, "row seq d_model"] | float = 0.0  # the same of all heads below
        self.stream = torch.empty(0)

    def edits(self) -> list[Edit]:
        """Two for each layer: one sees the stream, the other says what the heads make of it."""
        layers = range(len(self.run.z))
        seen = [Edit(f"blocks.{layer}.resid_pre", self._see) for layer in layers]
        return seen + [Edit(f"blocks.{layer}.attn.z", partial(self._heads, layer)) for layer in layers]

    def _see(self, stream: Float[Tensor, "row seq d_model"]) -> Tensor:
        self.stream = stream
        return stream

    def _heads(self, layer: int, _: Tensor) -> Float[Tensor, "row head seq d_head"]:
        """The outputs of a layer's heads from the streams that are left to each."""
        block, heads = cast("Block", self.model.decoder.blocks[layer]), range(self.model.config.attention.n_heads)
        cut = self.stream - self.below
        read = []
        for kind in INPUTS:
            inputs = projected(block, cut[:, None], kind, heads)
            for head in heads:
                if left := self.into.get(((layer, head), kind)):
                    own = cut + sum(rows * self.written[sender] for sender, rows in left)
                    inputs[:, head] = projected(block, own[:, None], kind, [head]).squeeze(1)
            read.append(inputs)
        z = attended(block, read[0], read[1], read[2], self.run.mask[layer])
        results = block.attn.results(z - self.run.base[layer])  # (row, seq, head, d_model)
        self.below = self.below + results.sum(2)
        self.written |= {(layer, head): results[:, :, head] for head in heads if (layer, head) in self.senders}
        return z


@dataclass(frozen=True, slots=True)
class HeadCircuit:
    """The edges between the heads of a model that a quantity depends on most.

    Args:
        edges, effects: the candidates, and the exact fall when each alone is cut: the largest fall first.
        estimates: of the same.
        counts, values: how many of the first of them are left when all other edges between heads are cut, and the
            quantity then.
        whole: the quantity of the whole model.
        possible: how many edges there are.
    """

    edges: tuple[Edge, ...]
    effects: tuple[float, ...]
    estimates: tuple[float, ...]
    counts: tuple[int, ...]
    values: tuple[float, ...]
    whole: float
    possible: int

    def value(self, count: int) -> float:
        """The quantity of the circuit of the first `count` edges."""
        return self.values[self.counts.index(count)]

    def share(self, count: int) -> float | None:
        """The share of the quantity that the circuit of the first `count` edges keeps: (circuit - none) / (whole -
        none), arXiv:2403.17806, section 2; None where cutting all changes nothing."""
        none = self.value(0)
        gap = self.whole - none
        return (self.value(count) - none) / gap if abs(gap) > 1e-6 else None


def find_circuit(
    model: Transformer,
    ids: Sequence[int],
    quantity: Quantity,
    baseline: Baseline,
    estimate: Float[ndarray, "input layer head earlier_layer earlier_head"],
) -> Iterator[CutEdges | HeadCircuit]:
    """Cut the CANDIDATES one by one, order them by what leaving each out costs, and run the model with the first of
    them alone. Yields the effects layer by layer, and last the circuit.

    Args:
        estimate: from estimate_edges, for the same.
    """
    cuts = []
    for cut in cut_each(model, ids, quantity, baseline, strongest_edges(estimate, CANDIDATES)):
        cuts.append(cut)
        yield cut
    falls = [pair for cut in cuts for pair in zip(cut.edges, cut.effects, strict=True)]
    falls.sort(key=lambda pair: -pair[1])
    edges = [edge for edge, _ in falls]
    counts = [count for count in COUNTS if count < len(edges)] + [len(edges)]
    values = circuits_alone(model, ids, quantity, baseline, edges, counts)
    with torch.no_grad():
        whole = measured(model, model(one_text(model, ids), logits_to_keep=NO_LOGITS).hidden, ids, quantity)
    yield HeadCircuit(
        tuple(edges),
        tuple(fall for _, fall in falls),
        tuple(effect_of(estimate, edge) for edge in edges),
        tuple(counts),
        tuple(values.tolist()),
        float(whole),
        edges_of(estimate),
    )


@torch.no_grad()
def first_rival(
    model: Transformer, tokenizer: Tokenizer, text: str, other: str, limit: int, bos: bool | None = None
) -> int | None:
    """The token that the prediction of a text is compared with at first: that of the other text, where it is another,
    else another name in the text; None where there is none.

    Args:
        limit, bos: see last_tokens.
    """
    both = [last_tokens(model, tokenizer, one, limit, bos).ids for one in (text, other)]
    best, theirs = (int(next_logits(model, ids).argmax()) if ids else None for ids in both)
    return theirs if theirs not in (best, None) else rival_name(model, both[0], tokenizer)


def edges_of(estimate: Float[ndarray, "input layer head earlier_layer earlier_head"]) -> int:
    """How many edges a model has: three for each pair of heads of which one is in a later layer."""
    kinds, layers, heads = estimate.shape[:3]
    return kinds * heads * heads * layers * (layers - 1) // 2


def by_estimate(
    estimate: Float[ndarray, "input layer head earlier_layer earlier_head"],
) -> tuple[tuple[Edge, ...], tuple[float, ...]]:
    """The candidates and their estimates, the largest fall first: what is there before the exact effects."""
    pairs = [(edge, effect_of(estimate, edge)) for edge in strongest_edges(estimate, CANDIDATES)]
    pairs.sort(key=lambda pair: -pair[1])
    return tuple(edge for edge, _ in pairs), tuple(effect for _, effect in pairs)
