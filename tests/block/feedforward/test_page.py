"""The page on the feed-forward layer: every panel, slider end, example, damaged address and hostile text."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.block.feedforward import neurons as neurons_panel
from pages.block.feedforward import neurons_of_a_text
from pages.ui import cache
from pages.ui import text as chips
from tests.nightly import nightly
from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.visits import run
from tfcore.measures.neuron_scan import load_neuron_scan
from tfcore.views.block import feedforward as views
from tfcore.views.block.feedforward import neurons as neuron_views
from tfcore.views.block.feedforward import say
from tfcore.views.block.feedforward.measure import shares as neuron_shares
from tfcore.views.block.feedforward.measure.neurons import promoted_tokens, promotion, strongest_texts, text_activations

opened = partial(visits.opened, "block/feedforward/page.py")
PANELS = {
    "neurons": {"value", "text", "excited"},
    "activations": {"value", "slope", "inputs"},
    "gates": {"matrices", "unit", "slice"},
    "share": {"shares"},
}


def said(test: AppTest) -> str:
    return visits.said(test, "caption", "info", "markdown")


@nightly
@pytest.mark.parametrize("panel", PANELS)
def test_every_panel_is_whole_and_its_examples_work(panel):
    test = opened(panel=panel)
    assert set(figures(test)) == PANELS[panel]
    assert all(head["alt"] and head["csv"] and head["caption"] for head, _ in figures(test).values())
    assert "arXiv:" in said(test)
    assert "Corrected" not in said(test)
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
    assert "the last 256 are used here" in said(run(test))


def test_a_click_on_a_neuron_chooses_its_layer_number_and_side(monkeypatch):
    chosen = {}
    monkeypatch.setattr(neurons_panel.controls, "set_values", lambda **values: chosen.update(values))
    neurons_panel.choose_neuron({"curve": 0, "point": 3, "x": 1, "y": 3, "customdata": [2, 77, 1]})
    assert chosen == {"layer": 2, "neuron": 77, "side": 1}
    chosen.clear()
    for hostile in ([2, 77], [2, "77", 1], None, 2, [2.0, 77, 1]):
        neurons_panel.choose_neuron({"curve": 0, "point": 3, "x": 1, "y": 3, "customdata": hostile})
    assert not chosen


def test_a_click_on_a_token_chooses_it(monkeypatch):
    rows, chosen = {}, {}
    monkeypatch.setattr(chips, "chips", lambda tokens, *, key, **more: rows.update({key: (tokens, more)}))
    opened(token="4")
    tokens, more = rows["chips"]
    assert more["selected"] == 4
    monkeypatch.setattr(neurons_panel.controls, "set_values", lambda **values: chosen.update(values))
    more["on_select"](7)
    assert chosen == {"token": 7}
    values = text_activations(cache.model("stories")[0], cache.model("stories")[1].encode(neurons_panel.TEXT))
    record = load_neuron_scan("stories").record(3, 462, 0)
    np.testing.assert_allclose(more["shade"], values[3, :, 462] / record, rtol=1e-5)
    assert len(tokens) == len(more["shade"])


def test_the_texts_of_a_neuron_are_marked_at_their_peak(monkeypatch):
    rows = {}
    monkeypatch.setattr(chips, "chips", lambda tokens, *, key, **more: rows.update({key: (tokens, more)}))
    opened()
    for rank, one in enumerate(strongest_texts(cache.model("stories")[0], "stories", 3, 462, 0)):
        tokens, more = rows[f"snippet {rank}"]
        assert tokens[more["selected"]] == cache.model("stories")[1].tokens(one.ids)[one.peak]
        assert more["titles"][more["selected"]] == one.largest
        assert more["label"] == f"Text {rank + 1}: {one.largest} at the marked token"


def test_the_numbers_at_the_left_are_those_of_the_neuron():
    found = promotion(*cache.model("stories"), "stories", 3, 462, 0)
    metrics = {metric.label: metric for metric in opened().metric}
    assert metrics["Strongest activation"].value == f"{found.activation:.2f}"
    probability = metrics["Probability of “·you” there"]
    assert (probability.value, probability.delta) == (f"{found.with_it:.1%}", f"{found.without_it:.1%} without it")


def test_the_numbers_of_an_activation_function_stand_at_the_left():
    test = opened(panel="activations", act="silu", x="-1.3")
    sigmoid = 1 / (1 + np.exp(1.3))
    value, slope = -1.3 * sigmoid, sigmoid * (1 - 1.3 * (1 - sigmoid))
    assert [(metric.label, metric.value) for metric in test.metric] == [
        ("SiLU(-1.3)", f"{value:.4f}"),
        ("Slope there", f"{slope:.4f}"),
    ]


def test_the_ends_of_the_unit_s_second_input_are_those_of_its_picture():
    test = opened(panel="gates")
    slider = test.slider(key="up")
    rows = figures(test)["unit"][1]["data"][0]["y"]
    assert (slider.min, slider.max) == (array(rows).min(), array(rows).max()) == (-4.0, 4.0)


def test_a_block_of_one_s_own_has_the_share_of_the_formula():
    test = opened(panel="share", kv="8", ratio="3.0", gated="true")
    assert test.metric[0].value == "78.3%"  # 9 d^2 of 9 + 2 + 2 / 4
    assert "By the formula: 78.3% (without norms)." in said(test)


@pytest.mark.parametrize(
    ("panel", "ends"),
    [
        ("neurons", {"layer": (0, 3), "neuron": (0, 511), "token": (0, 49)}),
        ("activations", {"x": (-5, 5), "gates": (0, 3)}),
        ("gates", {"d": (64, 8192), "up": (-4, 4)}),
        ("share", {"d": (64, 8192), "ratio": (0.5, 8)}),
    ],
)
def test_the_ends_of_the_sliders(panel, ends):
    assert {slider.key: (slider.min, slider.max) for slider in opened(panel=panel).slider} == ends


def test_a_model_without_a_scan_shows_who_writes_the_next_token():
    test = opened(model="stories-learned", text="The little dog saw a big")
    model, tokenizer = cache.model("stories-learned")
    reading = neuron_shares.read_neurons(model, tokenizer, "The little dog saw a big", 128)
    last = len(reading.tokens) - 1
    writers = neuron_shares.writing_neurons(model, tokenizer, reading, last)
    assert set(figures(test)) == {"shares", "value", "text"}
    head, drawn = figures(test)["shares"]
    assert head["caption"].startswith(str(say.writing_neurons(writers)))
    places = [(one.layer, one.neuron) for one in writers.largest]
    assert [list(place) for place in places] == drawn["data"][0]["customdata"]
    assert (test.slider(key="layer").value, test.slider(key="neuron").value) == places[0]
    found = neuron_shares.promotion_here(model, tokenizer, reading, last, *places[0])
    assert figures(test)["value"][0]["alt"] == str(say.promotion(found))
    assert test.metric[0].value == f"{found.with_it:.1%}"
    assert test.metric[0].delta == f"{found.without_it:.1%} without it"
    test.slider(key="token").set_value(2)
    assert f"After '{chips.visible(reading.tokens[2])}' (2)" in figures(run(test))["shares"][0]["caption"]


def test_a_click_on_a_share_chooses_its_neuron_and_an_empty_text_is_said(monkeypatch):
    chosen = {}
    monkeypatch.setattr(neurons_of_a_text.controls, "set_values", lambda **values: chosen.update(values))
    neurons_of_a_text.click({"customdata": [2, 77]})
    assert chosen == {"layer": 2, "neuron": 77}
    for hostile in ([2], "2", [1.5, 2], None):
        neurons_of_a_text.click({"customdata": hostile})
    assert chosen == {"layer": 2, "neuron": 77}
    assert "no text yet" in said(opened(model="stories-learned", text=""))


def test_of_large_models_fewer_tokens_are_read():
    config = cache.model("stories")[0].config
    assert views.most_tokens(config) == 128
    large = config.changed(n_layers=32, d_ff=11_008)
    assert views.most_tokens(large) * 32 * 11_008 * 4 <= 64_000_000
    assert views.most_tokens(large) == 45


def test_a_model_without_neurons_says_why():
    assert "are experts" in visits.said(opened(model="stories-moe"), "warning", "info", "caption", "markdown")


def test_the_neurons_of_a_token_are_measured_by_their_records():
    model, tokenizer = cache.model("stories")
    values = text_activations(model, tokenizer.encode(neurons_panel.TEXT))[:, 7]
    scan = load_neuron_scan("stories")
    best, at = max(
        (float(values[layer, neuron]) / float(scan.value[layer, neuron, side, 0]), [layer, neuron, side])
        for layer in range(4)
        for neuron in range(512)
        for side in (0, 1)
    )
    bars = figures(opened(token="7"))["excited"][1]["data"][0]
    assert list(bars["customdata"][0]) == at
    assert bars["x"][0] == pytest.approx(best, abs=1e-4)
    promotes = " ".join(chips.label(token) for token in promoted_tokens(model, tokenizer, *at))
    assert bars["text"][0] == promotes


def test_of_larger_models_fewer_tokens_are_read():
    def read(layers, width):
        return views.most_tokens(SimpleNamespace(n_layers=layers, ff_size=width))

    assert [read(2, 800_000), read(2, 10**9), read(1, 1)] == [10, 1, neuron_views.TOKENS]
