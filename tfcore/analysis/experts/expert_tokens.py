"""The tokens that each expert is given more often than chance would."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int, Integer
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.measures.expert_scan import ExpertScan, routing_accuracy
from tfcore.measures.token_text import visible

ALWAYS = 0.99  # share of a token's occurrences from which on it counts as always sent to an expert
Order = Literal["share", "work"]
OF: dict[Order, str] = {"share": "of its occurrences", "work": "of this expert's load"}


@dataclass(frozen=True, slots=True)
class Preferred:
    """The tokens of an expert, in the order of how typical of it they are.

    Args:
        ids: of the tokens.
        sent: how often each went to the expert.
        seen: how often it was there at all.
        work: which part of all that the expert takes it makes up.
    """

    ids: Int[ndarray, " token"]
    sent: Int[ndarray, " token"]
    seen: Int[ndarray, " token"]
    work: Float[ndarray, " token"]

    @property
    def share(self) -> Float[ndarray, " token"]:
        """Which part of a token's occurrences goes to the expert."""
        return self.sent / self.seen


def preferred(
    ids: Integer[ndarray, " token"],
    sent: Integer[ndarray, " token"],
    seen: Integer[ndarray, " token"],
    load: int,
    by: Order,
    most: int,
) -> Preferred:
    """The tokens that go to an expert, the most typical first.

    Args:
        sent, seen: how often each token went to the expert, and was there.
        load: all tokens that the expert took.
        by: "share" puts first those that go to it (nearly) always, of these the frequent ones; "work" those that make
            up most of what it does.
        most: how many.
    """
    key = (-sent, -sent / seen) if by == "share" else (-seen, -sent)
    order = np.lexsort(key)[:most]
    order = order[sent[order] > 0]
    ids, sent, seen = (np.asarray(part)[order].astype(np.int64) for part in (ids, sent, seen))
    return Preferred(ids, sent, seen, sent / load)


def count_text(
    ids: Sequence[int], taken: Bool[ndarray, "seq expert"]
) -> tuple[Int[ndarray, " token"], Int[ndarray, " token"], Int[ndarray, "token expert"]]:
    """The same counts from one text: its different tokens, how often each is there, and who took it how often."""
    different, which, seen = np.unique(np.asarray(ids), return_inverse=True, return_counts=True)
    sent = np.zeros((len(different), taken.shape[1]), np.int64)
    np.add.at(sent, which, taken)
    return different, seen, sent


class ExpertTokens(NamedTuple):
    """The tokens of an expert, with their counts.

    Args:
        counts: the most typical first.
        tokens: the same as pieces of text.
    """

    counts: Preferred
    tokens: list[str]


@dataclass(frozen=True, slots=True)
class Specialisation(Finding):
    """The tokens that are most typical of an expert.

    Args:
        layer, expert: where, the expert counted from 0.
        by: what the tokens are ordered by, and `best` counts.
        best: the first five tokens, each with its share.
        sent, seen: how often the first token went to the expert, and was there.
        always: tokens that go to it at least 99 times in 100.
        shown: tokens in all.
    """

    layer: int
    expert: int
    by: Order
    best: tuple[tuple[str, float], ...]
    sent: int
    seen: int
    always: int
    shown: int

    @property
    def sentence(self) -> str:
        best = ", ".join(f"'{visible(token)}' {share:.0%} {OF[self.by]}" for token, share in self.best)
        return (
            f"Expert {self.expert + 1} of layer {self.layer}: {best}. '{visible(self.best[0][0])}' goes to this expert "
            f"{self.sent:,} of {self.seen:,} times. {self.always} of the {self.shown} tokens shown go to it at least "
            "99 times in 100."
        )


def specialisation(found: ExpertTokens, layer: int, expert: int, by: Order) -> Specialisation:
    """What the tokens of an expert say of it; at least one token goes to it."""
    counts = found.counts
    shares = (counts.share if by == "share" else counts.work).tolist()
    return Specialisation(
        layer,
        expert,
        by,
        tuple(zip(found.tokens[:5], shares, strict=False)),
        int(counts.sent[0]),
        int(counts.seen[0]),
        int((counts.share >= ALWAYS).sum()),
        len(found.tokens),
    )


def scanned_share(scan: ExpertScan, at: int, expert: int) -> str:
    """How many tokens were read, and which part of all choices falls on the expert, in words."""
    return f"over {scan.tokens:,} tokens of held-out stories; {scan.choices[at, expert]:.0%} of all choices"


def excerpt_title(scan: ExpertScan, at: int, expert: int, rank: int) -> str:
    """The probability of the expert at the token that an excerpt was kept for, in words."""
    return f"Piece {rank + 1}: probability {scan.prob[at, expert, rank]:.3f} at the shaded token"


@dataclass(frozen=True, slots=True)
class TokenDecides(Finding):
    """How much the token alone decides about its experts.

    Args:
        layer: the chosen one.
        top_k: experts a token goes to.
        by_token, by_load: share of the choices in it predicted from the token, and by the busiest experts.
        layers: layer and share predicted from the token, for all.
    """

    layer: int
    top_k: int
    by_token: float
    by_load: float
    layers: tuple[tuple[int, float], ...]

    @property
    def sentence(self) -> str:
        by_layer = ", ".join(f"{share:.0%} in layer {layer}" for layer, share in self.layers)
        return (
            f"Predicting, for each token, the {self.top_k} experts it went to most often is right for "
            f"{self.by_token:.0%} of the choices in layer {self.layer}; predicting always the busiest, for "
            f"{self.by_load:.0%}. By token it is right for {by_layer}."
        )


def token_decides(scan: ExpertScan, layers: Sequence[int], at: int, top_k: int) -> TokenDecides:
    """Accuracy of predicting experts from the token, in the layer at a place among those with experts and in all.

    Args:
        layers: their numbers.
        top_k: experts a token goes to.
    """
    known = routing_accuracy(scan)
    by_layer = tuple(zip(layers, known.by_token.tolist(), strict=True))
    return TokenDecides(layers[at], top_k, float(known.by_token[at]), float(known.by_load[at]), by_layer)
