"""Views of heads without an application: they run, keep no map of a text alive, and run the model once."""

from dataclasses import replace

import numpy as np
import pytest

import tfcore
from tests.nightly import often
from tfcore.measures.heads.kinds import HeadScores
from tfcore.views import kept, programs
from tfcore.views.foundations import heads as views
from tfcore.views.foundations.heads.draw.maps import MAP_CELLS
from tfcore.views.foundations.heads.measure import attention as measure
from tfcore.views.foundations.heads.measure.attention import Order, attention
from tfcore.views.foundations.heads.measure.attention_maps import read_attention
from tfcore.views.kept import Shelf, nbytes
from tfcore.views.sources import Reading

TEXT = "Max had a red ball. Max lost the red ball."
READ = Reading("stories", TEXT)
LONG = Reading("stories", "A cat sat on a mat. " * 40)
TRANSLATED = Reading("translate", "She gave me a red book yesterday.")
EVERY = {
    "head_map": lambda reading: views.head_map(reading, Order(), 1, 2),
    "mosaic": lambda reading: views.mosaic(reading, Order(sort="score"), 1, 2),
    "portrait": lambda reading: views.portrait(reading, 1, 2, 4),
    "head": lambda reading: views.head(reading, 1, 2, 4),
    "head, lines": lambda reading: views.head(reading, 1, 2, 4, "lines"),
    "layer_mean": lambda reading: views.layer_mean(reading, 1, 4),
    "rolled_out": lambda reading: views.rolled_out(reading, 1, 4),
    "one_token": lambda reading: views.one_token(reading, Order(), 1, 2, 4),
    "why": lambda reading: views.why(reading, 1, 2, 4, 1),
    "pairs": lambda reading: views.pairs(reading, 1, 2, 4, 1),
    "one_of_two": lambda reading: views.one_of_two(reading, 1, 2),
    "two_heads": lambda reading: views.two_heads(reading, 1, 2, 0, 1),
    "two_texts": lambda reading: views.two_texts(reading, LONG, 1, 2),
    "two_models": lambda reading: views.two_models(reading, Reading("induction", TEXT), (1, 2), (0, 1)),
}
TOO_LARGE = 400_000  # bytes: a map of LONG and what is drawn of it; all maps take 6 MB


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("reading", [READ, LONG, replace(READ, hide_sink=True)], ids=["short", "long", "hidden"])
def test_a_view_says_what_it_shows_and_keeps_no_more_than_one_map(name, reading):
    shown = EVERY[name](reading)
    assert shown.alt.endswith((".", "'", *"0123456789"))
    assert str(shown)
    assert shown.numbers().shape[0] > 0
    drawn = [trace[part] for trace in shown.chart.data for part in ("x", "y", "z") if part in trace]
    assert nbytes((shown.result, drawn)) < TOO_LARGE


@pytest.mark.parametrize("part", often(("encoder", "decoder", "cross"), {"encoder"}))
def test_each_part_of_a_translator_has_views(part):
    reading = replace(TRANSLATED, part=part)
    assert views.head(reading, 0, 1, 2).result.sum(1) == pytest.approx(1)
    assert views.head_map(reading, Order("same place" if part == "cross" else "self"), 0, 1).findings
    assert views.why(reading, 0, 1, 2, 1).result.total == pytest.approx(views.why(reading, 0, 1, 2, 1).result.score)


def test_a_model_in_memory_is_read_anew_and_named_by_nobody():
    loaded = tfcore.load("stories")
    shown = views.two_models(READ, Reading(loaded, TEXT), (1, 2), (1, 2))
    assert "head 1.2 of a model of your own is" in shown.caption
    assert "model=None,  # supply your own" in programs.script(programs.program(shown))
    assert attention(Reading(loaded, TEXT)) is not attention(Reading(loaded, TEXT))


def test_the_model_runs_once_for_a_text_whatever_is_shown_of_it(monkeypatch):
    monkeypatch.setattr(kept, "SHELF", Shelf(1_000_000))  # less than the maps take
    runs, run = list[str](), read_attention
    monkeypatch.setattr(measure, "read_attention", lambda *a, **b: runs.append(a[2]) or run(*a, **b))
    reading = replace(LONG, text="Once upon a time there was a cat. " * 40)
    for make in [make for name, make in EVERY.items() if name != "two_texts"]:
        make(reading)
        assert runs.count(reading.text) == 1
    hidden = attention(replace(reading, hide_sink=True))
    assert hidden.hides_sink
    assert not hidden.maps.patterns.flags.writeable
    assert runs.count(reading.text) == 1


def test_a_text_without_tokens_is_refused():
    with pytest.raises(ValueError, match="makes no token of this text"):
        attention(Reading("stories", ""))
    assert measure.read(Reading("stories", "")) is None


@pytest.mark.parametrize(("layer", "layers"), [(0, [0, 1, 2, 3]), (3, [0, 1, 2, 3]), (5, [4, 5, 6, 7])])
def test_of_many_heads_those_around_the_chosen_layer_have_tiles(monkeypatch, layer, layers):
    zeros = np.zeros((30, 9))
    known = HeadScores({}, np.full((30, 9), "self", dtype=object), zeros, zeros, zeros)
    monkeypatch.setattr(measure, "kinds", lambda _: known)
    monkeypatch.setattr(measure, "ranked", lambda *_: None)
    places = measure.tile_places(READ, Order(), layer)
    assert places == [(one, head) for one in layers for head in range(9)]
    assert measure.tile_places(READ, Order(kind="broad"), layer) == []


def test_no_head_of_the_kind_asked_for_is_said():
    with pytest.raises(ValueError, match="no head of these layers is 'next token'"):
        views.mosaic(READ, Order(kind="next token"), 1, 2)


def test_lines_of_a_long_text_are_those_around_the_token():
    assert len(attention(LONG).queries) > MAP_CELLS
    labels = next(trace.text for trace in views.head(LONG, 1, 2, MAP_CELLS + 3, "lines").chart.data if trace.text)
    assert len(labels) == min(len(attention(LONG).queries) - MAP_CELLS, MAP_CELLS)
