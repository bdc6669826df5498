"""The notebooks of the exercises: up to date; in a real kernel solutions are right and mistakes are told."""

import re
from urllib.parse import parse_qsl

import nbformat
import pytest

from pages.facts import pages
from tests.nightly import nightly
from tfcore.exercises import EXERCISES
from tfcore.exercises.exercise import source
from tfcore.exercises.notebook import file_name
from tools import exercises as tool

PLOTLY = "application/vnd.plotly.v1+json"
NUMBERED = list(enumerate(EXERCISES, 1))


def read(number, key):
    return nbformat.read(tool.FOLDER / file_name(number, EXERCISES[key]), as_version=4)


def test_they_are_what_the_exercises_say():
    there = {path.name: path.read_text("utf-8") for path in tool.FOLDER.iterdir()}
    assert there == tool.files(), "`python -m tools.exercises` writes them anew"


@pytest.mark.parametrize(("number", "key"), NUMBERED)
def test_each_has_its_parts(number, key):
    book, one = read(number, key), EXERCISES[key]
    nbformat.validate(book)
    kinds = [cell.cell_type for cell in book.cells]
    assert kinds == ["markdown", "code", "code", "code", "markdown", "markdown", "code"]
    assert book.cells[2].source.endswith("raise NotImplementedError  # your code")
    assert book.cells[3].source == f"exercises.check({key})"
    folded = book.cells[4].source
    assert re.findall("<summary>(.*?)</summary>", folded) == [
        *(f"Hint {i}" for i in range(1, len(one.hints) + 1)),
        "Solution",
    ]
    assert folded.count("<details>") == folded.count("</details>") == len(one.hints) + 1
    assert f"](http://localhost:8501/{one.page})" in book.cells[5].source
    assert " " not in one.page
    assert all(not cell.get("outputs") for cell in book.cells)


@pytest.mark.parametrize("key", EXERCISES)
def test_the_page_whose_figure_it_draws_is_there(key):
    name, _, view = EXERCISES[key].page.partition("?")
    sections = pages()[name].facts.sections
    for control, section in parse_qsl(view):
        assert control == sections.key
        assert section in sections.names


@nightly
@pytest.mark.parametrize(("number", "key"), NUMBERED)
def test_it_runs_in_a_kernel_with_a_solution_and_with_a_mistake(number, key):
    from nbclient import NotebookClient

    book, one = read(number, key), EXERCISES[key]
    wrong = one.mistakes[0]
    module, name = wrong.function.__module__, wrong.function.__name__
    book.cells[2].source = source(one.solution)
    told = [
        f"from {module} import {name} as wrong\n\n\ndef {key}(*inputs):\n    return wrong(*inputs)",
        f"exercises.check({key})",
    ]
    book.cells += [nbformat.v4.new_code_cell(code) for code in told]
    NotebookClient(book, timeout=300, startup_timeout=300, kernel_name="python3").execute()
    right, drawn, refused = (book.cells[place].outputs[-1]["data"] for place in (3, 6, -1))
    assert right["text/plain"].startswith("Right: all ")
    assert drawn[PLOTLY]["data"]
    assert refused["text/plain"].endswith(f": {wrong.asks}")
