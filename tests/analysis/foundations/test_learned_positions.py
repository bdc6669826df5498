"""Learned positions, trained for real within the test: the structure that the page talks about is there."""

import math

import numpy as np
import pytest
import torch

from tfcore.analysis.foundations import learned_positions as learned


@pytest.fixture(scope="module")
def nearby():
    return learned.learn_positions("nearby")


def test_training_starts_from_noise_at_chance(nearby):
    assert nearby.steps[0] == 0
    assert nearby.losses[0] == pytest.approx(learned.chance_loss(), abs=0.05)
    assert abs(np.diagonal(nearby.similarity[0], 1).mean()) < 0.15


def test_neighbours_become_alike_when_they_may_be_confused(nearby):
    last = nearby.similarity[-1]
    assert np.diagonal(last, 1).mean() > 0.5
    assert abs(np.diagonal(last, 10).mean()) < 0.4
    assert nearby.floor < nearby.losses[-1] < 2.0
    four_before = sum(np.diagonal(nearby.patterns[-1], -k)[4:].mean() for k in range(1, 5))
    assert four_before > 0.6


def test_every_look_is_a_copy(nearby):
    assert len({table.tobytes() for table in nearby.tables}) == len(nearby.steps) == len(nearby.losses)
    assert nearby.patterns.sum(-1) == pytest.approx(np.ones(nearby.patterns.shape[:2]), abs=1e-4)


def test_the_same_seed_gives_the_same_run(monkeypatch):
    monkeypatch.setattr(learned, "STEPS", 10)
    one, other = learned.learn_positions("previous", seed=4), learned.learn_positions("previous", seed=4)
    assert np.array_equal(one.tables, other.tables)


@pytest.mark.parametrize(("task", "reach"), [("nearby", 4), ("previous", 1)])
def test_targets_are_among_the_tokens_just_before(task, reach):
    ids, targets = learned.batch(task, 5, torch.Generator().manual_seed(0))
    for row in range(5):
        for p in range(learned.REACH, learned.SEQ):
            assert targets[row, p] in ids[row, p - reach : p]


def test_best_loss_of_the_noisy_task_is_a_little_below_ln_4():
    ids, targets = learned.batch("nearby", 200, torch.Generator().manual_seed(0))
    assert math.log(4) - 0.2 < learned.best_loss("nearby", ids, targets) < math.log(4)
    assert learned.best_loss("previous", ids, targets) == 0.0
