"""The tour in Chromium: the card keeps its place, and what each stop speaks of is in sight and ringed."""

import pytest
from playwright.sync_api import expect

from pages.ui.tour import STOPS
from tests.e2e.test_every_page import PHONE
from tests.e2e.visitor import LAST
from tests.nightly import nightly

# All that is spoken of and the ring around it, and whether what is named first begins in the window above the card.
RINGED = """target => {
  const boxes = target.split(", ").map(one => document.querySelector(one)?.getBoundingClientRect()).filter(Boolean)
  const box = boxes[0], left = Math.min(...boxes.map(one => one.left)), top = Math.min(...boxes.map(one => one.top))
  const ring = document.querySelector(".tf-tour-ring")?.getBoundingClientRect()
  const card = document.querySelector(".st-key-tour_bar")?.getBoundingClientRect()
  return Boolean(box && ring && card && box.width
    && Math.abs(left - ring.left) < 12 && Math.abs(top - ring.top) < 12
    && box.top >= 40 && box.top < innerHeight - (innerWidth < 640 ? card.height : 40))
}"""


DESKTOP = {"viewport": {"width": 1440, "height": 900}}


@nightly
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_every_stop_rings_what_it_speaks_of_and_next_stays_where_it_is(visit, server, size):
    visitor = visit(server, **size).open("/")
    visitor.page.get_by_role("link", name="Take the tour").click()
    places = set()
    for number, stop in enumerate(STOPS, start=1):
        card = visitor.page.locator(".st-key-tour_bar")
        expect(card).to_contain_text(f"Stop {number} of {len(STOPS)}.")
        visitor.settle(LAST[f"/{stop.page.facts.key}"])
        visitor.wait_until(RINGED, stop.says.target)
        if number < len(STOPS):
            way = card.get_by_text("Next", exact=True)
            box = way.bounding_box()
            assert box is not None
            places.add((round(box["x"]), round(box["y"])))
            way.click()
    assert len(places) == 1
    visitor.page.get_by_role("button", name="End the tour").click()
    expect(visitor.page.locator(".st-key-tour_bar")).to_have_count(0)
    expect(visitor.page.locator(".tf-tour-ring")).to_have_count(0)
    visitor.check()
