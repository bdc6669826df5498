"""The page on modern blocks: what it says of each switch is what the models count, and a click chooses."""

from functools import partial

import pytest

from pages.model.modern import second_wave
from pages.model.modern import words as words
from tests import own_folders
from tests.nightly import nightly
from tests.pages import visits
from tests.pages.figures import figures
from tests.pages.own_models import brought
from tests.pages.visits import run, said
from tests.pages.waiting import wait_for_jobs
from tfcore.training import ladder
from tfcore.training.modernisation import SWITCHES
from tfcore.training.recipes.ladder_second_wave import SECOND_WAVE
from tfcore.training.second_wave import BASE, switched
from tfcore.views.model import modern
from tfcore.views.model.modern import measure as modernising

opened = partial(visits.opened, "model/modern/page.py")


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    monkeypatch.setattr(modernising, "SPEED", {**modernising.SPEED, "d_model": 16, "vocab_size": 20})
    monkeypatch.setattr(modernising, "ROUNDS", 1)


def test_every_switch_has_its_words():
    assert list(words.ABOUT) == list(SWITCHES)
    assert set(words.FIRST) == set(words.SIZE_NAMES)


def test_sharing_keys_and_values_cuts_the_cache_by_four():
    caption = figures(opened(step="4", size="large"))["effects"][0]["caption"]
    # 2 bytes x 2 x 32 layers x heads x 128
    assert f"the KV cache shrinks from {2 * 2 * 32 * 32 * 128:,} to {2 * 2 * 32 * 8 * 128:,} bytes per token" in caption


def test_the_block_is_shown_before_and_after_a_switch():
    assert "**before:** " in said(opened(step="3"), "markdown")
    assert "**after:** " in said(opened(step="3"), "markdown")
    assert "This is where it begins." in said(opened(step="0"), "caption")


def test_positions_by_angle_cost_no_parameter():
    assert "no change in parameters" in figures(opened(step="3"))["effects"][0]["caption"]


@nightly
def test_all_versions_are_timed_in_the_end():
    test = opened()
    wait_for_jobs()
    _, spec = figures(run(test))["effects"]
    bars = [trace for trace in spec["data"] if trace["type"] == "bar"]
    assert len(bars) == 4
    assert all(value and value > 0 for bar in bars for value in bar["x"])


def test_losses_stand_beside_once_the_ladder_ships(tmp_path, monkeypatch):
    assert figures(opened())["effects"][1]["data"][-1]["type"] == "scatter", "the ladder that ships"
    assert "ladder-modernisation" not in said(opened(), "markdown")
    rows = "\n".join(
        f"{name},{seed},8,2,2048000,{3 - 0.1 * step + 0.01 * seed}"
        for step, name in enumerate(SWITCHES)
        for seed in (0, 1)
    )
    (tmp_path / "modernisation.csv").write_text(f"switch,seed,d_model,n_layers,tokens,loss\n{rows}\n", "utf-8")
    monkeypatch.setattr(ladder, "SHIPPED", tmp_path)
    test = opened(seed="1")
    _, spec = figures(test)["effects"]
    marks = spec["data"][-1]
    assert marks["type"] == "scatter"
    assert marks["x"][0] == pytest.approx(3.005)
    assert marks["text"][-1] == "2.205"
    assert "after 2.0 M tokens of stories, 2 seeds each" in said(test, "markdown", "caption")


def test_a_click_on_a_bar_makes_the_switches_up_to_it():
    test = opened(step="1")
    _, spec = figures(test)["effects"]
    for trace in spec["data"]:
        if trace["type"] == "bar":
            assert [place for (place,) in trace["customdata"]] == trace["y"] == list(range(len(SWITCHES)))
    assert "<b>pre-norm</b>" in spec["layout"]["yaxis"]["ticktext"][1]


def test_a_switch_after_2023_is_shown_beside_the_base():
    test = opened(era="second", wave="MLA")
    shown = figures(test)
    caption = shown["second-wave"][0]["caption"]
    assert caption.startswith("MLA: ")
    assert "nats per token, 95 % interval" in caption or "nats per token (95 % interval" in caption
    assert "**before:** base" in said(test, "markdown")
    assert "**after:** MLA" in said(test, "markdown")
    assert "the first token has" in shown["first-token"][0]["caption"]


def test_muon_changes_no_part_of_the_block():
    test = opened(era="second", wave="Muon")
    assert "**after:**" not in said(test, "markdown")


def test_what_more_is_kept_of_two_switches_is_drawn():
    assert "were measured." in figures(opened(era="second", wave="multi-token"))["second-guesses"][0]["caption"]
    test = opened(era="second", wave="hyper-connections", mixed="2")
    assert "goes into each other one" in figures(test)["connections"][0]["caption"]
    assert "the rows of its weights change alike" in said(test, "markdown")
    assert "the rows of its weights change alike" not in said(opened(era="second", wave="sink"), "markdown")


def test_latents_are_fitted_to_a_model_without():
    test = opened(era="second", latent="50", cached="1", reads="3")
    shown = figures(test)
    assert (
        "stories, layer 1: 192 numbers of a token are cached in the place of 384, 50%" in shown["cached"][0]["caption"]
    )
    assert shown["losses"][0]["caption"].startswith("Latents of 192 numbers in every layer")
    assert shown["map-before"][0]["caption"].startswith("Layer 1, head 3, as the model has it")
    assert shown["map-after"][0]["caption"].startswith("With latents of 192 numbers")


def test_a_model_of_ones_own_with_latents_shows_its_own(allowed):
    for name, family in (("deepseek", "deepseek"), ("qwen", "qwen3 mixture")):
        kind, settings, tokenizer = own_folders.FAMILIES[family]
        own_folders.written(kind, settings, allowed / name)
        tokenizer().save(str(allowed / name / "tokenizer.json"))
        brought(f"./{name}")
    shown = opened(era="second", model="./deepseek", text="the dog")
    assert (
        "a latent of 9 numbers and a rotated key of 4 are cached of a token" in figures(shown)["cached"][0]["caption"]
    )
    assert "losses" not in figures(shown)
    assert "its keys are normalised or cut off" in said(opened(era="second", model="./qwen", text="the dog"), "info")


def test_a_click_on_a_row_chooses_its_switch(monkeypatch):
    chosen = {}
    monkeypatch.setattr(second_wave.controls, "set_values", chosen.update)
    names = [one.version.name for one in modernising.second_wave_trained().switches]
    second_wave.click({"customdata": [0]})
    assert not chosen, "the base is what all are compared with"
    second_wave.click({"customdata": [2]})
    assert chosen == {"wave": names[2]}


def test_every_switch_after_2023_has_its_words_and_its_formula():
    names = set(switched(SECOND_WAVE.model)) - {BASE}
    assert set(words.AFTER_2023) == set(modern.WAVE_PAPERS) == set(modern.WAVE_FORMULAS) == names
    assert set(second_wave.LIVE) <= names
