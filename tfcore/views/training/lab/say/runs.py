"""Findings on a small training, and on several beside each other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.training.lab.curves import Curves, Evaluation
from tfcore.views.finding import Finding, Statement, state

LEARNED = 0.95  # accuracy from which on a task counts as learned
RISEN = 0.05  # nats above its lowest value from which on a held-out loss counts as risen
LATE = 50  # steps between memorising and generalising from which on it counts as grokking


def last_check(curves: Curves, vocab: int) -> Statement:
    """The last check of a run over a vocabulary of this size; losses in nats."""
    return state(
        "last check",
        "Step {step:,}: held-out loss {held_loss:.3f} nats and accuracy {held_accuracy:.0%}, on rows trained on "
        "{train_loss:.3f} and {train_accuracy:.0%}. A uniform guess costs ln {vocab} = {uniform:.2f}.",
        step=int(curves.at[-1]),
        held_loss=float(curves.held_loss[-1]),
        held_accuracy=float(curves.held_accuracy[-1]),
        train_loss=float(curves.train_loss[-1]),
        train_accuracy=float(curves.train_accuracy[-1]),
        vocab=vocab,
        uniform=math.log(vocab),
    )


@dataclass(frozen=True, slots=True)
class LowestLoss(Finding):
    """The lowest held-out loss of a run that learns a text, and whether it memorises since.

    Args:
        step, loss: of the lowest held-out loss, nats.
        held_loss, train_loss: at the last check.
    """

    step: int
    loss: float
    held_loss: float
    train_loss: float

    @property
    def memorises(self) -> bool:
        """Whether the held-out loss has risen from its lowest."""
        return self.held_loss > self.loss + RISEN

    @property
    def sentence(self) -> str:
        lowest = f"The held-out loss was lowest at step {self.step:,}, {self.loss:.2f} nats."
        if not self.memorises:
            return lowest
        return (
            f"{lowest} Since then it has risen to {self.held_loss:.2f}, while the loss on what it trains on fell to "
            f"{self.train_loss:.2f}: it memorises the text."
        )


def lowest_loss(curves: Curves) -> LowestLoss:
    """The check with the lowest held-out loss."""
    best = int(np.nanargmin(curves.held_loss))
    last = float(curves.held_loss[-1]), float(curves.train_loss[-1])
    return LowestLoss(int(curves.at[best]), float(curves.held_loss[best]), *last)


@dataclass(frozen=True, slots=True)
class Generalisation(Finding):
    """When a run memorised its rows and when it generalised.

    Args:
        memorised, generalised: first check with an accuracy of LEARNED on rows trained on, and on held-out rows.
        held_accuracy: at the last check.
    """

    memorised: int | None
    generalised: int | None
    held_accuracy: float

    @property
    def sentence(self) -> str:
        now = f"now {self.held_accuracy:.0%} of held-out tokens are right"
        if self.generalised is None:
            if self.memorised is None:
                return f"Not learned yet: {now}."
            return f"Memorised at step {self.memorised:,}, not yet generalised: {now}."
        if self.memorised is not None and self.generalised > self.memorised + max(LATE, self.memorised // 2):
            return (
                f"It reached {LEARNED:.0%} on training data at step {self.memorised:,} and on held-out data only at "
                f"step {self.generalised:,}: it memorised, then generalised (grokking)."
            )
        return f"Learned: {LEARNED:.0%} of held-out tokens right at step {self.generalised:,}; {now}."


def generalisation(curves: Curves) -> Generalisation:
    """The first checks of a run that count as learned."""

    def first(accuracy: Float[ndarray, " check"]) -> int | None:
        learned = np.flatnonzero(accuracy >= LEARNED)
        return int(curves.at[learned[0]]) if len(learned) else None

    return Generalisation(first(curves.train_accuracy), first(curves.held_accuracy), float(curves.held_accuracy[-1]))


def stage(curves: Curves, task: str) -> LowestLoss | Generalisation:
    """How far a run has learned its task: a text is never learned for sure, so its lowest loss is named."""
    return lowest_loss(curves) if task == "characters" else generalisation(curves)


def head_maps(look: Evaluation) -> Statement:
    """How many heads there are in all layers, and tokens along a side of each map."""
    layers, heads, tokens, _ = look.patterns.shape
    return state(
        "head maps",
        "Attention of {heads} heads at step {step:,}, on a held-out row of {tokens} tokens.",
        heads=layers * heads,
        step=look.step,
        tokens=tokens,
    )


def right_tokens(look: Evaluation) -> Statement:
    """The right tokens of one answer, under teacher forcing and free-running."""
    return state(
        "right tokens",
        "Of {tokens} tokens {forced} are right with teacher forcing and {free} free-running.",
        tokens=len(look.wanted),
        forced=int((look.forced == look.wanted).sum()),
        free=int((look.free == look.wanted).sum()),
    )


def right_shares(look: Evaluation) -> Statement:
    """The mean share of right tokens over all rows and places, under teacher forcing and free-running."""
    return state(
        "right shares",
        "{forced:.0%} right with teacher forcing, {free:.0%} free-running.",
        forced=float(look.by_place_forced.mean()),
        free=float(look.by_place_free.mean()),
    )


def last_gradient(curves: Curves, clip: float) -> Statement:
    """The gradient of the last step before clipping, and the share of all steps that this bound (0 is off) cut; zeros
    where there is no step yet."""
    there = len(curves.step) > 0
    return state(
        "last gradient",
        "Gradient norm {norm:.2f}, clipped in {clipped:.0%} of the steps; learning rate {lr:.1e}.",
        norm=float(curves.norm[-1]) if there else 0.0,
        clipped=float((curves.norm > clip).mean()) if there and clip else 0.0,
        lr=float(curves.lr[-1]) if there else 0.0,
    )


def run_ends(runs: Sequence[tuple[str, Curves]], accuracy: bool) -> Statement:
    """The ends of named runs: held-out accuracy at their last checks, or held-out loss in nats."""
    ends = [(name, float((curves.held_accuracy if accuracy else curves.held_loss)[-1])) for name, curves in runs]
    return state(
        "run ends",
        "Held-out {what}: {ends}.",
        what="accuracy" if accuracy else "loss",
        ends="; ".join(
            f"{name} ends at {end:.0%}" if accuracy else f"{name} ends at {end:.2f} nats" for name, end in ends
        ),
    )
