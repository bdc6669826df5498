"""The page on attention: every panel, both ends of every slider, every damaged address, and true numbers."""

import math
from functools import partial

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.foundations.attention import word_pairs as words
from pages.ui import cache
from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.visits import run

opened = partial(visits.opened, "foundations/attention/page.py")
LOOKS = ["drag", "words", "scale", "gradient", "temperature"]
FIGURES = {
    "drag": {"steps"},
    "words": {"embeddings", "scores"},
    "scale": {"products-False", "products-True", "variance"},
    "gradient": {"entropy", "largest", "curve", "gradient"},
    "temperature": {"temperature"},
}


def said(test: AppTest) -> str:
    return visits.said(test, "caption", "markdown")


def matrices(test: AppTest) -> list[np.ndarray]:
    """QK^T, scores, weights, outputs as they are drawn."""
    return [array(trace["z"]) for trace in figures(test)["steps"][1]["data"]]


@pytest.mark.parametrize("look", LOOKS)
def test_every_panel_is_whole_and_its_examples_change_it(look):
    test = opened(look=look)
    assert set(figures(test)) == FIGURES[look]
    for head, _ in figures(test).values():
        assert any(character.isdigit() for character in head["alt"]), "alt texts name the numbers"
    buttons = [b.label for b in test.button]
    assert len(buttons) >= 3
    before = figures(test)
    changed = 0
    for label in buttons:
        next(b for b in test.button if b.label == label).click()
        changed += figures(run(test)) != before
    assert changed >= 3


def test_the_matrices_are_attention_of_the_points():
    points = [0.5, 1, -1, 0, 2, 2, 0, 0, 1, 0, 0, 1, -1, -1, 0.5, 0.5, 1, 2, -2, 1, 0, 0, 1, -1]
    test = opened(points="_".join(f"{x:g}" for x in points), t="2.0", token="cat")
    q, k, v = np.array(points).reshape(3, 4, 2)
    scores = q @ k.T / math.sqrt(2)
    weights = np.exp(scores / 2) / np.exp(scores / 2).sum(-1, keepdims=True)
    for drawn, wanted in zip(matrices(test), (q @ k.T, scores, weights, weights @ v), strict=True):
        np.testing.assert_allclose(drawn, wanted, atol=1e-6)
    best = int(weights[1].argmax())
    assert f"{weights[1, best]:.2f}" in figures(test)["steps"][0]["alt"]
    assert "Corrected" not in said(test)


@pytest.mark.parametrize(
    "points",
    [
        "nan_nan",
        "inf",
        "1e308_" * 24,
        "_".join(["999999999"] * 24),
        "_".join(["0"] * 7),
        "_".join(["1"] * 99),
        "<script>alert(1)</script>",
        "$x$ :red[a]",
        " ",
        "_" * 500,
        "1" * 5_000,
        "\u202e",
        "None",
    ],
)
def test_damaged_points_are_mended_with_a_quiet_word(points):
    test = opened(points=points)
    assert "Corrected from the link" in said(test)
    assert all(np.isfinite(matrix).all() for matrix in matrices(test))
    np.testing.assert_allclose(matrices(test)[2].sum(-1), 1, atol=1e-6)


@pytest.mark.parametrize(
    ("address", "notice"),
    [
        ({"look": "<script>"}, "look"),
        ({"t": "0"}, "t 0"),
        ({"t": "nan"}, "t nan"),
        ({"token": "$x$"}, "token"),
        ({"look": "words", "first": "999", "layer": "-1"}, "first 999"),
        ({"look": "words", "z": "not*base64"}, "damaged"),
        ({"look": "scale", "width": "99", "seed": "x"}, "width 99"),
        ({"look": "gradient", "keys": "1e9"}, "keys 1e9"),
        ({"look": "temperature", "temperature": "0", "x1": "nan"}, "temperature 0"),
    ],
)
def test_damaged_addresses_are_corrected_with_a_quiet_word(address, notice):
    assert notice in said(opened(**address))


@pytest.mark.parametrize(
    "text",
    [" ", "a", "😀👩‍👩‍👧‍👦", "שלום מרחבא", "a\0b\x1b[0m", "<script>alert(1)</script>", "$x$ :red[a] *b* %{x} &lt;"],
)
def test_any_text_is_compared(text):
    test = opened(look="words")
    test.text_area(key="text").set_value(text)
    n = len(array(figures(run(test))["embeddings"][1]["data"][1]["z"]))
    assert n >= 1
    assert test.metric


def test_no_text_and_much_text():
    test = opened(look="words")
    test.text_area(key="text").set_value("")
    assert "no text yet" in run(test).info[0].value
    test.text_area(key="text").set_value("A cat sat. " * 9_091)
    assert "the first 48 are used" in said(run(test))
    assert array(figures(test)["embeddings"][1]["data"][1]["z"]).shape == (48, 48)


def test_the_pair_in_words_is_the_pair_in_the_map():
    test = opened(look="words", first="7", second="10", layer="1", head="2")
    drawn = figures(test)
    product, cosine, there, back = (float(metric.value) for metric in test.metric)
    embeddings, scores = (array(drawn[name][1]["data"][1]["z"]) for name in ("embeddings", "scores"))
    assert product == pytest.approx(embeddings[7, 10], abs=0.006)
    assert embeddings[7, 10] == embeddings[10, 7]
    assert 0.6 < cosine < 0.7, "cat and dog"
    assert (there, back) == (pytest.approx(scores[7, 10], abs=0.006), pytest.approx(scores[10, 7], abs=0.006))


def test_the_variance_stands_beside_d_k():
    width, variance, divided = (float(m.value.replace(",", "")) for m in opened(look="scale", width="8").metric)
    assert width == 256
    assert variance == pytest.approx(256, rel=0.06)
    assert divided == pytest.approx(1, rel=0.06)


def test_the_check_is_computed_and_the_printed_numbers_stand_beside_it():
    table = opened(look="temperature").dataframe[0].value
    assert table["is"].tolist() == ["0.9994, 0.0004, 0.0002", "0.579, 0.216, 0.205"]
    assert "0.9997, 0.0002, 0.0001" in table["printed there"].tolist()


def test_dividing_by_eight_is_a_temperature_of_eight():
    weights = [metric.value for metric in opened(look="temperature", temperature="8").metric][:3]
    assert [round(float(w), 3) for w in weights] == [0.579, 0.216, 0.205]


def test_the_closest_words_are_named():
    assert "“cat” and “dog” have the most similar embeddings" in said(opened(look="words"))


@pytest.mark.parametrize("model", ["stories", "minilm"])
def test_pairs_to_try_are_those_words_in_the_tokens_of_the_model(model, request):
    """An encoder puts [CLS] in front: every place is one further than in stories."""
    if model == "minilm":
        request.getfixturevalue("real_models")
    tokens = cache.model(model)[1].tokens(cache.model(model)[1].encode(words.TEXT))
    found = words.examples(model)
    assert list(found) == list(words.PAIRS)
    for name, values in found.items():
        assert tuple(tokens[values[place]].strip() for place in ("first", "second")) == words.PAIRS[name]


def test_pairs_that_are_no_tokens_are_not_offered():
    assert words.examples("induction") == {}  # its tokens are bytes
