"""Every page in light, in dark and on a phone: complete, readable, without a complaint of the browser or axe-core."""

import re
import tomllib

import pytest
from playwright.sync_api import expect

from pages.ui.server import first_pictures
from tests.e2e.checks import accessible
from tests.e2e.serving import ROOT
from tests.e2e.visitor import LAST, WITHOUT_FIGURES, Visitor
from tests.nightly import nightly, often
from tools import pictures

SHORT = {"/pitfalls": "?steps=40", "/balance": "?steps=40"}  # trainings end before the page is looked at
PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}
# The others are seen each night.
ON_PHONE = ("/", "/heads")
IN_LIGHT = (*ON_PHONE, "/flow", "/tokens", "/check")
THEMES = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]
LOOK = """() => ({
  paper: getComputedStyle(document.querySelector('[data-testid="stApp"]')).backgroundColor,
  inks: [...document.querySelectorAll(".js-plotly-plot:not(details:not([open]) *)")].map(
    plot => plot._fullLayout.font.color),
  unnamed: [...document.querySelectorAll(".tf-picture, img")].filter(
    e => !e.getAttribute("aria-label") && !e.hasAttribute("alt")).map(e => e.outerHTML.slice(0, 200)),
})"""
# Where the first picture begins, on the page as a whole: a figure, a map, tokens, a chart to drag.
FIRST_PICTURE = """() => {
  const main = document.querySelector('[data-testid="stMain"]')
  const title = main.querySelector("h1").getBoundingClientRect().bottom
  const tops = [...main.querySelectorAll('.js-plotly-plot, [data-testid^="stBidi"]')]
    .map(e => e.getBoundingClientRect()).filter(box => box.top > title && box.width > 200 && box.height > 24)
    .map(box => box.top + main.scrollTop)
  return Math.min(...tops)
}"""
# Where the live picture is whose first one was seen: the same left and top.
THERE = """([selector, x, y]) => [...document.querySelectorAll(selector)].some(node => {
  const box = node.getBoundingClientRect(), seen = node.closest(".tf-scroll")?.getBoundingClientRect() || box
  return Math.abs(Math.max(box.left, seen.left) - x) < 12 && Math.abs(box.top - y) < 12 && box.width > 140
})"""
LOWEST, LOWEST_ON_PHONE = 420, 1.5 * 844  # pixels
NO_PICTURE = ("/glossary", "/lessons", "/teachers")
# What sticks out of the window, unless it scrolls in a box of its own.
OVERFLOW = """() => {
  const main = document.querySelector('[data-testid="stMain"]')
  const boxed = e => { for (e = e.parentElement; e && e !== main; e = e.parentElement)
    if (getComputedStyle(e).overflowX !== "visible") return true }
  const out = [...main.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > innerWidth + 1 && !boxed(e))
  const wide = [document.documentElement, main].filter(e => e.scrollWidth > e.clientWidth + 1)
  return [...wide, ...out].map(e => e.outerHTML.slice(0, 200))
}"""


