"""Points dragged by mouse and by keys: the numbers follow while the hand moves, the address when it lets go."""

import re

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from pages.foundations.attention.points import Points, parse
from tests.e2e.test_keyboard import tab_to
from tests.e2e.visitor import Visitor
from tests.nightly import nightly
from tfcore.views.foundations.attention.measure.steps import AttentionSteps, attention_steps

NUMBERS = """([plot, wanted]) => plot._fullData.every((trace, m) => trace.z.every((row, i) =>
  Array.from(row).every((z, j) => Math.abs(z - wanted[m][i][j]) < 1e-4)))"""

# At least nine cells read something else: one row of all four matrices has fourteen.
OTHER_CELLS = """([plot, before]) => [...plot.querySelectorAll(".heatmaplayer text")].filter(
  (cell, i) => cell.textContent !== before[i]).length >= 9"""


def handle(visitor: Visitor, name: str) -> Locator:
    return visitor.page.get_by_role("slider", name=name, exact=True)


def middle(place: Locator) -> tuple[float, float]:
    place.scroll_into_view_if_needed()
    box = place.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def told(visitor: Visitor) -> Points:
    """The points that the address says."""
    points, exact = parse(visitor.said()["points"], ((9.0, 9.0),) * 12)
    assert exact
    return points


def computed(points: Points) -> AttentionSteps:
    return attention_steps(points[:4], points[4:8], points[8:])


def expect_numbers(visitor: Visitor, steps: AttentionSteps) -> None:
    """Wait until the four matrices show these numbers."""
    wanted = [np.asarray(m).tolist() for m in (steps.products, steps.scores, steps.weights, steps.outputs)]
    visitor.wait_until(NUMBERS, [visitor.plot("steps").element_handle(), wanted])


def cells(visitor: Visitor) -> list[str]:
    """The numbers as they are written in the cells."""
    written = visitor.plot("steps").locator(".heatmaplayer text").all_inner_texts()
    assert len(written) == 3 * 16 + 8
    return written


def wait_for_points(visitor: Visitor, other_than: str | None = None) -> None:
    visitor.wait_until(
        "old => { const now = new URLSearchParams(location.search).get('points'); return now && now !== old }",
        other_than,
    )


@nightly
def test_a_point_is_dragged_with_the_mouse(visitor, stranger, server):
    visitor.open("/attention")
    point, before, written = handle(visitor, "query of cat"), visitor.drawn("steps"), cells(visitor)
    x, y = middle(point)
    visitor.page.mouse.move(x + 2, y - 2)  # not quite in the middle: the point must not jump
    visitor.page.mouse.down()
    for i in range(1, 6):
        visitor.page.mouse.move(x + 2 + 8 * i, y - 2 + 12 * i)
    during = visitor.expect_drawing("steps", unlike=before)
    visitor.wait_until(OTHER_CELLS, [visitor.plot("steps").element_handle(), written])
    assert "points" not in visitor.said(), "the address waits for the drop"
    for i in range(6, 11):
        visitor.page.mouse.move(x + 2 + 8 * i, y - 2 + 12 * i)
    visitor.expect_drawing("steps", unlike=during)
    visitor.page.mouse.up()
    wait_for_points(visitor)
    dropped = told(visitor)
    expect_numbers(visitor, computed(dropped))
    now = middle(point)
    assert now == (pytest.approx(x + 80, abs=4), pytest.approx(y + 120, abs=4)), "it stays under the pointer"
    expect(point).to_have_attribute(
        "aria-valuetext", re.compile(rf"x .?{abs(dropped[1][0]):.2f}, y .?{abs(dropped[1][1]):.2f}")
    )
    visitor.wait_for_address(token="cat")  # whose query is dragged, that is looked at

    path = visitor.page.url.removeprefix(server)
    other = stranger.open(path)
    other.expect_drawing("steps", same=visitor.drawn("steps"))
    expect(handle(other, "query of cat")).to_have_attribute("aria-valuetext", point.get_attribute("aria-valuetext"))


@nightly
def test_nothing_can_be_taken_before_it_has_its_place(visitor):
    """The styles come late: the planes are drawn then, not before, unstyled, to jump away under the hand."""
    asked = []
    visitor.page.route("**/planes.css*", lambda route: asked.append(route), times=1)
    visitor.open("/attention")
    visitor.expect_drawing("steps")
    assert asked, "the styles are a file of their own"
    expect(handle(visitor, "query of cat")).to_have_count(0)
    asked[0].continue_()
    expect(handle(visitor, "query of cat")).to_have_css("position", "absolute")


def test_a_point_is_moved_with_keys(visitor, stranger, server):
    visitor.open("/attention")
    tab_to(visitor, "tf-query")
    tab_to(visitor, "tf-value")
    point = visitor.page.locator(":focus")
    expect(point).to_have_attribute("aria-label", "value of the")
    outline = point.locator("i").evaluate("mark => getComputedStyle(mark).outlineStyle")
    assert outline == "solid", "one sees where one is"
    before, weights = visitor.drawn("steps"), visitor.traces("steps")[2]["z"]
    visitor.page.keyboard.press("ArrowRight")
    visitor.page.keyboard.press("Shift+ArrowUp")
    visitor.wait_for_address(
        points="-0.5_0.1_0.4_1.2_1.8_-0.3_-1.5_-0.8_0.3_1.7_1.4_-1_-1.4_-1.4_-1.2_0.9_"
        "-1.5_-0.7_1.5_1.4_-1.4_1.3_1.6_-1.3"
    )
    expect(point).to_have_attribute("aria-valuetext", "x −1.50, y −0.70")
    visitor.expect_drawing("steps", unlike=before)
    expect_numbers(visitor, computed(told(visitor)))
    assert visitor.traces("steps")[2]["z"] == weights, "values change no weight"
    assert "tf-value" in visitor.focused(), "the focus stays where it was"
    other = stranger.open(visitor.page.url.removeprefix(server))
    other.expect_drawing("steps", same=visitor.drawn("steps"))


def test_back_undoes_a_drag_and_examples_move_the_points(visitor):
    visitor.open("/attention")
    before = visitor.drawn("steps")
    visitor.page.get_by_role("button", name="a query of zero").click()
    wait_for_points(visitor)
    expect(handle(visitor, "query of sat")).to_have_attribute("aria-valuetext", "x 0.00, y 0.00")
    visitor.expect_drawing("steps", unlike=before)
    visitor.page.go_back()
    visitor.expect_drawing("steps", same=before)
    expect(handle(visitor, "query of sat")).to_have_attribute("aria-valuetext", "x 1.80, y −0.30")


@nightly
def test_points_do_not_leave_the_plane(visitor):
    visitor.open("/attention")
    x, y = middle(handle(visitor, "key of up"))
    visitor.page.mouse.move(x, y)
    visitor.page.mouse.down()
    visitor.page.mouse.move(x - 700, y + 700, steps=4)
    visitor.page.mouse.up()
    wait_for_points(visitor)
    assert told(visitor)[7] == (-2.0, -2.0)
    expect_numbers(visitor, computed(told(visitor)))


@nightly
@pytest.mark.parametrize("look", ["words", "scale", "gradient", "temperature"])
def test_every_panel_is_drawn(visitor, look):
    visitor.open(f"/attention?look={look}")
    assert visitor.names()
    visitor.check()
