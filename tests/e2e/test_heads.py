"""The page on heads under the hands of a visitor: paste, click, drag - and the numbers are the model's own."""

import re

import numpy as np
from playwright.sync_api import expect

from tests.e2e.checks import truth
from tests.e2e.visitor import LAST
from tests.nightly import nightly
from tfcore.measures.heads.sink import without_keys

TEXT = "The little dog lost the red ball. The little dog"
FIGURES = ("mosaic", "closer", "one-token")


def other_head(visitor) -> tuple[int, ...]:
    """A head that is not selected now, in another layer."""
    layer, head = (visitor.control(key) for key in ("layer", "head"))
    return tuple((int(c.input_value()) + 1) % (int(c.get_attribute("max")) + 1) for c in (layer, head))


def weights(visitor) -> np.ndarray:
    """The map of the closer head, as drawn."""
    return np.array(next(t["z"] for t in visitor.traces("closer")[::-1] if t["type"] == "heatmap"), dtype=np.float32)


def test_a_pasted_text_is_seen_everywhere_and_with_the_models_own_weights(visitor):
    visitor.open("/heads")
    before = {name: visitor.drawn(name) for name in FIGURES}
    visitor.paste(TEXT)
    expect(visitor.chips()).to_have_text(truth.chips(TEXT))
    visitor.wait_for_address(hide="true")  # the page begins with a link between words, the first token hidden
    visitor.settle(LAST["/heads"])
    for name in FIGURES:
        visitor.expect_drawing(name, unlike=before[name])
    layer, head = (int(visitor.control(key).input_value()) for key in ("layer", "head"))
    pattern = truth.patterns(TEXT)[layer, head]
    np.testing.assert_allclose(weights(visitor), without_keys(pattern, np.arange(len(pattern)) == 0), atol=1e-5)


@nightly
def test_a_click_on_a_head_looks_closer_at_it(visitor):
    visitor.open("/heads")
    before, (layer, head) = visitor.drawn("closer"), other_head(visitor)
    visitor.click_mark("mosaic", [layer, head])
    visitor.wait_for_address(layer=str(layer), head=str(head))
    visitor.expect_title(f"Layer {layer}, head {head}")
    expect(visitor.control("layer")).to_have_value(str(layer))
    expect(visitor.control("head")).to_have_value(str(head))
    visitor.expect_drawing("closer", unlike=before)
    np.testing.assert_allclose(weights(visitor), truth.patterns(visitor.box().input_value())[layer, head], atol=1e-5)


@nightly
def test_a_click_on_a_token_asks_where_it_looks(visitor):
    visitor.open("/heads")
    before = visitor.drawn("one-token")
    visitor.chips().nth(5).click()
    visitor.wait_for_address(token="5")
    expect(visitor.chips().nth(5)).to_have_attribute("aria-pressed", "true")
    expect(visitor.control("token")).to_have_value("5")
    visitor.expect_drawing("one-token", unlike=before)
    visitor.click_cell("closer", 2, 7)
    visitor.wait_for_address(token="7")
    expect(visitor.chips().nth(7)).to_have_attribute("aria-pressed", "true")
    expect(visitor.chips().nth(5)).to_have_attribute("aria-pressed", "false")


def test_a_dragged_slider_draws_into_the_same_plot(visitor):
    visitor.open("/heads?layer=0&head=0")
    nodes = {name: visitor.plot(name).element_handle() for name in FIGURES}
    drawn = visitor.drawn("closer")
    for layer in (1, 2):
        visitor.control("layer").press("ArrowRight")
        visitor.expect_title(f"Layer {layer}, head 0")
        drawn = visitor.expect_drawing("closer", unlike=drawn)
    visitor.wait_for_address(layer="2")
    for name, node in nodes.items():
        assert visitor.plot(name).evaluate("(now, then) => now === then", node), f"{name} was thrown away"


@nightly
def test_lines_and_orders(visitor):
    visitor.open("/heads")
    before = {name: visitor.drawn(name) for name in FIGURES}
    visitor.more_settings("view")
    visitor.page.get_by_text("lines", exact=True).click()
    visitor.wait_for_address(view="lines")
    visitor.expect_drawing("closer", unlike=before["closer"])
    assert {trace["type"] for trace in visitor.traces("closer")} == {"scatter"}
    visitor.choose("sort", "by score")
    visitor.wait_for_address(sort="by score")
    visitor.expect_drawing("mosaic", unlike=before["mosaic"])


def test_the_pointer_reads_a_sentence(visitor):
    visitor.open("/heads")
    visitor.hover_cell("closer", 3, 6)
    label = visitor.figure("closer").locator(".hoverlayer .hovertext")
    expect(label).to_have_text(re.compile(r"attends to .* with [01]\.\d\d"))
    expect(visitor.figure("closer").locator(".tf-cursor").first).to_be_visible()


@nightly
def test_an_arrow_key_held_down_does_not_overtake_the_page(visitor):
    """Runs come faster than their answers; what the browser was sent by name must still be there."""
    visitor.open("/heads")
    slider = visitor.control("token")
    slider.focus()
    for key in 3 * (10 * ["ArrowRight"] + 10 * ["ArrowLeft"]):
        visitor.page.keyboard.press(key)
        visitor.page.wait_for_timeout(16)  # as often as a keyboard repeats
    visitor.settle(LAST["/heads"])
    slider.press("End")
    visitor.wait_for_address(token=slider.get_attribute("max"))
    visitor.settle(LAST["/heads"])
