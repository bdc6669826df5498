"""Why a head looks there: the section is the score of the cell, for every part of a model and any text."""

from functools import partial

import pytest

from tests.foundations.heads.test_page import HOSTILE
from tests.pages import visits
from tests.pages.figures import array, figures
from tests.pages.sights import set_by_buttons
from tests.pages.visits import run
from tfcore.views.foundations import heads as views
from tfcore.views.sources import Reading

opened = partial(visits.opened, "foundations/heads/page.py")


def test_why_a_head_looks_there():
    text = "Max had a red ball. Max lost the red ball."
    test = opened(show="why", text=text, layer="3", head="0", token="9", key="3")
    shown = figures(test)
    assert set(shown) == {"why", "pairs"}
    found = views.why(Reading("stories", text), 3, 0, 9, 3).result
    assert f"with {found.score:+.2f} for" in shown["why"][0]["caption"]
    cells = array(next(t["z"] for t in shown["why"][1]["data"] if t.get("colorscale") == "@signed"))
    assert cells.sum() == pytest.approx(found.score, abs=1e-3)
    other = figures(opened(show="why", text=text, layer="3", head="0", token="9", key="3", than="2"))["why"][0]
    assert "against" in other["caption"]
    chosen = run(next(button for button in test.button if button.key.startswith("follow key")).click())
    assert figures(chosen)["why"][0]["caption"] != shown["why"][0]["caption"]


def test_a_cell_of_the_map_leads_there():
    test = opened(layer="3", head="0", token="25")
    button = test.button(key="ask why:button")
    assert button.label == "Why does “·red” look at “·ball”?"
    assert "red' (25)" in figures(run(button.click()))["why"][0]["caption"]


@pytest.mark.parametrize("part", ["encoder", "decoder", "cross-attention"])
def test_why_in_each_part_of_a_translator(part):
    test = opened(show="why", model="translate", part=part, text="She gave me a red book yesterday.", token="3")
    assert set(figures(test)) == {"why", "pairs"}
    assert "add up to it within" in figures(test)["why"][0]["caption"]
    follows = [button.key for button in test.button if (button.key or "").startswith("follow")]
    assert bool(follows) == (part != "cross-attention")


@pytest.mark.parametrize("name", HOSTILE)
def test_why_with_any_text(name):
    test = opened(show="why", text=HOSTILE[name], key="99", than="x", layer="-7")
    assert test.info or set(figures(test)) == {"why", "pairs"}


@pytest.mark.parametrize(("clicked", "asked"), [(3, 3), (0, 0), (-1, 16), (10**6, 16), (26, 16), ("x", 16), (None, 16)])
def test_where_no_cell_was_clicked_the_strongest_is_asked_about(clicked, asked):
    test = opened(layer="3", head="0", token="25")
    test.session_state["key"] = clicked
    assert set_by_buttons(run(test))["ask why"]["key"] == asked
