"""The river in Chromium: typed, broken, written on, shared, by keys alone, without motion, on a phone."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.test_every_page import PHONE
from tests.e2e.test_links import copied
from tests.e2e.visitor import LAST
from tests.nightly import nightly

TEXT = "Sam was a little boy. One day, Sam said that"
BALL = "Max lost his red ball. One day Max found the red"
# What is drawn: every band, with its form.
DRAWN = """svg => [...svg.querySelectorAll("path[data-key]")].map(
  path => path.dataset.key + " " + path.getAttribute("d")).sort().join("\\n")"""


class River:
    def __init__(self, visitor) -> None:
        self.visitor, self.page = visitor, visitor.page
        self.svg = self.page.locator(".tf-river svg")

    def drawn(self) -> str:
        """Once the wave and the springs have come to rest."""
        self.visitor.settle()
        expect(self.page.locator(".tf-river-buttons button").first).to_have_text("Play", timeout=20_000)
        self.visitor.wait_until("() => document.querySelector('.tf-river').dataset.fps")
        return str(self.svg.evaluate(DRAWN))

    def expect_drawing(self, drawn: str) -> None:
        """Wait until this is drawn."""
        self.visitor.wait_until(f"drawn => ({DRAWN})(document.querySelector('.tf-river svg')) === drawn", drawn)

    def head(self, name: str):
        return self.page.locator(f'[aria-label^="head {name},"]')

    def bar(self, number: int = 0):
        return self.page.locator('[aria-label$=": explain it"]').nth(number)

    def expect_next(self, words: str) -> None:
        token, share = words.split(", ")
        label = rf"{re.escape(token)}, ([\d.]+ → )?{re.escape(share)}"  # what it was before stands before it
        expect(self.bar()).to_have_attribute("aria-label", re.compile(label))


@pytest.fixture
def river(visitor):
    visitor.open("/flow")
    return River(visitor)


def test_a_text_a_head_and_three_words(river, stranger):
    first = river.drawn()
    river.expect_next("·he, 69.")
    river.head("2.5").click()
    river.visitor.wait_for_address(heads="2.5*0")
    river.expect_next("·he, 41.")
    assert river.drawn() != first
    river.page.get_by_role("button", name="Sampling").click()
    river.page.get_by_role("slider", name="Temperature").press("Home")
    river.expect_next("·he, 100.")
    river.page.keyboard.press("Escape")
    for words in ("said that he", "said that he wanted", "said that he wanted to"):
        river.page.get_by_role("button", name="Write the next token").click()
        expect(river.visitor.box()).to_have_value(re.compile(f"{words}$"))
        river.visitor.settle(LAST["/flow"])
    other = River(stranger.open(copied(river.visitor)))
    river.expect_drawing(other.drawn())
    expect(other.head("2.5")).to_have_attribute("aria-valuetext", "off")
    river.page.get_by_role("button", name="All heads as they are").click()
    expect(river.head("2.5")).to_have_attribute("aria-valuetext", "as it is")


@nightly
def test_a_head_is_dragged_through_to_the_other_side(river):
    river.drawn()
    box = river.head("2.5").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] - 8
    mouse = river.page.mouse
    mouse.move(x, y)
    mouse.down()
    mouse.move(x, y + 80, steps=8)
    mouse.up()
    river.visitor.wait_for_address(heads="2.5*-2")
    river.expect_next("·she, 37.")


@nightly
def test_by_keys_alone(river):
    river.drawn()
    river.head("2.5").focus()
    river.page.keyboard.press("Enter")
    river.expect_next("·he, 41.")
    river.page.keyboard.press("Home")
    river.visitor.wait_for_address(heads="2.5*-2")
    river.expect_next("·she, 37.")
    before = river.drawn()
    river.bar(1).focus()
    river.page.keyboard.press("Enter")
    river.visitor.wait_for_address(widths="word")
    expect(river.bar(1)).to_have_attribute("aria-pressed", "true")
    expect(river.page.locator(".tf-scene figcaption")).to_contain_text("Widths are shares of what raises the logit of")
    assert river.drawn() != before
    river.page.keyboard.press("Escape")
    expect(river.bar(1)).to_have_attribute("aria-pressed", "false")
    river.expect_drawing(before)


@nightly
def test_a_ribbon_leads_to_its_head(river):
    river.drawn()
    ribbon = river.page.locator('path[data-key^="r1.1:"]').first
    ribbon.dispatch_event("click")
    river.page.wait_for_url(re.compile("/heads"), wait_until="commit")
    river.visitor.settle(LAST["/heads"])
    expect(river.page).to_have_url(re.compile("show=why.*layer=1|layer=1.*show=why"))
    expect(river.visitor.box()).to_have_value(TEXT)


@nightly
def test_what_leads_to_a_stream_is_seen_alone(river):
    river.drawn()
    river.page.locator('path[data-key="n2:11"]').hover(position={"x": 5, "y": 2})
    expect(river.svg).to_have_class("tf-dim")
    lit = river.svg.evaluate("svg => [...svg.querySelectorAll('.tf-lit')].map(p => p.dataset.key)")
    assert "n2:11" in lit
    assert not [key for key in lit if key.startswith(("n3", "n4", "s2", "s3"))]
    river.page.mouse.move(5, 5)
    expect(river.svg).not_to_have_class("tf-dim")


@nightly
def test_nothing_moves_for_who_wants_no_motion(visit, server):
    still = River(visit(server, reduced_motion="reduce").open("/flow"))
    expect(still.page.locator(".tf-river-buttons button").first).to_have_text("Play")
    before = still.drawn()
    still.head("2.5").click()
    still.expect_next("·he, 41.")
    assert still.drawn() != before


@nightly
def test_layers_run_down_on_a_phone(visit, server):
    phone = River(visit(server, **PHONE).open("/flow"))
    phone.drawn()
    box = phone.svg.bounding_box()
    assert box["width"] <= 390
    top, bottom = (phone.page.locator(f'[aria-label="Layer {i}"]') for i in (0, 3))
    phone.head("2.5").tap()
    phone.expect_next("·he, 41.")
    assert top.count() == bottom.count() == 0  # all open: nothing to fold


def test_the_front_page_has_it_and_runs_what_is_typed(visitor):
    visitor.open("/")
    river = River(visitor)
    river.expect_next("·he, 69.")
    visitor.box().fill(BALL)
    visitor.page.get_by_role("button", name="Run").click()
    river.expect_next("·ball, 99.")
    river.head("3.0").click()
    expect(river.head("3.0")).to_have_attribute("aria-valuetext", "off")
    visitor.wait_for_address(heads="3.0*0")
    visitor.check()


@nightly
def test_springs_are_smooth(river, record_property):
    """Reported, not judged: how many frames a second the last change had."""
    river.drawn()
    river.head("2.5").click()
    river.expect_next("·he, 41.")
    river.drawn()
    rate = float(river.page.locator(".tf-river").get_attribute("data-fps") or 0)
    record_property("frames a second", rate)
    assert rate > 0
