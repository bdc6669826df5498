"""Label smoothing against torch's own, and what is said of each choice, from planted results."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tests.training.lab.test_runs import curves
from tfcore.training.lab.options import Norms, Rates, Updates
from tfcore.views.training.lab.measure import smoothing, smoothing_target
from tfcore.views.training.lab.say.option_effects import (
    clipped_steps,
    lowest_point,
    norms_kept,
    other_bound,
    overfit_gaps,
    rate_shares,
    smoothed_target,
    update_spreads,
)


@pytest.mark.parametrize("epsilon", [0.0, 0.1, 0.4])
def test_the_loss_is_torchs(epsilon):
    found = smoothing(epsilon, 7)
    for i in (3, 90, 180):
        p = torch.full((7,), (1 - found.probability[i]) / 6, dtype=torch.float64)
        p[0] = found.probability[i]
        theirs = F.cross_entropy(p.log()[None], torch.tensor([0]), label_smoothing=epsilon)
        assert found.loss[i] == pytest.approx(float(theirs))


def test_the_floor_is_where_the_model_says_the_target():
    found = smoothing(0.1, 10)
    assert smoothing_target(0.1, 10).sum() == pytest.approx(1)
    assert found.best == pytest.approx(0.91)
    assert found.floor <= found.loss.min() + 1e-9
    assert found.probability[found.loss.argmin()] == pytest.approx(found.best, abs=0.01)
    assert smoothing(0.0, 10).floor == 0
    assert np.isfinite(found.loss).all()


# ---- what is said ----


def test_shares_of_the_peak_are_those_half_way():
    cosine, inverse, constant = (np.array(v) / 10 for v in ([0.5, 1, 0.6, 0.2, 0], [0.5, 1, 0.8, 0.7, 0.4], [1] * 5))
    found = rate_shares(
        Rates(np.arange(5), {"cosine": cosine, "inverse_sqrt": inverse, "constant": constant}), 5_000, 20, 0.1
    )
    assert found.half == pytest.approx({"cosine": 0.6, "inverse_sqrt": 0.8, "constant": 1.0})
    assert (found.inverse_end, found.left) == (pytest.approx(0.4), "40% of its peak")
    assert str(found) == (
        "Warm-up of 20 steps to 0.1. Left of the peak after half of the 5,000 steps: cosine 60%, inverse square root "
        "80%, constant 100%."
    )


def test_the_spread_of_updates_is_the_largest_over_the_smallest():
    moved = {"adamw": [2, 8], "adam": [3, 9], "sgd": [1, 2_500], "sgd without momentum": [1, 30]}
    found = update_spreads(
        [Updates(kind, ("a", "b"), np.ones(2), np.array(v) * 1e-3) for kind, v in moved.items()], 8, 0.01
    )
    assert found.spreads == pytest.approx({"adamw": 4, "adam": 3, "sgd": 2_500, "sgd without momentum": 30})
    assert Updates("sgd", ("a", "b"), np.ones(2), np.array([0.0, 2.0])).spread == pytest.approx(2e30)
    assert (found.adam_least, found.adam_most) == (pytest.approx(0.3), pytest.approx(0.9))
    assert (found.sgd, found.adam) == ("2,500.0 times", "3.0 times")
    assert str(found) == (
        "Every matrix of this model after 8 steps at learning rate 0.01: the matrix moved most moves farther than the "
        "one moved least: AdamW 4.0 times, Adam 3.0 times, SGD + momentum 2,500.0 times, SGD, no momentum 30.0 times. "
        "Adam's move by 0.30 to 0.90 of the learning rate."
    )


def test_norms_are_those_of_the_last_step():
    found = norms_kept(
        [
            Norms("adamw", np.array([1, 0.9, 0.75]), np.array([1, 1, 1.5])),
            Norms("adam", np.array([1, 0.5, 0.25]), np.array([1, 1, 0.5])),
            Norms("none", np.array([1, 1, 1.25]), np.array([1, 1, 1.0])),
        ],
        0.01,
        0.1,
        own=False,
    )
    assert (found.steps, found.matrices) == (2, {"adamw": 0.75, "adam": 0.25, "none": 1.25})
    assert (found.rest_least, found.rest_most) == (0.5, 1.5)
    assert found.comparison == (
        "After 2 steps they have 25% of their norm under Adam and 75% under AdamW, 125% without decay."
    )
    assert str(found) == (
        "2 steps of this model at learning rate 0.01 with weight decay 0.1 (your run has none). Of their first norm "
        "the matrices keep: AdamW 75%, Adam + L2 25%, no decay 125%; the rest, 50% to 150%."
    )


def test_steps_above_the_bound_are_counted():
    run = curves(norm=(0.5, 4.0, 1.0, 2.0, 0.4))
    found = clipped_steps(run, 1.0)
    assert (found.share, found.steps, found.largest) == (pytest.approx(0.4), 5, 4.0)
    assert str(found) == ("The run's own gradients, clipped to 1: 40% of 5 steps were cut, the largest norm was 4.00.")
    assert str(clipped_steps(run, 0.0)).startswith("The run's own gradients, not clipped: 0% of 5 steps")


def test_another_bound_is_half_of_the_own_one_or_the_median():
    run = curves(norm=(0.45, 4.0, 1.0, 2.0, 0.4))
    found = other_bound(run, 1.0)
    assert (found.bound, found.name, found.kept) == (0.5, "0.5", 0.125)
    assert found.share == pytest.approx(3 / 5)
    assert str(found) == (
        "Those whose line before clipping lies above it: 60%, instead of 40% with 1. The largest of them would be cut "
        "to 12% of its length."
    )
    off = other_bound(run, 0.0)
    assert (off.bound, off.share) == (1.0, pytest.approx(2 / 5))
    assert "above it: 40%. The largest" in str(off)
    assert other_bound(run, 20.0).kept == 1


def test_what_is_said_of_smoothing():
    found = smoothed_target(smoothing(0.1, 20))
    floor = pytest.approx(-0.905 * np.log(0.905) - 19 * 0.005 * np.log(0.005))
    target = {"target": pytest.approx(0.905), "other": pytest.approx(0.005), "floor": floor}
    assert found.values == {"epsilon": 0.1, "vocab": 20, **target}
    assert str(lowest_point(smoothing(0.1, 20))) == "With smoothing 0.1 the curve is lowest at 0.905."
    assert str(found) == (
        "With smoothing 0.1 over 20 tokens the target is 0.905 for the right one and 0.0050 for each other; the loss "
        "cannot fall below 0.594 nats."
    )


def test_the_gap_and_the_best_run_are_told_apart():
    runs = [
        ("dropout 0", curves(train_loss=(3, 1, 0.5), held_loss=(3, 1, 1.75))),
        ("dropout 0.1", curves(train_loss=(3, 1, 1.0), held_loss=(3, 1, 1.25))),
        ("dropout 0.5", curves(train_loss=(3, 1, 2.0), held_loss=(3, 1, 1.5))),
    ]
    found = overfit_gaps(runs)
    assert found.gaps == (("dropout 0", 1.25), ("dropout 0.1", 0.25), ("dropout 0.5", -0.5))
    assert (found.widest, found.widest_gap, found.best, found.best_loss) == ("dropout 0", 1.25, "dropout 0.1", 1.25)
    assert str(found) == (
        "Loss held out less loss on what it trains on: dropout 0: gap +1.25 nats; dropout 0.1: gap +0.25 nats; dropout "
        "0.5: gap -0.50 nats."
    )
    assert found.comparison == (
        "Overfits most: the one whose lines are furthest apart at the end, here dropout 0 with +1.25 nats. Best on new "
        "text: the lowest solid line, here dropout 0.1 with 1.25 nats."
    )
