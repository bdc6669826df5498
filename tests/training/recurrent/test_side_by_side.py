"""Three networks trained side by side: the same batches, looks that come in order, what is measured at the end."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from tfcore.training.alike_loop import Trainee, cross_entropy, logits_of
from tfcore.training.data import IGNORE
from tfcore.training.recipes.recurrence import RecurrenceRecipe, of_recurrence
from tfcore.training.recipes.recurrence import recurrence as make
from tfcore.training.recurrent import side_by_side
from tfcore.training.recurrent.comparison import TASKS, ComparisonConfig, from_json
from tfcore.training.recurrent.networks import KINDS, NetworkConfig, network

SHORT = ComparisonConfig(task="copy", length=4, steps=4, rows=8)


@pytest.fixture(scope="module")
def found():
    return [one for one in side_by_side.compare(SHORT) if one is not None]


def test_every_network_has_every_look(found):
    assert [one.last.step for one in found] == [1, 2, 3, 4]
    last = found[-1]
    assert last.places == (1, 2, 3, 4)
    assert np.array(last.last.by_place).shape == (len(KINDS), 4)
    assert [one.kind for one in last.gradients] == list(KINDS)
    assert not found[0].gradients
    assert all(a < b for a, b in zip(found[0].last.seconds, last.last.seconds, strict=True))
    means = np.array(last.last.by_place).mean(1)  # as many rows at each place
    assert np.allclose(means, last.last.accuracy, atol=1e-6)


def test_the_first_loss_is_that_of_the_initial_weights(found):
    rows = side_by_side.material(SHORT)
    for i, kind in enumerate(KINDS):
        model, batch = network(NetworkConfig(vocab_size=len(rows.names)), kind), rows.batch(0)
        counts = batch.targets != IGNORE
        with torch.no_grad():
            loss = F.cross_entropy(logits_of(model, batch.ids)[counts], batch.targets[counts])
        assert found[0].last.loss[i] == pytest.approx(float(loss), rel=1e-4)


def test_the_recipe_makes_what_is_not_there_yet(tmp_path):
    """Of the short comparison with two seeds; what is there is left as it is."""
    for name in ("alignments.json", "alignment_seeds.json", "passes.json", "real_model.json"):
        (tmp_path / name).write_text("{}")
    made = RecurrenceRecipe(comparisons=(replace(SHORT, steps=2),), seeds=(0, 3))
    assert make(None, tmp_path, print, made) == of_recurrence()
    repeats = json.loads((tmp_path / "seeds.json").read_text())["copy"]
    shown = from_json(json.loads((tmp_path / "comparisons.json").read_text())["copy"])
    assert repeats["seeds"] == [0, 3]
    assert tuple(repeats["accuracy"][0]) == shown.last.accuracy
    assert repeats["by_place"][0] != repeats["by_place"][1]
    assert (tmp_path / "passes.json").read_text() == "{}"


def test_training_it_twice_gives_the_same(found):
    assert side_by_side.compared(SHORT).last.held_out == found[-1].last.held_out


@pytest.mark.parametrize("task", TASKS)
def test_places_say_where_an_answer_stands(task):
    rows = side_by_side.material(ComparisonConfig(task=task, length=8, rows=4))
    held = rows.held_out
    counts = held.targets != IGNORE
    places = sorted(set(held.places[counts].tolist()))
    assert (
        places
        == {"copy": [*range(1, 9)], "recall": [*range(1, 7)], "addition": [4], "characters": [*range(1, 9)]}[task]
    )
    if task == "recall":
        for ids, target, place in zip(held.ids.tolist(), held.targets[:, -1].tolist(), held.places[:, -1], strict=True):
            assert ids[len(ids) - 1 - int(place)] == target
    if task == "copy":
        for ids, target, place in zip(held.ids.tolist(), held.targets.tolist(), held.places.tolist(), strict=True):
            assert all(ids[p - 1] == t for t, p in zip(target, place, strict=True) if t != IGNORE)


def test_a_network_learns():
    """A few letters are copied by the Transformer after few steps."""
    config = ComparisonConfig(task="copy", length=4, steps=40, lr=1e-2)
    rows = side_by_side.material(config)
    trainee = Trainee(network(NetworkConfig(vocab_size=len(rows.names)), "transformer"), config)
    for step in range(config.steps):
        trainee.step(rows.batch(step), step)
    with torch.no_grad():
        assert float(cross_entropy(trainee.model.eval(), rows.held_out)) < 0.3
    assert len(trainee.losses) == config.steps
    assert trainee.mean_loss() > 0.3
    assert not trainee.losses
