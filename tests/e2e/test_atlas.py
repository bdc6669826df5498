"""The page on the atlas in Chromium: a box around dots makes a list, a click on one chooses it."""

from tests.nightly import nightly
from tfcore.measures.atlas.atlas import load_atlas

LOWEST = """plot => {
  const { x, customdata } = plot._fullData.find(trace => trace.customdata)
  return Array.from(customdata[x.indexOf(Math.min(...x))])
}"""  # the dot furthest to the left, where no other lies over it


@nightly
def test_a_box_makes_a_list_and_a_click_chooses(visitor):
    visitor.open("/atlas?model=stories")
    plot = visitor.plot("scatter")
    plot.scroll_into_view_if_needed()
    area = plot.locator(".nsewdrag").first.bounding_box()
    mouse = visitor.page.mouse
    mouse.move(area["x"] + 2, area["y"] + 2)
    mouse.down()
    mouse.move(area["x"] + area["width"] / 2, area["y"] + area["height"] / 2)
    mouse.move(area["x"] + area["width"] - 2, area["y"] + area["height"] - 2)
    mouse.up()
    layers, heads = load_atlas("stories").shape
    every = " ".join(f"{layer}.{head}" for layer in range(layers) for head in range(heads))
    visitor.wait_for_address(chosen=every)
    visitor.page.get_by_text(f"On the list: {layers * heads} of {layers * heads} heads").wait_for()
    before = visitor.drawn("scatter")
    layer, head = plot.evaluate(LOWEST)
    visitor.click_mark("scatter", [layer, head])
    visitor.wait_for_address(layer=str(layer), head=str(head))
    visitor.expect_drawing("scatter", unlike=before)
    visitor.wait_for_address(chosen=every)
