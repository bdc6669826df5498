"""The page on information: the numbers it promises, zeros in words, and texts of any kind."""

import math
from functools import partial

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from pages.training.information import text as _information_text
from pages.training.information.models import speechless
from pages.ui import cache, controls, frame
from pages.ui.loading import models
from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.visits import press, run, said
from tfcore.measures.text_loss import TextBits, bits_per_byte
from tfcore.measures.token_text import visible

opened = partial(visits.opened, "training/information/page.py")


def metrics(test: AppTest) -> dict[str, str]:
    return {metric.label: metric.value for metric in test.metric}


def test_the_coins_of_the_textbook():
    test = press(opened(), "try fair coin")
    assert metrics(test)["H(P)"] == "1.000"
    assert metrics(test)["perplexity of P"] == "2.000"
    found = metrics(press(test, "try 0.9/0.1 coin, Q fair"))
    assert (found["H(P)"], found["H(P, Q)"], found["KL(P‖Q)"], found["KL(Q‖P)"]) == ("0.469", "1.000", "0.531", "0.737")
    assert "0.46900 + 0.53100 = 1.00000; H(P, Q) = 1.00000 bits" in said(test, "markdown")
    assert metrics(press(test, "try uniform die"))["perplexity of P"] == "6.000"


def test_what_q_rules_out_is_said_in_words():
    test = opened(n="3", p3="1_1_0", q3="1_0_1")
    found = metrics(test)
    assert (found["H(P)"], found["H(P, Q)"], found["KL(P‖Q)"], found["KL(Q‖P)"]) == ("1.000", "∞", "∞", "∞")
    assert "Q gives 0 to B, and P does not" in said(test, "markdown")


def test_a_link_says_the_bars_and_a_damaged_one_is_corrected():
    assert "p4 1_2_x_-4 → 1_2_10_0" in said(opened(p4="1_2_x_-4"), "caption")
    assert not opened().query_params


def test_a_models_own_distribution_sums_to_one_and_is_its_softmax():
    test = press(opened(), "try a model's next token")
    network, tokenizer = cache.model("stories")
    ids = torch.tensor([tokenizer.encode(test.text_area(key="text").value)])
    top = network(ids).logits[0, -1].softmax(-1).topk(5).values
    widths = array(figures(test)["areas"][1]["data"][1]["width"])
    assert widths[:5] == pytest.approx(top.numpy(), abs=1e-4)
    assert widths.sum() == pytest.approx(1, abs=1e-5)
    guess = float(metrics(test)["H(P, Q)"])  # the link gives Q half of its weight to the first
    assert guess == pytest.approx(-float((widths * np.log2(np.array([6, 1, 1, 1, 1, 2]) / 12)).sum()), abs=2e-3)
    test.text_area(key="text").set_value("")
    assert "no text yet" in run(test).info[0].value


def test_the_two_directions_of_kl_fit_differently():
    rows = opened(show="bumps").dataframe[0].value.set_index("bump")
    assert float(rows.loc["covers: least KL(P‖Q)", "mean"]) == pytest.approx(-0.5, abs=0.005)
    assert float(rows.loc["picks: least KL(Q‖P)", "mean"]) == pytest.approx(-2.5, abs=0.005)


@pytest.mark.parametrize(
    ("x", "y", "taken"),
    [
        (-2.47, 0.72, {"mean": -2.5, "own": 0.7}),
        (0.14, 4.98, {"mean": 0.1, "own": 5.0}),
        (99, 0.0, {"mean": 6.0, "own": 0.25}),
        ("a", 1.0, {}),
    ],
)
def test_a_click_on_a_map_sets_ones_own_bump(x, y, taken, monkeypatch):
    handlers, found, original = {}, {}, frame.figure

    def noted(*args, key, on_click=None, **options):
        handlers[key] = on_click
        original(*args, key=key, on_click=on_click, **options)

    monkeypatch.setattr(frame, "figure", noted)
    opened(show="bumps")
    monkeypatch.setattr(controls, "set_values", lambda **values: found.update(values))
    handlers["maps"]({"curve": 0, "point": [0, 0], "x": x, "y": y, "customdata": None})
    assert found == taken


def test_the_sliders_of_ones_own_bump_reach_their_ends():
    for mean, own in (("-6.0", "0.25"), ("6.0", "5.0")):
        test = opened(show="bumps", mean=mean, own=own)
        assert (test.slider(key="mean").value, test.slider(key="own").value) == (float(mean), float(own))
        rows = test.dataframe[0].value.set_index("bump")
        assert (float(rows.loc["yours", "mean"]), float(rows.loc["yours", "width"])) == (float(mean), float(own))


