"""Our own ladder: what was written down is shown, a fit to fewer sizes predicts the others, findings against loops."""

import json

import numpy as np
import pytest

from tests import small_ladder
from tfcore.measures import scaling_laws
from tfcore.measures.scaling_laws import LAWS, Law
from tfcore.training import ladder
from tfcore.views.training.scaling.measure.ladder_fit import LadderFit, as_written, refitted
from tfcore.views.training.scaling.say.ladder_fit import (
    LadderErrors,
    LadderExponents,
    LargestRung,
    ladder_errors,
    ladder_exponents,
    largest_rung,
)

SCALING_LAW = ladder.SHIPPED / "scaling.json"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = small_ladder.write(tmp_path_factory.mktemp("ladder"))
    return ladder.read_table(folder / "scaling.csv"), json.loads((folder / "scaling.json").read_text())


def test_what_was_written_down_is_what_is_shown(files):
    rows, content = files
    found = as_written(rows, Law(**content["law"]), content["predicted"])
    assert found.loss.tolist() == [row["loss"] for row in rows]
    assert found.predicted.tolist() == [False] * 8 + [True] * 2
    assert found.law_loss[found.predicted].tolist() == list(content["predicted"].values())
    assert found.law_loss == pytest.approx(found.law.loss(found.n, found.d), abs=1e-5), "the predictions are the law's"
    assert found.residual == pytest.approx((found.loss - found.law_loss) / found.law_loss)
    assert len(found.sizes) == 5


def test_a_fit_to_fewer_sizes_predicts_the_others(files, monkeypatch):
    monkeypatch.setattr(scaling_laws, "STEPS", 10)  # as many as the recipe took
    rows, content = files
    found = refitted(rows, 3, Law(**content["law"]))
    assert found.predicted.tolist() == [False] * 6 + [True] * 4
    again = refitted(rows, 4)
    assert again.law.loss(1e4, 1e4) == pytest.approx(Law(**content["law"]).loss(1e4, 1e4)), "the recipe's own fit"
    with pytest.raises(ValueError, match="sizes=2 are too few"):
        refitted(rows, 2)


def test_a_known_law_is_predicted_from_its_small_sizes():
    law = LAWS["refit"]
    rows = [
        {"name": f"{n}-{d}", "parameters": n, "tokens": d, "loss": law.loss(float(n), float(d))}
        for n in (10**4, 10**5, 10**6, 10**7)
        for d in (10**6, 10**7, 10**8)
    ]
    found = refitted(rows, 3, LAWS["printed"])
    assert np.abs(found.residual).max() < 1e-3


def test_the_ladder_that_ships_predicted_its_largest_rungs():
    rows, content = ladder.read_table(ladder.SHIPPED / "scaling.csv"), json.loads(SCALING_LAW.read_text())
    found = as_written(rows, Law(**content["law"]), content["predicted"])
    assert (len(found.sizes), len(found.n), int(found.predicted.sum())) == (6, 18, 3)
    assert found.law_loss == pytest.approx(found.law.loss(found.n, found.d), abs=1e-5), "the predictions are the law's"
    assert abs(found.residual[found.predicted]).max() < 0.015
    assert found.n[found.predicted].min() > 2 * found.n[~found.predicted].max()


@pytest.fixture
def fit():
    """Twelve rungs in no order, off the law by up to ten per cent either way; the largest has not the most tokens."""
    random = np.random.default_rng(1)
    sizes, tokens = np.meshgrid([1e4, 3e4, 1e5, 1e6], [2e5, 3e5, 4e5])
    order = random.permutation(12)
    n, d = sizes.ravel()[order], (tokens + 1e6 * (sizes < 1e6)).ravel()[order]
    loss = LAWS["refit"].loss(n, d)
    return LadderFit(LAWS["refit"], n, d, loss * random.uniform(0.9, 1.1, 12), loss, n > 5e4)


def test_the_largest_rung_has_the_most_parameters_and_then_the_most_tokens(fit):
    best = 0
    for i in range(12):
        if fit.n[i] > fit.n[best] or (fit.n[i] == fit.n[best] and fit.d[i] > fit.d[best]):
            best = i
    found = largest_rung(fit)
    assert (found.n, found.d) == (1e6, 4e5) == (fit.n[best], fit.d[best])
    assert (found.predicted, found.measured) == (fit.law_loss[best], fit.loss[best])


def test_what_is_said_of_the_largest_rung():
    found = LargestRung(442_880.0, 4.1e6, 3.72, 3.6456)
    assert str(found) == (
        "The largest, 443 k parameters on 4.1 M tokens, was predicted at 3.7200 nats and came out at 3.6456."
    )
    assert found.numbers == ("3.7200", "3.6456", "-2.00 %")


def test_the_errors_are_the_largest_of_each_kind(fit):
    worst = {True: 0.0, False: 0.0}
    count = {True: 0, False: 0}
    for loss, law_loss, predicted in zip(fit.loss, fit.law_loss, fit.predicted, strict=True):
        worst[bool(predicted)] = max(worst[bool(predicted)], abs(loss - law_loss) / law_loss)
        count[bool(predicted)] += 1
    found = ladder_errors(fit)
    assert (found.sizes, found.fitted, found.predicted) == (4, count[False], count[True]) == (4, 6, 6)
    assert found.fitted_within == pytest.approx(worst[False])
    assert found.predicted_within == pytest.approx(worst[True])
    assert worst[True] != pytest.approx(worst[False])


def test_what_is_said_of_the_errors():
    found = LadderErrors(6, 15, 3, 0.0188, 0.014)
    assert str(found) == "Residuals: fitted rungs lie within 1.88% of the law, predicted ones within 1.40%."
    assert found.counts == "18 models, 6 sizes; fitted to 15, predicted 3."
    assert found.numbers == ("1.40%", "3 of 18 models")


def test_the_exponents_stand_beside_those_of_web_text():
    found = ladder_exponents(Law(1.0, 2.0, 0.21, 3.0, 0.43))
    assert found == LadderExponents(0.21, 0.43, 0.3478, 0.3658)
    assert str(found) == "The exponents, 0.21 for N and 0.43 for D, are not those of web text."
    assert found.web == "Exponents of the refit on web text: 0.35, 0.37."
