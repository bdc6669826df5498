"""The page on long texts: the numbers it says are true in every section, clicks and steps lead where they should."""

import re
from functools import partial

import pytest

from pages.inference.long_context import pieces
from pages.ui.work import jobs
from tests.inference.long_context.test_flash import vectors
from tests.pages import visits
from tests.pages.figures import figures
from tests.pages.visits import run
from tfcore.views.inference.long_context.measure import timing as attention_timing
from tfcore.views.inference.long_context.measure.flash import Tiling, follow

opened = partial(visits.opened, "inference/long_context/page.py")
said = partial(visits.said)


def metrics(test):
    return {metric.label: (metric.value, metric.delta) for metric in test.metric}


def captions(test):
    return {name: head["caption"] for name, (head, _) in figures(test).items()}


def test_the_cost_of_4096_tokens():
    found = metrics(opened())
    assert found["Scores per head"][0] == "16,777,216"
    assert found["Scores of one layer, 2 bytes each"][0] == "402.7 MB"
    assert "Equal at n = 6,702" in captions(opened())["operations"]


def test_a_window_and_the_real_model():
    test = opened(look="patterns", window="5", layers="3", power="12")
    words = captions(test)
    assert "keeps 310 of 2,080 causal pairs" in words["reach"]  # 64 * 5 - 10
    assert "up to 12 back" in words["reach"]
    assert f"{4096 * 5 - 10:,} pairs" in words["pairs"]
    assert "up to 16 further on; the pattern allows 17, token by token" in words["measured"]


@pytest.mark.parametrize("kind", ["full, causal", "window + global", "dilated", "block-sparse"])
def test_every_pattern_is_what_the_model_does(kind):
    assert "token by token" in captions(opened(look="patterns", kind=kind))["measured"]


@pytest.mark.parametrize("order", ["queries", "keys"])
def test_flash_attention_ends_at_the_plain_result(order):
    test = opened(look="flash", order=order, tile="15")
    found = metrics(test)
    value, verdict = found["Difference to standard attention"]
    assert float(value) <= 1e-5
    assert verdict == "equal to 1e-5"
    assert float(found["The same in float64"][0]) < 1e-14
    assert "10 of 25 tiles skipped" in captions(test)["tiles"]
    _, spec = figures(test)["ledger"]
    rows = spec["data"][0]["text"]
    assert f"irst number by standard attention: {rows[-1][-1]}." in captions(test)["ledger"]


def test_the_arithmetic_is_written_out_and_adds_up():
    test = opened(look="flash", tile="14")
    line = next(latex.value for latex in test.latex if "0." in latex.value)
    factor, old, other, tile, total = (
        float(x) for x in re.search(r"ell &= (\S+) \\cdot (\S+) \+ (\S+) \\cdot (\S+) = (\S+)", line).groups()
    )
    assert factor * old + other * tile == pytest.approx(total, abs=0.005)


def test_a_query_whose_turn_has_not_come():
    test = opened(look="flash", tile="2")
    assert "its first tile is number 11" in said(test, "markdown")
    assert all(not any(row) for row in figures(test)["ledger"][1]["data"][0]["text"])


@pytest.mark.parametrize(("tile", "last"), [("6", "at hand"), ("14", "its last one was tile 6")])
def test_the_last_tile_of_the_query_is_named(tile, last):
    assert last in said(opened(look="flash", row="16", tile=tile), "markdown")


def test_traffic_of_an_a100():
    found = metrics(opened(look="traffic"))
    assert found["Standard attention"] == (f"{2 * 4 * (4096**2 + 4096 * 64) / 1e6:.1f} MB", "4.06 n² numbers")
    counted = 2 * (2 * 4096 * 64 + 11 * (3 * 4096 * 64 + 4 * 4096) + 4096 * 66)
    assert found["Tiles, counted"][0] == f"{counted / 1e6:.1f} MB"
    assert found["c n²d² ÷ M"][0] == f"{2 * 12 * 4096**2 * 64**2 / 96_000 / 1e6:.1f} MB"
    few = metrics(opened(look="traffic", length="9", width="32", kilobytes="256"))
    assert few["c n²d² ÷ M"] == ("–", "holds for d ≤ M ≤ nd only")


def test_the_ring_ends_at_the_plain_result_and_stripes_are_fair():
    test = opened(look="ring", devices="4", step="4")
    found = metrics(test)
    assert found["Weight still to come"][0] == "0.0%"
    assert found["Off standard attention by"][1] == "equal to 1e-5"
    assert "3 of 4 devices idle" in captions(test)["ring"]
    busy = [
        int(re.search(r"busy (\d+)%", captions(test)[f"work-{name}"]).group(1)) for name in ("contiguous", "striped")
    ]
    assert busy == [54, 92]
    early = metrics(opened(look="ring", devices="4", step="1"))
    assert early["Off standard attention by"][1] == "not done yet"
    assert float(early["Weight still to come"][0].rstrip("%")) > 10


def test_the_race_is_run_and_can_be_stopped():
    test = opened(look="timed")
    config = attention_timing.TimingConfig()
    jobs.JOBS.wait(config, 10**9, 120)
    test = run(test)
    words = captions(test)
    assert re.search(r"At 256 tokens fused attention is [\d.]+ times \w+ and takes [\d.]+ times less", words["seconds"])
    assert "measured" in words["bytes"]
    assert "again:button" in [button.key for button in test.button]
    assert not jobs.JOBS.look(config, jobs.visitor()).active


@pytest.mark.parametrize("look", ["flash", "ring", "patterns"])
@pytest.mark.parametrize("text", ["a", "😀👩‍👩‍👧‍👦 $x$ :red[a] <b>", " "])
def test_any_text_and_none(look, text):
    test = opened(look=look)
    test.text_area(key="text").set_value(text)
    run(test)
    test.text_area(key="text").set_value("")
    assert "text" in run(test).info[0].value


def test_a_long_text_is_cut_and_said_to_be():
    test = opened(look="flash")
    test.text_area(key="text").set_value("A cat sat. " * 40)
    assert "the first 64 are used" in said(run(test), "caption")


def test_many_tiles_show_a_window_of_the_ledger_that_holds_the_last_line():
    for tile in ("1", "80", "91"):
        test = opened(look="flash", sram="384", tile=tile)
        _, spec = figures(test)["ledger"]
        rows = spec["data"][0]["text"]
        assert len(rows) == 12
        assert sum(any(row) for row in rows) == {"1": 0, "80": 2, "91": 12}[tile]


def test_a_click_on_a_cell_chooses_its_query_and_tile(monkeypatch):
    chosen = {}
    monkeypatch.setattr(pieces.controls, "set_values", chosen.update)
    run = follow(vectors(17), Tiling(n=17, d_head=5, sram=80), 13)  # tiles of 4 tokens, row after row
    cell = {"curve": 0, "point": [6, 1], "x": 1, "y": 6, "customdata": None}
    pieces.choose_cell(run, cell)
    assert chosen == {"row": 6, "tile": 2}  # queries 4 to 7, keys 0 to 3
    chosen.clear()
    for x, y in ((16, 0), (None, 3), ("a", 3), (1, [2]), (99, 99)):
        pieces.choose_cell(run, {**cell, "x": x, "y": y})
    assert chosen == {}


@pytest.mark.parametrize("look", ["cost", "patterns", "flash", "traffic", "ring", "timed"])
def test_every_slider_reaches_its_end(look):
    test = opened(look=look)
    assert test.slider
    assert visits.sliders_short_of_their_end(test) == []
