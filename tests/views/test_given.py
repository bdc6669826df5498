"""Views are called with a model, its tokenizer and a text as with a name and a text, and found by their subjects."""

import ast
import inspect
import sys
from pathlib import Path
from typing import Any

import pytest
from torch import nn

import tfcore
from tests import small
from tests.nightly import nightly
from tfcore import views
from tfcore.tokenizers.tokenizer import CharacterTokenizer
from tfcore.views.sources import Reading, Source, as_taken
from tfcore.views.view import View

TEXT = "Once upon a time there was a dog. The dog"


def functions() -> dict[str, Any]:
    """Every view, by subject and name."""
    found = {}
    for subject in views.subjects():
        for name, one in vars(getattr(views, subject)).items():
            if inspect.isfunction(one) and one.__annotations__.get("return") is View and not name.startswith("_"):
                found[f"{subject}.{name}"] = one
    return found


FUNCTIONS = functions()
READ = [name for name, one in FUNCTIONS.items() if Reading in one.__annotations__.values()]
OPENED = [name for name, one in FUNCTIONS.items() if next(iter(one.__annotations__.values())) is Source]


def test_subjects_are_found_by_name_alone():
    assert len(views.subjects()) == len(list(Path(views.__file__).parent.glob("*/*/__init__.py"))), "two of one name"
    assert {"heads", "flow"} <= {*dir(views)}
    with pytest.raises(AttributeError, match="no subject 'head'; there are architectures, atlas, attention"):
        _ = views.head
    imported = [node for node in ast.parse(inspect.getsource(views)).body if isinstance(node, ast.ImportFrom)]
    assert {str(one.module).partition(".")[0] for one in imported} <= sys.stdlib_module_names, "subjects are lazy"


def test_each_view_takes_a_model_its_tokenizer_and_a_text():
    """Whatever it calls them, and by name as by place."""
    pair = small.model(), CharacterTokenizer("abc ")
    assert len(READ) > 60
    assert len(OPENED) > 60
    for name in READ:
        parameters = inspect.signature(FUNCTIONS[name]).parameters
        assert as_taken(parameters, (*pair, "ab"), {"rest": 2}) == ([Reading(pair, "ab")], {"rest": 2}), name
        by_name = {"model": pair[0], "tokenizer": pair[1], "text": "ab", "hide_sink": True, "rest": 2}
        assert as_taken(parameters, (), by_name) == ([Reading(pair, "ab", hide_sink=True)], {"rest": 2}), name
        assert as_taken(parameters, ("stories", "ab"), {}) == ([Reading("stories", "ab")], {}), name
        assert as_taken(parameters, (Path("a"),), {"text": "b"}) == ([Reading("a", "b")], {}), name
        given = Reading("stories", "ab")
        assert as_taken(parameters, (given,), {"rest": 2}) == ([given], {"rest": 2}), name
        assert as_taken(parameters, (), {"reading": given}) == ([], {"reading": given}), name
    for name in OPENED:
        parameters = inspect.signature(FUNCTIONS[name]).parameters
        assert as_taken(parameters, (*pair, "ab"), {"rest": 2}) == ([pair, "ab"], {"rest": 2}), name
        assert as_taken(parameters, (), {"model": pair[0], "tokenizer": pair[1], "text": ""}) == ([pair], {"text": ""})
        assert as_taken(parameters, (), {"model": "a", "text": ""}) == (["a"], {"text": ""}), name


def test_a_second_text_is_read_by_a_model_of_its_own():
    pair = small.model(), CharacterTokenizer("abc ")
    parameters = inspect.signature(FUNCTIONS["heads.two_models"]).parameters
    taken, _ = as_taken(parameters, (*pair, "ab", "stories", "b", (0, 0)), {})
    assert taken == [Reading(pair, "ab"), Reading("stories", "b"), (0, 0)]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("heads.portrait", {"layer": 3, "head": 0}),
        pytest.param("flow.river", {}, marks=nightly),
        ("attention.scores", {"first": 1, "second": 4, "layer": 1, "head": 2}),
        ("walkthrough.answer", {"layer": 1}),
    ],
)
def test_the_picture_of_a_model_in_memory_is_that_of_its_name(name, arguments):
    pair = tfcore.load("stories")
    runs: list[object] = []
    pair[0].embed.register_forward_hook(lambda *_: runs.append(1))
    shown, named = FUNCTIONS[name](*pair, TEXT, **arguments), FUNCTIONS[name]("stories", TEXT, **arguments)
    assert (str(shown), shown.text()) == (str(named), named.text())
    assert shown.made.arguments != named.made.arguments
    assert runs


def test_a_model_in_memory_runs_once_for_what_a_view_asks_for_twice():
    pair = tfcore.load("stories")
    runs: list[object] = []
    pair[0].embed.register_forward_hook(lambda *_: runs.append(1))
    views.heads.portrait(*pair, TEXT, layer=3, head=0)
    assert len(runs) == 1


def test_what_is_no_model_with_its_tokenizer_is_refused():
    model, tokenizer = small.model(), CharacterTokenizer("abc ")
    portrait = views.heads.portrait
    with pytest.raises(ValueError, match=r"its tokenizer, as tfcore\.load returns both, and this is of type str"):
        portrait(model, "ab", layer=0, head=0)
    with pytest.raises(ValueError, match="after a model comes its tokenizer, as in portrait"):
        portrait(model)
    with pytest.raises(ValueError, match="after a model comes its text"):
        portrait(model, tokenizer, layer=0, head=0)
    with pytest.raises(ValueError, match="after a model comes a text, and this is of type int"):
        portrait(model, tokenizer, 1)
    with pytest.raises(ValueError, match=r"a Linear is no model of tfcore; tfcore\.from_transformers"):
        portrait(nn.Linear(1, 1), tokenizer, "ab", layer=0, head=0)
    with pytest.raises(ValueError, match="came without a tokenizer"):
        portrait(model, None, "ab", layer=0, head=0)
    with pytest.raises(ValueError, match="give it the model's name"):
        views.features.fires(model, tokenizer, 0, 0)
