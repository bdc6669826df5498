"""A copied link shows somebody else the same picture."""

import os
from random import Random
from urllib.parse import parse_qs, urlsplit

import pytest
from playwright.sync_api import TimeoutError as Gone
from playwright.sync_api import expect

from pages.ui.links import VERSION
from tests.e2e.checks import accessible
from tests.e2e.visitor import LAST, STEADY, WITHOUT_FIGURES
from tests.nightly import nightly, often

END = "A question."  # every view ends with one
TEXT = "Ben has a kite. Ben has a boat: a + b & c? $x$ 100% ünï"


# What every control on the page holds, in the order of the page.
HELD = """() => [...document.querySelectorAll('[data-testid="stMain"] [class*="st-key-"] :is(input, textarea, button)')]
  .filter(e => e.checkVisibility() && !e.closest("figure, .tf-figure, details")).map(
    e => [e.type, e.value, e.checked, e.getAttribute("kind"), e.getAttribute("aria-checked"), e.innerText].join("|"))"""


def copied(visitor) -> str:
    """The path that the button puts into the clipboard."""
    visitor.page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=visitor.address)
    visitor.page.get_by_role("button", name="Copy link").click()
    expect(visitor.page.get_by_role("status").filter(has_text="Link copied")).to_be_attached()
    link = visitor.page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(visitor.address)
    assert f"v={VERSION}" in link
    return link.removeprefix(visitor.address)


def same_picture(first, second) -> None:
    assert first.names() == second.names() != []
    for name in first.names():
        second.expect_drawing(name, same=first.drawn(name))


@nightly
def test_the_whole_view_of_a_head_travels(visitor, stranger):
    visitor.open("/heads")
    drawn = visitor.drawn("closer")
    visitor.paste(TEXT, LAST["/heads"])
    drawn = visitor.expect_drawing("closer", unlike=drawn)
    visitor.click_mark("mosaic", [1, 4])
    visitor.expect_title("Layer 1, head 4")
    drawn = visitor.expect_drawing("closer", unlike=drawn)
    looking = visitor.drawn("one-token")
    visitor.chips().nth(3).click()
    visitor.wait_for_address(token="3")
    visitor.expect_drawing("one-token", unlike=looking)
    order = visitor.drawn("mosaic")
    visitor.more_settings("sort")
    visitor.choose("sort", "by score")
    visitor.wait_for_address(sort="by score")
    visitor.expect_drawing("mosaic", unlike=order)
    visitor.settle(LAST["/heads"])

    other = stranger.open(copied(visitor))
    expect(other.box()).to_have_value(TEXT)
    other.expect_title("Layer 1, head 4")
    for key in ("layer", "head", "token"):
        expect(other.control(key)).to_have_value(visitor.control(key).input_value())
    expect(other.chips().nth(3)).to_have_attribute("aria-pressed", "true")
    same_picture(visitor, other)


def set_at_random(visitor, random: Random) -> None:
    """Every choice and slider in sight, by the mouse and the keyboard; what is set may leave others out."""
    main, keys = visitor.page.get_by_test_id("stMain"), visitor.page.keyboard

    def one_of(group):
        if radios := group.get_by_role("radio").all():
            random.choice(radios).click()

    def from_list(box):
        box.get_by_role("combobox").click()
        for _ in range(random.randint(1, 3)):
            keys.press("ArrowDown")
        keys.press("Enter")

    def along(slider):
        for names in (("Home", "End"), ("ArrowLeft", "ArrowRight")):
            slider.press(random.choice(names))

    for controls, act in (
        (main.get_by_test_id("stButtonGroup"), one_of),
        (main.get_by_test_id("stSelectbox"), from_list),
        (main.get_by_role("slider"), along),
    ):
        for i in range(controls.count()):
            if controls.nth(i).is_visible():  # not one that is folded away
                try:
                    act(controls.nth(i))
                except Gone:
                    assert controls.count() <= i, "it is there and cannot be set"
                visitor.page.evaluate(STEADY)  # what is set is sent with one of the next frames
                visitor.settle()


# On the first page, options of a choice change their words while the choice stays: it must show the new ones. All pages
# take a quarter of an hour; without a browser they are all set at random in tests/pages/test_every_link.py.
SET: list[tuple[str, object]] = [("/stream", 1), ("/masks", "/masks"), ("/parameters", "/parameters")]
if os.environ.get("HYPOTHESIS_PROFILE") == "nightly":
    SET += [(path, f"{path} {i}") for path in LAST if path not in WITHOUT_FIGURES for i in range(2)]


