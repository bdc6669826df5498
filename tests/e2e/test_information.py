"""Bars dragged by mouse and by keys: they stay a distribution, the numbers follow, and the link brings them back."""

import numpy as np
import pytest
from playwright.sync_api import expect

from pages.ui.components import bars
from tests.e2e.test_attention import handle, middle
from tests.e2e.visitor import Visitor
from tests.nightly import nightly
from tfcore.views.training.information.measure.entropy import compare


def metric(visitor: Visitor, name: str) -> str:
    place = visitor.page.get_by_test_id("stMetric").filter(has_text=name).first
    return place.get_by_test_id("stMetricValue").inner_text().strip()


def told(visitor: Visitor, key: str) -> tuple[int, ...]:
    weights, exact = bars.parse(visitor.said()[key], (0, 0, 0, 1))
    assert exact
    return weights


def wait_for(visitor: Visitor, key: str) -> None:
    visitor.wait_until("key => new URLSearchParams(location.search).has(key)", key)


def test_a_bar_is_dragged_and_the_others_give_in_proportion(visitor, stranger, server):
    visitor.open("/information")
    bar, before = handle(visitor, "distribution P: A"), visitor.drawn("areas")
    grip = bar.locator(".tf-grip")
    x, y = middle(grip)
    visitor.page.mouse.move(x, y)
    visitor.page.mouse.down()
    visitor.page.mouse.move(x, y - 20, steps=3)
    visitor.expect_drawing("areas", unlike=before)
    assert "p4" not in visitor.said(), "the address waits for the drop"
    visitor.page.mouse.move(x, y - 30, steps=2)
    visitor.page.mouse.up()
    wait_for(visitor, "p4")
    a, *others = told(visitor, "p4")
    assert a == pytest.approx(10_000 * (0.6 + 30 / 150), abs=150)
    assert a + sum(others) == 10_000
    assert np.array(others) / sum(others) == pytest.approx([0.625, 0.25, 0.125], abs=1e-3)
    expected = compare(np.array(bars.shares((a, *others))), np.array(bars.shares((4, 16, 30, 50))))
    visitor.settle()
    expect(visitor.page.get_by_text(f"{expected.own:.5f} + {expected.forward:.5f}")).to_be_visible()
    assert metric(visitor, "H(P)") == f"{expected.own:.3f}"
    other = stranger.open(visitor.page.url.removeprefix(server))
    other.expect_drawing("areas", same=visitor.drawn("areas"))


@nightly
def test_keys_move_a_bar_to_its_ends_and_give_back_what_they_took(visitor):
    visitor.open("/information")
    bar = handle(visitor, "distribution Q: B")
    bar.focus()
    visitor.page.keyboard.press("End")
    visitor.wait_for_address(q4="0_10000_0_0")
    expect(visitor.page.get_by_text("Q gives 0 to A, C, D, and P does not")).to_be_visible()
    expect(bar).to_have_attribute("aria-valuenow", "1")
    visitor.page.keyboard.press("PageDown")
    visitor.wait_for_address(q4="48_9000_357_595")  # what they had, in proportion
    visitor.page.keyboard.press("Shift+ArrowUp")
    visitor.wait_for_address(q4="47_9010_354_589")
    assert "tf-column" in visitor.focused(), "the focus stays where it was"


@nightly
def test_examples_move_the_bars_and_a_cell_of_a_table_is_dragged(visitor):
    visitor.open("/information")
    visitor.page.get_by_role("button", name="fair coin", exact=True).click()
    visitor.wait_for_address(p2="1_1", n="2")
    expect(handle(visitor, "distribution P: A")).to_have_attribute("aria-valuetext", "0.500")
    visitor.open("/information?show=Mutual+information")
    cell = handle(visitor, "joint distribution: x1 and y1")
    x, y = middle(cell)
    visitor.page.mouse.click(x, y)  # anywhere in the cell: the bar comes there
    wait_for(visitor, "j33")
    assert int(visitor.said()["j33"].split("_")[0]) == pytest.approx(2_000, abs=150)
