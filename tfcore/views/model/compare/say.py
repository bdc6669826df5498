"""Sentences about two models compared."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfcore.measures.heads.kinds import Place
from tfcore.measures.quantities import counted, percent
from tfcore.measures.token_text import shorten, visible
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.model.compare.measure.attention import ComparedHeads
from tfcore.views.model.compare.measure.exchanged import ExchangedStreams
from tfcore.views.model.compare.measure.predictions import ComparedPredictions
from tfcore.views.model.compare.measure.spans import SpanSurprise
from tfcore.views.model.compare.measure.weights import MovedWeights

ALIKE = 1e-6  # nats of KL divergence, below which two models are called equal: rounding in float32
MOVED = 0.1  # share of a head's weight that lies elsewhere, from which it is counted
HALF = 0.5
LETTERS = 24  # of a token or a piece in a sentence


def quoted(token: str) -> str:
    """A token as it is seen, in quotes."""
    return f"'{shorten(visible(token), LETTERS)}'"


@dataclass(frozen=True, slots=True)
class Divergence(Finding):
    """How far the predictions of two models are apart on a text.

    Args:
        names: of the two.
        mean, largest: KL divergence, nats: the mean over all tokens, and the largest.
        token: after which it is largest.
        half: the fewest tokens on which half of it falls.
        of: tokens of the text.
        surprise: mean surprise of either model, nats per token; NaN where the text has one token.
    """

    names: tuple[str, str]
    mean: float
    largest: float
    token: str
    half: int
    of: int
    surprise: tuple[float, float]

    @property
    def sentence(self) -> str:
        here, there = self.names
        if self.largest < ALIKE:
            return f"On this text {here} and {there} expect the same after every token."
        told = (
            f"KL({here} ‖ {there}) is {self.mean:.3g} nats per token on average; half of it falls on {self.half} of "
            f"{counted(self.of, 'token')}, most after {quoted(self.token)} ({self.largest:.3g} nats)."
        )
        if np.isnan(self.surprise).any():
            return told
        before, after = self.surprise
        return f"{told} Mean surprise: {before:.2f} nats, then {after:.2f}."


def predictions_apart(read: ComparedPredictions, names: tuple[str, str]) -> Divergence:
    """How far the predictions are apart on the whole text."""
    at = int(read.kl.argmax())
    return Divergence(
        names,
        float(read.kl.mean()),
        float(read.kl[at]),
        read.tokens[at],
        read.half,
        len(read.tokens),
        read.mean_surprise,
    )


@dataclass(frozen=True, slots=True)
class BestGuesses(Finding):
    """The likeliest next token of two models in one place.

    Args:
        names: of the two.
        after: the token before.
        guesses: the likeliest of either model.
        chances: its probability in the model whose guess it is.
        kl: KL divergence in this place, nats.
    """

    names: tuple[str, str]
    after: str
    guesses: tuple[str, str]
    chances: tuple[float, float]
    kl: float

    @property
    def sentence(self) -> str:
        (here, there), (one, other) = self.names, self.guesses
        before, after = map(percent, self.chances)
        place = f"After {quoted(self.after)}"
        if one == other:
            return f"{place} both expect {quoted(one)}: {here} {before}, {there} {after} (KL {self.kl:.3g} nats)."
        return (
            f"{place} {here} expects {quoted(one)} ({before}), {there} {quoted(other)} ({after}); KL is "
            f"{self.kl:.3g} nats."
        )


def best_guesses(read: ComparedPredictions, token: int, pieces: Sequence[str], names: tuple[str, str]) -> BestGuesses:
    """The likeliest tokens after one token.

    Args:
        pieces: of the likeliest tokens of both in this place.
    """
    (first, second), chances = read.probabilities[token], read.probabilities[token].max(1)
    guesses = pieces[int(first.argmax())], pieces[int(second.argmax())]
    return BestGuesses(
        names, read.tokens[token], guesses, (float(chances[0]), float(chances[1])), float(read.kl[token])
    )


def surprise_by_span(read: SpanSurprise, names: tuple[str, str]) -> Statement:
    """What both models need for the same characters, and where they differ most."""
    first, second = read.per_byte
    difference = read.nats[1] - read.nats[0]
    at = int(np.abs(difference).argmax())
    words = (
        "{here} needs {first:.2f} nats per byte, {there} {second:.2f}. Most apart at {piece}: {one:.1f} nats against "
        "{other:.1f}."
    )
    return state(
        "surprise by characters",
        words,
        here=names[0],
        there=names[1],
        first=first,
        second=second,
        piece=quoted(read.pieces[at]),
        one=float(read.nats[0, at]),
        other=float(read.nats[1, at]),
    )


@dataclass(frozen=True, slots=True)
class MovedHeads(Finding):
    """How many heads look elsewhere, and which most.

    Args:
        heads: in all.
        moved: those of whose weight a share of MOVED or more lies elsewhere.
        changed: those of another kind.
        furthest: layer and head.
        distance: its total variation distance.
    """

    heads: int
    moved: int
    changed: int
    furthest: Place
    distance: float

    @property
    def sentence(self) -> str:
        if self.distance == 0:
            return "All heads look at the same tokens in both models."
        layer, head = self.furthest
        return (
            f"{self.moved} of {counted(self.heads, 'head')} put {MOVED:.0%} or more of their weight elsewhere, "
            f"{self.changed} are of another kind; most moves {layer}.{head}, {percent(self.distance)}."
        )


def moved_heads(read: ComparedHeads) -> MovedHeads:
    """How many heads look elsewhere."""
    moved, furthest = int((read.distance >= MOVED).sum()), read.furthest
    return MovedHeads(read.distance.size, moved, int(read.changed.sum()), furthest, float(read.distance[furthest]))


def one_head(read: ComparedHeads, layer: int, head: int, names: tuple[str, str]) -> Statement:
    """What became of one head."""
    before, after = (f"{one.kind[layer, head]}" for one in (read.before, read.after))
    kept = "{share:percent} of the weight of head {layer}.{head} lies elsewhere; it stays {before}."
    turned = (
        "{share:percent} of the weight of head {layer}.{head} lies elsewhere; {before} in {here}, {after} in {there}."
    )
    return state(
        "one head",
        kept if before == after else turned,
        share=float(read.distance[layer, head]),
        layer=layer,
        head=head,
        before=before,
        after=after,
        here=names[0],
        there=names[1],
    )


def weights_moved(read: MovedWeights) -> Finding:
    """Which matrix moved most, and on how many directions."""
    layer, column = read.furthest
    if not read.norms.any():
        return state("no weight moved", "Both have the same weights.")
    words = (
        "Most moved: W_{kind} of layer {layer}, by {norm:percent} of its norm, on {rank:.3g} directions of at most "
        "{full}. Median of all matrices: {median:percent}."
    )
    return state(
        "the matrix that moved most",
        words,
        kind=read.kinds[column],
        layer=layer,
        norm=float(read.norms[layer, column]),
        rank=float(read.ranks[layer, column]),
        full=read.full[column],
        median=float(np.median(read.norms)),
    )


def directions(read: MovedWeights) -> Finding:
    """Effective ranks of the differences, as a share of the largest possible."""
    shares = read.ranks / np.array(read.full)
    if not np.isfinite(shares).any():
        return state("no weight moved", "No matrix moved, so no difference has a rank.")
    low, middle, high = np.nanquantile(read.ranks, (0, 0.5, 1))
    words = (
        "Effective rank of the differences: from {low:.3g} to {high:.3g}, median {middle:.3g}; median share of the "
        "largest possible {share:percent}."
    )
    return state("directions", words, low=low, middle=middle, high=high, share=float(np.nanmedian(shares)))


@dataclass(frozen=True, slots=True)
class WhereItComesIn(Finding):
    """At which layers a difference comes in.

    Args:
        names: of the two.
        half: the first block before which the exchange leaves less than HALF; None where only the exchange after the
            last one does, or none.
        largest: the block that brings in most.
        share: of the mean KL divergence that comes in at that block.
        blocks: how many there are.
    """

    names: tuple[str, str]
    half: int | None
    largest: int | None
    share: float
    blocks: int

    @property
    def sentence(self) -> str:
        here, there = self.names
        if self.largest is None:
            return f"{here} and {there} predict the same, so there is nothing to exchange."
        most = f"most comes in at block {self.largest} ({percent(self.share)})"
        if self.half is None:
            return f"No exchange before the last block halves the KL divergence; {most}."
        if self.half == 0:
            return f"With the embeddings of {here} less than half of the KL divergence is left; {most}."
        return (
            f"With the stream of {here} put in before block {self.half}, less than half of the KL divergence is left; "
            f"{most}."
        )


def where_it_comes_in(read: ExchangedStreams, names: tuple[str, str]) -> WhereItComesIn:
    """At which layers the difference comes in: where the curve falls."""
    left, blocks = read.left, len(read.kl) - 1
    if float(read.unchanged.mean()) < ALIKE:
        return WhereItComesIn(names, None, None, 0.0, blocks)
    falls = left[:-1] - left[1:]
    below = np.flatnonzero(left[:-1] < HALF)
    return WhereItComesIn(names, int(below[0]) if len(below) else None, int(falls.argmax()), float(falls.max()), blocks)
