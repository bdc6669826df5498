"""Rungs beside their law, from files that the recipe itself wrote."""

import json

import numpy as np
import pytest

from tests import small_ladder
from tfcore.analysis.training import ladder_fit, scaling_law
from tfcore.analysis.training.published_laws import LAWS
from tfcore.analysis.training.scaling_law import Law
from tfcore.training import ladder

SCALING_LAW = ladder.SHIPPED / "scaling.json"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = small_ladder.write(tmp_path_factory.mktemp("ladder"))
    return ladder.read_table(folder / "scaling.csv"), json.loads((folder / "scaling.json").read_text())


def test_what_was_written_down_is_what_is_shown(files):
    rows, content = files
    found = ladder_fit.as_written(rows, Law(**content["law"]), content["predicted"])
    assert found.loss.tolist() == [row["loss"] for row in rows]
    assert found.foretold.tolist() == [False] * 8 + [True] * 2
    assert found.said[found.foretold].tolist() == list(content["predicted"].values())
    assert found.said == pytest.approx(found.law.loss(found.n, found.d), abs=1e-5), "the law said what was foretold"
    assert found.residual == pytest.approx((found.loss - found.said) / found.said)
    assert len(found.sizes) == 5


def test_a_fit_to_fewer_sizes_foretells_the_others(files, monkeypatch):
    monkeypatch.setattr(scaling_law, "STEPS", 10)  # as many as the recipe took
    rows, content = files
    found = ladder_fit.refitted(rows, 3, Law(**content["law"]))
    assert found.foretold.tolist() == [False] * 6 + [True] * 4
    again = ladder_fit.refitted(rows, 4)
    assert again.law.loss(1e4, 1e4) == pytest.approx(Law(**content["law"]).loss(1e4, 1e4)), "the recipe's own fit"
    with pytest.raises(ValueError, match="sizes=2 are too few"):
        ladder_fit.refitted(rows, 2)


def test_a_known_law_is_foretold_from_its_small_sizes():
    law = LAWS["refit"]
    rows = [
        {"name": f"{n}-{d}", "parameters": n, "tokens": d, "loss": law.loss(float(n), float(d))}
        for n in (10**4, 10**5, 10**6, 10**7)
        for d in (10**6, 10**7, 10**8)
    ]
    found = ladder_fit.refitted(rows, 3, LAWS["printed"])
    assert np.abs(found.residual).max() < 1e-3


def test_the_ladder_that_ships_foretold_its_largest_rungs():
    rows, content = ladder.read_table(ladder.SHIPPED / "scaling.csv"), json.loads(SCALING_LAW.read_text())
    found = ladder_fit.as_written(rows, Law(**content["law"]), content["predicted"])
    assert (len(found.sizes), len(found.n), int(found.foretold.sum())) == (6, 18, 3)
    assert found.said == pytest.approx(found.law.loss(found.n, found.d), abs=1e-5), "the law said what was foretold"
    assert abs(found.residual[found.foretold]).max() < 0.015
    assert found.n[found.foretold].min() > 2 * found.n[~found.foretold].max()
