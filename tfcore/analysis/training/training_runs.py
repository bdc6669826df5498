"""A small training: its curves, the model at one moment with its answers, and the sentences that state them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.training.lab.curves import Curves, Look

LEARNED = 0.95  # accuracy from which on a task counts as learned
RISEN = 0.05  # nats above its lowest value from which on a held-out loss counts as risen
LATE = 50  # steps between memorising and generalising from which on it counts as grokking


# ---- findings ----


@dataclass(frozen=True, slots=True)
class LastCheck(Finding):
    """A run at its last check.

    Args:
        step: after which it was checked.
        held_loss, held_accuracy: on held-out rows; losses in nats.
        train_loss, train_accuracy: on rows just trained on.
        vocab: number of tokens: a uniform guess costs its logarithm.
    """

    step: int
    held_loss: float
    held_accuracy: float
    train_loss: float
    train_accuracy: float
    vocab: int

    @property
    def sentence(self) -> str:
        return (
            f"Step {self.step:,}: held-out loss {self.held_loss:.3f} nats and accuracy {self.held_accuracy:.0%}, on "
            f"rows trained on {self.train_loss:.3f} and {self.train_accuracy:.0%}. A uniform guess costs "
            f"ln {self.vocab} = {math.log(self.vocab):.2f}."
        )


def last_check(curves: Curves, vocab: int) -> LastCheck:
    """The last check of a run over a vocabulary of this size."""
    return LastCheck(
        int(curves.at[-1]),
        float(curves.held_loss[-1]),
        float(curves.held_accuracy[-1]),
        float(curves.train_loss[-1]),
        float(curves.train_accuracy[-1]),
        vocab,
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
        """The held-out loss has risen from its lowest."""
        return self.held_loss > self.loss + RISEN

    @property
    def sentence(self) -> str:
        found = f"The held-out loss was lowest at step {self.step:,}, {self.loss:.2f} nats."
        if not self.memorises:
            return found
        return (
            f"{found} Since then it has risen to {self.held_loss:.2f}, while the loss on what it trains on fell to "
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
        found = np.flatnonzero(accuracy >= LEARNED)
        return int(curves.at[found[0]]) if len(found) else None

    return Generalisation(first(curves.train_accuracy), first(curves.held_accuracy), float(curves.held_accuracy[-1]))


def stage(curves: Curves, task: str) -> LowestLoss | Generalisation:
    """How far a run has learned its task: a text is never learned for sure, so its lowest loss is named."""
    return lowest_loss(curves) if task == "characters" else generalisation(curves)


@dataclass(frozen=True, slots=True)
class HeadMaps(Finding):
    """The attention maps of a model at one moment of its training."""

    heads: int
    step: int
    tokens: int

    @property
    def sentence(self) -> str:
        return f"Attention of {self.heads} heads at step {self.step:,}, on a held-out row of {self.tokens} tokens."


def head_maps(look: Look) -> HeadMaps:
    """The maps of a look: heads of all layers, and tokens along a side."""
    layers, heads, tokens, _ = look.patterns.shape
    return HeadMaps(layers * heads, look.step, tokens)


@dataclass(frozen=True, slots=True)
class RightTokens(Finding):
    """Right tokens of one answer.

    Args:
        tokens: of the answer.
        forced, free: right ones under teacher forcing, and free-running.
    """

    tokens: int
    forced: int
    free: int

    @property
    def sentence(self) -> str:
        return f"Of {self.tokens} tokens {self.forced} are right with teacher forcing and {self.free} free-running."


def right_tokens(look: Look) -> RightTokens:
    """The right tokens of a look's answer."""
    return RightTokens(len(look.wanted), int((look.forced == look.wanted).sum()), int((look.free == look.wanted).sum()))


@dataclass(frozen=True, slots=True)
class RightShares(Finding):
    """Mean share of right tokens over all rows and places, under teacher forcing and free-running."""

    forced: float
    free: float

    @property
    def sentence(self) -> str:
        return f"{self.forced:.0%} right with teacher forcing, {self.free:.0%} free-running."


def right_shares(look: Look) -> RightShares:
    """The mean shares of a look."""
    return RightShares(float(look.by_place_forced.mean()), float(look.by_place_free.mean()))


@dataclass(frozen=True, slots=True)
class GradientState(Finding):
    """The last step of a run.

    Args:
        norm: of its gradient, before clipping.
        clipped: share of all steps that were clipped, from 0 to 1.
        lr: its learning rate.
    """

    norm: float
    clipped: float
    lr: float

    @property
    def sentence(self) -> str:
        return (
            f"Gradient norm {self.norm:.2f}, clipped in {self.clipped:.0%} of the steps; learning rate {self.lr:.1e}."
        )


def gradient_state(curves: Curves, clip: float) -> GradientState:
    """The last step of a run with this bound (0 is off); zeros where there is none yet."""
    if not len(curves.step):
        return GradientState(0.0, 0.0, 0.0)
    clipped = float((curves.norm > clip).mean()) if clip else 0.0
    return GradientState(float(curves.norm[-1]), clipped, float(curves.lr[-1]))


@dataclass(frozen=True, slots=True)
class RunEnds(Finding):
    """Where several runs end.

    Args:
        accuracy: whether held-out accuracy is compared, or held-out loss in nats.
        ends: (run, value at its last check).
    """

    accuracy: bool
    ends: tuple[tuple[str, float], ...]

    @property
    def sentence(self) -> str:
        ends = "; ".join(
            f"{name} ends at {end:.0%}" if self.accuracy else f"{name} ends at {end:.2f} nats"
            for name, end in self.ends
        )
        return f"Held-out {'accuracy' if self.accuracy else 'loss'}: {ends}."


def run_ends(runs: Sequence[tuple[str, Curves]], accuracy: bool) -> RunEnds:
    """The last checks of named runs."""
    ends = [(name, float((curves.held_accuracy if accuracy else curves.held_loss)[-1])) for name, curves in runs]
    return RunEnds(accuracy, tuple(ends))
