"""The first training steps: warm-up by the formula, real losses, and a race of several."""

import pytest
import torch

from tests.nightly import nightly
from tfcore.measures.deep_networks import PLACEMENTS, Deep
from tfcore.views.block.normalisation import say
from tfcore.views.block.normalisation.measure import early_training
from tfcore.views.block.normalisation.measure.early_training import (
    RUN_VOCAB,
    first_losses,
    learning_rate,
    previous_token_batch,
    train_side_by_side,
    uniform_loss,
)


def deep(placement, n_layers=8):
    return Deep(n_layers=n_layers, placement=placement, vocab_size=RUN_VOCAB)


def test_warm_up_is_a_line():
    assert [learning_rate(step, 0.1, 4) for step in range(6)] == pytest.approx([0.025, 0.05, 0.075, 0.1, 0.1, 0.1])
    assert learning_rate(0, 0.1, 0) == 0.1


def test_the_task_is_to_say_the_token_before():
    ids, targets = previous_token_batch(torch.Generator().manual_seed(0))
    assert torch.equal(targets[:, 1:], ids[:, :-1])


def test_a_run_starts_at_chance_and_is_the_same_with_the_same_seed():
    first, second = (first_losses(deep("pre", 2), 0.003, 0) for _ in range(2))
    losses = [next(first) for _ in range(3)]
    assert losses == [next(second) for _ in range(3)]
    assert losses[0] == pytest.approx(uniform_loss(), abs=0.05)


@nightly
@pytest.mark.usefixtures("unchecked")  # trainings
def test_post_norm_without_warm_up_is_stuck_where_pre_norm_learns():
    steps = 50
    ends = {
        (placement, steps_of_warmup): sum([next(run) for _ in range(steps)][-5:]) / 5
        for placement, steps_of_warmup in (("pre", 0), ("post", 0), ("post", 40))
        for run in [first_losses(deep(placement), 0.006, steps_of_warmup)]
    }
    assert ends["pre", 0] < 0.6
    assert ends["post", 0] > 2.6
    assert ends["post", 40] < 2.3


def test_a_race_trains_all_side_by_side_and_can_be_left_between_any_two(monkeypatch):
    monkeypatch.setattr(early_training, "RUN_STEPS", 2)
    runs = {"a": (deep("pre", 2), 0), "b": (deep("post", 2), 5)}
    given = list(train_side_by_side(runs, 0.003, 1))
    assert [item is None for item in given] == [True, True, False] * 2
    steps = [item for item in given if item is not None]
    for name, (network, steps_of_warmup) in runs.items():
        alone = first_losses(network, 0.003, steps_of_warmup, 1)
        assert [step[name] for step in steps] == [next(alone), next(alone)]


def test_who_has_begun_to_learn_is_counted_from_the_last_five_losses():
    chance = uniform_loss()
    steps = [{"a": 9.0, "b": chance}] + [{"a": 0.5 * chance, "b": 0.9 * chance}] * 5
    assert early_training.have_learned(steps) == ["a"]
    assert early_training.have_learned(steps[:1]) == early_training.have_learned([]) == []
    assert early_training.have_learned([{"a": early_training.LEARNED_SHARE * chance}]) == [], (
        "at the limit none has begun"
    )


def test_the_runs_are_named_by_placement_and_warm_up(monkeypatch):
    monkeypatch.setattr(early_training, "RUN_STEPS", 2)
    losses = early_training.all_first_steps(2, 0.003, 5, 1)
    assert len(losses) == 2
    for name, placement, steps in (("pre-LN, warm-up", "pre", 5), ("no norm, none", "none", 0)):
        alone = first_losses(deep(placement, 2), 0.003, steps, 1)
        assert [step[name] for step in losses] == [next(alone), next(alone)]
    assert early_training.curves_of(losses, "post-LN") == [
        [step["post-LN, warm-up"] for step in losses],
        [step["post-LN, none"] for step in losses],
    ]


def test_what_the_first_steps_come_to_is_the_mean_of_the_last_five():
    names = [f"{name}, {way}" for name in PLACEMENTS for way in ("warm-up", "none")]
    losses = [{name: float(step + i) for i, name in enumerate(names)} for step in range(8)]
    found = say.describe_first_steps(losses, 12)
    assert (found.n_layers, found.steps, found.uniform) == (12, 8, uniform_loss())
    for i, name in enumerate(PLACEMENTS):
        warm, cold = (sum(step + 2 * i + way for step in range(3, 8)) / 5 for way in (0, 1))
        assert found.ends[name] == (warm, cold)
    assert found.learned == tuple(early_training.have_learned(losses))
    nothing = say.describe_first_steps([], 12)
    assert nothing.ends["pre-LN"] == (None, None)
    assert "Below" not in str(nothing)


def test_what_is_said_of_the_first_steps():
    found = say.FirstSteps(8, 5, 2.7726, {"pre-LN": (1.5, 2.0), "post-LN": (None, 2.7)}, ("pre-LN, warm-up",))
    assert str(found) == (
        "Loss in nats over 5 steps of networks of 8 layers, uniform guess ln 16 = 2.77. Mean of the last five steps: "
        "pre-LN 1.50 with warm-up and 2.00 without; post-LN – with warm-up and 2.70 without. Below 80% of that of a "
        "uniform guess: pre-LN, warm-up."
    )
