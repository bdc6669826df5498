"""The page on residual connections: every panel at its defaults and its ends, every text, true losses."""

from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from streamlit.testing.v1 import AppTest

from pages.block.residuals import ablation as ablation_panel
from pages.ui import cache
from tests.nightly import nightly, often
from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.visits import press, run
from tfcore.inspection.edits import Edit
from tfcore.measures import deep_networks as depth
from tfcore.measures.quantities import few_digits
from tfcore.model import Transformer
from tfcore.views.block.residuals import losses_of, subsets_table
from tfcore.views.block.residuals.measure.ablation import every_subset
from tfcore.views.block.residuals.measure.dropout import draw_dropout
from tfcore.views.block.residuals.say import dropout_count, dropout_means, rank_collapse
from tfcore.views.kept import SHELF
from tfcore.views.sources import Reading

opened = partial(visits.opened, "block/residuals/page.py")
PANELS = {
    "Gradients": {"first", "inside"},
    "Skip blocks": {"paths"},
    "Initial weights": {"starts"},
    "Dropout": {"dropped", "means"},
}


def words(test: AppTest) -> str:
    return visits.said(test, "markdown", "caption")


@pytest.fixture(autouse=True)
def _narrow(monkeypatch):
    SHELF.clear()
    monkeypatch.setattr(depth, "D_MODEL", 8)
    yield
    SHELF.clear()


@nightly
@pytest.mark.parametrize("part", PANELS)
def test_every_panel_is_whole_and_its_examples_work(part):
    test = opened(part=part)
    assert set(figures(test)) == PANELS[part]
    for head, _ in figures(test).values():
        assert any(sign.isdigit() for sign in head["alt"])
        assert head["caption"]
    tries = [button.key for button in test.button if (button.key or "").startswith("try ")]
    assert len(tries) >= 3
    for key in tries:
        press(test, key)


def test_without_skip_and_norm_the_gradient_is_gone_at_64_layers():
    data = {trace["name"]: array(trace["y"]) for trace in figures(opened())["first"][1]["data"]}
    assert data["pre-LN"][-1] > 0.1 * data["pre-LN"][0]
    gone = data["no skip, no norm"]
    assert not gone[-1] > 1e-20 * gone[0]  # or not a number: too small to be drawn


def loss(text: str, *without: str) -> float:
    model, tokenizer = cache.model("stories")
    ids = tokenizer.encode(text)[: ablation_panel.TOKENS]
    logits = model(torch.tensor([ids]), edits=[Edit.zero(name) for name in without]).logits[0, :-1]
    return float(F.cross_entropy(logits, torch.tensor(ids[1:])))


def test_the_losses_are_those_of_the_model_with_these_sublayers_off():
    test = opened(part="Skip blocks")
    whole, mine = (float(metric.value) for metric in test.metric)
    assert whole == pytest.approx(loss(ablation_panel.TEXT), abs=0.006)
    assert mine == pytest.approx(loss(ablation_panel.TEXT, "blocks.2.attn_out", "blocks.2.mlp_out"), abs=0.006)
    test.toggle(key="attention0").set_value(False)
    one = loss(ablation_panel.TEXT, "blocks.0.attn_out", "blocks.2.attn_out", "blocks.2.mlp_out")
    assert float(run(test).metric[1].value) == pytest.approx(one, abs=0.006)


def test_on_a_story_the_mean_loss_grows_with_the_number_left_out():
    found = losses_of(Reading(ablation_panel.MODEL, ablation_panel.TEXT))
    means = [found.loss[found.removed == left_out].mean() for left_out in range(len(ablation_panel.KEYS) + 1)]
    assert means == sorted(means), "as the page says"


def test_the_texts_go_on_and_change_with_the_set():
    test = opened(part="Skip blocks")
    texts = [m.value for m in test.markdown if m.value.startswith("**Continuation")]
    assert len(texts) == 2
    assert texts[0].partition(":** ")[2] != texts[1].partition(":** ")[2]


def test_a_click_on_a_dot_sets_the_switches(monkeypatch):
    chosen = {}
    monkeypatch.setattr(ablation_panel.controls, "set_values", lambda **values: chosen.update(values))
    ablation_panel.click({"curve": 0, "point": 0, "x": 1, "y": 1, "customdata": 0b11111011})
    assert [key for key, kept in chosen.items() if not kept] == ["attention1"]
    chosen.clear()
    for hostile in (-1, 256, "3", None, [1], 2.0):
        ablation_panel.click({"curve": 0, "point": 0, "x": 1, "y": 1, "customdata": hostile})
    assert not chosen


@pytest.mark.parametrize(
    "text",
    often(
        [
            "abc def",
            "😀👩‍👩‍👧‍👦",
            "שלום עולם",
            "a\0b\x1b[0m",
            "<script>alert(1)</script>",
            "$x$ :red[a] *b* %{x}",
            "x\u202e y",
            "a b " * 999,
        ],
        ["$x$ :red[a] *b* %{x}"],
    ),
)
def test_any_text_is_shown(text):
    test = opened(part="Skip blocks")
    test.text_area(key="text").set_value(text)
    assert set(figures(run(test))) == {"paths"}


