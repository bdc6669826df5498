"""The player: each picture is computed, one after the other, until it is stopped."""

from playwright.sync_api import expect

from tests.nightly import nightly


@nightly
def test_it_plays_on_until_it_is_paused_and_steps_by_hand(visitor):
    visitor.open("/positions?scheme=RoPE&moved=7")
    buttons = visitor.page.locator(".st-key-play-moved-player .player button")
    before = visitor.drawn("pairs")
    buttons.nth(1).click()
    visitor.wait_for_address(moved="9")  # went on by itself
    buttons.nth(1).click()
    visitor.settle()
    visitor.expect_drawing("pairs", unlike=before)
    at = int(visitor.said()["moved"])
    buttons.nth(2).click()
    visitor.wait_for_address(moved=str(at + 1))
    buttons.nth(2).press("ArrowLeft")
    visitor.wait_for_address(moved=str(at))


def test_arrow_keys_walk_wherever_the_focus_is_but_not_where_they_have_a_use(visitor):
    visitor.open("/walkthrough?stage=scores")
    visitor.page.keyboard.press("ArrowRight")  # nothing has the focus
    visitor.wait_for_address(stage="scaled scores")
    visitor.settle()
    visitor.box().focus()
    visitor.page.keyboard.press("ArrowLeft")
    visitor.control("head").focus()
    visitor.page.keyboard.press("ArrowRight")
    visitor.wait_for_address(head="1")
    assert visitor.said()["stage"] == "scaled scores"


def test_the_map_is_clicked_and_walked_with_keys(visitor):
    visitor.open("/walkthrough?stage=mask")
    stops, stage = visitor.page.locator(".tf-map .tf-call"), visitor.page.locator(".tf-attention-stage canvas")
    before = stage.get_attribute("aria-label")
    visitor.page.locator('.tf-call[aria-current="step"]').focus()
    visitor.page.keyboard.press("ArrowRight")
    visitor.wait_for_address(stage="softmax")
    expect(stage).not_to_have_attribute("aria-label", before)
    stops.last.click()
    visitor.wait_for_address(stage="prediction")
    visitor.settle()
    assert stops.last.get_attribute("aria-current") == "step"
