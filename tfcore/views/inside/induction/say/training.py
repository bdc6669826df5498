"""Findings on a training in which induction heads form, measured at steps of it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tfcore.measures.heads.induction_heads import STRONG
from tfcore.measures.heads.induction_moments import Moment, places
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.inside.induction.measure.training import loss_fall


def uniform_loss_text(vocab_size: int) -> str:
    """The loss of a uniform guess, as in "ln 256 = 5.55 nats"."""
    return f"ln {vocab_size} = {math.log(vocab_size):.2f} nats"


@dataclass(frozen=True, slots=True)
class HeadsForm(Finding):
    """When induction heads form in a training, in steps.

    Args:
        previous, induction: the first step at which a head of the kind is there.
        fell: the steps of `loss_fall`.
        first_before, first_peak, peak: loss on the first copy where the fall begins, its highest value, and its step.
        keys: the largest K-composition at step 0, at the next moment, and at its highest.
        early, highest: the steps of the latter two.
    """

    previous: int
    induction: int
    fell: tuple[int, int]
    first_before: float
    first_peak: float
    peak: int
    keys: tuple[float, float, float]
    early: int
    highest: int

    @property
    def sentence(self) -> str:
        start, early, top = self.keys
        words = (
            f"A previous-token head is there from step {self.previous:,}, an induction head from step "
            f"{self.induction:,}, and the loss on the second copy falls between steps {self.fell[0]:,} and "
            f"{self.fell[1]:,}: a phase change. K-composition goes from {start:.2f} to {early:.2f} by step "
            f"{self.early:,}, long before, and is highest at step {self.highest:,} with {top:.2f}."
        )
        if self.first_peak > self.first_before:
            words += (
                f" Meanwhile the loss on the first copy *rises* from {self.first_before:.2f} to {self.first_peak:.2f} "
                f"nats at step {self.peak:,}: the model copies before it has learned when not to."
            )
        return words


def heads_form(moments: Sequence[Moment]) -> HeadsForm | None:
    """When the heads form; None while there is no induction head or no previous-token head."""
    fell = loss_fall(moments)
    there = [[m.step for m in moments if getattr(m, kind).max() >= STRONG] for kind in ("previous", "induction")]
    if fell is None or not all(there) or len(moments) < 2:
        return None
    (previous, *_), (induction, *_) = there
    peak = max(moments, key=lambda m: m.first_loss)
    before = next(m for m in moments if m.step == fell[0])
    highest = max(moments, key=lambda m: m.key_composition)
    return HeadsForm(
        previous=previous,
        induction=induction,
        fell=fell,
        first_before=before.first_loss,
        first_peak=peak.first_loss,
        peak=peak.step,
        keys=(moments[0].key_composition, moments[1].key_composition, highest.key_composition),
        early=moments[1].step,
        highest=highest.step,
    )


@dataclass(frozen=True, slots=True)
class MomentLosses(Finding):
    """Losses and best scores at one step, and the fall of the loss so far.

    Args:
        step: of the moment.
        first_loss, second_loss: nats per token.
        induction, previous, key_composition: the highest score of a head, or of a pair of heads.
        fell: the steps of `loss_fall`.
        in_context: the in-context learning score, nats.
        early, late: the tokens that it compares.
        uniform: loss of a uniform guess, nats.
    """

    step: int
    first_loss: float
    second_loss: float
    induction: float
    previous: float
    key_composition: float
    fell: tuple[int, int] | None
    in_context: float
    early: int
    late: int
    uniform: float

    @property
    def metrics(self) -> tuple[tuple[str, str, str | None], ...]:
        """(label, value, help) of three numbers."""
        return (
            ("Loss, first copy", f"{self.first_loss:.2f}", f"Baseline of a uniform guess: {self.uniform:.2f} nats"),
            ("Second copy", f"{self.second_loss:.2f}", None),
            (
                "In-context score",
                f"{self.in_context:+.2f}",
                f"In-context learning score: loss of token {self.late} minus that of {self.early}, nats",
            ),
        )

    @property
    def sentence(self) -> str:
        fell = (
            "no phase change yet"
            if self.fell is None
            else f"the loss falls between steps {self.fell[0]:,} and {self.fell[1]:,} (shaded)"
        )
        return (
            f"Step {self.step:,}: loss {self.first_loss:.2f} on the first copy, {self.second_loss:.2f} on the second; "
            f"best induction head {self.induction:.2f}, previous-token head {self.previous:.2f}, K-composition "
            f"{self.key_composition:.2f}; {fell}."
        )


def moment_losses(moments: Sequence[Moment], at: int, vocab_size: int) -> MomentLosses:
    """The moment with index `at`; the fall is that of all moments."""
    now = moments[at]
    return MomentLosses(
        now.step,
        now.first_loss,
        now.second_loss,
        float(now.induction.max()),
        float(now.previous.max()),
        now.key_composition,
        loss_fall(moments),
        now.in_context,
        *places(len(now.by_place) + 1),
        uniform=math.log(vocab_size),
    )


def in_context(now: Moment) -> Statement:
    """The in-context learning score of one moment as the difference of two losses."""
    early, late = places(len(now.by_place) + 1)
    return state(
        "in-context score",
        "Loss by position: token {early} {early_loss:.2f}, token {late} {late_loss:.2f}; the difference is the "
        "in-context learning score, {score:+.2f} nats.",
        early=early,
        early_loss=float(now.by_place[early - 2]),
        late=late,
        late_loss=float(now.by_place[late - 2]),
        score=now.in_context,
    )


def best_heads(now: Moment) -> Statement:
    """The highest induction and previous-token scores of a head at one step."""
    return state(
        "best heads",
        "Attention patterns of every head at step {step:,}; best induction head {induction:.2f}, best previous-token "
        "head {previous:.2f}.",
        step=now.step,
        induction=float(now.induction.max()),
        previous=float(now.previous.max()),
    )


@dataclass(frozen=True, slots=True)
class FormedYet(Finding):
    """Whether induction heads have formed in a training so far.

    Args:
        step: of the last moment.
        second_loss: on the second copy, there.
        fell: the steps of `loss_fall`.
    """

    step: int
    second_loss: float
    fell: tuple[int, int] | None

    @property
    def sentence(self) -> str:
        if self.fell is None:
            return (
                f"No induction head until step {self.step}: the second copy is as hard as the first, "
                f"{self.second_loss:.2f} nats."
            )
        return (
            f"Induction heads formed: the loss on the second copy fell between steps {self.fell[0]} and "
            f"{self.fell[1]}, to {self.second_loss:.2f} nats."
        )


def formed_yet(moments: Sequence[Moment]) -> FormedYet:
    """The state of a training at its last moment."""
    return FormedYet(moments[-1].step, moments[-1].second_loss, loss_fall(moments))
