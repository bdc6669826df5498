"""Circuits of heads: a model in which all edges between heads are cut but some, and how much of a quantity is left."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.head_edges import (
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
from tfcore.block import Block
from tfcore.inspection.edits import Edit
from tfcore.measures.effect_metric import Quantity, measured
from tfcore.measures.one_text import first_tokens, one_text
from tfcore.measures.shared_layers import rows_at_once
from tfcore.measures.statistics import correlation
from tfcore.model import NO_LOGITS, Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

BASELINES = {"text": "what the head writes on the other text", "mean": "its mean over the tokens", "zero": "zero"}
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
        """What the heads of a layer compute from the streams that are left to each."""
        block, heads = cast("Block", self.model.decoder.blocks[layer]), range(self.model.config.n_heads)
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
class EdgesOfText:
    """Which edges between heads are asked for.

    Args:
        text, limit, bos: its first tokens; see first_tokens.
        quantity: what falls when an edge is cut.
        kind: what stands in the place of what an edge carries, a key of BASELINES.
        other: the text whose values those are, where kind is "text".
        steps: of integrated gradients; 1: one gradient.
    """

    text: str
    limit: int
    quantity: Quantity
    kind: str
    other: str
    steps: int = 1
    bos: bool | None = None

    def ids(self, model: Transformer, tokenizer: Tokenizer) -> list[int]:
        """The tokens of the text."""
        return first_tokens(model, tokenizer, self.text, self.limit, self.bos).ids

    def baseline(self, model: Transformer, tokenizer: Tokenizer) -> Baseline:
        """The ids of the other text, "mean" or "zero"."""
        if self.kind == "text":
            return tuple(first_tokens(model, tokenizer, self.other, self.limit, self.bos).ids)
        return "mean" if self.kind == "mean" else "zero"


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


# ---- findings ----


@dataclass(frozen=True, slots=True)
class LargestEdges(Finding):
    """The edges whose cut makes a quantity fall most, and the one whose cut makes it rise most.

    Args:
        of, unit: what falls, and the unit.
        edges, effects: the largest falls.
        against, rise: the edge with the lowest effect.
        measured, possible: how many edges are cut one by one, of how many; 0: effects are estimates.
    """

    of: str
    unit: str
    edges: tuple[str, ...]
    effects: tuple[float, ...]
    against: str
    rise: float
    measured: int
    possible: int

    @property
    def sentence(self) -> str:
        named = ", ".join(f"{edge} {effect:+.2f}" for edge, effect in zip(self.edges, self.effects, strict=True))
        rises = f" Working against it most: {self.against}, {self.rise:+.2f}." if self.rise < 0 else ""
        if not self.measured:
            return (
                f"Estimated fall of the {self.of} when one edge is cut, in {self.unit}, largest of {self.possible:,}: "
                f"{named}; the exact effects are to come."
            )
        return (
            f"Fall of the {self.of} when one edge is cut, in {self.unit}, exact for the {self.measured} edges with the "
            f"largest estimates of {self.possible:,}: {named}.{rises}"
        )


def largest_edges(found: HeadCircuit, of: str, unit: str) -> LargestEdges:
    """The first three."""
    edges, last = tuple(map(str, found.edges)), int(np.argmin(found.effects))
    return LargestEdges(
        of, unit, edges[:3], found.effects[:3], edges[last], found.effects[last], len(edges), found.possible
    )


def largest_estimates(
    estimate: Float[ndarray, "input layer head earlier_layer earlier_head"], of: str, unit: str
) -> LargestEdges:
    """The same of the estimates alone."""
    edges, effects = by_estimate(estimate)
    names = tuple(map(str, edges))
    return LargestEdges(of, unit, names[:3], effects[:3], "", 0.0, 0, edges_of(estimate))


@dataclass(frozen=True, slots=True)
class Faithfulness(Finding):
    """How much of a quantity a circuit keeps.

    Args:
        count, possible: edges left, of how many.
        baseline: what stands in the place of what is cut, in words.
        value, none, whole: the quantity of the circuit, with all edges between heads cut, and of the whole model.
        unit: of these.
    """

    count: int
    possible: int
    baseline: str
    value: float
    none: float
    whole: float
    unit: str

    @property
    def share(self) -> float | None:
        """(circuit - none) / (whole - none), arXiv:2403.17806, section 2; None where cutting all changes nothing."""
        gap = self.whole - self.none
        return (self.value - self.none) / gap if abs(gap) > 1e-6 else None

    @property
    def share_text(self) -> str:
        return "–" if self.share is None else f"{self.share:.0%}"

    @property
    def sentence(self) -> str:
        left = "1 edge" if self.count == 1 else f"{self.count} edges"
        ratio = (
            f", of the plain values {self.value / self.whole:.0%}" if self.unit == "logits" and self.whole > 0 else ""
        )
        return (
            f"With {left} between heads left and the other {self.possible - self.count:,} cut (in their place: "
            f"{self.baseline}): {self.value:.2f} {self.unit}; with all cut {self.none:.2f}, the whole model "
            f"{self.whole:.2f}. Faithfulness {self.share_text}{ratio}."
        )


def faithfulness(found: HeadCircuit, count: int, baseline: str, unit: str) -> Faithfulness:
    """Of the circuit of the first `count` edges."""
    value = found.values[found.counts.index(count)]
    return Faithfulness(count, found.possible, baseline, value, found.values[0], found.whole, unit)


@dataclass(frozen=True, slots=True)
class EdgeEstimates(Finding):
    """How near the estimates of the edges come: Pearson's correlation over those measured, None where there is none."""

    correlation: float | None
    edges: int

    @property
    def sentence(self) -> str:
        if self.correlation is None:
            return "Estimates and exact effects cannot be compared here."
        return f"Correlation of estimate and exact effect over these {self.edges} edges: {self.correlation:.2f}."


def edge_estimates(found: HeadCircuit) -> EdgeEstimates:
    """Over all candidates."""
    return EdgeEstimates(correlation(np.array(found.effects), np.array(found.estimates)), len(found.edges))
