"""Attention, other mixers and hybrids trained alike to recall pairs: the rows, the networks, the recipe, what ships."""

import json
from dataclasses import replace

import pytest
import torch

from tfcore.measures.parameter_count import parameters
from tfcore.model import Transformer
from tfcore.training import alike
from tfcore.training.alike import accuracy_ranges
from tfcore.training.alike_loop import Trainee
from tfcore.training.data import IGNORE
from tfcore.training.mixing import comparison, pairs
from tfcore.training.mixing.comparison import KINDS, SWEPT, TASKS, WIDTHS, MixingConfig, begun
from tfcore.training.recipes.mixing import MixingRecipe, mixing, of_mixing

SHORT = MixingConfig(steps=2, rows=4, only=("attention", "delta"))


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(comparison, "HELD_ROWS", 16)


def test_every_answer_is_the_value_that_stood_with_its_key():
    ids, targets, places = pairs.pair_rows(20, torch.Generator().manual_seed(1))
    for row, answers, few_pairs in zip(ids.tolist(), targets.tolist(), places[:, 0].tolist(), strict=True):
        known = [one for one in row[: pairs.KEYS] if one != pairs.BLANK]
        assert len(known) == few_pairs
        values = {one // pairs.VALUES: one % pairs.VALUES for one in known}
        assert len(values) == few_pairs  # no key twice
        for token, answer in zip(row[pairs.KEYS :], answers[pairs.KEYS :], strict=True):
            assert pairs.NAMES[token] == f"{chr(97 + token - pairs.KEYS * pairs.VALUES)}?"
            assert pairs.NAMES[answer] == str(values[token - pairs.KEYS * pairs.VALUES])
        assert set(answers[: pairs.KEYS]) == {IGNORE}


def test_all_networks_of_a_task_are_nearly_as_large():
    for task in TASKS:
        counts = [parameters(begun(task).network(kind)).total for kind in KINDS[task]]
        assert max(counts) / min(counts) < 1.07
    assert begun("four layers").network("hybrid").attention_layers == (2,)
    assert begun("one layer").state == 2 * 8 * 16


def test_a_comparison_comes_back_from_json_and_trains_alike(few):
    found = comparison.compared(SHORT)
    assert len(found.last.accuracy) == 2
    assert set(found.places) < set(range(1, 17))
    again = alike.from_json(json.loads(json.dumps(alike.to_json(found))), comparison._config)
    assert again.config == SHORT
    assert comparison.compared(replace(SHORT, only=("delta",))).last.held_out[0] == found.last.held_out[1]


def test_the_delta_rule_learns_to_recall(few):
    """Of two pairs and few steps: more than a guess among eight."""
    config = MixingConfig(steps=60, rows=32, only=("delta",))
    rows = comparison.rows_of(config)
    trainee = Trainee(Transformer(config.network("delta"), 0), config)
    for step in range(config.steps):
        trainee.step(rows.batch(step), step)
    early, late = trainee.losses[0], sum(trainee.losses[-5:]) / 5
    assert early > 4.5
    assert late < 2.3


def test_settings_are_refused_in_a_sentence():
    with pytest.raises(ValueError, match="only='hybrid' is no network of 'one layer'"):
        MixingConfig(only=("hybrid",))
    with pytest.raises(ValueError, match="d_key=0 must be"):
        MixingConfig(d_key=0)


def test_the_recipe_makes_what_is_not_there_yet(tmp_path, few):
    (tmp_path / "lengths.json").write_text("{}")
    recipe = MixingRecipe(comparisons=(SHORT,), seeds=(0, 3), widths=(2, 8), steps=2)
    assert mixing(None, tmp_path, print, recipe) == of_mixing()
    repeats = json.loads((tmp_path / "seeds.json").read_text())["one layer"]
    shown = json.loads((tmp_path / "comparisons.json").read_text())["one layer"]
    assert repeats["seeds"] == [0, 3]
    assert repeats["accuracy"][0] == shown["looks"][-1]["accuracy"]
    assert list(json.loads((tmp_path / "sizes.json").read_text())) == ["2"]
    assert (tmp_path / "lengths.json").read_text() == "{}"


@pytest.mark.parametrize("task", TASKS)
def test_what_ships_is_whole(task):
    found, repeats = comparison.kept_comparison(task), comparison.kept_repeats(task)
    assert found.config == begun(task)
    assert found.last.step == found.config.steps
    assert repeats.seeds == (0, 1, 2)
    assert repeats.accuracy[0] == found.last.accuracy
    assert repeats.by_place[0] == found.last.by_place
    assert tuple(comparison.kept_sizes()) == WIDTHS
    assert all(len(row) == len(SWEPT) for one in comparison.kept_sizes().values() for row in one.accuracy)


def test_what_the_page_says_of_what_ships():
    one = accuracy_ranges(comparison.kept_repeats("one layer"), KINDS["one layer"])
    assert one["delta"].low > 0.85
    assert min(one["delta"].low, one["gated delta"].low) > max(one[kind].high for kind in ("linear", "decay", "ssm"))
    assert one["delta"].mean > one["gated"].mean > one["linear"].mean
    assert one["conv"].high < min(one[kind].low for kind in one if kind != "conv")
    four = accuracy_ranges(comparison.kept_repeats("four layers"), KINDS["four layers"])
    assert four["attention"].low > 0.8
    assert four["hybrid"].high < 0.4  # so few steps bring hardly anything back
    small, large = (accuracy_ranges(comparison.kept_sizes()[width], SWEPT) for width in (2, 16))
    for kind in SWEPT:
        grows = large[kind].mean > small[kind].mean + 0.4
        assert grows == (kind in ("delta", "gated delta"))
