"""A training in which induction heads form: a film of a shipped model, and a small one grown here and now."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from tfcore.measures.heads.induction_moments import SHOWN, Moment, in_context_score, moment, places
from tfcore.training import growing
from tfcore.training.growing import GrowConfig, film_moment, grow
from tfcore.views.inside.induction.draw.training import course_figure, loss_by_position_figure, maps_figure
from tfcore.views.inside.induction.measure.training import film, grown, loss_fall, moment_of
from tfcore.views.inside.induction.say.training import best_heads, formed_yet, heads_form, in_context, moment_losses
from tfcore.views.view import View, view

VOCAB = 256  # of the model of the film


@view
def film_course(frame: int) -> View:
    """The training of a shipped model in which induction heads form: losses and the best heads, step by step.

    Args:
        frame: of the film, from 0 on, that is looked at.
    """
    moments = film()
    return replace(
        _course(moments, frame, moments[-1].step, VOCAB, log=True),
        papers=(
            "In-context learning score and the phase change: arXiv:2209.11895, argument 1; there the 500th token "
            "against the 50th, here the 120th against the 12th. The recipe of the shipped model: "
            "tfcore/training/recipes/induction.py"
        ),
        code=(moment, in_context_score, heads_form, film_moment),
    )


@view
def film_by_position(frame: int) -> View:
    """The loss of each token of a text at one step of a training, and at its start. See film_course."""
    now, start = moment_of(frame), moment_of(0)
    early, late = places(len(now.by_place) + 1)
    return View(
        key="along",
        title="The loss by position",
        result=now,
        chart=loss_by_position_figure(now, start, early, late, math.log(VOCAB), height=340),
        min_width=300,
        findings=(in_context(now),),
        note=f"Mean over {growing.MEASURED_ROWS} sequences that repeat after a period of their own.",
        table=lambda: pd.DataFrame({"token": range(2, len(now.by_place) + 2), "loss": now.by_place}),
    )


@view
def film_maps(frame: int) -> View:
    """Attention of every head at one step of the training in which induction heads form. See film_course."""
    return _maps(moment_of(frame))


@view
def course(config: GrowConfig, *, so_far: Sequence[Moment] | None = None) -> View:
    """A small model in training: with two layers induction heads form, with one they cannot.

    Args:
        so_far: its moments until now; None trains to the end.
    """
    moments = grown(config) if so_far is None else so_far
    return replace(
        _course(moments, -1, config.steps, config.vocab_size, log=False),
        conclusions=(formed_yet(moments),),
        code=(grow, moment, loss_fall),
    )


@view
def maps(config: GrowConfig, *, so_far: Moment | None = None) -> View:
    """Attention of every head of a small model after its training.

    Args:
        so_far: the model as it is now; None trains to the end.
    """
    return _maps(grown(config)[-1] if so_far is None else so_far)


def _course(moments: Sequence[Moment], at: int, steps: int, vocab_size: int, *, log: bool) -> View:
    return View(
        key="course",
        title="The training",
        result=moments,
        chart=course_figure(moments, at, steps, loss_fall(moments), math.log(vocab_size), height=430, log=log),
        min_width=350,
        findings=(moment_losses(moments, at, vocab_size),),
        table=lambda: pd.DataFrame(
            {
                "step": [m.step for m in moments],
                "first loss": [m.first_loss for m in moments],
                "second loss": [m.second_loss for m in moments],
                "induction": [m.induction.max() for m in moments],
                "previous token": [m.previous.max() for m in moments],
                "K-composition": [m.key_composition for m in moments],
                "in-context score": [m.in_context for m in moments],
            }
        ),
    )


def _maps(now: Moment) -> View:
    return View(
        key="maps",
        title="Attention of every head",
        result=now,
        chart=maps_figure(now, height=210 * len(now.induction)),
        min_width=500,
        findings=(best_heads(now),),
        note=f"Measured on {SHOWN} repeated random tokens: rows are queries, columns keys. Above each: previous-token "
        "and induction score. Stripe right below the diagonal: previous token; half-way down: induction.",
        table=lambda: pd.DataFrame(now.patterns.reshape(-1, now.patterns.shape[-1])),
    )
