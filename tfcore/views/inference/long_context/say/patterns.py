"""Findings about sparse patterns: the pairs they keep, and how far information travels through them."""

from collections.abc import Mapping, Sequence

from jaxtyping import Int
from numpy import ndarray

from tfcore.measures.mask_patterns import Kind
from tfcore.views.finding import Statement, state
from tfcore.views.inference.long_context.measure.patterns import NAMES, MeasuredReach, Reach


def pattern_reach(reach: Reach) -> Statement:
    """The pairs a pattern keeps, and how far information has travelled after the last layer that was followed."""
    n, causal = len(reach.needed), len(reach.needed) * (len(reach.needed) + 1) // 2
    return state(
        "pattern reach",
        "{n} × {n}: {pattern} keeps {pairs:,} of {causal:,} causal pairs ({share:.0%}); through {layers:counted layer} "
        "the last token depends on {arrived} of {n} tokens, up to {back} back.",
        n=n,
        pattern=NAMES[reach.kind],
        pairs=reach.pairs,
        causal=causal,
        share=reach.pairs / causal,
        layers=len(reach.back),
        arrived=int(reach.arrived[-1]),
        back=int(reach.back[-1]),
    )


def pairs_at_length(
    lengths: Sequence[int], counts: Mapping[Kind, Int[ndarray, " length"]], kind: Kind, at: int
) -> Statement:
    """The pairs of a pattern at length number `at` beside those of full causal attention.

    Args:
        counts: pairs of every pattern at every length.
    """
    kept, causal = int(counts[kind][at]), int(counts["causal"][at])
    return state(
        "pairs at length",
        "At {n:,} tokens, {pattern}: {kept:,} pairs, {times:,.1f} × fewer than the {causal:,} of full attention.",
        n=lengths[at],
        pattern=NAMES[kind],
        kept=kept,
        times=causal / kept,
        causal=causal,
    )


def model_reach(change: MeasuredReach) -> Statement:
    """Where a changed token changes the outputs of a real model, beside what the pattern lets change."""
    return state(
        "model reach",
        "The shipped model, {layers} layers under {pattern}: changing token {position} changes the outputs of "
        "{changed} tokens, up to {furthest} further on; the pattern allows {expected}, {same}.",
        layers=change.layers,
        pattern=NAMES[change.kind],
        position=change.position,
        changed=int(change.changed.sum()),
        furthest=change.furthest,
        expected=int(change.expected.sum()),
        same="token by token" if (change.changed == change.expected).all() else "with differences",
    )
