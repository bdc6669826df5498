"""Runs of fine-tuning: the shipped ones are what the recipe makes, and the shared model stays as it is."""

import math

import pytest
import torch

from tests.nightly import nightly
from tfcore.loading.checkpoints import load
from tfcore.training import finetuning
from tfcore.training.finetuning_runs import FineTuneConfig
from tfcore.training.recipes.finetuning import FINETUNING, of_finetuning


@pytest.fixture(scope="module")
def short_run():
    return [run for run in finetuning.fine_tune(FineTuneConfig(method="lora", steps=10)) if run is not None]


def test_the_kept_runs_are_those_of_the_recipe():
    kept = finetuning.kept_runs()
    assert [run.config for run in kept] == list(FINETUNING.configs)
    assert all(run.losses[-1].step == run.config.steps for run in kept)
    assert of_finetuning()["LoRA_of_rank_8_new_0"] == kept[0].losses[-1].new
    assert all(run.losses[-1].new < run.losses[0].new - 0.5 for run in kept)
    assert all(run.losses[-1].old > run.losses[0].old + 0.2 for run in kept)


@nightly
def test_a_run_made_again_begins_as_the_kept_one(short_run):
    kept = finetuning.kept_runs()[0]
    assert [losses.step for losses in short_run[-1].losses] == [0, 10]
    for again, losses in zip(short_run[-1].losses, kept.losses, strict=False):
        assert again.new == pytest.approx(losses.new, abs=5e-3)
        assert again.old == pytest.approx(losses.old, abs=5e-3)
    assert short_run[-1].continuations[0] == kept.continuations[0]
    assert [bool(run.continuations[1]) for run in short_run] == [False, True]


@nightly
def test_the_loss_is_the_mean_of_the_negative_log_probabilities(short_run):
    model, _ = load("stories", "cpu")  # as it ships, after a run
    rows = finetuning.old_stories()
    total, count = 0.0, 0
    for row in rows[:6].tolist():
        log_p = model(torch.tensor([row])).logits[0].log_softmax(-1)
        for place in range(len(row) - 1):
            total -= float(log_p[place, row[place + 1]])
            count += 1
    assert finetuning.mean_loss(model, rows[:6]) == pytest.approx(total / count, rel=1e-5)
    assert finetuning.mean_loss(model, rows) == pytest.approx(short_run[0].losses[0].old, rel=1e-5)


def test_the_held_out_play_is_not_trained_on():
    ids, held_out = finetuning.play_ids(), finetuning.held_out_play()
    start = len(ids) - int(0.1 * len(ids))
    assert held_out.flatten().tolist() == ids[start : start + held_out.numel()].tolist()
    assert finetuning.old_stories().shape == (24, 48)


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        ({"method": "adapter"}, "method='adapter' is not one of full, last, lora"),
        ({"rank": 0}, "rank=0 must be between 1"),
        ({"rate": math.nan}, "rate=nan must be between"),
        ({"steps": 10**6}, "steps=1000000 must be between"),
    ],
)
def test_settings_that_cannot_be_are_refused(bad, says):
    with pytest.raises(ValueError, match=says):
        FineTuneConfig(**bad)
