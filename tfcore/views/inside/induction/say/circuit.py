"""Findings on circuits of two heads: composition scores, path patching, and the tests of both kinds of head."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfcore.measures.heads.compositions import INPUTS, Composition, theory
from tfcore.measures.heads.induction_heads import HeadTests, Place, listed
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.inside.induction.measure.circuit import HIGHEST_PAIRS, PatchedRun, drawn_every

NEARER = 0.5  # mean ranks: by more, another head copies better


def highest_composition(result: Composition, layer: int, d_model: int) -> Statement:
    """The pair of heads with the highest score, for Q, K and V, beside the score of random matrices.

    Args:
        layer: of the later heads.
        d_model: the width, from which theory gives 1 / sqrt(d_model).
    """
    best = []
    for kind, scores in result.scores.items():
        head, below, earlier = (int(i) for i in np.unravel_index(scores.argmax(), scores.shape))
        pair = f"{listed([(below, earlier)])} to {listed([(layer, head)])}"
        best.append(f"{kind[0].upper()} {scores.max():.3f} ({pair})")
    return state(
        "highest composition",
        "Composition scores of the heads of layer {layer} with every head below. Highest: {best}. Random matrices: "
        "{random:.3f} ± {spread:.3f} (theory: 1/√{d_model} = {theory:.3f}).",
        layer=layer,
        best="; ".join(best),
        random=result.random,
        spread=result.spread,
        d_model=d_model,
        theory=theory(d_model),
    )


def drawn_pairs(pairs: int) -> Statement | None:
    """Which of so many pairs of heads are drawn; None: all."""
    if (every := drawn_every(pairs)) == 1:
        return None
    return state(
        "drawn pairs",
        "Of {pairs:,} pairs of each kind the {highest:,} highest are drawn and, in the order of their scores, one in "
        "{every} of the others.",
        pairs=pairs,
        highest=HIGHEST_PAIRS,
        every=every,
    )


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


def patched_losses(runs: Sequence[PatchedRun], senders: Sequence[Place], receivers: Sequence[Place]) -> Statement:
    """Loss on the second copy with one input of the receivers patched at a time, of the results of `patch_paths`."""
    return state(
        "patched losses",
        "Heads {receivers} get the queries, keys or values of a run in which {senders} are ablated; all else is "
        "unchanged. Loss on the second copy: {losses} nats.",
        receivers=listed(receivers),
        senders=listed(senders),
        losses=", ".join(f"{run.patched} {run.second_loss:.2f}" for run in runs if run.patched != "all"),
    )


def decisive_input(runs: Sequence[PatchedRun]) -> Statement:
    """The input through which induction heads depend most on previous-token heads, then the two others."""
    loss = {run.patched: run.second_loss for run in runs}
    rises = {patched: loss[patched] - loss["none"] for patched in INPUTS}
    most = max(rises, key=lambda patched: rises[patched])
    second, third = (patched for patched in INPUTS if patched != most)
    return state(
        "decisive input",
        "Path patching: without the previous-token heads in their {most} input alone, the loss on the second copy "
        "rises by {rise:.2f} nats, in their {second} input by {second_rise:.2f}, in their {third} input by "
        "{third_rise:.2f}.",
        most=most,
        rise=rises[most],
        second=second,
        second_rise=rises[second],
        third=third,
        third_rise=rises[third],
    )


@dataclass(frozen=True, slots=True)
class BestInductionHead(Finding):
    """The induction head with the highest prefix matching score under both tests; None where the model has none.

    Args:
        heads: how many heads the model has.
        tokens, examples: random tokens of the test, and how often it is done.
        head, prefix, copying: the head with its two scores.
    """

    heads: int
    tokens: int
    examples: int
    head: Place | None
    prefix: float
    copying: float

    @property
    def sentence(self) -> str:
        start = (
            f"Prefix matching and copying scores of {self.heads} heads, {self.tokens} random tokens, "
            f"{self.examples} examples: "
        )
        if self.head is None:
            return f"{start}no head of this model is an induction head."
        return (
            f"{start}head {listed([self.head])} scores {self.prefix:.2f} in prefix matching and {self.copying:.2f} in "
            "copying."
        )


def best_induction_head(result: HeadTests, induction: Sequence[Place], tokens: int) -> BestInductionHead:
    """The induction head that matches prefixes best."""
    best = max(induction, key=lambda head: result.prefix[head], default=None)
    prefix, copied = (0.0, 0.0) if best is None else (float(result.prefix[best]), float(result.copying[best]))
    return BestInductionHead(result.prefix.size, tokens, result.examples, best, prefix, copied)


@dataclass(frozen=True, slots=True)
class RankOfHead(Finding):
    """Both tests by rank: of the induction head with the highest prefix matching score, and of the one that copies best
    by rank.

    Args:
        tokens: random tokens of the test.
        head: the first of them.
        prefix_first: share of its queries whose largest weight is on a token after an earlier occurrence.
        copying_first, copying_rank: share of the tokens whose own logit it raises most of all, and the mean rank.
        copies: the other of them; the same head where that copies about as well.
        copies_first, copies_rank: its own.
    """

    tokens: int
    head: Place
    prefix_first: float
    copying_first: float
    copying_rank: float
    copies: Place
    copies_first: float
    copies_rank: float

    @property
    def sentence(self) -> str:
        best = (
            f" Of the induction heads, {listed([self.copies])} copies best by rank: {self.copies_first:.0%}, mean rank "
            f"{self.copies_rank:.1f}."
        )
        return (
            f"By rank: head {listed([self.head])} has its largest weight on the right token at {self.prefix_first:.0%} "
            f"of the queries, and raises the logit of the token it attends to most of all {self.tokens} in "
            f"{self.copying_first:.0%} of the cases (mean rank {self.copying_rank:.1f}, by chance "
            f"{(self.tokens + 1) / 2:.0f})." + ("" if self.copies == self.head else best)
        )


def rank_of_head(result: HeadTests, induction: Sequence[Place], tokens: int) -> RankOfHead | None:
    """Both tests by rank, of the induction heads; None where the model has none."""
    if not induction:
        return None
    head = max(induction, key=lambda place: result.prefix[place])
    copies = min(induction, key=lambda place: result.copying_rank[place])
    if result.copying_rank[head] - result.copying_rank[copies] < NEARER:
        copies = head
    first, rank = result.copying_first, result.copying_rank
    return RankOfHead(
        tokens,
        head,
        float(result.prefix_first[head]),
        float(first[head]),
        float(rank[head]),
        copies,
        float(first[copies]),
        float(rank[copies]),
    )
