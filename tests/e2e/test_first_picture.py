"""What a page begins with is in sight before any of its scripts have run. That the live figure stands in its place is
seen where every page is visited (test_every_page.py)."""

import pytest

from pages.ui.server import first_pictures
from tests.nightly import nightly

IN_SIGHT = """() => { const img = document.querySelector("#tf-first img"); return Boolean(img && img.naturalWidth) }"""


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


@nightly
def test_the_live_figure_is_drawn_before_streamlit_is_there_once_somebody_has_opened_the_page(visitor, visit, server):
    visitor.open("/masks")
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
