"""Induction heads at a step of a training."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.measures.heads.compositions import compositions, head_weights
from tfcore.measures.heads.induction_heads import copying, random_rows, twice
from tfcore.measures.text_loss import position_losses
from tfcore.model import Transformer

SHOWN = 24  # random tokens of one copy in the attention maps
APART = 10  # the late token of the in-context learning score stands this many times farther into the text


@dataclass(frozen=True, slots=True)
class Moment:
    """Losses, head scores and attention of a model after some steps of training.

    Args:
        step: optimiser steps done.
        first_loss, second_loss: on the first and the second copy of random tokens, nats per token.
        previous, induction: scores of the heads, see induction_heads.scores_of.
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
    return max(2, length // APART), length


def in_context_score(by_place: Float[ndarray, " place"], early: int, late: int) -> float:
    """Mean loss of a late token of a text minus that of an early one: below 0, the text itself helped.

    Source: arXiv:2209.11895, section "phase change", with the 50th and the 500th token; shorter texts keep the ratio.

    Args:
        by_place: loss of the second, third ... token.
        early, late: counted from 1.
    """
    return float(by_place[late - 2] - by_place[early - 2])


def moment(model: Transformer, step: int, rows: Int[Tensor, "rows seq"], length: int) -> Moment:
    """Everything that the page shows of a model at one step of its training.

    Args:
        rows: of the kind it is trained on, for the in-context learning score.
        length: of one copy of random tokens.
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
