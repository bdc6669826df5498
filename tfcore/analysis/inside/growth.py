"""A model on its way to induction: everything there is to see at one moment of its training."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.inside.composition import compositions, head_weights
from tfcore.analysis.inside.copying import STRONG, copying, random_rows, twice
from tfcore.analysis.training.text_loss import position_losses
from tfcore.model import Transformer

SHOWN = 24  # tokens that are repeated in the maps
TENTH = 10  # how many times farther into the text the late token of the in-context learning score stands


@dataclass(frozen=True, slots=True)
class Moment:
    """A model after some steps of training.

    Args:
        step: optimiser steps done.
        first_loss, second_loss: on random tokens and on the same ones again, nats per token.
        previous, induction: mean weight on the previous token, and on the one after the earlier occurrence.
        key_composition: the largest score of a head of the last layer with one below it; 0 with one layer.
        by_place: loss of the second, third ... token of rows as in training.
        patterns: attention on one sequence of 24 tokens, repeated.
    """

    step: int
    first_loss: float
    second_loss: float
    previous: Float[ndarray, "layer head"]
    induction: Float[ndarray, "layer head"]
    key_composition: float
    by_place: Float[ndarray, " place"]
    patterns: Float[ndarray, "layer head query key"]

    @property
    def in_context(self) -> float:
        """The in-context learning score."""
        return in_context_score(self.by_place, *places(len(self.by_place) + 1))


def places(length: int) -> tuple[int, int]:
    """The early and the late token of the in-context learning score, counted from 1."""
    return max(2, length // TENTH), length


def in_context_score(by_place: Float[ndarray, " place"], early: int, late: int) -> float:
    """Mean loss of a late token of a text minus that of an early one: below 0, the text itself helped.

    Source: arXiv:2209.11895, section "phase change", with the 50th and the 500th token; shorter texts keep the ratio.

    Args:
        by_place: loss of the second, third ... token.
        early, late: counted from 1.
    """
    return float(by_place[late - 2] - by_place[early - 2])


def moment(model: Transformer, step: int, rows: Int[Tensor, "rows seq"], length: int) -> Moment:
    """Measure a model.

    Args:
        rows: of the kind it is trained on, for the in-context learning score.
        length: of the random tokens that are repeated.
    """
    vocab = model.config.vocab_size
    measured = copying(model, twice(random_rows(vocab, length, 8, seed=1)), length)
    few = min(SHOWN, vocab)
    shown = copying(model, twice(random_rows(vocab, few, 1, seed=1)), few)
    return Moment(
        step,
        measured.first_loss,
        measured.second_loss,
        measured.scores["previous token"],
        measured.scores["induction"],
        best_key_composition(model),
        position_losses(model, rows, len(rows)).numpy(),
        shown.patterns.astype(np.float32),
    )


@torch.no_grad()
def best_key_composition(model: Transformer) -> float:
    """The largest K-composition of a head of the last layer with one below it."""
    last = model.config.n_layers - 1
    pairs = (compositions(head_weights(model, last), head_weights(model, below))["key"] for below in range(last))
    return max((float(scores.max()) for scores in pairs), default=0.0)


def jump(moments: list[Moment]) -> tuple[int, int] | None:
    """The steps between which the loss on the second copy falls from a tenth of its way to nine tenths, until now;
    None before there is an induction head."""
    if not any(m.induction.max() >= STRONG for m in moments):
        return None
    losses = np.array([m.second_loss for m in moments])
    top, bottom = float(losses.max()), float(losses.min())
    after = int(losses.argmax())
    marks = [
        next(i for i in range(after, len(losses)) if losses[i] <= top - share * (top - bottom)) for share in (0.1, 0.9)
    ]
    return moments[marks[0]].step, moments[marks[1]].step


@dataclass(frozen=True, slots=True)
class Formation:
    """When induction heads form in a training, in steps.

    Args:
        previous, induction: the first step at which a head of the kind is there.
        fell: the steps between which the loss on the second copy falls from a tenth of its way to nine tenths.
        first_before, first_peak, peak: loss on the first copy where the fall begins, its highest value, and its step.
        keys: the largest K-composition at step 0, after the next frame, and at its highest.
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


def formation(moments: list[Moment]) -> Formation | None:
    """When the heads form; None while there is no induction head or no previous-token head."""
    fell = jump(moments)
    first = {
        kind: next((m.step for m in moments if float(getattr(m, kind).max()) >= STRONG), None)
        for kind in ("previous", "induction")
    }
    if fell is None or first["previous"] is None or first["induction"] is None or len(moments) < 2:
        return None
    peak = max(moments, key=lambda m: m.first_loss)
    before = next(m for m in moments if m.step == fell[0])
    highest = max(moments, key=lambda m: m.key_composition)
    return Formation(
        first["previous"],
        first["induction"],
        fell,
        before.first_loss,
        peak.first_loss,
        peak.step,
        (moments[0].key_composition, moments[1].key_composition, highest.key_composition),
        moments[1].step,
        highest.step,
    )


def formed(found: Formation) -> str:
    """The phase change in sentences."""
    start, early, top = found.keys
    words = (
        f"A previous-token head is there from step {found.previous:,}, an induction head from step "
        f"{found.induction:,}, and the loss on the second copy falls between steps {found.fell[0]:,} and "
        f"{found.fell[1]:,}: a phase change. K-composition goes from {start:.2f} to {early:.2f} by step "
        f"{found.early:,}, long before, and is highest at step {found.highest:,} with {top:.2f}."
    )
    if found.first_peak > found.first_before:
        words += (
            f" Meanwhile the loss on the first copy *rises* from {found.first_before:.2f} to {found.first_peak:.2f} "
            f"nats at step {found.peak:,}: the model copies before it has learned when not to."
        )
    return words
