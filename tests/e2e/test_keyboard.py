"""Without a mouse: everything can be reached with Tab and changed with keys, and one sees where one is."""

from playwright.sync_api import expect

from tests.nightly import nightly

STOPS = 80  # so many presses of Tab at most


def tab_to(visitor, wanted: str) -> None:
    """Press Tab until the focus is on an element whose key, class, tag or words contain `wanted`."""
    passed = []
    for _ in range(STOPS):
        visitor.page.keyboard.press("Tab")
        passed.append(visitor.focused())
        if wanted in passed[-1]:
            return
    raise AssertionError(f"Tab does not lead to {wanted!r}, only to:\n" + "\n".join(passed))


def test_a_head_and_a_token_are_chosen_with_keys_alone(visitor):
    visitor.open("/heads?layer=0&head=0&text=One+two+three+four+five")
    drawn = visitor.drawn("closer")
    tab_to(visitor, "st-key-layer")
    visitor.page.keyboard.press("ArrowRight")
    visitor.wait_for_address(layer="1")
    visitor.expect_title("Layer 1, head 0")
    visitor.expect_drawing("closer", unlike=drawn)
    assert "st-key-layer" in visitor.focused(), "the focus stays where it was"

    looking = visitor.drawn("one-token")
    tab_to(visitor, "chip")
    visitor.page.keyboard.press("Home")
    visitor.page.keyboard.press("ArrowRight")
    visitor.page.keyboard.press("Enter")
    visitor.wait_for_address(token="1")
    expect(visitor.chips().nth(1)).to_have_attribute("aria-pressed", "true")
    visitor.expect_drawing("one-token", unlike=looking)
    assert "chip" in visitor.focused()


@nightly
def test_the_row_of_tokens_is_one_stop(visitor):
    visitor.open("/heads?text=One+two+three+four+five")
    tab_to(visitor, "Skip to main content")  # past the list of pages, which is half of the stops
    visitor.page.keyboard.press("Enter")
    tab_to(visitor, "chip")
    visitor.page.keyboard.press("Tab")
    assert "chip" not in visitor.focused()


def test_the_download_menu_opens_and_closes_with_keys(visitor):
    visitor.open("/heads?text=One+two+three")
    tab_to(visitor, "SUMMARY")
    visitor.page.keyboard.press("Enter")
    tab_to(visitor, "BUTTON PNG")
    visitor.page.keyboard.press("Escape")
    assert "SUMMARY" in visitor.focused()
    expect(visitor.page.get_by_role("button", name="PNG")).to_have_count(0)
