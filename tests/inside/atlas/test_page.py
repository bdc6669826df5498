"""The page on the atlas: its sections from their addresses, clicks and boxes, stale links, and a text of one's own."""

from functools import partial

import numpy as np
import pytest

from pages.facts import pages
from pages.inside.atlas import every_head
from pages.inside.atlas.choices import MeasuredHeads
from pages.ui import controls, head_links
from tests.pages import visits
from tests.pages.clicks import record_clicks
from tests.pages.figures import array, figures
from tests.pages.waiting import wait_for_jobs
from tfcore.measures.atlas.atlas import load_atlas
from tfcore.measures.atlas.token_kinds import KINDS

opened = partial(visits.opened, "inside/atlas/page.py")
SHEET = {"measures", "distances", "effect", "examples", "kinds", "nearest"}
SAM = "Sam was a little boy. One day, Sam said that"


def keys(test):
    return set(figures(test))


def said(test):
    return visits.said(test, "markdown", "caption", "info")


def test_every_section_has_its_pictures():
    assert keys(opened()) == {"scatter", "distances"}
    assert keys(opened(show="one head", layer="3", head="0")) == SHEET
    assert keys(opened(show="find a head")) == {"search", "examples", "kinds"}
    assert keys(opened(show="on your text", text=SAM)) == {"portrait", "role"}


def test_the_axes_are_in_the_link_and_heads_where_the_atlas_has_them():
    test = opened(x="Weight on the same token", y="Weight after the same token", colour="kind of head")
    spec = figures(test)["scatter"][1]
    measures = load_atlas("stories").measures
    found = {}
    for trace in (one for one in spec["data"] if "customdata" in one):
        for place, x, y in zip(trace["customdata"], array(trace["x"]), array(trace["y"]), strict=True):
            found[tuple(place)] = (x, y)
    assert len(found) == measures["same"].size
    for place, (x, y) in found.items():
        assert (x, y) == pytest.approx((measures["same"][place], measures["after_same"][place]), abs=1e-6)
    assert spec["layout"]["dragmode"] == "select"
    assert figures(opened(tool="lasso"))["scatter"][1]["layout"]["dragmode"] == "lasso"


@pytest.mark.parametrize(
    ("places", "kept"), [([[3, 0], [0, 1], [0, 1], None, "x", [9, 9], [1]], "0.1 3.0"), ([], ""), ([[True, 0.5]], "")]
)
def test_a_box_makes_a_list_of_heads(monkeypatch, places, kept):
    values = {}
    monkeypatch.setattr(controls, "set_values", lambda **given: values.update(given))
    every_head.keep(MeasuredHeads("stories", ""), places)
    assert values == {"chosen": kept}


def test_heads_on_the_list_are_in_the_table():
    test = opened(chosen="3.0 0.1")
    assert test.dataframe[0].value[["layer", "head"]].to_numpy().tolist() == [[3, 0], [0, 1]]
    assert "On the list: 2 of 24 heads" in said(test)


@pytest.mark.parametrize(
    ("address", "notice"),
    [
        ({"chosen": "9.9 0.0"}, "Heads are written as 0.0 to 3.5; others are ignored"),
        ({"chosen": "all of them"}, "Heads are written as 0.0 to 3.5"),
        ({"layer": "77"}, "Corrected"),
        ({"x": "Charm"}, "Corrected"),
        ({"show": "find a head", "from": "gerund"}, "Corrected"),
        ({"show": "one head", "tenth": "11"}, "Corrected"),
    ],
)
def test_a_stale_link_gets_a_sentence(address, notice):
    test = opened(**address)
    assert notice in said(test)
    assert figures(test)


def test_clicks_go_to_a_head(monkeypatch):
    clicked = record_clicks(monkeypatch)
    opened()
    opened(show="one head")
    opened(show="find a head")
    for key in ("scatter", "nearest", "search"):
        assert clicked[key], key
        assert all("layer" in one and "head" in one for one in clicked[key])
        assert not any("1000000" in one or "-1" in one for one in clicked[key])


def test_examples_of_the_sheet_are_heads_with_the_largest_of_a_measure():
    measures = load_atlas("stories").measures
    test = opened(show="one head")
    visits.press(test, "try induction")
    place = test.slider(key="layer").value, test.slider(key="head").value
    assert place == np.unravel_index(measures["after_same"].argmax(), measures["after_same"].shape)


def test_a_tenth_is_chosen():
    _, every = figures(opened(show="one head", layer="1", head="1"))["examples"]
    _, top = figures(opened(show="one head", layer="1", head="1", tenth="its most active tenth"))["examples"]
    labels = [note["text"] for note in every["layout"]["annotations"]]
    assert sum("tenth" in label for label in labels) == 10
    assert [note["text"] for note in top["layout"]["annotations"]].count("10th tenth") == 1


def test_kinds_are_offered_and_the_search_ranks_by_what_distance_does_not_explain():
    test = opened(**{"show": "find a head", "from": "pronoun", "to": "name"})
    atlas = load_atlas("stories")
    i, j = KINDS.index("pronoun"), KINDS.index("name")
    beyond = (atlas.pairs - atlas.by_position)[:, :, i, j]
    best = np.unravel_index(beyond.argmax(), beyond.shape)
    assert f"goes head {best[0]}.{best[1]} most" in figures(test)["search"][0]["caption"]


def test_a_text_of_ones_own_is_measured_here():
    corpus = "The dog saw the cat. The cat saw the dog. " * 12
    test = opened(on="own text", corpus=corpus)
    wait_for_jobs()
    test = visits.run(test)
    head, spec = figures(test)["scatter"]
    assert "text 100%" in head["caption"]
    assert spec["layout"]["yaxis"]["title"]["text"].startswith("Distance")
    without = opened(model="induction", corpus="abcabc" * 40)
    assert [element.key for element in without.segmented_control if element.key == "on"] == ["on"]
    wait_for_jobs()
    assert figures(visits.run(without))["scatter"]


def test_a_model_without_an_atlas_has_no_role_to_compare():
    assert "Nothing is stored of what the heads of this model usually do" in said(
        opened(model="induction", show="on your text")
    )


@pytest.mark.parametrize("text", ["a", "😀שלום\u202e <b>$x$ %{y} :red[a]</b>\0" + "word " * 90])
def test_any_text_is_compared(text):
    assert "role" in keys(opened(show="on your text", text=text))


def test_no_text_is_said_so():
    assert "There is no text yet" in said(opened(show="on your text", text=""))
    assert "There is no text yet" in said(opened(on="own text", corpus=""))


def test_the_sheet_of_a_head_is_a_click_away_from_where_heads_are_named(monkeypatch):
    made = []
    monkeypatch.setattr(head_links.links, "to", lambda file, view, *words: made.append((file, view, *words)))
    visits.opened("foundations/heads/page.py", layer="2", head="3")
    visits.opened("inside/induction/page.py", layer="3", head="2")
    visits.opened("inside/stream/page.py", model="stories", layer="1", part="head 4")
    sheets = [view for file, view, *_ in made if file == head_links.ATLAS]
    assert [(view["layer"], view["head"]) for view in sheets] == [("2", "3"), ("3", "2"), ("1", "4")]
    assert all(view["show"] == pages()["atlas"].facts.sections.names["head"] for view in sheets)
