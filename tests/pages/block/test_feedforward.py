"""The page on the feed-forward layer: every panel, slider end, example, damaged address and hostile text."""

from functools import partial

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import cache
from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.visits import run
from tfcore.analysis.block.neurons import text_activations

opened = partial(visits.opened, "block/feedforward/page.py")
PANELS = {
    "neurons": {"value", "text", "excited"},
    "activations": {"value", "slope", "inputs"},
    "gates": {"matrices", "unit", "slice"},
    "share": {"shares"},
}


def said(test: AppTest) -> str:
    return visits.said(test, "caption", "info", "markdown")


@pytest.mark.parametrize("panel", PANELS)
def test_every_panel_is_whole_and_works_at_the_ends_of_its_sliders(panel):
    test = opened(panel=panel)
    assert set(figures(test)) == PANELS[panel]
    assert all(head["alt"] and head["csv"] and head["caption"] for head, _ in figures(test).values())
    assert "arXiv:" in said(test)
    assert "A question." in said(test)
    assert any("tfcore." in expander.label for expander in test.expander)
    assert "Corrected" not in said(test)
    for end in ("min", "max"):
        for key in [slider.key for slider in test.slider if not slider.disabled]:
            test.slider(key=key).set_value(getattr(test.slider(key=key), end))
        run(test)


@pytest.mark.parametrize("panel", PANELS)
def test_every_example_works(panel):
    test = opened(panel=panel)
    names = [button.key for button in test.button if (button.key or "").startswith("try ")]
    assert len(names) >= 3
    for name in names:
        test.button(key=name).click()
        run(test)
        assert "Adjusted" not in said(test), name


def test_the_default_neuron_says_you_after_thank():
    test = opened()
    _, spec = figures(test)["value"]
    assert "·you" in spec["layout"]["yaxis"]["ticktext"][0]
    assert "◂" in spec["layout"]["yaxis"]["ticktext"][0]


def test_bars_are_the_models_own_activations():
    text = "An old owl said thank you."
    test = opened(text=text, layer="1", neuron="63")
    model, tokenizer = cache.model("stories")
    expected = text_activations(model, tokenizer.encode(text))[1, :, 63]
    drawn = figures(test)["text"][1]["data"][0]["y"]
    np.testing.assert_array_equal(array(drawn | {"shape": str(len(expected))}), expected)


@pytest.mark.parametrize(
    ("address", "notice"),
    [
        ({"layer": "99", "neuron": "-5"}, "layer 99 → 3, neuron -5 → 0"),
        ({"neuron": "many", "side": "up"}, "neuron many"),
        ({"panel": "<b>"}, "panel"),
        ({"panel": "Gates", "d": "1e99", "up": "nan"}, "d 1e99"),
        ({"panel": "Two thirds", "ratio": "0", "kv": "3"}, "kv 3"),
        ({"panel": "Non-linearities", "act": "tanh", "x": "1e9"}, "act tanh"),
        ({"token": "1000"}, "token 1000"),
        ({"z": "not*base64"}, "damaged"),
    ],
)
def test_damaged_addresses_are_corrected_with_a_quiet_word(address, notice):
    assert notice in said(opened(**address))


@pytest.mark.parametrize(
    "text",
    [
        "   \n\n\t ",
        "a",
        "😀👩‍👩‍👧‍👦",
        "שלום \u202eمرحبا",
        "a\0b\x1b[0m",
        "<script>alert(1)</script>",
        "$x$ :red[a] %{x} &lt;",
    ],
)
def test_any_text_is_shown(text):
    test = opened(text=text)
    assert "text" in figures(test)


def test_no_text_and_much_text_are_sentences():
    test = opened()
    test.text_area(key="text").set_value("")
    assert "no text yet" in said(run(test))
    test.text_area(key="text").set_value("A cat sat. " * 9_091)
    assert "the first 256 are used here" in said(run(test))
