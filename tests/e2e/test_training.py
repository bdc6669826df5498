"""A training that a page watches, in a browser: it is stopped, and begins again where a button says so."""


def test_a_stopped_training_begins_again(visitor):
    visitor.page.goto(f"{visitor.address}/pitfalls?steps=400&seed=13")
    stop, again = visitor.page.locator(".st-key-stop button"), visitor.page.locator(".st-key-anew button")
    stop.click()
    again.click()  # there once it has stopped; the button reruns a part of the page, and the page has to follow
    stop.click()
    again.wait_for()
