"""Attention, other mixers and hybrids trained alike to recall pairs: the rows, the networks, the recipe, what ships."""

import json
from dataclasses import replace

import pytest
import torch

from tfcore.measures.parameter_count import parameters
from tfcore.model import Transformer
from tfcore.training import __main__ as cli
from tfcore.training import alike
from tfcore.training.alike import Comparison, ComparisonEvaluation, accuracy_ranges
from tfcore.training.alike_loop import Trainee
from tfcore.training.data import IGNORE
from tfcore.training.mixing import comparison, pairs
from tfcore.training.mixing.comparison import KINDS, SWEPT, TASKS, WIDTHS, MixingConfig, begun
from tfcore.training.recipes.mixing import MixingRecipe, mixing, of_mixing
from tfcore.views.foundations import linear as views
from tfcore.views.foundations.linear.say import HybridRecall

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
    hybrids = {kind: begun("four layers").network(kind).attention_layers for kind in ("first", "third")}
    assert hybrids == {"first": (0,), "third": (2,)}
    assert begun("one layer").state == 2 * 8 * 16


def test_a_comparison_comes_back_from_json_and_trains_alike(few):
    found = comparison.compared(SHORT)
    assert len(found.last.accuracy) == 2
    assert set(found.places) < set(range(1, 17))
    again = alike.from_json(json.loads(json.dumps(alike.to_json(found))), comparison.config_of)
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
    with pytest.raises(ValueError, match="only='first' is no network of 'one layer'"):
        MixingConfig(only=("first",))
    with pytest.raises(ValueError, match="d_key=0 must be"):
        MixingConfig(d_key=0)


RECIPE = MixingRecipe(seeds=(0, 3), steps=2)
TRAININGS = 2 * 2 + 3 * 2  # two tasks and three other widths, with two seeds each


class Made:
    """Comparisons that nothing was trained for; their numbers are drawn by the config.

    Args:
        most: how many are made before one is stopped.
    """

    def __init__(self, most=99):
        self.most, self.configs = most, []

    def compare(self, config):
        self.configs.append(config)
        yield None
        if len(self.configs) > self.most:
            raise KeyboardInterrupt
        kinds = range(len(config.kinds))
        shares = tuple(round((len(kinds) + 3 * i + config.d_key + 7 * config.seed) % 31 / 31, 3) for i in kinds)
        by_place = tuple((share,) for share in shares)
        numbers = dict.fromkeys(("seconds", "loss", "held_out", "accuracy"), shares)
        look = ComparisonEvaluation(step=config.steps, by_place=by_place, **numbers)
        yield Comparison(config, (look,), (1,))


@pytest.fixture
def make(tmp_path, monkeypatch):
    def made(folder, most=99):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "lengths.json").write_text("{}")
        fake = Made(most)
        monkeypatch.setattr(comparison, "compare", fake.compare)
        return mixing(None, tmp_path / folder, lambda _: None, RECIPE), fake.configs

    return made


def test_the_recipe_makes_what_is_not_there_yet_and_each_training_once(make, tmp_path):
    figures, configs = make("out")
    assert len(configs) == len(set(configs)) == TRAININGS
    read = {file.stem: json.loads(file.read_text()) for file in (tmp_path / "out").iterdir()}
    assert read.keys() == {"comparisons", "seeds", "sizes", "lengths"}
    repeats = read["seeds"]["one layer"]
    assert repeats["seeds"] == [0, 3]
    assert repeats["accuracy"][0] == read["comparisons"]["one layer"]["looks"][-1]["accuracy"]
    assert list(read["sizes"]) == ["2", "4", "16"]
    assert read["lengths"] == {}
    attention = [seed[0] for seed in repeats["accuracy"]]
    assert figures["one layer, attention, mean"] == pytest.approx(sum(attention) / 2)
    assert figures == of_mixing(tmp_path / "out")
    assert make("out") == (figures, [])


def test_a_recipe_that_was_stopped_goes_on_with_the_training_it_was_stopped_in(make, tmp_path):
    with pytest.raises(KeyboardInterrupt):
        make("out", most=3)
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 3
    figures, configs = make("out")
    assert len(configs) == TRAININGS - 3
    at_once, all_configs = make("at once")
    assert figures == at_once
    assert configs == all_configs[3:]


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


def test_the_figures_of_the_page_are_printed_by_one_command(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["tfcore.training", "mixing", "--measure"])
    assert cli.main() == 0
    printed = json.loads(capsys.readouterr().out)
    said = views.by_pairs("four layers").findings[0]
    assert isinstance(said, HybridRecall)
    assert printed["four layers, attention, mean"] == said.ranges["attention"].mean
    for kind, back in said.hybrids.items():
        name = f"{comparison.NAMED[kind]}, above gated delta rule"
        ends = [printed[f"{name}, {end}"] for end in ("mean", "from", "to")]
        assert ends == [back.difference.mean, back.difference.low, back.difference.high]
        at = KINDS["four layers"].index(kind)
        seeds = [accuracy[at] for accuracy in comparison.kept_repeats("four layers").accuracy]
        assert printed[f"four layers, {comparison.NAMED[kind]}, lowest"] == min(seeds)
    (sized,) = views.sizes().findings
    small, large = (printed[f"state of {numbers}, delta rule, mean"] for numbers in (64, 512))
    assert f"delta rule {small:.0%} and {large:.0%}" in str(sized)


def test_what_the_page_says_of_what_ships():
    one = accuracy_ranges(comparison.kept_repeats("one layer"), KINDS["one layer"])
    assert one["delta"].low > 0.85
    assert min(one["delta"].low, one["gated delta"].low) > max(one[kind].high for kind in ("linear", "decay", "ssm"))
    assert one["delta"].mean > one["gated"].mean > one["linear"].mean
    assert one["conv"].high < min(one[kind].low for kind in one if kind != "conv")
    four = accuracy_ranges(comparison.kept_repeats("four layers"), KINDS["four layers"])
    assert four["attention"].low > 0.95
    back = comparison.regained(comparison.kept_repeats("four layers"))
    assert back["first"].share > 0.8 > 0.2 > back["third"].share
    assert back["first"].difference.low > back["third"].difference.high
    small, large = (accuracy_ranges(comparison.kept_sizes()[width], SWEPT) for width in (2, 16))
    for kind in SWEPT:
        grows = large[kind].mean > small[kind].mean + 0.4
        assert grows == (kind in ("delta", "gated delta"))
