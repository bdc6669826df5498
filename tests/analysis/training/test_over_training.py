"""Smaller models on more tokens: equal budgets are equal, equal losses are equal, and the balance is right."""

import numpy as np
import pytest

from tfcore.analysis.training.over_training import for_loss, lifetime, over_training
from tfcore.analysis.training.published_laws import LAWS

LAW = LAWS["refit"]


def test_both_ways_keep_what_they_promise():
    found = over_training(LAW, 5.76e23, 200.0)
    assert found.same_budget.flops == pytest.approx(found.best.flops)
    assert found.same_loss.loss == pytest.approx(found.best.loss, abs=1e-12)
    assert found.same_budget.ratio == pytest.approx(200)
    assert found.same_loss.ratio == pytest.approx(200)
    assert found.same_budget.n < found.same_loss.n < found.best.n
    assert found.extra_loss == pytest.approx(0.01435, abs=1e-4)


def test_after_that_many_tokens_both_have_cost_the_same():
    found = over_training(LAW, 1e22, 500.0)
    served = found.pays_after
    small = found.same_loss.flops + 2 * found.same_loss.n * served
    assert small == pytest.approx(found.best.flops + 2 * found.best.n * served)
    assert over_training(LAW, 1e22, 2.0).pays_after == float("inf"), "a larger model never pays"


def test_the_best_ratio_loses_nothing():
    best = over_training(LAW, 1e22, 20.0).best
    same = over_training(LAW, 1e22, best.ratio)
    assert same.extra_loss == pytest.approx(0, abs=1e-9)
    assert same.extra_training / best.flops == pytest.approx(0, abs=1e-6)


def test_the_cheapest_life_moves_with_use():
    ratios, loss = np.logspace(0, 4, 81), over_training(LAW, 1e22, 20.0).best.loss
    lives = [lifetime(LAW, loss, served, ratios) for served in (1.0, 1e12, 1e15)]
    cheapest = [float(ratios[life.cheapest]) for life in lives]
    assert cheapest[0] == pytest.approx(over_training(LAW, 1e22, 20.0).best.ratio, rel=0.1)
    assert cheapest == sorted(set(cheapest))
    assert lives[1].use == pytest.approx(2e12 * lives[1].n)


def test_a_loss_below_the_floor_is_refused():
    with pytest.raises(ValueError, match="not above the floor"):
        for_loss(LAW, 1.8, 20.0)
