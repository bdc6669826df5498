"""docs/notebook.ipynb: ten views of SmolLM2, whose code runs as it stands."""

import ast
import re
from pathlib import Path
from typing import Any

import nbformat
import plotly.io as pio
import pytest

from tests.nightly import nightly
from tfcore import views
from tfcore.views.view import View
from tfcore.views.widgets import ViewWidget

PLACE = Path(__file__).resolve().parents[2] / "docs" / "notebook.ipynb"
CALL = re.compile(r"views\.(\w+)\.(\w+)\(")


@pytest.fixture(scope="module")
def cells() -> list[Any]:
    return nbformat.read(PLACE, as_version=4).cells


def test_it_is_a_notebook_of_ten_views_with_words_to_each(cells):
    nbformat.validate(nbformat.read(PLACE, as_version=4))
    calls = [call for cell in cells if cell.cell_type == "code" for call in CALL.findall(cell.source)]
    assert len({*calls}) == len(calls) == 10
    assert all(callable(getattr(getattr(views, subject), name)) for subject, name in calls)
    headings = re.findall(
        r"^## (\d+)\. ", "\n".join(cell.source for cell in cells if cell.cell_type == "markdown"), re.M
    )
    assert headings == [str(i + 1) for i in range(10)]
    assert all(not one.outputs for one in cells if one.cell_type == "code"), "pictures of it would be of one day"


def shown_by(source: str, names: dict[str, Any]) -> Any:
    """The value of a cell's last line, as a notebook shows it."""
    body = ast.parse(source).body
    *before, last = body
    exec(compile(ast.Module(before if isinstance(last, ast.Expr) else body, []), str(PLACE), "exec"), names)
    return eval(compile(ast.Expression(last.value), str(PLACE), "eval"), names) if isinstance(last, ast.Expr) else None


@nightly
@pytest.mark.usefixtures("real_models")
def test_its_code_runs(cells, capsys, monkeypatch):
    monkeypatch.setattr(pio.renderers, "default", "plotly_mimetype")
    names: dict[str, Any] = {}
    shown = [shown_by(cell.source, names) for cell in cells if cell.cell_type == "code"]
    drawn = [one for one in shown if isinstance(one, View)]
    assert len(drawn) == 10
    assert all(len(one._repr_mimebundle_()) > 1 for one in drawn), "a picture beside its words"
    assert [type(one).__name__ for one in shown if isinstance(one, ViewWidget)] == ["RiverWidget"]
    assert "'·it' attends most to '·trophy'" in str(drawn[2])
    assert "23.0 × 0" in capsys.readouterr().out
