"""The tour: a card where the address says so, links that go on and back, and nothing anywhere else."""

from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from pages.facts import pages
from pages.ui import cache, tour
from tests.pages.figures import scenes
from tests.pages.visits import address, opened, press, run, said
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.heads.maps import attention_maps
from tfcore.measures.knock_outs import all_effects, knock_out_each
from tfcore.model import Transformer
from tfcore.views.foundations.heads.measure.attention_maps import strongest_key


@pytest.fixture(scope="module")
def examples() -> dict[str, dict[str, Any]]:
    """Those of the page on heads; importing a page runs it, so it is not done while tests are collected."""
    from pages.foundations.heads.page import TRY

    return TRY


def links_of(test: AppTest) -> list[tuple[str, str]]:
    """Words and address of the links."""
    found = [e.proto for e in test.main if getattr(e, "type", "") == "page_link"]
    return [(link.label, f"{link.page}?{link.query_string}") for link in found]


def bar(test: AppTest) -> str:
    return " ".join(words for words in said(test, "markdown").split("  ") if "Stop " in words and " of 7." in words)


def test_the_front_page_begins_it():
    words, address = next(link for link in links_of(opened("start/home/page.py")) if "Take the tour" in link[0])
    assert f"{len(tour.STOPS)} stops" in words
    assert address.startswith("flow?")
    assert "tour=1" in address


def test_it_begins_and_ends_at_the_river_and_every_stop_asks_for_one_action():
    assert len(tour.STOPS) == 7
    assert [stop.says.number for stop in tour.STOPS] == [*range(1, 8)]
    assert tour.STOPS[0].page == tour.STOPS[-1].page == pages()["flow"]
    for one, after in zip(tour.STOPS, tour.STOPS[1:], strict=False):
        assert one.page != after.page
    for stop in tour.STOPS:
        assert stop.says.words.endswith(".")
        assert stop.says.action.count(".") == 1
        assert "text" not in stop.says.view  # it is the visitor's


def test_a_stop_sets_its_view_and_leads_back_and_on():
    test = opened("foundations/masks/page.py", **tour.address(4))
    assert "Stop 4 of 7" in bar(test)
    found = dict(links_of(test))
    assert "tour=3" in found["Back"]
    assert "tour=5" in found["Next"]
    assert found["Next"].startswith("stream?")


def test_a_text_of_ones_own_goes_along():
    test = opened("foundations/masks/page.py", **tour.address(4, "A cat sat & <b>"))
    assert test.text_area(key="text").value == "A cat sat & <b>"
    assert "text=A+cat+sat+%26+%3Cb%3E" in dict(links_of(test))["Next"]
    test.text_area(key="text").set_value("Two dogs")
    assert "text=Two+dogs" in dict(links_of(run(test)))["Next"]
    test.text_area(key="text").set_value("")
    assert "text=Sam+was" in dict(links_of(run(test)))["Next"]


def test_the_address_keeps_it_while_controls_move_and_ending_it_keeps_the_view():
    test = opened("foundations/masks/page.py", tour="4", kind="sliding window")
    test.slider(key="layer").set_value(1)
    test = run(test)
    assert address(test, "tour") == "4"
    test = press(test, "tour_end")
    assert "tour" not in test.query_params
    assert test.selectbox(key="kind").value == "window"
    assert not bar(test)


@pytest.mark.parametrize("number", ["0", "99", "-1", "1.5", "x", "", "٥", "9" * 400, "3", "%00"])
def test_unknown_numbers_and_stops_of_other_pages_are_ignored(number):
    test = opened("foundations/masks/page.py", tour=number)
    assert not bar(test)
    assert all(button.key != "tour_end:button" for button in test.button)


def test_the_last_stop_leads_to_the_questions():
    number = len(tour.STOPS)
    test = opened("inside/flow/page.py", **tour.address(number))
    assert f"Stop {number} of {number}" in bar(test)
    found = dict(links_of(test))
    assert "Next" not in found
    assert found["Questions"].startswith("check")


# --- what the stops say is what their views show ---------------------------------------------------------------------


def attended(view) -> tuple[list[str], int, int, float]:
    """Tokens of the text, the query, the key it attends to most, and the weight, by the maps alone."""
    model, tokenizer = cache.model(view["model"])
    ids = tokenizer.encode(view["text"])
    pattern = attention_maps(model, ids).patterns[int(view["layer"]), int(view["head"])]
    tokens = tokenizer.tokens(ids)
    most = strongest_key(pattern, int(view["token"]), tokens, tokens)
    assert most.weight == max(pattern[most.query]) == pattern[most.query, most.key]
    return tokens, most.query, most.key, most.weight


def view(number: int) -> tuple[Transformer, list[int]]:
    """The model of a stop, and the tour's text as it reads it."""
    model, tokenizer = cache.model(tour.STOPS[number - 1].says.view["model"])
    return model, tokenizer.encode(tour.TEXT)


def test_rows_of_the_head_of_the_tour_sum_to_1_and_nothing_later_is_read():
    model, ids = view(3)
    stop = tour.STOPS[2].says
    pattern = attention_maps(model, ids).patterns[int(stop.view["layer"]), int(stop.view["head"])]
    np.testing.assert_allclose(pattern.sum(-1), 1, atol=1e-5)
    assert not np.triu(pattern, 1).any()


def test_most_parts_do_next_to_nothing_on_the_text_of_the_tour_and_a_few_decide():
    model, ids = view(6)
    quantity = Quantity("prediction", int(model(torch.tensor([ids])).logits[0, -1].argmax()))
    effects = abs(all_effects(list(knock_out_each(model, ids, quantity, "zero")), model.config.n_layers))
    assert (effects < 0.15).mean() > 0.5
    assert 1 <= (effects > 0.4).sum() <= 6


def test_the_parts_that_decide_have_the_largest_dots():
    test = opened("inside/flow/page.py", **tour.address(7))
    [said_to_it] = scenes(test, "river")
    assert said_to_it["largest"] == pytest.approx(np.abs(said_to_it["effects"]).max(), abs=1e-3)


def test_the_examples_of_the_page_on_heads_show_what_their_buttons_say(examples):
    tokens, query, key, _ = attended(examples["induction"])
    assert tokens[key - 1] == tokens[query] == " red"
    _, query, key, _ = attended(examples["previous token"])
    assert key == query - 1
    tokens, query, key, _ = attended(examples["attention alone"])
    assert tokens[key - 1] == tokens[query]
    assert key < query
    _, query, key, _ = attended(examples["an encoder"])
    assert key > query


def test_the_examples_on_real_models_show_what_is_said_of_them(real_models, examples):
    for name, model, expected in (
        ("too tired", "minilm", 0.68),
        ("too wide", "minilm", 0.28),
        ("“it” → “animal”", "smollm2", 0.75),
    ):
        view = examples[name]
        tokens, query, key, weight = attended(view)
        assert view["model"] == model
        assert (query, view["from"]) == (view["token"],) * 2
        assert tokens[query].strip() == "it"
        assert tokens[view["to"]].strip() == "animal"
        network, tokenizer = cache.model(model)
        patterns = attention_maps(network, tokenizer.encode(view["text"])).patterns
        weights = patterns[:, :, query, view["to"]]
        assert weights[view["layer"], view["head"]] == pytest.approx(expected, abs=0.005)
        if name != "too wide":  # found by scanning all heads
            assert weights.max() == weights[view["layer"], view["head"]] == weight
            assert key == view["to"]
