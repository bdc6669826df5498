"""The player: each picture is computed, one after the other, until it is stopped."""


def test_it_plays_on_until_it_is_paused_and_steps_by_hand(visitor):
    visitor.open("/positions?scheme=RoPE&moved=7")
    buttons = visitor.page.locator(".st-key-play-moved .player button")
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
