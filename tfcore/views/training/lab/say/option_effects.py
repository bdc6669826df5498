"""Findings on each choice in a training: schedule, optimiser, weight decay, clipping, smoothing and dropout."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tfcore.training.lab.curves import Curves
from tfcore.training.lab.options import OPTIMISERS, PLAIN, SCHEDULES, Norms, Rates, Updates
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.training.lab.measure import Smoothing

MOVED = OPTIMISERS | {PLAIN: "SGD, no momentum"}  # the kinds of Updates
DECAYED = {"adamw": "AdamW", "adam": "Adam + L2", "none": "no decay"}  # the kinds of Norms


@dataclass(frozen=True, slots=True)
class RateShares(Finding):
    """The share of its peak that each schedule has left.

    Args:
        steps, warmup, peak: of the training.
        half: schedule -> share of the peak after half of the steps.
        inverse_end: share of the peak that the inverse square root has at the last step.
    """

    steps: int
    warmup: int
    peak: float
    half: dict[str, float]
    inverse_end: float

    @property
    def left(self) -> str:
        """The share that the inverse square root has left at the last step."""
        return f"{self.inverse_end:.0%} of its peak"

    @property
    def sentence(self) -> str:
        shares = ", ".join(f"{SCHEDULES[kind]} {share:.0%}" for kind, share in self.half.items())
        return (
            f"Warm-up of {self.warmup} steps to {self.peak:g}. Left of the peak after half of the {self.steps:,} steps:"
            f" {shares}."
        )


def rate_shares(rates: Rates, steps: int, warmup: int, peak: float) -> RateShares:
    """Shares of the peak under each schedule."""
    half = {kind: float(values[len(values) // 2] / peak) for kind, values in rates.by_schedule.items()}
    return RateShares(steps, warmup, peak, half, float(rates.by_schedule["inverse_sqrt"][-1] / peak))


@dataclass(frozen=True, slots=True)
class UpdateSpreads(Finding):
    """How differently one step moves the matrices of a model.

    Args:
        steps, lr: before the step that is measured, and the learning rate.
        spreads: optimiser -> largest update over smallest.
        adam_least, adam_most: Adam's updates in learning rates.
    """

    steps: int
    lr: float
    spreads: dict[str, float]
    adam_least: float
    adam_most: float

    @property
    def sgd(self) -> str:
        """The spread under SGD with momentum."""
        return f"{self.spreads['sgd']:,.1f} times"

    @property
    def adam(self) -> str:
        """The spread under Adam."""
        return f"{self.spreads['adam']:,.1f} times"

    @property
    def sentence(self) -> str:
        spreads = ", ".join(f"{MOVED[kind]} {spread:,.1f} times" for kind, spread in self.spreads.items())
        return (
            f"Every matrix of this model after {self.steps} steps at learning rate {self.lr:g}: the matrix moved most "
            f"moves farther than the one moved least: {spreads}. Adam's move by {self.adam_least:.2f} to "
            f"{self.adam_most:.2f} of the learning rate."
        )


def update_spreads(updates: Sequence[Updates], steps: int, lr: float) -> UpdateSpreads:
    """The spread under each optimiser, after so many steps at this learning rate."""
    adam = next(one.update for one in updates if one.kind == "adam") / lr
    return UpdateSpreads(steps, lr, {one.kind: one.spread for one in updates}, float(adam.min()), float(adam.max()))


@dataclass(frozen=True, slots=True)
class NormsKept(Finding):
    """The share of the norms of the weights that is left at the end.

    Args:
        steps, lr, decay: of the trainings.
        own: the decay is that of the visitor's run.
        matrices: kind -> share of their first norm that the matrices keep.
        rest_least, rest_most: the same of all other weights, over the kinds.
    """

    steps: int
    lr: float
    decay: float
    own: bool
    matrices: dict[str, float]
    rest_least: float
    rest_most: float

    @property
    def comparison(self) -> str:
        """Adam beside AdamW and no decay."""
        shares = {kind: f"{share:.0%}" for kind, share in self.matrices.items()}
        return (
            f"After {self.steps} steps they have {shares['adam']} of their norm under Adam and {shares['adamw']} under "
            f"AdamW, {shares['none']} without decay."
        )

    @property
    def sentence(self) -> str:
        kept = ", ".join(f"{DECAYED[kind]} {share:.0%}" for kind, share in self.matrices.items())
        return (
            f"{self.steps} steps of this model at learning rate {self.lr:g} with weight decay {self.decay:g}"
            f"{'' if self.own else ' (your run has none)'}. Of their first norm the matrices keep: {kept}; the rest, "
            f"{self.rest_least:.0%} to {self.rest_most:.0%}."
        )


def norms_kept(norms: Sequence[Norms], lr: float, decay: float, own: bool) -> NormsKept:
    """The norms after the last step, with weight decay of this size; `own` says whether it is that of a run."""
    rest = [float(one.rest[-1]) for one in norms]
    matrices = {one.kind: float(one.decayed[-1]) for one in norms}
    return NormsKept(len(norms[0].decayed) - 1, lr, decay, own, matrices, min(rest), max(rest))


@dataclass(frozen=True, slots=True)
class ClippedSteps(Finding):
    """How many steps of a run were clipped.

    Args:
        bound: of the gradient's norm; 0 is off.
        share: of the steps that were cut, from 0 to 1.
        steps: of the run until now.
        largest: norm of all of them, before clipping.
    """

    bound: float
    share: float
    steps: int
    largest: float

    @property
    def sentence(self) -> str:
        return (
            f"The run's own gradients, {f'clipped to {self.bound:g}' if self.bound else 'not clipped'}: "
            f"{self.share:.0%} of {self.steps:,} steps were cut, the largest norm was {self.largest:.2f}."
        )


def clipped_steps(curves: Curves, bound: float) -> ClippedSteps:
    """The steps of a run whose gradient was longer than the bound."""
    share = float((curves.norm > bound).mean()) if bound else 0.0
    return ClippedSteps(bound, share, len(curves.norm), float(curves.norm.max()))


@dataclass(frozen=True, slots=True)
class OtherBound(Finding):
    """Steps that another bound would cut.

    Args:
        bound: that one.
        share: of the steps that it would cut, from 0 to 1.
        own, own_share: the run's bound, 0 where it has none, and the share that it cut.
        kept: share of its length that the largest gradient would keep.
    """

    bound: float
    share: float
    own: float
    own_share: float
    kept: float

    @property
    def name(self) -> str:
        """The bound in two digits."""
        return f"{self.bound:.2g}"

    @property
    def sentence(self) -> str:
        instead = f", instead of {self.own_share:.0%} with {self.own:g}" if self.own else ""
        return (
            f"Those whose line before clipping lies above it: {self.share:.0%}{instead}. The largest of them would be "
            f"cut to {self.kept:.0%} of its length."
        )


def other_bound(curves: Curves, bound: float) -> OtherBound:
    """State what half the run's bound would cut; the median of the norms where the run has none."""
    other = bound / 2 or float(np.median(curves.norm))
    return OtherBound(
        other,
        float((curves.norm > other).mean()),
        bound,
        clipped_steps(curves, bound).share,
        min(1.0, other / float(curves.norm.max())),
    )


