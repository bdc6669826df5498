"""The page on pitfalls: every mistake begins by itself, ends, can be stopped, and survives damaged addresses."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.block.pitfalls.words import WORDS
from pages.ui.work import jobs, live
from tests.nightly import nightly, often
from tests.pages import visits
from tests.pages.figures import figures
from tests.pages.visits import press, run
from tests.pages.waiting import SOON, until
from tfcore.charts import faint
from tfcore.training.pitfalls import DOSES, KINDS, PitfallConfig, most_steps, train_to_the_end
from tfcore.views.block import pitfalls as views
from tfcore.views.pitfall_remarks import remarks

pytestmark = pytest.mark.usefixtures("patience")


def said(test: AppTest) -> str:
    return visits.said(test, "caption", "info", "markdown")


def opened(**address: str) -> AppTest:
    return visits.opened("block/pitfalls/page.py", **{"steps": "40"} | address)


def ended(test: AppTest, config: PitfallConfig) -> AppTest:
    jobs.JOBS.wait(config, 10**9, SOON)
    return run(test)


def test_every_mistake_has_its_words_and_its_doses():
    assert set(WORDS) == set(KINDS)
    assert {kind for kind, words in WORDS.items() if words.dose} == set(DOSES)


@nightly
def test_the_default_trains_by_itself_and_shows_both_curves():
    test = opened()
    assert set(figures(test)) == {"loss", "symptom"}
    test = ended(test, PitfallConfig(steps=40))
    for head, spec in figures(test).values():
        assert head["alt"]
        assert head["csv"]
        assert list(spec["data"][0]["x"])[-1] == 40
        assert spec["layout"]["annotations"][-1]["text"]
    assert "**Found.**" in said(test)
    assert [button.key for button in test.button if button.key == "again:button"]


def test_what_is_stored_is_shown_to_its_end_at_once_and_trained_here_where_a_button_asks_for_it(monkeypatch):
    config = PitfallConfig()
    test = opened(steps=str(config.steps))
    assert jobs.JOBS.look(config, "") is None
    assert list(figures(test)["loss"][1]["data"][0]["x"])[-1] == config.steps
    assert f"A stored training of {config.steps} steps" in [bar.proto.text for bar in test.get("progress")]
    monkeypatch.setattr("pages.ui.work.jobs.Jobs.wait", lambda *_: None)
    press(test, "here")
    until(lambda: jobs.JOBS.look(config, "").items)
    head, spec = figures(run(test))["loss"]
    assert live.FAINT in head["caption"]
    assert [line["opacity"] for line in spec["data"][:2]] == [faint.OPACITY] * 2
    assert list(spec["data"][0]["x"])[-1] == config.steps > list(spec["data"][2]["x"])[-1]
    press(test, "stop")
    assert test.button(key="anew:button").label == "Train again"


def test_stored_are_every_mistake_with_its_usual_dose_to_the_end():
    stored = views.stored_runs()
    assert {config.kind for config in stored if config == PitfallConfig(kind=config.kind)} == set(KINDS)
    assert all(looks[-1].step == config.steps and looks[0].step == 0 for config, looks in stored.items())


# Mistakes under which a training makes of each difference in rounding, which another processor has, a larger one. The
# beginning is still the same, and so is where it ends, as far as its own loss goes up and down there.
CHAOTIC = ("final", "scale", "rate")


@nightly
@pytest.mark.parametrize("config", views.stored_runs())
def test_what_is_stored_is_what_a_training_gives(config):
    looks = train_to_the_end(config)
    stored, found = (np.array([look.loss for look in one]) for one in (views.stored_runs()[config], looks))
    assert stored[:2] == pytest.approx(found[:2], rel=0.01)
    mistaken, baseline = stored.T
    assert baseline == pytest.approx(found[:, 1], rel=0.05, abs=0.05)
    if config.kind not in CHAOTIC:
        assert mistaken == pytest.approx(found[:, 0], rel=0.05, abs=0.05)
    end = mistaken[-len(mistaken) // 4 :]
    assert end.mean() == pytest.approx(found[-len(end) :, 0].mean(), rel=0.05, abs=max(0.05, 2 * end.std()))


@pytest.mark.parametrize("kind", often(KINDS, ["mask"]))
def test_every_mistake_begins_with_a_figure_and_stops(kind):
    most = most_steps(kind, PitfallConfig(kind=kind).dose)
    test = opened(kind=kind, steps=str(most))
    config = PitfallConfig(kind=kind, steps=most)
    assert set(figures(test)) == {"loss", "symptom"}
    press(test, "stop")
    assert jobs.JOBS.look(config, "").state == "stopped"
    assert set(figures(test)) == {"loss", "symptom"}
    assert test.button(key="anew:button").label == "Train again"
    assert ("to be said backwards by an encoder" in said(test)) == (kind == "positions")


@nightly
def test_another_experiment_takes_the_place_of_the_one_before():
    test = opened(steps="400")
    test.slider(key="seed").set_value(1)
    run(test)
    first, second = (PitfallConfig(steps=400, seed=seed) for seed in (0, 1))
    jobs.JOBS.wait(first, 10**9, SOON)
    assert jobs.JOBS.look(first, "").state == "stopped"
    press(test, "stop")
    jobs.JOBS.wait(second, 10**9, SOON)


@nightly
def test_train_again_begins_what_was_stopped():
    test = opened(steps="400")
    press(test, "stop")
    press(test, "anew")
    press(test, "stop")


def test_too_many_trainings_are_refused_in_a_sentence(monkeypatch):
    monkeypatch.setattr(jobs, "JOBS", jobs.Jobs(running=0, waiting=0))
    test = opened()
    assert "as soon as there is room" in said(test)
    assert not figures(test)


@pytest.mark.parametrize(
    ("address", "notice"),
    [
        ({"kind": "<script>"}, "kind"),
        ({"kind": "no residual", "skip": "1000"}, "skip 1000"),
        ({"steps": "1e9"}, "steps 1e9"),
        ({"seed": "nan", "steps": "-3"}, "seed nan"),
        ({"kind": "rate too large", "rate": "0"}, "rate 0"),
    ],
)
def test_damaged_addresses_are_corrected_with_a_quiet_word(address, notice, monkeypatch):
    monkeypatch.setattr(jobs, "JOBS", jobs.Jobs(running=0))  # the words are what counts here
    monkeypatch.setattr("pages.ui.work.jobs.Jobs.wait", lambda *_: None)
    assert notice in said(opened(**address))


@nightly
def test_both_figures_say_what_they_show():
    test = ended(opened(kind="axis"), PitfallConfig(kind="axis", steps=40))
    looks = train_to_the_end(PitfallConfig(kind="axis", steps=40))
    shown, config = figures(test), PitfallConfig(kind="axis", steps=40)
    for key, view in (("loss", views.losses), ("symptom", views.symptom)):
        assert shown[key][0]["alt"] == view(config, "wrong norm axis", so_far=looks).alt
    assert f"**Found.** {remarks(config, looks)}" in said(test)


@nightly
def test_the_ends_of_the_sliders():
    for kind, most in (("mask", 400), ("skip", 320)):
        sliders = {slider.key: (slider.min, slider.max) for slider in opened(kind=kind).slider}
        assert sliders == {"steps": (40, most), "seed": (0, 20)}
