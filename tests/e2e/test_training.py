"""Trainings in a browser: the lab's run beside the page, and one that a page watches."""

import re

from playwright.sync_api import expect

from tests.nightly import nightly


@nightly
def test_a_run_survives_a_reload_and_is_paused_there(visitor):
    visitor.open("/lab?task=copy&steps=16000&rows=4&width=16&length=4")
    bar = visitor.page.get_by_test_id("stProgress")
    visitor.page.locator(".st-key-lab-main-button button").click()
    visitor.wait_until("() => location.search.includes('run=')")
    expect(bar).to_contain_text(re.compile(r"step [1-9][\d,]* of 16,000"))
    link = visitor.page.url.removeprefix(visitor.address)
    visitor.page.goto("about:blank")
    visitor.open(link)
    pause = visitor.page.locator(".st-key-lab-main-button button")
    expect(pause).to_have_text("Pause")
    pause.click()
    expect(bar).to_contain_text("Paused at step")
    expect(visitor.page.get_by_role("link", name="its heads")).to_be_visible()


@nightly
def test_a_training_that_a_page_watches_begins_again_after_a_stop(visitor):
    visitor.page.goto(f"{visitor.address}/pitfalls?steps=400&seed=13")
    stop, again = visitor.page.locator(".st-key-stop-button button"), visitor.page.locator(".st-key-anew-button button")
    stop.click()
    again.click()  # there once it has stopped; the button reruns a part of the page, and the page has to follow
    stop.click()
    again.wait_for()
