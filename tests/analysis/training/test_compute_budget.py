import numpy as np
import pytest

from tfcore.analysis.training.compute_budget import (
    at_ratio,
    at_size,
    budget_for,
    for_loss,
    iso_flops,
    lifetime,
    optimum,
    over_training,
)
from tfcore.analysis.training.law_curves import law_curves, shares
from tfcore.analysis.training.scaling_laws import KAPLAN, KAPLAN_COMPUTE, LAWS


def searched(law, flops):
    """The best of very many sizes."""
    n = np.logspace(5, 15, 200_001)
    loss = law.floor + law.a * n**-law.alpha + law.b * (flops / 6 / n) ** -law.beta
    return n[loss.argmin()], loss.min()


@pytest.mark.parametrize("flops", [1e17, 1e21, 5.76e23, 1e28])
@pytest.mark.parametrize("name", LAWS)
def test_the_closed_form_against_a_naive_search(name, flops):
    best, (n, loss) = optimum(LAWS[name], flops), searched(LAWS[name], flops)
    assert best.n == pytest.approx(n, rel=1e-4)
    assert best.loss == pytest.approx(loss, abs=1e-9)
    assert 6 * best.n * best.d == pytest.approx(flops)


def test_curves_of_equal_compute_have_their_bottom_there():
    n = np.logspace(7, 13, 601)
    found = iso_flops(LAWS["refit"], [1e20, 1e24], n)
    for values, best in zip(found.loss, found.best, strict=True):
        assert n[values.argmin()] == pytest.approx(best.n, rel=0.02)
        assert values.min() >= best.loss


@pytest.mark.parametrize("name", LAWS)
def test_the_smallest_budget_for_a_loss_is_the_way_back(name):
    best = optimum(LAWS[name], 1e22)
    back = budget_for(LAWS[name], best.loss)
    assert (back.flops, back.n, back.d) == pytest.approx((best.flops, best.n, best.d))
    with pytest.raises(ValueError, match="not above the floor"):
        budget_for(LAWS[name], LAWS[name].floor)


def test_other_splits_spend_the_same():
    law = LAWS["refit"]
    for training in (at_size(law, 1e22, 1e9), at_ratio(law, 1e22, 300.0)):
        assert 6 * training.n * training.d == pytest.approx(1e22)
        assert training.loss > optimum(law, 1e22).loss
    assert at_ratio(law, 1e22, 300.0).ratio == pytest.approx(300)


def test_the_best_of_every_budget_is_below_every_size():
    found = law_curves(LAWS["refit"], "compute")
    assert (found.loss >= found.best - 1e-12).all()
    assert (found.loss.min(0) - found.best).min() < 0.01, "sizes come close to it"
    slope = np.diff(np.log(found.best - found.floor)) / np.diff(np.log(found.x))
    assert slope == pytest.approx(-0.3478 * 0.3658 / (0.3478 + 0.3658)), "a straight line above the floor"
    size = law_curves(LAWS["refit"], "size")
    assert size.loss[-1] == pytest.approx(1.8172 + 482.01 / size.x**0.3478)
    kaplan = law_curves(KAPLAN, "compute")
    assert kaplan.best == pytest.approx(KAPLAN_COMPUTE.loss(kaplan.x))
    assert kaplan.loss.shape == (0, len(kaplan.x))


def test_shares_add_up_where_the_law_is_a_sum():
    found = shares(LAWS["refit"], 70e9, 1.4e12)
    assert found.floor + found.size + found.data == pytest.approx(found.loss)
    assert found.size == pytest.approx(482.01 / 70e9**0.3478)
    assert shares(KAPLAN, 70e9, 1.4e12).floor == 0


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
