"""Over-training: both ways keep what they promise, and what is said of them."""

from math import inf
from types import SimpleNamespace

import numpy as np
import pytest

from tests.one_property import told
from tfcore.measures.scaling_laws import LAWS
from tfcore.views.training.scaling.measure.compute_budget import Training, at_ratio, optimum
from tfcore.views.training.scaling.measure.over_training import Lifetime, extra_losses, for_loss, lifetime
from tfcore.views.training.scaling.say.compute_budget import tokens_per_parameter
from tfcore.views.training.scaling.say.over_training import OverTraining, cheapest_lifetime, extra_loss, over_training

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
    assert same.training == pytest.approx(1, abs=1e-6)


def test_the_cheapest_life_moves_with_use():
    ratios, loss = np.logspace(0, 4, 81), over_training(LAW, 1e22, 20.0).best.loss
    lives = [lifetime(LAW, loss, served, ratios) for served in (1.0, 1e12, 1e15)]
    cheapest = [float(ratios[life.cheapest]) for life in lives]
    assert cheapest[0] == pytest.approx(over_training(LAW, 1e22, 20.0).best.ratio, rel=0.1)
    assert cheapest == sorted(set(cheapest))
    assert lives[1].inference == pytest.approx(2e12 * lives[1].n)


def test_a_loss_below_the_floor_is_refused():
    with pytest.raises(ValueError, match="not above the floor"):
        for_loss(LAW, 1.8, 20.0)
    with pytest.raises(ValueError, match="not above the floor"):
        for_loss(LAW, LAW.floor, 20.0)


def test_every_model_of_a_lifetime_reaches_the_loss():
    ratios = np.array([0.5, 3.0, 4000.0])
    life = lifetime(LAW, 2.1, 1e13, ratios)
    for i, ratio in enumerate(ratios):
        n = life.n[i]
        assert LAW.loss(n, ratio * n) == pytest.approx(2.1)
        assert for_loss(LAW, 2.1, ratio).n == pytest.approx(n)
        assert life.training[i] == pytest.approx(6 * n * ratio * n)
        assert life.total[i] == pytest.approx(6 * n * ratio * n + 2 * n * 1e13)


def test_extra_losses_are_above_the_optimum():
    ratios = np.array([1.0, 20.4, 3000.0])
    best = optimum(LAW, 1e22).loss
    assert extra_losses(LAW, 1e22, ratios) == pytest.approx([at_ratio(LAW, 1e22, r).loss - best for r in ratios])
    assert extra_losses(LAW, 1e22, ratios).min() == pytest.approx(0, abs=1e-6)


BEST = Training(5.76e23, 72.2e9, 1.3285e12, 1.9744)
BUDGET = Training(5.76e23, 21.9e9, 4.38e12, 1.9887)
SAME = Training(9.4464e23, 28.06e9, 5.611e12, 1.9744)


def test_what_is_said_of_over_training():
    found = OverTraining(BEST, BUDGET, SAME)
    assert found.inference == pytest.approx(21.9 / 72.2)
    assert found.training == pytest.approx(1.64)
    assert str(found) == (
        "At 200 tokens per parameter the same budget ends 0.0143 nats above the optimum, and each inference token "
        "costs 30% of what it would. For the same loss, train with 1.64 times the operations: the model then has "
        "28.1 B parameters instead of 72.2 B."
    )
    served = (9.4464e23 - 5.76e23) / (2 * (72.2e9 - 28.06e9))
    assert found.pays_after == pytest.approx(served)
    assert found.numbers == ("+0.0143", "30%", "1.64 ×", "4.18 T")
    assert OverTraining(BEST, BUDGET, Training(9e23, 9e10, 1.7e12, 1.9744)).numbers[3] == "never"


def test_what_is_said_of_the_same_budget():
    found = extra_loss(OverTraining(BEST, BUDGET, SAME))
    assert str(found) == (
        "Same budget, 5.8 × 10²³ operations: 200 tokens per parameter make a model of 21.9 B instead of 72.2 B at "
        "18.4, +0.0143 nats."
    )


def test_the_cheapest_of_a_life_has_the_least_of_both_together():
    random = np.random.default_rng(2)
    ratio, n, training, inference = random.uniform(1, 2, (4, 30))
    best = 0
    for i in range(30):
        if training[i] + inference[i] < training[best] + inference[best]:
            best = i
    assert best not in (training.argmin(), inference.argmin())
    found = cheapest_lifetime(Lifetime(2.0, 1e13, ratio, n, training, inference))
    assert found.values["ratio"] == tokens_per_parameter(ratio[best])
    one, n = np.array([115.2]), np.array([33.4e9])
    assert str(cheapest_lifetime(Lifetime(1.9744, 1e13, one, n, one, one))) == (
        "Same loss, 1.974, and 10 T inference tokens: cheapest in all at 115 tokens per parameter, 33.4 B parameters."
    )


@pytest.mark.usefixtures("unchecked")
def test_what_saves_nothing_never_pays():
    def pays(saved):
        flops = {"best": SimpleNamespace(flops=1.0), "same_loss": SimpleNamespace(flops=3.0)}
        return told(OverTraining, "pays_after", saved_per_token=saved, **flops)

    assert [pays(saved) for saved in (-1.0, 0.0, 0.5)] == [inf, inf, 4.0]
