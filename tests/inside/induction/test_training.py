"""What is said of a training in which induction heads form, against moments written out."""

import math
from dataclasses import replace

import numpy as np
import pytest

from tests import small
from tfcore.measures.heads.compositions import composition
from tfcore.measures.heads.induction_moments import Moment, best_key_composition, places
from tfcore.views.inside.induction.say.training import (
    FormedYet,
    HeadsForm,
    best_heads,
    formed_yet,
    heads_form,
    in_context,
    moment_losses,
    uniform_loss_text,
)


def moment(step: int, loss: float, score: float) -> Moment:
    heads = np.array([[0.05, score], [score / 2, 0.02]])
    by_place = np.linspace(5.0, loss, 19)
    return Moment(step, 5.5, loss, heads.T / 2, heads, 0.125, by_place, np.zeros((2, 2, 6, 6)))


def planted(losses, induction, previous):
    """A moment every ten steps."""
    rows = zip(*(map(float, one) for one in (losses, induction, previous)), strict=True)
    return [
        Moment(
            10 * i, 5.0, loss, np.full((1, 1), before), np.full((1, 1), score), i / 10, np.zeros(9), np.zeros((1,) * 4)
        )
        for i, (loss, score, before) in enumerate(rows)
    ]


def test_when_heads_form():
    """From a third on, and where a tenth and nine tenths of the fall are done."""
    found = heads_form(planted([10, 9, 1, 0], [0, 0.1, 1 / 3, 0.5], [0.1, 1 / 3, 0.4, 0.5]))
    assert (found.previous, found.induction, found.fell) == (10, 20, (10, 20))
    assert (found.early, found.highest, found.peak) == (10, 30, 0)
    assert "rises" not in str(found), "the loss on the first copy is the same throughout"
    assert heads_form(planted([10, 0], [0, 0.5], [0, 0.5])).fell == (10, 10)
    assert heads_form(planted([10, 0], [0, 1 / 3], [0, 0.5])).induction == 10
    assert heads_form(planted([10], [0.5], [0.5])) is None, "a fall has two ends"
    assert heads_form(planted([10, 9, 0], [0, 0.5, 0.5], [0, 0.3, 0.3])) is None
    assert heads_form(planted([10, 9, 0], [0, 0.3, 0.3], [0, 0.5, 0.5])) is None


def test_when_heads_form_in_words():
    found = HeadsForm(100, 250, (200, 400), 5.0, 6.5, 600, (0.125, 0.25, 0.5), 50, 800)
    begins = (
        "A previous-token head is there from step 100, an induction head from step 250, and the loss on the second "
        "copy falls between steps 200 and 400: a phase change. K-composition goes from 0.12 to 0.25 by step 50, long "
        "before, and is highest at step 800 with 0.50."
    )
    assert str(found) == (
        f"{begins} Meanwhile the loss on the first copy *rises* from 5.00 to 6.50 nats at step 600: the model copies "
        "before it has learned when not to."
    )
    assert str(replace(found, first_before=6.5)) == begins


def test_the_largest_composition_is_that_of_the_last_layer():
    model = small.model(n_layers=3)
    assert best_key_composition(model) == pytest.approx(composition(model, 2).scores["key"].max())
    assert best_key_composition(small.model(n_layers=1)) == 0


def test_the_early_token_has_one_before_it():
    assert [places(length) for length in (9, 19, 20, 30, 500)] == [(2, 9), (2, 19), (2, 20), (3, 30), (50, 500)]


MOMENTS = [moment(0, 5.0, 0.1), moment(1_000, 4.9, 0.1), moment(2_000, 1.0, 0.8), moment(3_000, 0.5, 0.9)]


def test_one_moment_in_words():
    found = moment_losses(MOMENTS, 2, 256)
    assert (found.step, found.second_loss, found.fell) == (2_000, 1.0, (2_000, 3_000))
    assert (found.induction, found.previous, found.uniform) == (0.8, 0.4, math.log(256))
    assert (found.early, found.late) == (2, 20)
    assert found.in_context == pytest.approx(1.0 - 5.0)
    assert str(found) == (
        "Step 2,000: loss 5.50 on the first copy, 1.00 on the second; best induction head 0.80, previous-token head "
        "0.40, K-composition 0.12; the loss falls between steps 2,000 and 3,000 (shaded)."
    )
    assert [value for _, value, _ in found.metrics] == ["5.50", "1.00", "-4.00"]
    assert found.metrics[0][2] == "Baseline of a uniform guess: 5.55 nats"
    assert "loss of token 20 minus that of 2" in str(found.metrics[2][2])
    assert str(moment_losses(MOMENTS[:2], -1, 256)).endswith("; no phase change yet.")


def test_scores_and_losses_of_one_moment():
    assert str(in_context(MOMENTS[3])) == (
        "Loss by position: token 2 5.00, token 20 0.50; the difference is the in-context learning score, -4.50 nats."
    )
    assert str(best_heads(MOMENTS[3])) == (
        "Attention patterns of every head at step 3,000; best induction head 0.90, best previous-token head 0.45."
    )
    assert uniform_loss_text(256) == "ln 256 = 5.55 nats"


def test_whether_heads_have_formed_yet():
    assert formed_yet(MOMENTS) == FormedYet(3_000, 0.5, (2_000, 3_000))
    assert str(formed_yet(MOMENTS)) == (
        "Induction heads formed: the loss on the second copy fell between steps 2000 and 3000, to 0.50 nats."
    )
    assert str(formed_yet(MOMENTS[:2])) == (
        "No induction head until step 1000: the second copy is as hard as the first, 4.90 nats."
    )
