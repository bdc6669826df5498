"""The page on heads, side by side: two heads, two texts, two models."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from pages.foundations.heads import compare
from pages.foundations.heads.choices import TEXT
from pages.ui import beside, cache
from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.visits import run
from tfcore.measures.heads.maps import attention_maps
from tfcore.views.foundations.heads.measure.attention_maps import overlap, read_attention
from tfcore.views.foundations.heads.say import head_kind

opened = partial(visits.opened, "foundations/heads/page.py")


def test_two_heads_side_by_side_share_what_is_said():
    test = opened(show="side by side", layer="3", head="0", layer2="1", head2="1")
    model, tokenizer = cache.model("stories")
    patterns = attention_maps(model, tokenizer.encode(TEXT)).patterns
    assert test.metric[0].value == f"{overlap(patterns[3, 0], patterns[1, 1]):.0%}"
    assert f"put {test.metric[0].value} of their weight" in figures(test)["other"][0]["caption"]
    assert set(figures(test)) == {"one", "other"}
    assert "A cell is the largest" not in figures(test)["one"][0]["caption"]
    assert opened(show="side by side", layer="2", head="2", layer2="2", head2="2").metric[0].value == "100%"


def test_one_head_on_two_texts():
    test = opened(show="side by side", **{"with": "another text"}, layer="3", head="0")
    assert test.metric[0].value == "the same on both"
    test.text_area(key="text2").set_value("A cat sat. " * 30)
    assert "A cell is the largest weight of 2 by 2." in figures(run(test))["other"][0]["caption"]
    test.text_area(key="text2").set_value("")
    assert "no other text yet" in visits.said(run(test), "caption", "info")


def test_a_head_of_another_model_on_the_same_text():
    values = {"layer": "3", "head": "0", "model2": "induction", "layer2": "1", "head2": "2"}
    short = "Max had a red ball. Max"
    test = opened(text=short, show="side by side", **{"with": "another model"}, **values)
    (one, _), (other, spec) = (figures(test)[key] for key in ("one", "other"))
    reading = read_attention(*cache.model("induction"), short)
    weights = next(array(trace["z"]) for trace in spec["data"] if trace.get("colorscale") == "@weights")
    np.testing.assert_allclose(weights, reading.maps.patterns[1, 2], atol=1e-6)
    said = f"head 1.2 of induction is {head_kind(reading.maps.heads, 1, 2).name}."
    assert other["caption"].split(". Shape")[0].endswith(said.removesuffix("."))
    assert one["caption"].startswith("Layer 3, head 0: ")
    assert spec["layout"]["yaxis2"]["title"]["text"] == "query token of induction"
    for wrong in ("nonsense", "../x", "stories"):
        again = opened(show="side by side", **{"with": "another model", "model2": wrong})
        assert set(figures(again)) == {"one", "other"}


@pytest.mark.parametrize(
    ("names", "other"),
    [(["a", "smollm2", "stories"], "smollm2"), (["a", "smollm2", "b"], "smollm2"), (["a", "b", "stories"], "a")],
)
def test_beside_the_model_that_ships_stands_a_real_one(monkeypatch, names, other):
    monkeypatch.setattr(beside.models, "names", lambda *_: names)
    assert beside.other_of("stories") == other
    assert beside.other_of("smollm2") == ("stories" if "stories" in names else "a")


def test_examples_are_the_two_strongest_heads_of_a_kind_and_the_strongest_of_two(monkeypatch):
    kinds = [["induction", "duplicate", "induction"], ["duplicate", "induction", "previous token"]]
    scores = SimpleNamespace(
        kind=np.array(kinds), score=np.array([[0.5, 0.3, 0.9], [0.4, 0.7, 0.2]]), attends=np.ones((2, 3), dtype=bool)
    )
    monkeypatch.setattr(compare.models, "names", lambda *_: ["stories", "smollm2", "minilm"])
    found = compare.examples("stories", scores)
    two, unlike, third = (
        found[f"{one}"] for one in ("two induction heads", "induction and previous token", "induction and duplicate")
    )
    heads = [[example[key] for key in ("layer", "head", "layer2", "head2")] for example in (two, unlike, third)]
    assert heads == [[0, 2, 1, 1], [0, 2, 1, 2], [0, 2, 1, 0]]
    assert list(found) == [
        compare.IN_BOTH,
        *("two induction heads", "induction and previous token", "induction and duplicate"),
        *("the same head, another text", "the same text in smollm2"),
    ]
    monkeypatch.setattr(compare.models, "names", lambda *_: ["stories", "smollm2"])
    assert compare.IN_BOTH not in compare.examples("stories", scores)