@nightly
@pytest.mark.parametrize(("path", "seed"), SET)
def test_whatever_is_set_travels_and_is_accessible(visitor, stranger, path, seed):
    visitor.open(path)
    set_at_random(visitor, Random(seed))
    visitor.settle(END)
    visitor.wait_until_still()
    other = stranger.open(copied(visitor), END)
    other.wait_until_still()
    assert other.page.evaluate(HELD) == visitor.page.evaluate(HELD)
    if visitor.names() or not visitor.page.get_by_test_id("stAlert").count():  # or the page says why it draws nothing
        same_picture(visitor, other)
    else:
        assert other.names() == []
    assert accessible.findings(other.page) == []
    assert accessible.unreachable(other.page) == []


def test_a_link_in_the_app_sets_all_it_says_and_back_leads_to_what_one_left(visit, server):
    """Both pages have a control named model, and the way back lies over an entry that Streamlit would have damaged."""
    visitor = visit(server)  # of its own: a window counts no more than 50 entries
    visitor.open("/heads?model=induction&layer=0&head=3")
    visitor.page.get_by_test_id("stSidebarNav").get_by_role("link", name="Home").click()
    visitor.wait_until("() => location.pathname === '/'")
    visitor.settle(LAST["/"])
    front = parse_qs(urlsplit(visitor.page.url).query)
    entries = visitor.page.evaluate("history.length")
    visitor.page.get_by_test_id("stMain").get_by_role("link", name="Attention heads").first.click()
    visitor.wait_for_address(model="induction", layer="0", head="3")
    visitor.expect_title("Layer 0, head 3")
    visitor.settle(LAST["/heads"])
    assert visitor.page.evaluate("history.length") == entries + 1
    visitor.page.go_back()
    visitor.wait_until("() => location.pathname === '/'")
    visitor.settle(LAST["/"])
    assert parse_qs(urlsplit(visitor.page.url).query) == front
    visitor.page.go_forward()
    visitor.expect_title("Layer 0, head 3")
    visitor.wait_for_address(model="induction", layer="0", head="3")


@nightly
@pytest.mark.parametrize("path", ["/positions", "/masks"])
def test_a_moved_slider_travels(visitor, stranger, path):
    visitor.open(path)
    slider = visitor.page.get_by_role("slider").first
    before = {name: visitor.drawn(name) for name in visitor.names()}
    slider.press("End" if slider.input_value() != slider.get_attribute("max") else "Home")
    visitor.wait_until("() => location.search !== ''")
    visitor.settle(LAST[path])
    visitor.expect_change(before)
    other = stranger.open(copied(visitor))
    expect(other.page.get_by_role("slider").first).to_have_value(slider.input_value())
    same_picture(visitor, other)


@nightly
def test_a_text_too_long_to_be_read_in_an_address_travels_packed(visitor, stranger):
    text = "Ünï çödé. " * 190
    visitor.open("/heads")
    drawn = visitor.drawn("closer")
    visitor.paste(text, LAST["/heads"])
    visitor.expect_drawing("closer", unlike=drawn)
    assert set(visitor.said()) >= {"z"}
    other = stranger.open(copied(visitor))
    expect(other.box()).to_have_value(text)
    same_picture(visitor, other)


IMPOSSIBLE = ("/heads?layer=99&head=-3&token=x", "/masks?layer=99&kind=nothing", "/positions?k=nan")


@pytest.mark.parametrize("path", often(IMPOSSIBLE, IMPOSSIBLE[:1]))
def test_an_impossible_link_is_corrected_with_a_quiet_word(visitor, path):
    visitor.open(path)
    expect(visitor.page.get_by_text("Corrected from the link")).to_be_visible()
    assert not visitor.page.get_by_test_id("stAlert").count(), "no alarm"


OWN_TEXT = "/heads?text=My+private+words&layer=1"


def clipboard(visitor) -> str:
    return visitor.page.evaluate("navigator.clipboard.readText()")


def test_a_view_is_copied_without_its_text_reported_and_put_back(visitor):
    visitor.open(OWN_TEXT)
    page = visitor.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=visitor.address)
    said = page.get_by_role("status").filter(has_text="copied")
    page.get_by_role("button", name="Copy link").click()
    expect(said).to_have_text("Link copied")
    assert "private" in clipboard(visitor)
    without = page.get_by_role("button", name="Copy without the text")
    expect(without).to_be_visible()
    without.click()
    expect(without).to_be_hidden()
    assert clipboard(visitor) == f"{visitor.address}/heads?layer=1&v={VERSION}"
    more = page.get_by_role("button", name="More about this view")
    more.press("Enter")
    page.get_by_role("button", name="Report this view").press("Enter")
    expect(said).to_have_text("Report copied")
    report = clipboard(visitor)
    assert "Page: What does each head attend to?\n" in report
    assert "Model: stories\n" in report
    assert "private" not in report
    more.press("Enter")
    page.keyboard.press("Enter")
    expect(page).to_have_url(f"{visitor.address}/heads")
    expect(visitor.box()).not_to_have_value("My private words")
