"""`python -m tfcore.training`: what it says."""

import json
import re

import pytest

from tests.training.tiny_run import write_corpus
from tfcore.training import __main__ as cli
from tfcore.training import recipes
from tfcore.training.data import STORY_SOURCES
from tfcore.training.loop import Progress
from tfcore.training.measures import of_induction
from tfcore.training.recipes import RECIPES


def run(monkeypatch, *arguments):
    monkeypatch.setattr("sys.argv", ["tfcore.training", *map(str, arguments)])
    return cli.main()


def test_a_missing_corpus_is_one_sentence_and_status_two(monkeypatch, capsys, tmp_path):
    assert run(monkeypatch, "stories", "--corpus", tmp_path / "none", "--out", tmp_path / "out") == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert re.fullmatch(r"\S+/none/tinystories/train\.txt is missing: it should hold TinyStories .*\n", output.err)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("name", STORY_SOURCES)
def test_the_one_that_is_missing_is_named(monkeypatch, capsys, tmp_path, name):
    (write_corpus(tmp_path) / STORY_SOURCES[name][0]).unlink()
    assert run(monkeypatch, "stories", "--corpus", tmp_path, "--out", tmp_path / "out") == 2
    assert capsys.readouterr().err.startswith(f"{tmp_path / STORY_SOURCES[name][0]} is missing")


def test_a_corpus_too_short_for_a_row_is_named(monkeypatch, capsys, tmp_path):
    path = write_corpus(tmp_path) / STORY_SOURCES["african"][0]
    path.write_text("A dog.")
    assert run(monkeypatch, "stories", "--corpus", tmp_path, "--out", tmp_path / "out", "--steps", "1") == 2
    assert re.search(r"has \d+ tokens, too few for one row of 257\n$", capsys.readouterr().err)


def test_an_unknown_recipe_is_refused(monkeypatch, capsys, tmp_path):
    with pytest.raises(SystemExit, match="2"):
        run(monkeypatch, "poems", "--corpus", tmp_path, "--out", tmp_path)
    assert "choose from" in capsys.readouterr().err


def test_progress_is_a_line_with_rate_and_time_to_go(capsys):
    cli.report(Progress(15, 100, 2.5, 1e-3, 0.5, 9000.0, 3700.0))
    assert capsys.readouterr().out == ""
    cli.report(Progress(20, 100, 2.5, 1e-3, 0.5, 9000.0, 3700.0, {"bits_per_byte": 1.23456}))
    line = "step 20/100  loss 2.500  lr 1.0e-03  |g| 0.50  9,000 tokens/s  1:02 to go  bits_per_byte 1.2346\n"
    assert capsys.readouterr().out == line


def test_the_list_names_every_recipe_with_its_time_and_quality(monkeypatch, capsys):
    assert run(monkeypatch, "list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(RECIPES)
    assert all(re.fullmatch(r"\S+ +[^;]+; .+ on two cores; .*\d.*", line) for line in lines)


@pytest.mark.parametrize(("arguments", "asked"), [(("stories", "--out", "x"), "--corpus"), (("induction",), "--out")])
def test_what_a_recipe_needs_is_asked_for(monkeypatch, capsys, arguments, asked):
    with pytest.raises(SystemExit, match="2"):
        run(monkeypatch, *arguments)
    assert f"{arguments[0]} needs {asked}" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [("ladder-scaling",), ("ladder-positions",), ("stories", "--corpus", "x")])
def test_what_is_not_there_cannot_be_measured_and_that_is_one_sentence(monkeypatch, capsys, tmp_path, arguments):
    monkeypatch.setattr(recipes, "SHIPPED", tmp_path)
    assert run(monkeypatch, *arguments, "--measure") == 2
    assert re.fullmatch(r"(there is no table \S+\.csv yet|\S+ is missing): .*\n", capsys.readouterr().err)


def test_a_shipped_model_is_measured_as_its_card_says(monkeypatch, capsys):
    assert run(monkeypatch, "induction", "--measure") == 0
    assert json.loads(capsys.readouterr().out) == of_induction("induction")
