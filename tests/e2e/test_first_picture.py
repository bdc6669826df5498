"""What a page begins with is in sight before any of its scripts have run, where the live figure will stand."""

import pytest

from pages.ui.server import first_pictures
from tests.e2e.test_every_page import PHONE

IN_SIGHT = """() => { const img = document.querySelector("#tf-first img"); return Boolean(img && img.naturalWidth) }"""
# Where the live picture is whose first one was seen: the same left and top.
THERE = """([selector, x, y]) => [...document.querySelectorAll(selector)].some(node => {
  const box = node.getBoundingClientRect()
  return Math.abs(box.left - x) < 12 && Math.abs(box.top - y) < 12 && box.width > 140
})"""
BOXES = ".tf-picture, .tf-river-scroll, .tf-planes, .tf-line-map, .tf-parts-map, .tf-bars"
WINDOWS = [("wide", {}), ("narrow", PHONE)]
PLACES = [
    (url, size, window)
    for url, place in first_pictures.places().items()
    for size, window in WINDOWS
    if getattr(place, size) is not None and not place.model  # those of real models are as they are where they are
]


@pytest.mark.parametrize(("url", "size", "window"), PLACES, ids=[f"{url or 'home'} {size}" for url, size, _ in PLACES])
def test_the_live_picture_stands_where_the_first_one_stood(visit, server, url, size, window):
    visitor = visit(server, **window).open(f"/{url}")
    x, y, *_ = getattr(first_pictures.places()[url], size)
    visitor.wait_until(THERE, [BOXES, x, y])
    visitor.page.wait_for_selector("#tf-first", state="detached")
    visitor.check()


def test_it_is_there_first_and_goes_when_the_live_one_is_drawn(visit, server):
    visitor = visit(server)
    page = visitor.page
    page.route("**/*.js", lambda route: route.fulfill(content_type="text/javascript"))  # the HTML and the picture alone
    page.goto(f"{server}/masks")
    visitor.wait_until(IN_SIGHT)
    assert page.locator("#tf-first img").bounding_box()["y"] == pytest.approx(
        first_pictures.places()["masks"].wide[1], abs=1
    )
    page.mouse.wheel(0, 200)  # whoever moves sees it go
    page.wait_for_selector("#tf-first", state="detached")


def test_the_live_figure_is_drawn_before_streamlit_is_there_once_somebody_has_opened_the_page(visit, server):
    visit(server).open("/masks").leave()
    visitor = visit(server)
    page = visitor.page
    page.route("**/static/js/*.js", lambda route: route.fulfill(content_type="text/javascript"))
    page.goto(f"{server}/masks")
    visitor.wait_until('() => document.querySelector("#tf-first .js-plotly-plot .main-svg .hm image")')
    assert page.locator("#tf-first img").count() == 0  # the picture has gone
    box = page.locator("#tf-first .tf-plot").bounding_box()
    x, y, width, height = first_pictures.places()["masks"].wide
    assert [box[side] for side in ("x", "y", "width", "height")] == pytest.approx([x, y, width, height], abs=2)
    page.mouse.move(x + width / 2, y + height / 2)
    page.locator("#tf-first .hoverlayer .hovertext").wait_for()  # it answers the pointer
    page.unroute("**/static/js/*.js")
    visitor.open("/masks")
    page.wait_for_selector("#tf-first", state="detached")
    assert page.locator(".js-plotly-plot").count() == page.locator(".tf-picture .js-plotly-plot").count()
    visitor.check()


def test_an_address_with_a_view_has_none(visit, server):
    page = visit(server).page
    page.route("**/*.js", lambda route: route.fulfill(content_type="text/javascript"))
    page.goto(f"{server}/masks?kind=window")
    assert page.locator("#tf-first").count() == 0
