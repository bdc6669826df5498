"""Laws as curves, and the loss of one model taken apart."""

from types import SimpleNamespace

import numpy as np
import pytest

from tfcore.measures.scaling_laws import KAPLAN, KAPLAN_COMPUTE, LAWS
from tfcore.views.training.scaling.measure.law_curves import law_curves, operations
from tfcore.views.training.scaling.say.law_curves import (
    DueToSizeAndData,
    LossParts,
    due_to_size_and_data,
    frontier_exponent,
    loss_parts,
)


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


def test_the_parts_add_up_where_the_law_is_a_sum():
    found = loss_parts(LAWS["refit"], 70e9, 1.4e12)
    assert found.floor + found.size + found.data == pytest.approx(found.loss)
    assert found.size == pytest.approx(482.01 / 70e9**0.3478)
    assert loss_parts(KAPLAN, 70e9, 1.4e12).floor == 0
    endless = 1.8172 + 482.01 / 70e9**0.3478
    assert found.data == pytest.approx(found.loss - endless)
    assert (found.n, found.d) == (70e9, 1.4e12)


def test_against_compute_kaplans_loss_is_that_of_its_curve():
    assert operations(LAWS["refit"], 1e9, 1e10) == 6e19
    assert operations(KAPLAN, 1e9, 1e10) == 3e19, "C_min is half of what a training takes"
    by_compute, by_size = (loss_parts(KAPLAN, 1e9, 1e10, against) for against in ("compute", "size"))
    assert by_compute.loss == KAPLAN_COMPUTE.loss(3e19)
    assert by_size.loss == KAPLAN.loss(1e9, 1e10)
    assert (by_compute.size, by_compute.data) == (by_size.size, by_size.data)
    assert loss_parts(LAWS["refit"], 1e9, 1e10, "compute") == loss_parts(LAWS["refit"], 1e9, 1e10)


def test_what_is_said_of_a_loss():
    found = LossParts(69.2e9, 1.38e12, 1.8172, 0.0823, 0.0757, 1.9752)
    assert str(found) == (
        "69.2 B parameters on 1.38 T tokens (5.7 × 10²³ operations) end at 1.975 nats per token. What it is made of: "
        "E 1.82, size 0.082, data 0.076."
    )
    assert found.numbers == ("1.975", "1.82", "0.082", "0.076")
    bare = LossParts(1e9, 1e10, 0.0, 0.1, 0.2, 2.5)
    assert "What it is made of: no E, size 0.100, data 0.200." in str(bare)
    assert bare.numbers[1] == "none"


def test_gpt_3_was_limited_by_its_tokens():
    found = due_to_size_and_data()
    size = 482.01 / 175e9**0.3478
    data = 2085.43 / 300e9**0.3658
    assert (found.gpt3.size, found.gpt3.data) == pytest.approx((size, data))
    assert (found.chinchilla.n, found.chinchilla.d) == (70e9, 1.4e12)
    assert found.limit == "Tokens"
    one, other = LossParts(175e9, 3e11, 1.8, 0.06, 0.1333, 2.0), LossParts(70e9, 1.4e12, 1.8, 0.082, 0.0756, 2.0)
    assert str(DueToSizeAndData(one, other)) == (
        "Tokens: by the refitted law, unlimited parameters would lower its loss by 0.060 nats, unlimited tokens by "
        "0.133. For Chinchilla, 70 B on 1.4 T, it would be 0.082 and 0.076."
    )
    assert DueToSizeAndData(other, one).limit == "Parameters"


def test_the_frontier_of_the_refit():
    found = frontier_exponent()
    assert found.values["exponent"] == pytest.approx(0.3478 * 0.3658 / (0.3478 + 0.3658))
    assert str(found) == (
        "Without E that line is straight: a power law with exponent αβ / (α + β), 0.18 for the refit."
    )


@pytest.mark.usefixtures("unchecked")
def test_of_two_equal_limits_it_is_the_parameters():
    equal = SimpleNamespace(size=0.5, data=0.5)
    assert DueToSizeAndData(equal, equal).limit == "Parameters"
