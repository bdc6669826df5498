"""Findings about the tokens of an expert."""

from collections.abc import Sequence
from dataclasses import dataclass

from tfcore.measures.expert_scan import ExpertScan, routing_accuracy
from tfcore.measures.token_text import visible
from tfcore.views.experts.routing.measure.tokens import ExpertTokens, Order
from tfcore.views.finding import Finding

ALWAYS = 0.99  # share of a token's occurrences from which on it counts as always sent to an expert


OF: dict[Order, str] = {"share": "of its occurrences", "work": "of this expert's load"}


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


def specialisation(listed: ExpertTokens, layer: int, expert: int, by: Order) -> Specialisation:
    """Describe an expert by its tokens; at least one token goes to it."""
    counts = listed.counts
    shares = (counts.share if by == "share" else counts.work).tolist()
    return Specialisation(
        layer,
        expert,
        by,
        tuple(zip(listed.tokens[:5], shares, strict=False)),
        int(counts.sent[0]),
        int(counts.seen[0]),
        int((counts.share >= ALWAYS).sum()),
        len(listed.tokens),
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
