"""The page about masks: every mask, every damaged address, every hostile text, and true numbers in the leak test."""

import re
from functools import partial

import pytest
from streamlit.testing.v1 import AppTest

from pages.foundations.masks import without_mask
from pages.ui import cache
from pages.ui.work import jobs
from tests.nightly import nightly
from tests.pages import visits
from tests.pages.figures import figures
from tests.pages.visits import run
from tfcore.measures.mask_patterns import FUNCTIONS
from tfcore.training.pitfalls import PitfallConfig

opened = partial(visits.opened, "foundations/masks/page.py")
EQUAL = ("0.0", "equal to the last bit")


def said(test: AppTest) -> str:
    return visits.said(test, "caption")


def leaks(test: AppTest) -> list[tuple[str, str]]:
    """Number and verdict, with the mask and without."""
    return [(metric.value, metric.delta) for metric in test.metric]


def test_default_view_shows_that_nothing_leaks_and_that_without_a_mask_it_does():
    masked, free = leaks(opened())
    assert masked == EQUAL
    assert float(free[0]) > 0
    assert free[1] == "20 of 20 earlier positions changed"


@pytest.mark.parametrize("kind", list(FUNCTIONS))
def test_every_mask_with_its_sliders_at_both_ends(kind):
    test = opened(kind=kind)
    own = [slider.key for slider in test.slider if slider.key not in ("layer", "head", "position")]
    for end in ("min", "max"):
        for key in [*own, "layer", "head", "position"]:
            test.slider(key=key).set_value(getattr(test.slider(key=key), end))
        run(test)
        masked, _ = leaks(test)
        if kind not in ("bidirectional", "prefix", "padding"):
            assert masked == EQUAL
        if kind == "bidirectional":
            assert masked != EQUAL
    if kind == "padding":
        for key in ("padded_first", "and_causal"):
            test.toggle(key=key).set_value(True)
        assert leaks(run(test))[0] == EQUAL


def test_prefix_leaks_inside_the_prefix_only():
    assert leaks(opened(kind="prefix", prefix="20", position="15"))[0][1] == "15 of 15 earlier positions changed"
    assert leaks(opened(kind="prefix", prefix="20", position="20"))[0] == EQUAL


@pytest.mark.parametrize(
    ("address", "notice"),
    [
        ({"layer": "99", "head": "-1"}, "layer 99"),
        ({"kind": "<script>"}, "kind"),
        ({"kind": "window", "window": "1e9"}, "window 1e9"),
        ({"kind": "blocks", "stride": "0", "block": "nan"}, "stride 0"),
        ({"position": "0"}, "position 0"),
        ({"kind": "padding", "and_causal": "maybe"}, "maybe"),
        ({"z": "not*base64"}, "damaged"),
    ],
)
def test_damaged_addresses_are_corrected_with_a_quiet_word(address, notice):
    assert notice in said(opened(**address)).replace("\\", "").replace("\u2060", "")


@pytest.mark.parametrize(
    "text",
    [
        " ",
        "     \n\n\t ",
        "a",
        "😀👩‍👩‍👧‍👦",
        "שלום עולם مرحبا",
        "a\0b\x1b[0m",
        "<script>alert(1)</script>",
        "$x$ :red[a] *b* %{x} &lt;",
        "ein Wort\u202e nichts",
    ],
)
def test_any_text_is_shown(text):
    test = opened(kind="window")
    test.text_area(key="text").set_value(text)
    run(test)
    assert not leaks(test) or leaks(test)[0] == EQUAL


def test_one_token_has_no_leak_test():
    tokenizer = cache.model("stories")[1]
    assert len(tokenizer.encode("a")) == 1
    test = opened(text="a")
    assert not leaks(test)
    assert "at least two" in test.info[0].value


def test_no_text_at_all():
    test = opened()
    test.text_area(key="text").set_value("")
    assert "no text yet" in run(test).info[0].value


def test_much_text_is_cut_and_the_page_says_so():
    test = opened()
    test.text_area(key="text").set_value("A cat sat. " * 9_091)
    words = said(run(test))
    assert "2,000" in words
    assert "the first 64 are used" in words
    assert leaks(test)[0] == EQUAL
    test.text_area(key="text").set_value("A cat sat.")
    assert "the first 64 are used" not in said(run(test))


@nightly
def test_a_model_trained_without_a_mask_cheats(monkeypatch):
    """Half as long as on the page."""
    monkeypatch.setattr(without_mask, "STEPS", 80)
    test = opened(train="true")
    config = PitfallConfig(kind="mask", steps=80)
    jobs.JOBS.wait(config, 10**9, 240)
    head, _ = figures(run(test))["cheating"]
    without, with_mask = re.search(r"steps: (\S+) without a mask, (\S+) with it", head["alt"]).groups()
    assert float(without) < 0.5 * float(with_mask)
    assert test.button(key="again:button").label == "Another seed"


@nightly
def test_a_deep_model_begins_in_its_fourth_layer(real_models):
    test = opened(model="smollm2", text="One two")
    assert [test.slider(key=key).value for key in ("layer", "head")] == [3, 5]