def smoothed_target(smoothed: Smoothing) -> Statement:
    """The target that label smoothing asks for, and the lowest loss."""
    return state(
        "smoothed target",
        "With smoothing {epsilon:g} over {vocab} tokens the target is {target:.3f} for the right one and {other:.4f} "
        "for each other; the loss cannot fall below {floor:.3f} nats.",
        epsilon=smoothed.epsilon,
        vocab=smoothed.vocab,
        target=smoothed.target,
        other=smoothed.other,
        floor=smoothed.floor,
    )


def lowest_point(smoothed: Smoothing) -> Statement:
    """The probability of the right token at which the loss is lowest."""
    template = "With smoothing {epsilon:g} the curve is lowest at {best:.3f}."
    return state("lowest point", template, epsilon=smoothed.epsilon, best=smoothed.best)


@dataclass(frozen=True, slots=True)
class OverfitGaps(Finding):
    """Held-out loss less the loss on rows trained on, at the end of several runs; nats.

    Args:
        gaps: (run, gap).
        widest, widest_gap: the run with the largest gap.
        best, best_loss: the run with the lowest held-out loss.
    """

    gaps: tuple[tuple[str, float], ...]
    widest: str
    widest_gap: float
    best: str
    best_loss: float

    @property
    def comparison(self) -> str:
        """The run that overfits most, and the best one."""
        return (
            f"Overfits most: the one whose lines are furthest apart at the end, here {self.widest} with "
            f"{self.widest_gap:+.2f} nats. Best on new text: the lowest solid line, here {self.best} with "
            f"{self.best_loss:.2f} nats."
        )

    @property
    def sentence(self) -> str:
        gaps = "; ".join(f"{name}: gap {gap:+.2f} nats" for name, gap in self.gaps)
        return f"Loss held out less loss on what it trains on: {gaps}."


def overfit_gaps(runs: Sequence[tuple[str, Curves]]) -> OverfitGaps:
    """The gaps of named runs."""
    gaps = [(name, float(curves.held_loss[-1] - curves.train_loss[-1])) for name, curves in runs]
    losses = [(name, float(curves.held_loss[-1])) for name, curves in runs]
    return OverfitGaps(tuple(gaps), *max(gaps, key=lambda gap: gap[1]), *min(losses, key=lambda loss: loss[1]))
