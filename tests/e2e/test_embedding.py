"""A figure's frame: copied from its menu by the keyboard alone, pasted into another page, live and by itself."""

import re

import pytest
from playwright.sync_api import expect

from tests.e2e.visitor import DRAWN, LAST
from tests.nightly import nightly

ADDRESS = re.compile(r'<iframe src="([^"]+)" title="([^"]+)" width="100%" height="(\d+)"')
# Everything on the screen that is no figure and has words of its own.
OTHERS = """() => [...document.querySelectorAll('[data-testid="stApp"] *')].filter(e => !e.closest(".tf-figure")
  && e.checkVisibility() && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())).map(e => e.innerText)
  .filter(words => words !== "Skip to main content")"""


@pytest.fixture
def frame(visitor):
    """What the menu of the mask's figure copies."""
    visitor.open("/masks?kind=sliding+window&window=5&tour=4")
    visitor.page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=visitor.address)
    visitor.figure("mask").get_by_text("Save", exact=True).focus()
    visitor.page.keyboard.press("Enter")
    for _ in range(5):
        visitor.page.keyboard.press("Tab")
    assert "Embed" in visitor.focused()
    visitor.page.keyboard.press("Enter")
    expect(visitor.figure("mask").get_by_role("status")).to_contain_text("Copied: paste it into the HTML of your page.")
    expect(visitor.figure("mask").get_by_role("status")).to_contain_text("TFCORE_EMBED")
    return visitor.page.evaluate("navigator.clipboard.readText()")


@nightly
def test_a_figure_travels_into_another_page(frame, visitor, stranger, server):
    found = ADDRESS.match(frame)
    assert found
    assert found[1].startswith(f"{server}/masks?")
    assert "tour" not in found[1]
    other = stranger
    other.page.goto(f"{server}/healthz")  # a page of the same site: only such may frame it by default
    other.page.evaluate("code => { document.body.innerHTML = code }", frame)
    figure = other.page.frame_locator("iframe").locator(".st-key-mask-figure .tf-figure")
    expect(figure.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    expect(figure.locator("figcaption")).to_have_text(visitor.figure("mask").locator("figcaption").inner_text())
    assert figure.locator(".js-plotly-plot").evaluate(DRAWN) == visitor.drawn("mask")
    assert other.page.frames[1].evaluate(OTHERS) == []
    figure.get_by_text("Save", exact=True).click()
    with other.page.context.expect_page() as opened:
        figure.get_by_role("button", name="Whole page").click()
    expect(opened.value.get_by_role("heading", name="Which tokens may attend to which?")).to_be_visible()
    assert "embed" not in opened.value.url
    assert "window=5" in opened.value.url
    opened.value.close()


def test_a_click_in_a_frame_reaches_the_page(visitor):
    visitor.page.goto(f"{visitor.address}/heads?embed=true&figure=mosaic")
    visitor.settle()
    visitor.page.wait_for_selector(".tf-picture .js-plotly-plot .main-svg")
    visitor.click_mark("mosaic", [1, 4])
    visitor.wait_for_address(layer="1", head="4")
    assert visitor.page.evaluate(OTHERS) == []


@nightly
def test_an_unknown_figure_shows_the_whole_page_without_navigation_and_its_link_is_whole(visit, server):
    phone = visit(server, viewport={"width": 390, "height": 844}, is_mobile=True, has_touch=True)
    phone.open("/masks?embed=true&figure=nothing&window=5&kind=sliding+window", LAST["/masks"])
    expect(phone.page.get_by_text("There is no figure nothing in this view")).to_be_visible()
    expect(phone.page.get_by_test_id("stSidebarNav")).to_have_count(0)
    phone.page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=server)
    phone.page.get_by_role("button", name="Copy link").tap()
    expect(phone.page.get_by_role("status").filter(has_text="Link copied")).to_be_attached()
    link = phone.page.evaluate("navigator.clipboard.readText()")
    assert "embed" not in link
    assert "figure" not in link
    assert "window=5" in link