def test_mutual_information_three_ways():
    test = press(opened(show="joint"), "try uncorrelated, but dependent")
    assert metrics(test)["I(X; Y)"] == "0.918"
    assert said(test, "markdown").count("= 0.918296") == 3
    assert metrics(press(test, "try independent"))["I(X; Y)"] == "0.000"
    test = press(test, "try letters that follow each other")
    assert 0.1 < float(metrics(test)["I(X; Y)"]) < 1
    test.text_area(key="text").set_value("a")
    assert "too short" in run(test).info[0].value


def test_the_loss_of_a_token():
    test = opened(show="token", right="0.9")
    assert metrics(test)["Loss, bits"] == "0.152"
    assert metrics(press(test, "try surprised: 0.01"))["Loss, bits"] == "6.644"
    rows = test.dataframe[0].value.set_index("probability of the right token")["bits"]
    assert (rows["0.9"], rows["0.01"]) == ("0.152", "6.644")


def test_a_text_is_counted_by_the_shipped_model_and_beaten_by_no_compressor():
    test = opened(show="text")
    text = test.text_area(key="text").value
    found = metrics(test)
    assert float(found["bits per byte"]) == pytest.approx(bits_per_byte(*cache.model("stories"), [text]), abs=6e-4)
    assert float(found["perplexity"]) == pytest.approx(2 ** float(found["bits per token"]), rel=5e-3)
    assert "counted as read after <|endoftext|>" in said(test, "caption")
    bars = figures(test)["everyone"][1]["data"][0]
    values = dict(zip(figures(test)["everyone"][1]["layout"]["yaxis"]["ticktext"], bars["x"], strict=True))
    assert values["stories"] < values["byte counts"] < values["zlib"] < values["every byte alike"] == 8
    assert "induction" not in values
    assert "induction" not in test.selectbox(key="model").options


def test_a_click_on_a_token_looks_at_it(monkeypatch):
    found, clicks = {}, []
    monkeypatch.setattr(_information_text.text, "chips", lambda *_, on_select, **__: clicks.append(on_select))
    test = opened(show="text", at="3")
    monkeypatch.setattr(_information_text.controls, "set_values", lambda **values: found.update(values))
    clicks[-1](7)
    assert found == {"at": 7}
    network, tokenizer = cache.model("stories")
    ids = [tokenizer.separator_id, *tokenizer.encode(test.text_area(key="text").value)]
    logits = network(torch.tensor([ids[:4]])).logits[0, -1]
    rank = int((logits > logits[ids[4]]).sum()) + 1
    bits = -float(logits.log_softmax(-1)[ids[4]]) / math.log(2)
    words = said(test, "markdown")
    assert f"Token 3, “{visible(tokenizer.tokens(ids[4:5])[0])}”, came with probability" in words
    assert f": {bits:.2f} bits, as surprising" in words
    assert f"Its rank in the model's prediction is {rank:,}" in words


def test_a_second_copy_is_cheaper():
    test = press(opened(show="text"), "try a sentence, repeated")
    steps = figures(test)["adding"][1]["data"][1]
    x, y = array(steps["x"]), array(steps["y"])
    half = y[abs(x - x[-1] / 2).argmin()]
    assert y[-1] - half < 0.25 * half


@pytest.mark.parametrize(
    "text", [" ", "a", "😀👩‍👩‍👧‍👦", "a\0b\x1b[0m", "<|endoftext|>", "$x$ :red[a] *b* %{x} &lt;", "字" * 1_000]
)
def test_any_text_is_counted(text, monkeypatch):
    monkeypatch.setattr(_information_text, "BYTES", 300)
    test = opened(show="text")
    test.text_area(key="text").set_value(text)
    found = metrics(run(test))
    assert math.isfinite(float(found["bits per byte"]))
    assert int(found["bytes"].replace(",", "")) == len(text[:100].encode())
    assert ("bytes; the first 100 characters" in said(test, "caption")) == (len(text) > 100)


def test_a_model_without_numbers_is_no_traceback(monkeypatch):
    monkeypatch.setattr(
        _information_text.views,
        "costs",
        lambda *_: TextBits((1,), ("a",), np.array([np.nan]), np.array([1]), 1, "", True),
    )
    assert "choose another" in opened(show="text").info[0].value


def test_models_are_compared_on_the_same_text(monkeypatch):
    monkeypatch.setattr(_information_text.information_models, "comparable", lambda: ["stories", "induction"])
    drawn = figures(opened(show="text"))
    assert "induction" in drawn["everyone"][1]["layout"]["yaxis"]["ticktext"]
    assert [trace["name"] for trace in drawn["adding"][1]["data"]][1:] == ["stories", "induction"]


def test_a_model_without_a_tokenizer_says_that_no_text_can_be_given_to_it():
    assert "without a tokenizer" in str(speechless(models.config("stories"), None))
    assert speechless(models.config("stories"), cache.model("stories")[1]) is None
