"""The command `exercises`: the list, what one asks, and the check of a reader's own file."""

import sys

import pytest

from tfcore import exercises
from tfcore.__main__ import main
from tfcore.commands import exercises as command
from tfcore.exercises import EXERCISES
from tfcore.exercises.exercise import source
from tfcore.exercises.notebook import imports

MASK = EXERCISES["causal_weights"]
WRONG = MASK.mistakes[0]


def saved(tmp_path, code: str) -> str:
    file = tmp_path / "mine.py"
    file.write_text(code, "utf-8")
    return str(file)


def test_all_are_listed_in_their_order(capsys):
    assert main(["exercises"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[: len(EXERCISES)]] == [
        [str(i), key] for i, key in enumerate(EXERCISES, 1)
    ]
    assert lines[-1] == "python -m tfcore exercises attention says what is asked"


@pytest.mark.parametrize("name", EXERCISES)
def test_what_one_asks_stands_there_and_hints_and_solution_only_for_who_wants_them(name):
    one = EXERCISES[name]
    said = [" ".join(command.described(name, hints, hints > 1).split()) for hints in (0, 1, 99)]
    for words in (one.asks, one.stub, *(claimed.claim for claimed in one.properties)):
        assert all(" ".join(words.split()) in text for text in said)
    first, last = (" ".join(hint.split()) for hint in (one.hints[0], one.hints[-1]))
    assert [first in text for text in said] == [False, True, True]
    assert [last in text for text in said] == [False, False, True]
    assert ["Solution:" in text for text in said] == [False, False, True]
    assert said[0].endswith(f"--hints 1 shows a first of {len(one.hints)} hints")


def test_a_function_in_a_file_is_checked_as_in_a_notebook(tmp_path, capsys):
    solved = f"{imports(MASK)}\n\n{source(MASK.solution)}"
    mine = saved(tmp_path, f"{solved}\n\n{imports(MASK)}\n{source(WRONG.function)}")
    for typed, function in (
        ("", MASK.solution),
        (":causal_weights", MASK.solution),
        (f":{WRONG.function.__name__}", WRONG.function),
    ):
        expected = exercises.check(function, "causal_weights")
        assert main(["exercises", "causal_weights", "--check", mine + typed]) == (0 if expected.passed else 1)
        assert capsys.readouterr().out == f"{expected}\n"
    assert expected.mistake == WRONG.function.__name__


def test_a_file_may_import_what_stands_beside_it(tmp_path, capsys, monkeypatch):
    (tmp_path / "beside_mine.py").write_text(f"{imports(MASK)}\n\n{source(MASK.solution)}", "utf-8")
    before = list(sys.path)
    assert (
        main(["exercises", "causal_weights", "--check", saved(tmp_path, "from beside_mine import causal_weights\n")])
        == 0
    )
    assert sys.path == before
    monkeypatch.delitem(sys.modules, "beside_mine")


REFUSED = {
    "no name": (["--hints", "1"], "", "say which exercise is meant; python -m tfcore exercises lists them"),
    "another name": (["softmax"], "", "no exercise is called 'softmax'; there are attention, causal_weights,"),
    "less than none": (["attention", "--hints", "-1"], "", "--hints -1 is no number of hints; attention has "),
    "no file": (
        ["attention", "--check", "/nowhere/mine.py:attention"],
        "",
        "there is no file /nowhere/mine.py; say it as",
    ),
    "a drive is no function": (["attention", "--check", "C:/mine.py"], "", "there is no file C:/mine.py; say it as"),
    "no such function": (["attention", "--check"], "def other(): ...", "has no function attention; it has other"),
    "no function": (["attention", "--check"], "attention = 1", "has no function attention; it has none"),
    "no Python": (["attention", "--check"], "def (", "cannot be run: SyntaxError: "),
    "bytes": (["attention", "--check"], "\0", "cannot be run: "),
    "an error": (["attention", "--check"], "raise KeyError('a\\nb' * 500)", "cannot be run: KeyError: "),
    "an end": (["attention", "--check"], "import sys\nsys.exit(3)", "cannot be run: SystemExit: 3"),
}


@pytest.mark.parametrize(("typed", "code", "sentence"), REFUSED.values(), ids=list(REFUSED))
def test_what_makes_no_sense_is_refused_in_one_sentence(typed, code, sentence, tmp_path, capsys):
    assert main(["exercises", *typed, *([saved(tmp_path, code)] if code else [])]) == 2
    out, err = capsys.readouterr()
    assert sentence in err
    assert len(err) < 600
    assert (out, err.count("\n"), "Traceback" in err) == ("", 1, False)
