"""A real model that is damaged is no model: its pages say so in a sentence, all others are as ever."""

import pytest

import app
from pages.facts import pages
from pages.ui.loading import models
from tests.nightly import often
from tests.pages.visits import opened, said
from tfcore.loading.real_models import MODELS, SETTING

OFTEN = ("start/home/page.py", "inside/flow/page.py")
FILES = [page.file for page in pages().values()]


@pytest.fixture(params=[model.name for model in MODELS])
def bad(request, monkeypatch, tmp_path) -> str:
    """The name of a model of which half a file is there."""
    (model,) = (one for one in MODELS if one.name == request.param)
    (tmp_path / model.name).mkdir()
    for part in model.files.values():
        (tmp_path / model.name / part.name).write_bytes(b"GGUF" * 50)
    monkeypatch.setenv(SETTING, str(tmp_path))
    return model.name


@pytest.mark.parametrize("file", often(FILES, OFTEN))
def test_a_page_with_a_damaged_model_says_so_and_shows_another(bad, file):
    test = opened(file, model=bad, of=bad)
    offered = {select.key for select in test.selectbox} & {"model", "of"}
    if any(models.DEFAULT in select.options for select in test.selectbox if select.key in offered):
        words = said(test, "caption")
        assert f"{bad} is damaged here (" in words
        assert "of " in words
        assert "fetched again when the server starts, or by `python -m tfcore.loading`" in words
    assert bad not in [option for select in test.selectbox for option in select.options]


def test_the_health_check_names_the_damaged_model(bad):
    (part,) = (next(iter(model.files.values())) for model in MODELS if model.name == bad)
    assert app.left_out() == f"; {bad} is left out: {part.name} has 200 of {part.size:,} bytes"
