"""The page on normalisation: every panel at its defaults and its ends, numbers of all kinds, a race to its end."""

from functools import partial

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from pages.block.normalisation.numbers import read_numbers
from pages.ui.work import jobs
from tests.nightly import nightly
from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.visits import press, run
from tfcore.measures import deep_networks
from tfcore.measures.deep_networks import Deep, probe
from tfcore.views.block.normalisation.measure import early_training
from tfcore.views.block.normalisation.say import gradient_fall
from tfcore.views.kept import SHELF

opened = partial(visits.opened, "block/normalisation/page.py")
PANELS = {
    "By hand": {"steps"},
    "Which axis": {"axis"},
    "Where it stands": {"gradients", "sizes"},
    "First steps": {"race"},
}


def words(test: AppTest) -> str:
    return visits.said(test, "markdown", "caption")


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Few and narrow networks; nothing that another test has cached, and nothing for other tests."""
    st.cache_resource.clear()
    SHELF.clear()
    monkeypatch.setattr(deep_networks, "D_MODEL", 8)
    monkeypatch.setattr(early_training, "RUN_STEPS", 4)
    yield
    SHELF.clear()


@nightly
@pytest.mark.parametrize("part", PANELS)
def test_every_panel_is_whole_and_its_examples_work(part):
    test = opened(part=part)
    assert set(figures(test)) == PANELS[part]
    for head, _ in figures(test).values():
        assert head["alt"]
        assert any(sign.isdigit() for sign in head["alt"])
        assert head["caption"]
    assert "arXiv:" in words(test) or part == "Which axis"
    tries = [button.key for button in test.button if (button.key or "").startswith("try ")]
    assert len(tries) >= 3
    for key in tries:
        press(test, key)


def test_numbers_by_hand_and_by_torch_stand_side_by_side():
    test = opened(scale="1", shift="0", numbers="2, 4, 4, 5, 7, 8")
    assert "mean 5, variance 4" in figures(test)["steps"][0]["alt"]
    table = test.dataframe[0].value
    assert table["LayerNorm"].round(6).equals(table["torch.nn.LayerNorm"].round(6))
    assert table["RMSNorm"].round(6).equals(table["torch.nn.RMSNorm"].round(6))
    np.testing.assert_allclose(table["LayerNorm"], [-1.5, -0.5, -0.5, 0, 1, 1.5], atol=1e-5)


@pytest.mark.parametrize(
    ("pasted", "said"),
    [
        ("12, abc", "abc"),
        ("", "no numbers yet"),
        (" , ;\n", "no numbers yet"),
        ("nan", "nan"),
        ("1e999", "1e999"),
        ("9999999", "9999999"),
        ("1_000", "is no number"),
        ("$x$ :red[a] <b>", "is no number"),
        ("\0 \u202e", "is no number"),
        ("1 " * 33, "33 numbers"),
    ],
)
def test_what_is_no_list_of_numbers_gets_one_clear_sentence(pasted, said):
    test = opened()
    test.text_area(key="numbers").set_value(pasted)
    assert said in run(test).info[0].value.replace("\\", "")
    assert len(test.info) == 1


def test_numbers_may_be_written_in_many_ways():
    assert read_numbers(" 1;2,\n−3.5\t4e2") == (1.0, 2.0, -3.5, 400.0)
    assert len(read_numbers("1 " * 32)) == 32


@pytest.mark.parametrize("numbers", ["3", "0 0 0", "1e6 -1e6", "1e-300 2"])
def test_extreme_numbers(numbers):
    assert set(figures(opened(numbers=numbers))) == {"steps"}


def test_only_the_right_axis_keeps_the_change_to_its_token():
    alt = figures(opened(part="Which axis"))["axis"][0]["alt"]
    assert "over the features 0 of 11 other tokens change;" in alt
    assert "over the tokens 5 of 11 other tokens change, by up to" in alt
    assert "over the texts 1 of 11" in alt


@pytest.mark.parametrize("texts", ["one line", "a\nb c d\n\n$x$ <b> :red[y]\nfourth line", "😀\u202e", "\0\n\0"])
def test_any_texts_in_the_batch(texts):
    test = opened(part="Which axis")
    test.text_area(key="texts").set_value(texts)
    assert set(figures(run(test))) == {"axis"}


def test_no_texts_at_all():
    test = opened(part="Which axis")
    test.text_area(key="texts").set_value(" \n ")
    assert "no text yet" in run(test).info[0].value


@pytest.mark.parametrize(
    ("address", "notice"),
    [
        ({"part": "nowhere"}, "part"),
        ({"eps10": "1e9"}, "eps10"),
        ({"part": "Which axis", "row": "99", "position": "-1"}, "row 99"),
        ({"part": "Where it stands", "layers": "65", "init": "<b>"}, "layers 65"),
        ({"part": "First steps", "rate": "1000", "deep": "3"}, "rate 1000"),
        ({"numbers_z": "not*base64"}, "damaged"),
    ],
)
def test_damaged_addresses_are_corrected_with_a_quiet_word(address, notice):
    assert notice in words(opened(**address)).replace("\\", "").replace("\u2060", "")


def test_the_gradients_are_those_of_the_networks():
    test = opened(part="Where it stands", layers="3")
    first = figures(test)["gradients"][1]["data"][0]
    assert first["name"] == "pre-LN"
    np.testing.assert_allclose(array(first["y"]), probe(Deep(n_layers=3)).gradient, rtol=1e-6)


def test_a_race_goes_to_its_end_and_every_visitor_sees_the_same():
    test = opened(part="First steps", deep="2")
    (key,) = jobs.JOBS.registry.records
    jobs.JOBS.wait(key, 10**9, 240)
    heads, spec = figures(run(test))["race"]
    assert [len(array(trace["y"])) for trace in spec["data"]] == [4] * 8
    assert "post-LN" in heads["alt"]
    other = opened(part="First steps", deep="2")
    assert other.button(key="again:button").label == "Another seed"
    assert figures(other)["race"][1] == spec


def test_a_race_can_be_stopped_and_begun_again(monkeypatch):
    monkeypatch.setattr(early_training, "RUN_STEPS", 10_000)
    test = opened(part="First steps", deep="2")
    test.button(key="stop:button").click()
    assert run(test).button(key="anew:button").label == "Train again"
    test.button(key="anew:button").click()
    assert run(test).button(key="stop:button").label == "Stop"
    test.button(key="stop:button").click()
    run(test)
    test.slider(key="seed").set_value(5)
    assert run(test).button(key="stop:button").label == "Stop", "another race starts by itself"


@pytest.mark.parametrize(
    ("part", "ends"),
    [
        ("By hand", {"scale": (-3, 3), "shift": (-3, 3), "eps10": (-12, 1)}),
        ("Which axis", {"row": (0, 1), "position": (0, 5)}),
        ("Where it stands", {"layers": (1, 64)}),
        ("First steps", {"deep": (2, 32), "warmup": (5, 40), "seed": (0, 9)}),
    ],
)
def test_the_ends_of_the_sliders(part, ends, monkeypatch):
    monkeypatch.setattr(early_training, "RUN_STEPS", 40)
    assert {slider.key: (slider.min, slider.max) for slider in opened(part=part).slider} == ends


def test_what_is_said_of_the_gradients_is_of_the_networks_that_are_named():
    test = opened(part="Where it stands", layers="3", init="gpt2", norm="rmsnorm")

    def probed(n, placement):
        return probe(Deep(n_layers=n, placement=placement, norm="rmsnorm", init="gpt2"))

    pairs = {name: (probed(1, kind), probed(64, kind)) for name, kind in (("post-LN", "post"), ("pre-LN", "pre"))}
    assert str(gradient_fall(pairs, "rmsnorm", "gpt2")) in words(test)
    last = [probed(3, kind).gradient[2] for kind in ("post", "pre")]
    assert [float(metric.value) for metric in test.metric] == pytest.approx([last[0], last[1] * 3**0.5], abs=6e-4)


def test_the_replaced_token_is_the_one_that_is_chosen():
    test = opened(part="Which axis", row="1", position="2", texts="a b c d\ne f g h")
    head, spec = figures(test)["axis"]
    assert head["alt"].startswith("Replacing token 2 of text 1:")
    assert (spec["layout"]["shapes"][0]["x0"], spec["layout"]["shapes"][0]["y0"]) == (1.5, 0.5)
    assert "In text 1, token 2, **·g**, becomes" in words(test).replace("\\", "")
