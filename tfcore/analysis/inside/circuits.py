"""Circuits of two heads: composition scores from the weights alone, and path patching."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from tfcore.analysis.finding import Finding
from tfcore.inspection.edits import Edit
from tfcore.measures.heads.compositions import INPUTS, Composition, theory
from tfcore.measures.heads.induction_heads import Place, listed, zeroed_heads
from tfcore.measures.heads.kinds import mean_weight, targets
from tfcore.model import Transformer


@dataclass(frozen=True, slots=True)
class PatchedRun:
    """Attention and losses with one input of the receivers patched.

    Args:
        patched: "none", "query", "key", "value", or "all": the senders are ablated for every reader.
        induction: mean weight of the receivers on the token after the earlier occurrence of the query token.
        first_loss, second_loss: nats per token on the first copy and on the second.
    """

    patched: str
    induction: float
    first_loss: float
    second_loss: float


@torch.no_grad()
def patch_paths(
    model: Transformer, ids: Int[Tensor, "rows seq"], length: int, senders: Sequence[Place], receivers: Sequence[Place]
) -> list[PatchedRun]:
    """Path patching: for Q, K and V in turn, replace what `receivers` read with its value from a run without `senders`.

    All else of the run is unchanged (arXiv:2304.05969). The patched runs share the layers below the receivers, in
    which nothing changes.

    Args:
        ids: (rows, 2 * length), each row a sequence followed by itself.
    """
    ids = ids.to(model.device)
    layers = sorted({layer for layer, _ in receivers})
    first = layers[0] if layers else model.config.n_layers - 1
    stream, patterns = f"blocks.{first}.resid_pre", [f"blocks.{layer}.attn.pattern" for layer in layers]
    inputs = [f"blocks.{layer}.attn.{part}" for layer in layers for part in INPUTS.values()]
    plain = model(ids, capture=[stream, *patterns])
    without = model(ids, capture=[*inputs, *patterns], edits=zeroed_heads(senders))
    edits = edits_of_receivers(model, without.activations, receivers)
    runs = {"none": (plain.logits, plain.activations)}
    for patched, part in INPUTS.items():
        seen: dict[str, Tensor] = {}
        looks = [Edit(name, partial(_note, seen, name)) for name in patterns]
        own = [edit for edit in edits if edit.name.endswith(f".{part}")]
        hidden = model.resume(plain.activations[stream], first, edits=[*own, *looks])
        runs[patched] = cast("Tensor", model.to_logits(hidden)), seen
    runs["all"] = without.logits, without.activations
    return [_patched_run(patched, *run, ids, length, receivers) for patched, run in runs.items()]


def _note(seen: dict[str, Tensor], name: str, value: Tensor) -> Tensor:
    """Keep an activation of a pass and leave it as it is."""
    seen[name] = value
    return value


def _patched_run(
    patched: str,
    logits: Float[Tensor, "rows seq vocab"],
    activations: Mapping[str, Tensor],
    ids: Int[Tensor, "rows seq"],
    length: int,
    receivers: Sequence[Place],
) -> PatchedRun:
    losses = F.cross_entropy(logits[:, :-1].float().flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
    losses = losses.unflatten(0, (len(ids), -1))
    looked = [activations[f"blocks.{layer}.attn.pattern"][:, head] for layer, head in receivers]
    induction = 0.0
    if looked:
        patterns = torch.stack(looked, dim=1).float().cpu().numpy()  # (rows, receiver, query, key)
        rows = zip(patterns, ids.cpu().numpy(), strict=True)
        induction = float(np.mean([mean_weight(own[None], targets(row)["induction"]) for own, row in rows]))
    return PatchedRun(patched, induction, float(losses[:, : length - 1].mean()), float(losses[:, length:].mean()))


def edits_of_receivers(model: Transformer, found: Mapping[str, Tensor], receivers: Sequence[Place]) -> list[Edit]:
    """Edits that give the receivers the queries, keys and values of another run, whose activations are in `found`."""
    group = model.config.n_heads // model.config.kv_heads  # query heads that share a KV head
    edits = []
    for layer, head in receivers:
        for part in INPUTS.values():
            at, name = head if part == "q" else head // group, f"blocks.{layer}.attn.{part}"
            edits.append(Edit.replace(name, found[name][:, [at]], heads=[at]))
    return edits


# ---- findings ----


@dataclass(frozen=True, slots=True)
class HighestComposition(Finding):
    """The pair of heads with the highest score, for Q, K and V, beside the score of random matrices.

    Args:
        layer: of the later heads.
        best: "query", "key" or "value" -> (score, earlier head, later head).
        random, spread: mean and standard deviation of the score of random matrices of the same shapes.
        d_model: the width, from which theory gives 1 / sqrt(d_model).
    """

    layer: int
    best: dict[str, tuple[float, Place, Place]]
    random: float
    spread: float
    d_model: int

    @property
    def sentence(self) -> str:
        best = "; ".join(
            f"{kind[0].upper()} {score:.3f} ({listed([earlier])} to {listed([later])})"
            for kind, (score, earlier, later) in self.best.items()
        )
        return (
            f"Composition scores of the heads of layer {self.layer} with every head below. Highest: {best}. Random "
            f"matrices: {self.random:.3f} ± {self.spread:.3f} (theory: 1/√{self.d_model} = {theory(self.d_model):.3f})."
        )


def highest_composition(result: Composition, layer: int, d_model: int) -> HighestComposition:
    """The highest score of each kind."""
    best = {}
    for kind, scores in result.scores.items():
        head, below, earlier = (int(i) for i in np.unravel_index(scores.argmax(), scores.shape))
        best[kind] = float(scores.max()), (below, earlier), (layer, head)
    return HighestComposition(layer, best, result.random, result.spread, d_model)


MOST_PAIRS = 2_500  # of heads, up to which all are drawn: a figure of 80,000 dots takes 2.5 MB and half a minute
HIGHEST_PAIRS = 800  # of more, how many of the highest are drawn at least


@dataclass(frozen=True, slots=True)
class DrawnPairs(Finding):
    """Which pairs of heads a figure shows, where there are too many for all.

    Args:
        pairs: of each kind.
        highest: of these are drawn, the highest.
        every: of the others every second, third ... is drawn, in the order of their scores.
    """

    pairs: int
    highest: int
    every: int

    @property
    def sentence(self) -> str:
        return (
            f"Of {self.pairs:,} pairs of each kind the {self.highest:,} highest are drawn and, in the order of their "
            f"scores, one in {self.every} of the others."
        )


def drawn_pairs(pairs: int) -> DrawnPairs | None:
    """Which of so many pairs are drawn; None: all."""
    if pairs <= MOST_PAIRS:
        return None
    return DrawnPairs(pairs, HIGHEST_PAIRS, math.ceil((pairs - HIGHEST_PAIRS) / (MOST_PAIRS - HIGHEST_PAIRS)))


def places_of_drawn(result: Composition) -> dict[str, list[int]]:
    """Kind -> where the pairs that are drawn stand in its flattened scores, the highest first."""
    found = {}
    for kind, scores in result.scores.items():
        order, some = np.argsort(-scores.ravel(), kind="stable").tolist(), drawn_pairs(scores.size)
        found[kind] = order if some is None else order[: some.highest] + order[some.highest :: some.every]
    return found


@dataclass(frozen=True, slots=True)
class CircuitComposition(Finding):
    """The composition that stands out between previous-token heads and the induction heads of a layer.

    Args:
        layer: of the induction heads.
        best: "query", "key" or "value" -> the highest score of such a pair; empty where there is no pair.
        above: the same in standard deviations above random matrices.
    """

    layer: int
    best: dict[str, float]
    above: dict[str, float]

    @property
    def most(self) -> str:
        """The kind that is farthest above random matrices."""
        return max(self.above, key=lambda kind: self.above[kind])

    @property
    def sentence(self) -> str:
        if not self.best:
            return f"No induction head of layer {self.layer} has a previous-token head below it."
        numbers = ", ".join(
            f"{kind[0].upper()} {self.best[kind]:.3f} ({self.above[kind]:+.0f} σ)" for kind in self.best
        )
        return (
            f"From a previous-token head to an induction head of layer {self.layer}, "
            f"{self.most[0].upper()}-composition stands out most from random matrices: {numbers}."
        )


def circuit_composition(
    result: Composition, layer: int, senders: Sequence[Place], receivers: Sequence[Place]
) -> CircuitComposition:
    """The highest score of each kind over all pairs of a sender and a receiver in `layer`."""
    pairs = [(head, *one) for at, head in receivers if at == layer for one in senders if one[0] < layer]
    if not pairs:
        return CircuitComposition(layer, {}, {})
    best = {kind: max(float(scores[pair]) for pair in pairs) for kind, scores in result.scores.items()}
    above = {kind: (score - result.random) / result.spread for kind, score in best.items()}
    return CircuitComposition(layer, best, above)


@dataclass(frozen=True, slots=True)
class PatchedLosses(Finding):
    """Loss on the second copy with one input of the receivers patched at a time.

    Args:
        senders, receivers: the heads that are ablated, and those whose inputs are patched.
        losses: "none", "query", "key" or "value" -> nats per token.
    """

    senders: tuple[Place, ...]
    receivers: tuple[Place, ...]
    losses: dict[str, float]

    @property
    def sentence(self) -> str:
        losses = ", ".join(f"{patched} {loss:.2f}" for patched, loss in self.losses.items())
        return (
            f"Heads {listed(self.receivers)} get the queries, keys or values of a run in which {listed(self.senders)} "
            f"are ablated; all else is unchanged. Loss on the second copy: {losses} nats."
        )


def patched_losses(runs: Sequence[PatchedRun], senders: Sequence[Place], receivers: Sequence[Place]) -> PatchedLosses:
    """The losses of `patch_paths`."""
    losses = {run.patched: run.second_loss for run in runs if run.patched != "all"}
    return PatchedLosses(tuple(senders), tuple(receivers), losses)


@dataclass(frozen=True, slots=True)
class DecisiveInput(Finding):
    """The input through which induction heads depend most on previous-token heads.

    Args:
        rises: "query", "key" or "value" -> rise of the loss on the second copy when it is patched; the highest first.
    """

    rises: dict[str, float]

    @property
    def sentence(self) -> str:
        (most, rise), (second, second_rise), (third, third_rise) = self.rises.items()
        return (
            f"Path patching: without the previous-token heads in their {most} input alone, the loss on the second copy "
            f"rises by {rise:.2f} nats, in their {second} input by {second_rise:.2f}, in their {third} input by "
            f"{third_rise:.2f}."
        )


def decisive_input(runs: Sequence[PatchedRun]) -> DecisiveInput:
    """Queries, keys and values by the rise of the loss."""
    loss = {run.patched: run.second_loss for run in runs}
    rises = {patched: loss[patched] - loss["none"] for patched in INPUTS}
    most = max(rises, key=lambda patched: rises[patched])
    return DecisiveInput({most: rises[most], **rises})
