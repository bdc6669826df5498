"""The page on balance: a pair trains by itself, runs are kept and compared, all five come at once, a button stops."""

from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.work import jobs
from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.sights import places
from tests.pages.visits import press, run
from tests.pages.waiting import SOON
from tfcore.views.experts import balance as views
from tfcore.views.experts.balance.measure import REMEDIES, REMEDY_NAMES, BalanceConfig, BalanceEvaluation

PAIR = (BalanceConfig(steps=40), BalanceConfig(remedy="loss", steps=40))

pytestmark = pytest.mark.usefixtures("patience")


def said(test: AppTest) -> str:
    return visits.said(test, "caption", "info", "markdown")


def opened(**address: str) -> AppTest:
    return visits.opened("experts/balance/page.py", **{"steps": "40"} | address)


def ended(test: AppTest, key: tuple[BalanceConfig, ...]) -> AppTest:
    jobs.JOBS.wait(key, 10**9, SOON)
    return run(test)


def test_the_default_trains_a_pair_by_itself_and_shows_who_gets_the_letters():
    test = opened()
    assert set(figures(test)) == {"load_none", "load_loss", "curves"}
    test = ended(test, PAIR)
    drawn = figures(test)
    last = jobs.JOBS.look(PAIR, "").items[-1]
    for name, look in zip(("load_none", "load_loss"), last, strict=True):
        bands = drawn[name][1]["data"]
        assert [float(array(band["y"])[-1]) for band in bands] == pytest.approx((100 * look.load).tolist(), abs=1e-3)
        assert list(bands[0]["x"])[-1] == 40
    assert "**Found.** Expert" in said(test)
    (bar,) = test.get("progress")
    assert (bar.proto.value, bar.proto.text[:12]) == (100, "40 steps in ")
    table = test.dataframe[0].value
    assert list(table["remedy"]) == ["no remedy", "auxiliary loss, α = 0.03"]
    assert table["held-out loss"].tolist() == pytest.approx([look.held_out for look in last])
    assert table["in generation"].tolist() == pytest.approx([look.written for look in last])


def test_what_is_stored_is_shown_at_once_and_not_trained_again_beside_others(monkeypatch):
    stored = views.stored_runs()
    assert {config.remedy for config in stored} == {"none", *REMEDIES}
    assert all(looks[-1].step == config.steps for config, looks in stored.items())
    pair = (BalanceConfig(), BalanceConfig(remedy="loss"))
    test = opened(steps="300")
    assert jobs.JOBS.look(pair, "") is None
    assert [bar.proto.text for bar in test.get("progress")] == ["A stored training of 300 steps"]
    bands = figures(test)["load_loss"][1]["data"]
    shown = [float(array(band["y"])[-1]) for band in bands]
    assert shown == pytest.approx((100 * stored[pair[1]][-1].load).tolist(), abs=1e-2)
    given = []
    measure = "tfcore.views.experts.balance.measure.train_together"
    monkeypatch.setattr(measure, lambda _, known: given.append(known) or iter(()))
    press(test, "here")
    assert [pair[0] in known for known in given] == [False]


def test_runs_are_kept_and_the_one_without_a_remedy_is_not_made_again(monkeypatch):
    test = ended(opened(), PAIR)
    with monkeypatch.context() as patch:
        patch.setattr("tfcore.views.experts.balance.measure._forward", None)  # what is known is not trained again
        test.segmented_control(key="draw").set_value("map")
        assert figures(run(test))["load_none"][1]["data"][0]["type"] == "heatmap"
    test.segmented_control(key="remedy").set_value("bias")
    other = (PAIR[0], BalanceConfig(remedy="bias", steps=40))
    test = ended(run(test), other)
    names = list(test.dataframe[0].value["remedy"])
    assert names == ["no remedy", "loss-free bias, u = 0.01", "auxiliary loss, α = 0.03"]
    both = [jobs.JOBS.look(key, "").items for key in (PAIR, other)]
    assert [looks[0] for looks in both[0]] == [looks[0] for looks in both[1]]  # the very same objects
    test.slider(key="seed").set_value(4)
    assert len(run(test).dataframe[0].value) == 2  # of another seed none is there to compare


def test_all_five_at_once():
    test = opened(view="all five", steps="500")
    assert set(figures(test)) == {"curves", *(f"load_{remedy}" for remedy in ("none", *REMEDIES))}
    assert [trace["name"] for trace in figures(test)["curves"][1]["data"][::6]] == list(
        test.dataframe[0].value["remedy"]
    )
    where = places(test)
    columns = [where[f"load_{remedy}:figure"][-9:] for remedy in ("none", *REMEDIES)]
    assert columns == ["1. column", "2. column", "3. column"] * 2
    press(test, "stop")


@pytest.mark.parametrize("remedy", REMEDIES)
def test_every_remedy_has_its_words_its_strength_and_stops(remedy):
    test = opened(remedy=REMEDY_NAMES[remedy], steps="500")
    assert views.METHODS[remedy].source in said(test)
    assert views.METHODS[remedy].code.__name__ in said(test)
    press(test, "stop")
    assert test.button(key="anew:button").label == "Train again"
    assert f"load_{remedy}" in figures(test)


def test_too_many_trainings_are_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(jobs, "JOBS", jobs.Jobs(running=0, waiting=0))
    test = opened()
    assert "as soon as there is room" in said(test)
    assert not figures(test)


def test_a_training_is_called_by_its_remedy_and_how_much_of_it():
    assert BalanceConfig().name == "no remedy"
    assert BalanceConfig(remedy="noise", importance=0.1).name == "noise, σ = 1, w = 0.1"


def test_the_table_and_the_curves_have_the_numbers_of_the_looks(monkeypatch):
    end = SimpleNamespace(
        largest=0.5, idle=3, entropy=0.7, lost=0.25, overflow=0.125, loss=2.0, held_out=2.5, written=3.0
    )
    monkeypatch.setattr(views, "ending", lambda _: end)
    looks = [BalanceEvaluation(step, np.array([0.75, 0.25]), np.zeros(2), 0.1, 0.2, 2.0, 2.5) for step in (1, 20)]
    (row,) = views.compared({PAIR[0]: looks}).values.tolist()
    assert row == ["no remedy", 50.0, 3, 0.7, 25.0, 12.5, 2.0, 2.5, 3.0]
    curves = views.remedies(PAIR, PAIR[1], so_far=dict.fromkeys(PAIR, looks)).numbers()[:2]
    assert curves["step"].tolist() == [1, 20]
    assert curves.iloc[1, -2:].to_dict() == {"load of expert 1": 0.75, "load of expert 2": 0.25}
