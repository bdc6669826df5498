"""A copied link shows somebody else the same picture."""

import pytest
from playwright.sync_api import expect

from tests.e2e.visitor import LAST

TEXT = "Ben has a kite. Ben has a boat: a + b & c? $x$ 100% ünï"


def copied(visitor) -> str:
    """The path that the button puts into the clipboard."""
    visitor.page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=visitor.address)
    visitor.page.get_by_role("button", name="Copy link").click()
    expect(visitor.page.get_by_role("status").filter(has_text="Link copied")).to_be_attached()
    link = visitor.page.evaluate("navigator.clipboard.readText()")
    assert link.startswith(visitor.address)
    assert "v=1" in link
    return link.removeprefix(visitor.address)


def same_picture(first, second) -> None:
    assert first.names() == second.names() != []
    for name in first.names():
        second.expect_drawing(name, same=first.drawn(name))


def test_the_whole_view_of_a_head_travels(visitor, visit, server):
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
    visitor.page.get_by_text("by score", exact=True).click()
    visitor.wait_for_address(sort="by score")
    visitor.expect_drawing("mosaic", unlike=order)
    visitor.settle(LAST["/heads"])

    other = visit(server).open(copied(visitor))
    expect(other.box()).to_have_value(TEXT)
    other.expect_title("Layer 1, head 4")
    for key in ("layer", "head", "token"):
        expect(other.control(key)).to_have_value(visitor.control(key).input_value())
    expect(other.chips().nth(3)).to_have_attribute("aria-pressed", "true")
    same_picture(visitor, other)


@pytest.mark.parametrize("path", ["/positions", "/masks"])
def test_a_moved_slider_travels(visitor, visit, server, path):
    visitor.open(path)
    slider = visitor.page.get_by_role("slider").first
    before = {name: visitor.drawn(name) for name in visitor.names()}
    slider.press("End" if slider.input_value() != slider.get_attribute("max") else "Home")
    visitor.page.wait_for_function("location.search !== ''")
    visitor.settle(LAST[path])
    visitor.expect_change(before)
    other = visit(server).open(copied(visitor))
    expect(other.page.get_by_role("slider").first).to_have_value(slider.input_value())
    same_picture(visitor, other)


def test_a_text_too_long_to_be_read_in_an_address_travels_packed(visitor, visit, server):
    text = "Ünï çödé. " * 190
    visitor.open("/heads")
    drawn = visitor.drawn("closer")
    visitor.paste(text, LAST["/heads"])
    visitor.expect_drawing("closer", unlike=drawn)
    assert set(visitor.said()) >= {"z"}
    other = visit(server).open(copied(visitor))
    expect(other.box()).to_have_value(text)
    same_picture(visitor, other)


@pytest.mark.parametrize(
    "path", ["/heads?layer=99&head=-3&token=x", "/masks?layer=99&kind=nothing", "/positions?k=nan"]
)
def test_an_impossible_link_is_corrected_with_a_quiet_word(visitor, path):
    visitor.open(path)
    expect(visitor.page.get_by_text("Corrected from the link")).to_be_visible()
    assert not visitor.page.get_by_test_id("stAlert").count(), "no alarm"
