"""The card of a lesson: there where the address says so, with links that go on and back, and answers from the page."""

import json
import re
from typing import Any

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from pages.lessons import FIRST as FIRST_KEY
from pages.lessons import LESSONS
from pages.lessons.from_file import read
from pages.ui import cache, lesson_card, links
from tests.pages.figures import scenes
from tests.pages.visits import address, opened, press, run, said
from tfcore.measures.effect_metric import Quantity
from tfcore.measures.heads.maps import attention_maps
from tfcore.measures.knock_outs import all_effects, knock_out_each
from tfcore.model import Transformer
from tfcore.views.foundations.heads.measure.attention_maps import strongest_key

FIRST = LESSONS[FIRST_KEY]
TEXT = FIRST.carried["text"]
HEADS, MASKS = 4, 5  # stops of it


@pytest.fixture(scope="module")
def examples() -> dict[str, dict[str, Any]]:
    """Those of the page on heads; importing a page runs it, so it is not done while tests are collected."""
    from pages.foundations.heads.page import TRY

    return TRY


def links_of(test: AppTest) -> list[tuple[str, str]]:
    """Words and address of the links."""
    found = [e.proto for e in test.main if getattr(e, "type", "") == "page_link"]
    return [(link.label, f"{link.page}?{link.query_string}") for link in found]


def card(test: AppTest) -> str:
    """What the card says, where there is one."""
    shown = [one.value for one in test.caption if re.fullmatch(r".* · \d+ of \d+", one.value)]
    return " ".join(shown[:1]) and f"{shown[0]} {said(test, 'markdown')}".replace("\\", "").replace("\u2060", "")


def test_the_front_page_begins_the_first_lesson():
    words, address = next(
        link for link in links_of(opened("start/home/page.py")) if "From text to next token" in link[0]
    )
    assert words == "**From text to next token**"
    assert address.startswith("flow?")
    assert "lesson=text-to-token" in address
    assert "stop=1" in address
    assert "model=stories" in address


def test_a_stop_sets_its_view_and_leads_back_and_on():
    test = opened("foundations/masks/page.py", **lesson_card.address(FIRST, MASKS))
    assert f"{MASKS} of {len(FIRST.stops)}" in card(test)
    found = dict(links_of(test))
    assert f"stop={MASKS - 1}" in found["Back"]
    assert f"stop={MASKS + 1}" in found["Next"]
    assert found["Next"].startswith("stream?")


def test_the_answer_comes_after_a_prediction_and_follows_what_is_in_sight():
    test = opened("foundations/masks/page.py", **lesson_card.address(FIRST, MASKS))
    assert "Predict first" in card(test)
    assert "Here:" not in card(test)
    test.text_input(key=f"prediction text-to-token {MASKS}:text_input").set_value("a <b>half</b>")
    test = run(test)
    tokens = len(cache.model("stories")[1].encode(FIRST.carried["text"]))
    allowed = f"{tokens * (tokens + 1) // 2} of {tokens**2} pairs"
    assert "You: a <b>half</b>" in card(test)
    assert allowed in card(test)
    test.text_area(key="text").set_value("Two dogs ran")
    test = run(test)
    assert "Here:" in card(test)
    assert allowed not in card(test)
    bare = press(opened("foundations/masks/page.py", **lesson_card.address(FIRST, MASKS)), "lesson_answer")
    assert "You:" not in card(bare)
    assert allowed in card(bare)


def test_an_answer_that_is_not_in_sight_is_said_to_be_so():
    test = press(opened("foundations/heads/page.py", **lesson_card.address(FIRST, HEADS)), "lesson_answer")
    assert "attends most to" in card(test)
    test = opened("foundations/heads/page.py", **lesson_card.address(FIRST, HEADS) | {"show": "how heads are cut"})
    assert "not in sight now" in card(press(test, "lesson_answer"))


def test_a_text_and_a_model_of_ones_own_go_along():
    own = {"text": "A cat sat & <b>", "model": "stories-moe"}
    test = opened("foundations/masks/page.py", **lesson_card.address(FIRST, MASKS, own))
    assert test.text_area(key="text").value == "A cat sat & <b>"
    on = dict(links_of(test))["Next"]
    assert "text=A+cat+sat+%26+%3Cb%3E" in on
    assert "model=stories-moe" in on
    test.text_area(key="text").set_value("Two dogs")
    test.selectbox(key="model").set_value("stories-learned")
    on = dict(links_of(run(test)))["Next"]
    assert "text=Two+dogs" in on
    assert "model=stories-learned" in on
    test.text_area(key="text").set_value("")
    assert "text=Two+dogs" in dict(links_of(run(test)))["Next"]


def test_the_address_keeps_it_while_controls_move_and_ending_it_keeps_the_view():
    said_there = {"lesson": "text-to-token", "stop": str(MASKS), "kind": "sliding window"}
    test = opened("foundations/masks/page.py", **said_there)
    test.slider(key="layer").set_value(1)
    test = run(test)
    assert address(test, "lesson") == "text-to-token"
    test = press(test, "lesson_end")
    assert not {"lesson", "stop"} & set(test.query_params)
    assert test.selectbox(key="kind").value == "window"
    assert not card(test)


