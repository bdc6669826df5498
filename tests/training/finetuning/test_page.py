"""The page on fine-tuning: kept runs at once, others trained where one looks."""

from functools import partial

import pytest

from pages.ui.work import jobs
from tests.pages import visits
from tests.pages.figures import figures
from tests.pages.visits import press, run, said
from tests.pages.waiting import SOON
from tfcore.training.finetuning import kept_runs
from tfcore.training.finetuning_runs import FineTuneConfig
from tfcore.training.preference import kept_preferences
from tfcore.training.preference_runs import BETAS, PreferenceConfig
from tfcore.views.training.finetuning.say import hacking, learned, reward_gained

opened = partial(visits.opened, "training/finetuning/page.py")
pytestmark = pytest.mark.usefixtures("patience")


def test_it_begins_with_a_kept_run_and_trains_nothing():
    test = opened()
    assert figures(test)["new"][0]["alt"] == str(learned(kept_runs()[0]))
    assert "98,304 numbers" in said(test, "caption")
    assert jobs.JOBS.look(kept_runs()[0].config, "") is None


def test_settings_without_a_kept_run_say_so():
    assert "No run of these settings is stored" in said(opened(rank="4"), "caption")


def test_it_trains_where_one_looks_and_stops():
    test = opened(live="true", steps="200", method="last", layers="2")
    config = FineTuneConfig(method="last", layers=2, steps=200)
    assert figures(test)["new"][1]["data"][-1]["name"] == "the last 2 layers"
    press(test, "stop")
    assert jobs.JOBS.look(config, "").state == "stopped"
    assert test.button(key="anew:button").label == "Train again"
    jobs.JOBS.wait(config, 10**9, SOON)
    assert figures(run(test))["new"][0]["alt"].startswith("The last 2 layers, ")


def test_the_preference_begins_with_a_kept_run_and_names_reward_hacking():
    test = opened(part="preference", beta="0.01")
    kept = next(one for one in kept_preferences() if one.config == PreferenceConfig(beta=0.01))
    assert figures(test)["frontier"][0]["alt"] == str(reward_gained(kept))
    assert f"**Found.** {hacking(kept)}" in said(test, "markdown")
    assert "This is reward hacking" in said(test, "markdown")


def test_a_seed_without_kept_runs_says_so():
    test = opened(part="preference", reward="short", draws="3")
    assert "No run of this seed is stored" in said(test, "caption")
    assert "its writer meant short stories" in said(test, "markdown")


def test_stored_runs_of_fine_tuning_learn_and_forget():
    for stored in kept_runs():
        new, old = ([getattr(losses, which) for losses in stored.losses] for which in ("new", "old"))
        half = len(new) // 2
        assert new[0] - new[half] > 5 * abs(new[half] - new[-1]), stored.config
        assert old[0] < old[half] < old[-1], stored.config


@pytest.mark.parametrize("reward", ["animals", "happy", "short"])
def test_what_beta_does_in_stored_runs(reward):
    runs = [one for one in kept_preferences() if one.config.reward == reward]
    for seed in {one.config.seed for one in runs}:
        ends = {(one.config.algorithm, one.config.beta): one.points[-1] for one in runs if one.config.seed == seed}
        policy, pairs = ([ends[kind, beta] for beta in BETAS] for kind in ("reinforce", "dpo"))
        assert policy[0].reward > policy[-1].reward
        assert max(pairs, key=lambda end: end.kl) is pairs[0]
        assert max(end.reward for end in pairs) > pairs[0].reward
