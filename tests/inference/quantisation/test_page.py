"""The page on quantisation: what each section begins with, and clicks and addresses that change it."""

from functools import partial

import pytest

from pages.inference.quantisation.choices import first_model
from tests.pages import visits
from tests.pages.clicks import record_clicks
from tfcore.training.ladder import SHIPPED, rows_of
from tfcore.views.inference.quantisation.measure import gguf_block

opened = partial(visits.opened, "inference/quantisation/page.py")


def test_it_begins_with_a_row_of_a_model_that_ships_where_no_real_one_is():
    test = opened()
    assert test.selectbox(key="model").value == first_model()
    assert first_model() == "stories"
    assert test.selectbox(key="format").value == "int4"
    assert "What to see." in visits.said(test, "markdown")


@pytest.mark.usefixtures("real_models")
def test_minilm_is_what_it_begins_with():
    assert opened().selectbox(key="model").value == first_model() == "minilm"


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
    clicked = record_clicks(monkeypatch)
    opened(look="errors", model="stories")
    assert "0.q: look row, layer 0, kind q" in clicked["errors"]
    assert len(clicked["errors"]) == 5


@pytest.mark.usefixtures("real_models")
def test_weights_that_were_rounded_before_are_called_so():
    assert "quantised already" in visits.said(opened(model="smollm2"), "markdown")


def test_without_a_text_it_asks_for_one():
    assert "There is no text yet" in visits.said(opened(look="outliers", of="stories", text=""), "info")


def test_a_data_type_that_was_not_measured_is_replaced_with_a_word():
    test = opened(look="loss", part="activations", type="int5")
    assert "activations were measured in int8, int6, int4; shown is int8." in visits.said(test, "caption").lower()
    assert "What stories writes" not in visits.said(test, "markdown")


def test_the_story_with_fewer_bits_stands_beside_the_one_as_it_is():
    words = visits.said(opened(look="loss", measured="stories", type="int4"), "markdown")
    assert "| as it is |" in words
    assert "| groups of 32, with minimum |" in words


def test_without_the_file_a_block_is_made_of_stories(monkeypatch):
    monkeypatch.setattr(gguf_block, "file_of_smollm2", lambda: None)
    test = opened(look="block")
    assert "this block is made of weights of stories" in visits.said(test, "caption")
    assert test.code[0].value.count("|") == 2


def test_the_cache_without_a_text_asks_for_one():
    assert "There is no text yet" in visits.said(opened(look="cache", of="stories", text=""), "info")


def test_the_loss_of_the_whole_model_stands_beside_outliers_and_cache():
    words = visits.said(opened(look="outliers", of="stories", abits="4"), "caption")
    assert "Measured with all layers of stories rounded (activations), 1.92 nats per token as it is." in words
    assert (
        "The loss with int4: one scale per text 2.37; per text, outliers apart 2.20; one scale per token 2.01" in words
    )
    assert "keys by channel, values by token 2.01" in visits.said(opened(look="cache", of="stories"), "caption")
    assert "Measured with all layers" not in visits.said(opened(look="outliers", of="fill"), "caption")


def test_what_eight_and_four_bits_do_to_smollm2():
    rows = [row for row in rows_of(SHIPPED / "quantisation.csv") if row["model"] == "smollm2"]
    plain = next(float(row["loss"]) for row in rows if row["format"] == "float32")

    def worse(part: str, data_type: str, how: str) -> float:
        key = part, data_type, how
        return next(float(row["loss"]) for row in rows if (row["part"], row["format"], row["how"]) == key) / plain - 1

    for how in ("token", "tensor, outliers apart"):
        assert worse("activations", "int8", how) < 0.01
        assert worse("activations", "int4", how) > 1
        assert worse("both", "int8", how) < 0.015
    assert worse("activations", "int8", "tensor") > 0.2
