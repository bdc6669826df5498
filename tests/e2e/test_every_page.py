"""Every page in light, in dark and on a phone: complete, readable, without a complaint of the browser or axe-core."""

import re
import tomllib

import pytest
from playwright.sync_api import expect

from tests.e2e import accessible
from tests.e2e.serving import ROOT
from tests.e2e.visitor import LAST
from tests.pages.test_router import listed

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True, "device_scale_factor": 2}
THEMES = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text())["theme"]
LOOK = """() => ({
  paper: getComputedStyle(document.querySelector('[data-testid="stApp"]')).backgroundColor,
  inks: [...document.querySelectorAll(".js-plotly-plot")].map(plot => plot._fullLayout.font.color),
  unnamed: [...document.querySelectorAll(".tf-picture, img")].filter(
    e => !e.getAttribute("aria-label") && !e.hasAttribute("alt")).map(e => e.outerHTML.slice(0, 200)),
})"""
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


def test_every_page_on_the_list_is_visited_here():
    assert set(LAST) == {f"/{url}" for *_, url in listed()}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", LAST)
def test_a_page_is_complete_in_its_colours(visit, server, path, scheme):
    visitor = visit(server, color_scheme=scheme).open(path)
    look = visitor.page.evaluate(LOOK)
    assert rgb(look["paper"]) == rgb(THEMES[scheme]["backgroundColor"])
    assert {rgb(ink) for ink in look["inks"]} <= {rgb(THEMES[scheme]["textColor"])}
    assert bool(look["inks"]) == (path != "/"), "figures"
    assert look["unnamed"] == []
    assert accessible.findings(visitor.page) == []
    assert scheme == "dark" or accessible.unreachable(visitor.page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_what_is_folded_away_is_legible_too(visit, server, scheme):
    """The code with its colours, answers, the menu of a figure, and tokens in every shade."""
    page = visit(server, color_scheme=scheme).open("/feedforward").page
    for folded in page.get_by_test_id("stMain").get_by_test_id("stExpander").locator("summary").all():
        folded.click()
    page.locator(".tf-save summary").first.click()
    expect(page.locator('[data-testid="stExpander"] details:not([open])')).to_have_count(0)
    expect(page.locator(".token.comment").first).to_be_visible()
    page.wait_for_function(
        "!document.getAnimations().some(a => a.playState === 'running' && a.effect.getTiming().iterations === 1)"
    )
    assert accessible.findings(page) == []


def test_faults_would_be_noticed(visit, server):
    page = visit(server).open("/").page
    page.evaluate(
        "document.querySelector('[data-testid=\"stMainBlockContainer\"]').insertAdjacentHTML('afterbegin',"
        " '<p style=\"color:#aaa;background:#fff\">pale</p><button tabindex=-1 id=mouse>only for a mouse</button>')"
    )
    assert any(finding.startswith("color-contrast") and "pale" in finding for finding in accessible.findings(page))
    assert any('id="mouse"' in element for element in accessible.unreachable(page))


def test_figures_follow_when_the_system_turns_dark(visit, server):
    visitor = visit(server, color_scheme="light").open("/masks")
    visitor.page.emulate_media(color_scheme="dark")
    ink = THEMES["dark"]["textColor"]
    visitor.page.wait_for_function(
        "([ink, look]) => eval(look)().inks.every(c => c.toLowerCase() === ink)", arg=[ink, f"({LOOK})"]
    )


@pytest.mark.parametrize("path", LAST)
def test_a_phone_shows_everything_without_scrolling_sideways(visit, server, path):
    visitor = visit(server, **PHONE).open(path)
    assert visitor.page.evaluate(OVERFLOW) == []
    for name in visitor.names():
        box = visitor.figure(name).bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert 250 <= box["width"] <= 390, name
        assert visitor.plot(name).is_visible()


def test_sticking_out_would_be_noticed(visit, server):
    visitor = visit(server, **PHONE).open("/")
    visitor.page.evaluate(
        "document.querySelector('[data-testid=\"stMainBlockContainer\"]').insertAdjacentHTML("
        "'beforeend', '<p id=wide style=\"width:500px\">wide</p>')"
    )
    assert any('id="wide"' in element for element in visitor.page.evaluate(OVERFLOW))