@pytest.mark.parametrize("text", ["", "a"])
def test_too_little_text_gets_a_sentence(text):
    test = opened(part="Skip blocks")
    test.text_area(key="text").set_value(text)
    assert "fewer than two tokens" in run(test).info[0].value


@nightly
def test_long_text_is_cut_and_the_page_says_so():
    test = opened(part="Skip blocks")
    test.text_area(key="text").set_value("A cat sat. " * 50)
    assert "the last 40 are used" in words(run(test))
    test.text_area(key="text").set_value("A cat sat.")
    assert "the last 40 are used" not in words(run(test))


@pytest.mark.parametrize(
    ("address", "notice"),
    [
        ({"part": "<b>"}, "part"),
        ({"layers": "1e9", "init": "?"}, "layers 1e9"),
        ({"part": "Skip blocks", "attention0": "maybe"}, "maybe"),
        ({"part": "Skip blocks", "z": "not*base64"}, "damaged"),
        ({"part": "Initial weights", "network": "x"}, "network x"),
        ({"part": "Dropout", "p": "1", "draw": "-3"}, "p 1"),
    ],
)
def test_damaged_addresses_are_corrected_with_a_quiet_word(address, notice):
    assert notice in words(opened(**address)).replace("\\", "").replace("\u2060", "")


def test_dropout_keeps_the_mean_and_is_off_at_inference():
    test = opened(part="Dropout", p="0.5")
    assert float(test.metric[0].value) > 0
    trace = figures(test)["dropped"][1]["data"][0]
    assert np.isclose(array(trace["y"]), 0).any()
    test.toggle(key="training").set_value(False)
    assert run(test).metric[0].value == "0.0"
    assert test.metric[0].delta == "equal to the last bit"
    assert "multiplied by 1." in figures(test)["dropped"][0]["alt"]


@pytest.mark.parametrize(
    ("part", "ends"),
    [
        ("Gradients", {"layers": (1, 64)}),
        ("Skip blocks", {}),
        ("Initial weights", {"layers": (1, 64)}),
        ("Dropout", {"p": (0, 0.9), "draw": (0, 99), "layer": (0, 3)}),
    ],
)
def test_the_ends_of_the_sliders(part, ends):
    assert {slider.key: (slider.min, slider.max) for slider in opened(part=part).slider} == ends


def inputs() -> tuple[Transformer, list[int]]:
    """The model and the ids of the panel of dropout."""
    model, tokenizer = cache.model("stories")
    return model, tokenizer.encode(ablation_panel.TEXT)[: ablation_panel.TOKENS]


def test_the_share_that_is_dropped_is_the_one_that_is_chosen():
    result = draw_dropout(*inputs(), "blocks.2.mlp_out", 0.75, True, 7)
    heads = figures(opened(part="Dropout", p="0.75", draw="7", layer="2"))
    assert str(dropout_count(result, 0.75, True, 2, "stories")) in heads["dropped"][0]["caption"]
    assert "multiplied by 4." in heads["dropped"][0]["caption"]
    assert heads["means"][0]["alt"] == str(dropout_means(result))


def test_inside_are_the_deepest_networks():
    test = opened(layers="3")
    probes = {name: depth.probe(one) for name in depth.COMPARED for one in depth.networks(name, [3], "xavier")}
    head, spec = figures(test)["inside"]
    assert [len(array(trace["y"])) for trace in spec["data"]] == [3] * 4 + [4] * 8
    np.testing.assert_allclose(array(spec["data"][1]["y"]), probes["pre-LN"].gradient, rtol=1e-6)
    assert str(rank_collapse(probes)) in head["alt"]
    first = [probes[name].gradient[0] for name in ("no skip, no norm", "pre-LN")]
    assert [metric.value for metric in test.metric] == [few_digits(float(value)) for value in first]


def test_growth_stands_at_the_left():
    test = opened(part="Initial weights", layers="5", network="no norm")
    sizes = {start: depth.stream_sizes(one) for start, one in depth.start_networks(5, "no norm").items()}
    grown = [sizes[start][-1] / sizes[start][0] for start in ("std 0.02", "GPT-2: 0.02, outputs / √(2N)")]
    assert [metric.value for metric in test.metric] == [f"× {few_digits(float(value))}" for value in grown]


def test_what_is_said_of_the_sublayers_is_of_this_text():
    text = "The dog ran to the park and saw a cat."
    test = opened(part="Skip blocks", text=text)
    losses = {
        f"{'attention' if part == 'attn_out' else 'feed-forward'} {i}": loss(text, f"blocks.{i}.{part}")
        for i in range(4)
        for part in ("attn_out", "mlp_out")
    }
    assert f"({min(losses, key=losses.get)}) to " in words(test)
    assert f"nats ({max(losses, key=losses.get)})." in words(test)
    assert f"On this text {max(losses, key=losses.get)} (the highest dot" in words(test)


def test_the_table_says_which_sublayers_are_kept():
    losses = every_subset(*inputs())
    table = subsets_table(losses)
    row = losses.row((0, 5))
    kept = table.drop(columns=["left out", "loss"]).iloc[row]
    assert [name for name, is_kept in kept.items() if not is_kept] == ["attention 0", "feed-forward 2"]
    assert (table["left out"][row], table["loss"][row]) == (2, losses.loss[row])
