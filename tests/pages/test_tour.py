"""The tour: a bar where the address says so, links that go on and back, and nothing anywhere else."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import tour
from tests.pages.test_router import listed
from tests.pages.visits import address, opened, press, run, said

FILES = {url: file for file, _, _, url in listed()}


def links_of(test: AppTest) -> list[tuple[str, str]]:
    """Words and address of the links."""
    found = [e.proto for e in test.main if getattr(e, "type", "") == "page_link"]
    return [(link.label, f"{link.page}?{link.query_string}") for link in found]


def bar(test: AppTest) -> str:
    return " ".join(words for words in said(test, "markdown").split("  ") if "Tour, stop" in words)


def test_the_front_page_begins_it():
    words, address = next(link for link in links_of(opened("home.py")) if "Take the tour" in link[0])
    assert f"{len(tour.STOPS)} stops" in words
    assert address.startswith("tokens?")
    assert "tour=1" in address


def test_stops_change_the_page_so_that_each_view_begins_anew():
    assert 8 <= len(tour.STOPS) <= 12
    for one, after in zip(tour.STOPS, tour.STOPS[1:], strict=False):
        assert one.page != after.page
    for stop in tour.STOPS:
        assert stop.page in FILES
        assert stop.words.count(". ") == 1, "two sentences"


def test_a_stop_sets_its_view_and_leads_back_and_on():
    test = opened("foundations/masks.py", **tour.address(5))
    assert "Tour, stop 5 of 11" in bar(test)
    found = dict(links_of(test))
    assert "tour=4" in found["Back: Positions"]
    assert "tour=6" in found["Next: Residual connections"]
    assert found["Next: Residual connections"].startswith("residuals?")


def test_the_address_keeps_it_while_controls_move_and_ending_it_keeps_the_view():
    test = opened("foundations/masks.py", tour="5", kind="sliding window")
    test.slider(key="layer").set_value(1)
    test = run(test)
    assert address(test, "tour") == "5"
    test = press(test, "tour_end")
    assert "tour" not in test.query_params
    assert test.selectbox(key="kind").value == "window"
    assert not bar(test)


@pytest.mark.parametrize("number", ["0", "99", "-1", "1.5", "x", "", "٥", "9" * 400, "4", "%00"])
def test_unknown_numbers_and_stops_of_other_pages_are_ignored(number):
    test = opened("foundations/masks.py", tour=number)
    assert not bar(test)
    assert all(button.key != "tour_end" for button in test.button)


def test_the_last_stop_leads_to_the_questions():
    number = len(tour.STOPS)
    test = opened("reference/check.py", **tour.address(number))
    assert f"stop {number} of {number}" in bar(test)
    assert not any("Next:" in words for words, _ in links_of(test))
