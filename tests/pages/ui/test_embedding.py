"""In a frame: a whole view without navigation, or one figure alone; whatever the address says, something is shown."""

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import embedding
from tests.pages import visits
from tests.pages.figures import figures
from tests.pages.visits import ROUTER, opened, run, said

MASKS = "foundations/masks/page.py"


def framed(file: str, **address: str) -> AppTest:
    """The page as a frame with `?embed=true` shows it; Streamlit keeps that word from the script."""
    test = AppTest.from_file(str(ROUTER), default_timeout=300)
    test.context = {"is_embedded": True}
    test._registered_pages = visits._addresses()
    test.switch_page(file)
    test.query_params.update(address)
    return run(test)


def hides(test: AppTest) -> bool:
    """Whether the style is there that hides all but one figure, where that figure is drawn."""
    return any(getattr(element.proto, "body", "") == embedding.STYLE for element in test.get("html"))


def alone(test: AppTest) -> list[str]:
    """Figures that are told to be alone."""
    return [name for name, (head, _) in figures(test).items() if head["alone"]]


def test_a_whole_view():
    test = framed(MASKS, layer="2")
    assert test.slider(key="layer").value == 2
    assert not hides(test)
    assert alone(test) == []


def test_one_figure_alone_follows_the_address_and_the_controls():
    view = {"kind": "sliding window", "window": "3"}
    whole, test = opened(MASKS, **view), framed(MASKS, **view, figure="mask")
    assert hides(test)
    assert alone(test) == ["mask"]
    before = figures(test)["mask"][1]
    assert before == figures(whole)["mask"][1]
    test.slider(key="window").set_value(5)
    assert figures(run(test))["mask"][1] != before
    assert hides(test)
    assert alone(test) == ["mask"]


@pytest.mark.parametrize(
    "asked", ["nothing", "", "mask:figure", "MASK", "</style><script>alert(1)</script>", "9" * 400]
)
def test_for_a_figure_that_is_not_there_the_whole_page_is_shown(asked):
    test = framed(MASKS, figure=asked)
    assert alone(test) == []
    assert "There is no figure " in said(test, "caption")
    assert "<script>" not in said(test, "markdown")
    assert not hides(run(test)), "it does not vanish while it is computed again"


def test_a_page_that_stops_early_is_shown_too():
    test = framed("foundations/heads/page.py", text="", figure="mosaic")
    assert "There is no figure mosaic in this view" in said(test, "caption")
    assert not hides(run(test))


def test_outside_of_a_frame_all_is_shown():
    test = opened(MASKS, figure="mask")
    assert not hides(test)
    assert alone(test) == []
    assert "There is no figure" not in said(test, "caption")


@pytest.mark.parametrize(("setting", "allowed"), [("", False), (" ", False), ("*", True), ("https://a.example", True)])
def test_a_figure_says_whether_others_may_frame_it(monkeypatch, setting, allowed):
    monkeypatch.setenv("TFCORE_EMBED", setting)
    assert embedding.is_allowed() == allowed