@pytest.mark.parametrize("number", ["0", "99", "-1", "1.5", "x", "", "٥", "9" * 400, "3", "%00"])
def test_unknown_numbers_and_stops_of_other_pages_are_ignored(number):
    for said_there in ({"lesson": "text-to-token", "stop": number}, {"tour": number}):
        test = opened("foundations/masks/page.py", **said_there)
        if said_there.get("tour") == "4":
            continue
        assert not card(test)
        assert all(button.key != "lesson_end:button" for button in test.button)


@pytest.mark.parametrize(
    ("said_there", "sentence"),
    [
        ({"lesson": "<b>x"}, "There is no lesson <b>x here"),
        ({"lesson": "own"}, "opened from a file in another visit"),
        ({"lesson": "own", "lesson_z": "eJ!"}, "The lesson in this link is damaged"),
        ({"lesson": "own", "lesson_z": links.pack('{"title": 1, "stops": [3]}')}, "The lesson in this link is damaged"),
    ],
    ids=str,
)
def test_a_lesson_that_there_is_not_is_said_in_a_sentence(said_there, sentence):
    assert sentence in said(opened("foundations/masks/page.py", **said_there, stop="1"), "caption")


def test_the_last_stop_leads_to_the_questions():
    number = len(FIRST.stops)
    test = opened("inside/flow/page.py", **lesson_card.address(FIRST, number))
    assert f"{number} of {number}" in card(test)
    found = dict(links_of(test))
    assert "Next" not in found
    assert found["Questions"].startswith("check")


# What the tour of version 1.61 had at each stop: its page, and the beginning of its words.
OF_THE_TOUR = (
    ("inside/flow/page.py", "Each golden stream"),
    ("foundations/tokens/page.py", "A model reads tokens"),
    ("foundations/heads/page.py", "One attention head"),
    ("foundations/masks/page.py", "The grey half"),
    ("inside/stream/page.py", "The logit lens"),
    ("inside/interventions/page.py", "Each field is a head"),
    ("inside/flow/page.py", "The river again"),
)


@pytest.mark.parametrize("number", range(1, 8))
def test_links_of_the_tour_of_earlier_releases_show_what_they_showed(number):
    file, words = OF_THE_TOUR[number - 1]
    assert words in card(opened(file, tour=str(number), model="stories", text=TEXT))


def test_a_lesson_from_a_file_is_shown_as_it_is_written():
    lesson = read(json.dumps({"title": "**Mine**", "stops": [{"address": "masks?kind=causal", "note": "<i>:x: $a$"}]}))
    test = opened("foundations/masks/page.py", **lesson_card.address(lesson, 1))
    assert "**Mine** · 1 of 1" in card(test)
    assert "<i>:x: $a$" in card(test)
    assert "Predict first" not in card(test)


def test_a_view_of_a_lesson_from_outside_is_at_its_defaults_where_it_says_nothing():
    """Whatever its reader has done before: what is at its default is in no address."""
    stops = [{"address": "masks?text=a+b+c"}, {"address": "masks"}]
    lesson = read(json.dumps({"title": "Mine", "stops": stops}))
    before = {one.key: one.value for one in opened("foundations/masks/page.py").slider}
    test = opened("foundations/masks/page.py", **lesson_card.address(lesson, 1))
    assert test.text_area[0].value == "a b c"
    test.slider[0].set_value(test.slider[0].max)
    test = run(test)
    test.query_params.clear()
    test.query_params.update(lesson_card.address(lesson, 2))
    test = run(test)
    assert "Mine · 2 of 2" in card(test)
    assert {one.key: one.value for one in test.slider} == before
    assert test.text_area[0].value != "a b c"


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


def read_text() -> tuple[Transformer, list[int]]:
    """The model that the lesson begins with, and its text as that reads it."""
    model, tokenizer = cache.model(FIRST.carried["model"])
    return model, tokenizer.encode(TEXT)


def test_rows_of_the_head_of_the_lesson_sum_to_1_and_nothing_later_is_read():
    model, ids = read_text()
    stop = FIRST.stops[HEADS - 1]
    pattern = attention_maps(model, ids).patterns[int(stop.view["layer"]), int(stop.view["head"])]
    np.testing.assert_allclose(pattern.sum(-1), 1, atol=1e-5)
    assert not np.triu(pattern, 1).any()


def test_most_parts_do_next_to_nothing_on_the_text_of_the_lesson_and_a_few_decide():
    model, ids = read_text()
    quantity = Quantity("prediction", int(model(torch.tensor([ids])).logits[0, -1].argmax()))
    effects = abs(all_effects(list(knock_out_each(model, ids, quantity, "zero")), model.config.n_layers))
    assert (effects < 0.15).mean() > 0.5
    assert 1 <= (effects > 0.4).sum() <= 6


def test_the_parts_that_decide_have_the_largest_dots():
    test = opened("inside/flow/page.py", **lesson_card.address(FIRST, len(FIRST.stops)))
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