def rgb(colour: str) -> tuple[int, ...]:
    """#rrggbb or rgb(r, g, b) as numbers."""
    if colour.startswith("#"):
        return tuple(int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return tuple(int(number) for number in re.findall(r"\d+", colour)[:3])


def assert_complete(visitor: Visitor, scheme: str) -> int:
    """Paper and inks of this scheme, a name for every picture, no finding of axe-core; says how many figures."""
    ink = THEMES[scheme]["textColor"].lower()
    paper = f"rgb{rgb(THEMES[scheme]['backgroundColor'])}"
    dressed = f"const look = ({LOOK})(); return look.paper === paper && look.inks.every(c => c.toLowerCase() === ink)"
    visitor.wait_until(f"([ink, paper]) => {{ {dressed} }}", [ink, paper])
    visitor.wait_until_still()
    look = visitor.page.evaluate(LOOK)
    assert rgb(look["paper"]) == rgb(THEMES[scheme]["backgroundColor"])
    assert {rgb(ink) for ink in look["inks"]} <= {rgb(THEMES[scheme]["textColor"])}
    assert look["unnamed"] == []
    colours_alone = ["color-contrast"] if scheme == "dark" else []  # all else was looked at in light
    assert accessible.findings(visitor.page, *colours_alone) == []
    return len(look["inks"])


def assert_first_picture_fits(visitor: Visitor, path: str, size: str) -> None:
    """The live picture stands where the first one stood, if there was one, which has gone."""
    place = first_pictures.places().get(path.strip("/"))
    if place is None or getattr(place, size) is None or place.model:  # those of real models stand where they are
        return
    x, y, *_ = getattr(place, size)
    visitor.wait_until(THERE, [", ".join(pictures.KINDS), x, y])
    visitor.page.wait_for_selector("#tf-first", state="detached")


@pytest.fixture(scope="module")
def desk(visit_for_long, server):
    """A window that goes from page to page: a new session each, without fetching the app anew."""
    return visit_for_long(server, color_scheme="light")


@pytest.fixture(scope="module")
def phone(visit_for_long, server):
    """The same on a phone, in dark."""
    return visit_for_long(server, **PHONE, color_scheme="dark")


@pytest.mark.parametrize("path", often(LAST, IN_LIGHT))
def test_a_page_is_complete_in_light(desk, path):
    visitor = desk.open(path + SHORT.get(path, ""))
    if path not in SHORT:
        assert_first_picture_fits(visitor, path, "wide")
    figures = assert_complete(visitor, "light")
    if path not in NO_PICTURE:
        visitor.wait_until(f"lowest => ({FIRST_PICTURE})() <= lowest", LOWEST)
    assert bool(figures) == (path not in WITHOUT_FIGURES)
    assert accessible.unreachable(visitor.page) == []
    visitor.check()


@nightly
def test_a_page_stays_complete_when_the_system_turns_dark(desk):
    visitor = desk.open("/residuals")
    figures = assert_complete(visitor, "light")
    visitor.page.emulate_media(color_scheme="dark")
    try:
        assert assert_complete(visitor, "dark") == figures
    finally:
        visitor.page.emulate_media(color_scheme="light")


@nightly
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_folded_away_is_legible_too(visit, server, scheme):
    """The code with its colours, answers, the menu of a figure, and tokens in every shade."""
    visitor = visit(server, color_scheme=scheme).open("/feedforward")
    page = visitor.page
    for folded in page.get_by_test_id("stMain").get_by_test_id("stExpander").locator("summary").all():
        folded.click()
        visitor.wait_until_still()  # it pushes the others down, away from under a pointer
    page.get_by_role("tab", name="Code").click()
    page.locator(".tf-save summary").first.click()
    expect(page.locator('[data-testid="stExpander"] details:not([open])')).to_have_count(0)
    expect(page.locator(".token.comment").first).to_be_visible()
    visitor.wait_until_still()
    assert accessible.findings(page) == []


@nightly
def test_faults_would_be_noticed(visit, server):
    page = visit(server).open("/history").page
    page.evaluate(
        "document.querySelector('[data-testid=\"stMainBlockContainer\"]').insertAdjacentHTML('afterbegin',"
        " '<p style=\"color:#aaa;background:#fff\">pale</p><button tabindex=-1 id=mouse>only for a mouse</button>')"
    )
    for rules in ([], ["color-contrast"]):
        found = accessible.findings(page, *rules)
        assert any(finding.startswith("color-contrast") and "pale" in finding for finding in found)
    assert any('id="mouse"' in element for element in accessible.unreachable(page))


@pytest.mark.parametrize("path", often(LAST, ON_PHONE))
def test_a_phone_shows_everything_in_dark_without_scrolling_sideways(phone, path):
    visitor = phone.open(path + SHORT.get(path, ""))
    assert_complete(visitor, "dark")
    if path not in SHORT:
        assert_first_picture_fits(visitor, path, "narrow")
    assert visitor.page.evaluate(OVERFLOW) == []
    if path not in NO_PICTURE:
        visitor.wait_until(f"lowest => ({FIRST_PICTURE})() <= lowest", LOWEST_ON_PHONE)
    for name in visitor.names():
        box = visitor.figure(name).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert 250 <= box["width"] <= 390, name
        assert visitor.plot(name).is_visible()
    visitor.check()


@nightly
def test_sticking_out_would_be_noticed(visit, server):
    visitor = visit(server, **PHONE).open("/history")
    visitor.page.evaluate(
        "document.querySelector('[data-testid=\"stMainBlockContainer\"]').insertAdjacentHTML("
        "'beforeend', '<p id=wide style=\"width:500px\">wide</p>')"
    )
    assert any('id="wide"' in element for element in visitor.page.evaluate(OVERFLOW))
