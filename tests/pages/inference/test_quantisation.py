"""The page on quantisation: what each section begins with, and clicks and addresses that change it."""

from functools import partial

import pytest

from pages.inference.quantisation import errors
from pages.inference.quantisation.settings import first_model
from tests.pages import visits
from tfcore import available

opened = partial(visits.opened, "inference/quantisation/page.py")


def test_it_begins_with_a_row_of_a_real_model_where_one_is_there():
    test = opened()
    assert test.selectbox(key="model").value == first_model()
    assert (first_model() == "minilm") == ("minilm" in available())
    assert test.selectbox(key="format").value == "int4"
    assert "What to see." in visits.said(test, "markdown")


def test_only_integers_have_a_minimum():
    assert [one.key for one in opened(model="stories").toggle] == ["minimum"]
    assert not opened(model="stories", format="float8").toggle


def test_groups_that_do_not_divide_a_row_are_not_offered():
    assert opened(model="stories", look="errors").select_slider(key="share").options == [
        "matrix",
        "row",
        "64 weights",
        "32 weights",
        "16 weights",
    ]


def test_a_click_on_a_cell_opens_the_matrix(monkeypatch):
    set_to = {}
    monkeypatch.setattr(errors.controls, "set_values", lambda **values: set_to.update(values))
    errors.click({"customdata": "3.up"})
    errors.click({"customdata": None})
    assert set_to == {"look": "row", "layer": 3, "kind": "up"}


@pytest.mark.skipif("smollm2" not in available(), reason="smollm2 was not fetched")
def test_weights_that_were_rounded_before_are_called_so():
    assert "quantised already" in visits.said(opened(model="smollm2"), "markdown")


def test_without_a_text_it_asks_for_one():
    assert "There is no text yet" in visits.said(opened(look="outliers", of="stories", text=""), "info")
