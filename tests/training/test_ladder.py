"""Ladders go on where they stopped, and foretell before they measure."""

import json

import numpy as np
import pytest

from tests.nightly import nightly, often
from tests.training import tiny_run
from tfcore.training import ladder
from tfcore.training.recipes import RECIPES, ladder_modernisation, ladder_scaling

LADDERS = [name for name in RECIPES if name.startswith("ladder")]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return tiny_run.write_corpus(tmp_path_factory.mktemp("corpus"))


@nightly
@pytest.mark.parametrize("name", often(LADDERS, ["ladder-modernisation"]))
def test_a_ladder_that_was_stopped_goes_on_with_the_rung_it_was_at(corpus, tmp_path, name):
    class StoppedError(Exception):
        pass

    def stop(progress):
        steps.append(progress.step)
        if len(steps) == 21:
            raise StoppedError

    steps = []
    with pytest.raises(StoppedError):
        tiny_run.run(name, corpus, tmp_path / "two", 0.0, stop)
    assert len(ladder.read_table(next((tmp_path / "two").glob("*.csv")))) >= 2
    in_two = tiny_run.run(name, corpus, tmp_path / "two", 0.0, steps.append)
    whole = []
    at_once = tiny_run.run(name, corpus, tmp_path / "one", 0.0, whole.append)
    assert in_two == at_once
    assert len(steps) < len(whole) + 8, "nothing that was done is done again"
    for path in (tmp_path / "one").glob("*.csv"):
        assert path.read_text() == (tmp_path / "two" / path.name).read_text()


@nightly
def test_the_largest_size_is_predicted_before_it_is_trained(corpus, tmp_path):
    recipe = tiny_run.in_small("ladder-scaling", 0.0)
    seen = {}

    def report(progress):
        if (tmp_path / "scaling.json").is_file() and not seen:
            seen["rows"] = len(ladder.read_table(tmp_path / "scaling.csv"))

    RECIPES["ladder-scaling"].run(corpus, tmp_path, report, recipe)
    assert seen == {"rows": 4}, "two sizes with two budgets"
    said = json.loads((tmp_path / "scaling.json").read_text())
    assert said["fitted_to"] == 4
    assert list(said["predicted"]) == [rung.name for rung in ladder_scaling.rungs(recipe)[4:]]


def test_each_switch_keeps_those_before_it():
    models = [rung.model for rung in ladder_modernisation.rungs(ladder_modernisation.MODERNISATION)[::3]]
    assert len(models) == len(ladder_modernisation.SWITCHES)
    for before, after, changes in zip(
        models, models[1:], list(ladder_modernisation.SWITCHES.values())[1:], strict=False
    ):
        assert after == before.changed(**changes)
        assert all(before.setting(key) != value for key, value in changes.items())
        assert changes


def test_held_out_text_is_the_end_of_every_source():
    streams = {"a": np.arange(1_000), "b": np.arange(5_000, 9_000)}
    halves = ladder.Halves.of(streams)
    assert {name: len(ids) for name, ids in halves.held_out.items()} == {"a": 20, "b": 80}
    assert all(np.array_equal(np.concatenate([halves.train[n], halves.held_out[n]]), streams[n]) for n in streams)
    windows = halves.windows(10, 4)
    assert windows.shape == (4, 10)
    assert len(set(windows.flatten().tolist())) == 40, "they share nothing"


def test_a_table_gives_back_numbers_and_words(tmp_path):
    rows = [{"name": "a b", "n": 3, "loss": 1.5}, {"name": "c", "n": 4, "loss": 2.0}]
    for row in rows:
        ladder.add_row(tmp_path / "t" / "x.csv", row)
    assert ladder.read_table(tmp_path / "t" / "x.csv") == rows
