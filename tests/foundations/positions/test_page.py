"""The page on positions: every scheme at its defaults, its slider ends, and from damaged addresses."""

from functools import partial

import pytest
from streamlit.testing.v1 import AppTest

from pages.foundations.positions import compared, scores
from pages.ui import cache, controls
from tests import own_folders
from tests.pages import visits
from tests.pages.figures import figures
from tests.pages.own_models import brought
from tests.training import tiny_run
from tfcore.training import ladder
from tfcore.training.recipes import RECIPES
from tfcore.views.foundations import positions as views
from tfcore.views.foundations.positions.measure.effects import position_effects

opened = partial(visits.opened, "foundations/positions/page.py")
SCHEMES = ("Sinusoidal", "Learned", "RoPE", "ALiBi", "None", "All on one head")


def words(test: AppTest) -> str:
    return visits.said(test, "markdown", "caption")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_has_the_rhythm_of_a_page(scheme):
    test = opened(scheme=scheme)
    assert not test.exception
    assert len(test.latex) == 1
    assert "arXiv:" in words(test)
    assert "**What to see.**" in words(test)
    assert "**A question.**" in words(test)
    assert sum(button.key is not None and button.key.startswith("try ") for button in test.button) >= 3


@pytest.mark.parametrize(("text", "told"), [("alone", True), ("a pair", False)])
def test_one_word_cannot_be_shuffled(text, told):
    assert ("One word cannot be shuffled" in visits.said(opened(scheme="None", text=text), "info")) == told


def test_only_the_chosen_scheme_has_controls():
    assert {slider.key for slider in opened(scheme="ALiBi").slider} == {"heads", "head", "seq"}


def test_the_shift_error_is_shown_live():
    test = opened()
    assert 0 < float(test.metric[0].value) < 1e-6
    test.slider(key="k").set_value(100).run()
    assert 0 < float(test.metric[0].value) < 1e-6


def test_moving_both_changes_nothing_but_rounding():
    test = opened(scheme="RoPE", moved="4096")
    assert test.slider(key="moved").value == 4096
    assert float(test.metric[1].value) < 1e-4


def test_the_shuffle_test_is_told_on_every_scheme():
    for scheme in SCHEMES[:-2]:
        assert "**The shuffle test.**" in words(opened(scheme=scheme))
    test = opened(scheme="RoPE")
    next(button for button in test.button if button.label == "See the shuffle test").click().run()
    assert not test.exception
    assert test.text_area(key="text").value


@pytest.mark.parametrize(
    "address",
    [
        {"scheme": "<script>"},
        {"d_model": "513", "length": "-1", "k": "1e400", "pair": "nan", "base10": "inf"},
        {"d_model": "8", "pair": "63", "pair2": "256"},
        {"scheme": "rope", "d_head": "7", "alike": "0.8000001", "moved": "true", "rope10": ""},
        {"scheme": "ALIBI", "heads": "3", "head": "7", "seq": "5"},
        {"scheme": "learned", "task": "$x$", "step": "13"},
        {
            "scheme": "none",
            "shuffle": "0",
            "look": ":red[",
            "causal": "maybe",
            "text": "$x$ :red[y] <b>b</b> \x00 \u202e",
        },
    ],
)
def test_damaged_addresses(address):
    test = opened(**address)
    assert not test.exception
    assert test.title[0].value


@pytest.mark.parametrize(
    "text", ["", "   ", "one", "a " * 100, "<script> $x$ :red[ %{y} \x00 \u202eabc \U0001f600", "x" * 1000]
)
def test_any_text_can_be_shuffled(text):
    test = opened(scheme="None")
    test.text_area(key="text").set_value(text).run()
    assert not test.exception


def test_beyond_the_trained_length_the_table_that_ships_is_drawn(monkeypatch, tmp_path):
    monkeypatch.setattr(ladder, "SHIPPED", tmp_path)
    views.measured.clear()
    assert "ladder-positions" in visits.said(opened(scheme="Beyond the length"), "info")
    recipe, corpus = tiny_run.in_small("ladder-positions", 0.0), tiny_run.write_corpus(tmp_path / "corpus")
    RECIPES["ladder-positions"].run(corpus, tmp_path, lambda _: None, recipe)
    views.measured.clear()
    found = views.measured()
    assert found is not None
    caption = figures(opened(scheme="Beyond the length"))["beyond"][0]["caption"]
    rises = [f"{found.rise(scheme):+.2f}" for scheme in found.loss]
    assert sum(rise in caption for rise in rises) >= 2, "the best and the worst"
    views.measured.clear()


def test_the_heads_of_the_examples_attend_as_near_and_as_far_as_they_say():
    model, tokenizer = cache.model("stories")
    ids = tokenizer.encode(compared.TEXT)[: views.TOKENS]
    found = [position_effects(model, ids, head) for head in range(model.config.attention.n_heads)]
    distances = [float(one["rope"].distance) for one in found]
    assert distances[1] < 2.5
    assert distances[4] == max(distances)
    changes = [abs(float(one["rope"].distance - one["none"].distance)) for one in found]
    assert changes[5] == min(changes) < 0.3


def test_a_click_on_a_slope_chooses_its_head(monkeypatch):
    values = {}
    monkeypatch.setattr(controls, "set_values", values.update)
    scores.choose_head({"point": 6})
    assert values == {"head": 6}
    scores.choose_head({"point": [1, 2]})
    assert values == {"head": 6}


def test_a_matrix_that_is_shown_in_part_says_so():
    captions = [figures(opened(d_model=str(d)))["shift"][0]["caption"] for d in (32, 40)]
    assert captions == ["M_k, shape (32, 32).", "M_k, shape (40, 40); the first 32 rows and columns."]


@pytest.mark.parametrize(("count", "more"), [(compared.WORDS, False), (compared.WORDS + 1, True)])
def test_of_many_words_the_first_are_shuffled(count, more):
    test = opened(scheme="None", text="a " * count)
    assert (f"The first {compared.WORDS} words are used." in words(test)) == more


def test_of_many_learned_positions_64_are_shown_at_first(allowed):
    kind, settings, tokenizer = own_folders.FAMILIES["gpt2"]
    own_folders.written(kind, settings | {"n_positions": 160}, allowed / "long")
    tokenizer().save(str(allowed / "long" / "tokenizer.json"))
    brought("./long")
    shown = opened(scheme="Learned", table="Of a model", of="./long").slider(key="positions")
    assert (shown.min, shown.value, shown.max) == (4, 64, 128)
