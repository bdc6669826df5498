"""Changes that come faster than the browser can take them in: Streamlit then ends the earlier ones, late."""

from pages.ui.components import figure
from tests.e2e.visitor import Visitor

# The script of a figure, called for two changes at once; the first is ended after the second was drawn.
OVERTAKEN = """async ([loader, head]) => {
  const { default: call } = await import(URL.createObjectURL(new Blob([loader], { type: "text/javascript" })))
  const parentElement = document.createElement("div")
  document.querySelector('[data-testid="stMain"]').append(parentElement)
  const change = label => {
    const body = JSON.stringify({ data: [{ x: [1, 2], y: [1, 2], name: label }], layout: {} })
    const first = JSON.stringify({ ...head, size: body.length, hash: label, alt: label })
    return call({ parentElement, data: new TextEncoder().encode(first + "\\n" + body), setTriggerValue: () => {} })
  }
  const [first, second] = [change("first"), change("second")]
  ;(await first)()
  window.change = { parentElement, end: await second }
}"""
SEEN = "window.change.parentElement.querySelector('.tf-figure')?.getAttribute('aria-label') ?? null"


def test_a_figure_survives_the_end_of_a_change_that_was_overtaken_and_ends_with_its_place(visitor: Visitor):
    visitor.open("/masks")
    head = {"height": 100, "name": "a", "caption": "", "minWidth": 0, "cursor": False, "csv": False, "file": False}
    visitor.page.evaluate(OVERTAKEN, [figure.LOADER, head | {"click": False, "hover": False}])
    visitor.wait_until("() => window.change.parentElement.querySelector('.main-svg') !== null")
    assert visitor.page.evaluate(SEEN) == "second"
    visitor.page.evaluate("window.change.parentElement.remove()")
    assert visitor.page.evaluate("(window.change.end(), " + SEEN + ")") is None
