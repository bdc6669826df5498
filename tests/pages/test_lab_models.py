"""A model of the lab on every page: it knows numbers, a few letters or names, and none of the English that pages begin
with. Each section shows something of the model's own, or says in a sentence why it cannot."""

import io
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.facts import pages
from pages.ui import cache
from pages.ui.loading import own_models
from pages.ui.work import jobs
from tests.nightly import often
from tests.pages.figures import figures
from tests.pages.lab_models import KINDS, SPECS, trained
from tests.pages.own_models import brought
from tests.pages.visits import address, opened, press, run, said
from tfcore.tokenizers.vocabulary import is_read
from tfcore.training.lab.model_file import packed
from tfcore.training.lab.train import train_slice

pytestmark = pytest.mark.usefixtures("short", "own", "patience")

# Of a visitor who did nothing: a page chose the text.
BLAMES = ("There is no", "There are fewer than two tokens", "makes no token", "Corrected from the link", "not loaded")
BOXES = ("text", "said", "texts", "text2", "other", "counter", "prompt", "piece", "own", "own_against", "projected")
DATA = ("x", "y", "z", "values")
SAID = ("none of this model's tokens", "no tokens of this model", "Left out")
ALONE = ("encoder", "model2")  # selects of another model beside the page's own
FILES = [page.file for page in pages().values()]
OFTEN = (
    ("start/walkthrough/page.py", {}),
    ("block/feedforward/page.py", {"panel": "activations"}),
    ("inside/interventions/page.py", {"show": "patch"}),
    ("inside/probing/page.py", {}),
)


@pytest.fixture
def own(monkeypatch, tmp_path) -> None:
    """Visitors may bring models; none is loaded."""
    monkeypatch.setenv("TFCORE_MODELS", "any")
    monkeypatch.setenv("TFCORE_MODEL_FOLDER", str(tmp_path))
    monkeypatch.setattr(own_models, "STORE", own_models.Store())
    st.cache_data.clear()


def check(test: AppTest, name: str) -> None:
    """Nothing is missing without a word."""
    told, page = said(test, "info", "warning"), said(test, "info", "warning", "caption")
    assert not any(words in page for words in BLAMES), page
    chosen = [select.value for select in test.selectbox if name in select.options and select.key not in ALONE]
    if name not in chosen:  # an example may have chosen another
        is_asked = name in test.query_params.values() or [name] in test.query_params.values()
        assert not (chosen and is_asked) or "Shown instead" in told, told
        return
    if "Shown instead" in told:  # with the texts of that model
        return
    tokenizer = cache.model(name)[1]
    for box in (*test.text_area, *test.text_input):
        if box.key in BOXES:
            assert is_read(tokenizer, box.value) or any(words in page for words in SAID), box
    for key, (_, drawn) in figures(test).items():
        assert told or any(map(is_drawn, drawn["data"])), key


def is_drawn(trace: dict[str, Any]) -> bool:
    """Whether a trace has anything to draw."""
    return any(value is not None and (not hasattr(value, "__len__") or len(value)) for value in map(trace.get, DATA))


def views(file: str, name: str) -> Iterator[AppTest]:
    """A page with this model, with every choice in sight of each of its sections, and every thing to try."""
    todo, done = [("", "", {"model": name})], set[tuple[str, str]]()
    while todo:
        key, value, here = todo.pop()
        if (key, value) in done:
            continue
        done.add((key, value))
        jobs.JOBS.close()
        test = opened(file, **here)
        if key and value not in (choice := chooser(test, key)).options:  # an address does not say all that led there
            continue
        if key:
            choice.set_value(value)
            run(test)
        yield test
        here = {one: address(test, one) for one in test.query_params}
        todo += [(one.key, name, here) for one in test.selectbox if name in one.options and one.value != name]
        todo += [(one.key, to, here) for one in test.segmented_control if one.key for to in one.options]
        for button in [one.key for one in test.button if (one.key or "").startswith("try ")]:
            if (button, "") not in done:
                done.add((button, ""))
                yield press(opened(file, **here), button)


def chooser(test: AppTest, key: str) -> Any:
    """The select or the segmented control of this key."""
    return next(one for one in (*test.selectbox, *test.segmented_control) if one.key == key)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("file", FILES)
def test_every_section_shows_something_of_its_own_or_says_why_not(file, kind):
    name = trained(kind)
    for test in views(file, name):
        check(test, name)


@pytest.mark.parametrize("kind", often(KINDS, ["numbers"]))
def test_pages_begin_with_an_example_that_the_model_reads(kind):
    name = trained(kind)
    for file, view in OFTEN:
        check(opened(file, **{"of": name, "model": name, **view}), name)


def test_a_text_that_a_page_began_with_gives_way_and_a_typed_one_is_answered():
    name = trained("letters")
    test = opened("foundations/heads/page.py")
    english = test.text_area(key="text").value
    test.query_params["model"] = name
    own = opened("foundations/heads/page.py", model=name).text_area(key="text").value
    assert own not in ("", english)
    test = opened("foundations/masks/page.py", model=name, text="123")
    assert "none of this model's tokens (a, b, c, d, e, f, g, …, >): type some of these" in said(test, "info")
    test = press(test, "own text")
    assert test.text_area(key="text").value == own
    assert not test.info
    test.text_area(key="text").set_value("the cab")
    assert "Left out are 1 characters that are no tokens of this model" in said(run(test), "caption")


def test_a_text_of_the_page_before_gives_way():
    name = trained("numbers")
    test = opened("start/home/page.py")
    test.switch_page("foundations/heads/page.py")
    test.query_params["model"] = name
    check(run(test), name)


def test_an_example_gives_way_to_the_text_of_a_page():
    name = trained("letters")
    english = opened("foundations/heads/page.py").text_area(key="text").value
    test = opened("foundations/heads/page.py", model=name)
    example = test.text_area(key="text").value
    assert example != english
    test.selectbox(key="model").set_value("stories")
    assert run(test).text_area(key="text").value == english

    test = opened("foundations/heads/page.py", model=name)
    test.switch_page("foundations/masks/page.py")
    assert run(test).text_area(key="text").value == example
    test.switch_page("foundations/tokens/page.py")  # the box stands above the choice of a tokenizer
    begun = opened("foundations/tokens/page.py").text_area(key="text").value
    assert run(test).text_area(key="text").value == begun

    test = opened("inside/probing/page.py", show="classes", model=name)
    for model, is_english in (("stories", True), (name, False), ("stories", True)):
        test.selectbox(key="model").set_value(model)
        assert (" " in run(test).text_input(key="projected").value) == is_english


def test_an_example_that_a_visitor_chose_stays():
    test = opened("foundations/heads/page.py", model=trained("letters"), text="the cab")
    test.selectbox(key="model").set_value("stories")
    assert run(test).text_area(key="text").value == "the cab"


def test_a_download_of_a_model_of_numbers_can_be_brought_as_a_folder(tmp_path):
    spec = SPECS["numbers"]
    state = train_slice(spec, 0, None, most=1, seconds=1e9).state
    with zipfile.ZipFile(io.BytesIO(packed(spec, state, ""))) as archive:
        archive.extractall(tmp_path)
    name = "./trained"
    assert brought(name).name == name
    assert opened("foundations/heads/page.py", model=name).text_area(key="text").value == "0123+="
