"""Words in figures that lie over other words: tick labels, titles of axes and tiles, legends.

Boxes are those of the drawn text, turned as it is (slanted tick labels are not over each other where their upright
boxes are), and a fifth of their height counts as the space above and below letters.
"""

from playwright.sync_api import Page

WORDS = ".xtick text, .ytick text, .x2tick text, .y2tick text, .annotation-text, .xtitle, .ytitle, .x2title, .y2title, "
WORDS += ".legendtext, .cbaxis text, .gtitle"
OVERLAPPING = """words => {
  const found = []
  const corners = text => {
    const box = text.getBBox(), matrix = text.getScreenCTM()
    const [dx, dy] = [Math.min(1, box.width / 4), box.height / 5]
    return [[box.x + dx, box.y + dy], [box.x + box.width - dx, box.y + dy],
      [box.x + box.width - dx, box.y + box.height - dy], [box.x + dx, box.y + box.height - dy]].map(([x, y]) => {
      const point = new DOMPoint(x, y).matrixTransform(matrix)
      return [point.x, point.y]
    })
  }
  const apart = (one, other) => [one, other].some(quad => quad.some(([x, y], i) => {
    const [nx, ny] = [quad[(i + 1) % 4][1] - y, x - quad[(i + 1) % 4][0]]
    const [a, b] = [one, other].map(points => points.map(([px, py]) => px * nx + py * ny))
    return Math.max(...a) <= Math.min(...b) + 0.5 || Math.max(...b) <= Math.min(...a) + 0.5
  }))
  for (const plot of document.querySelectorAll(".js-plotly-plot")) {
    const name = plot.closest('[class*="st-key-"]')?.className.match(/st-key-(\\S+?)-figure/)?.[1] ?? "?"
    const texts = [...plot.querySelectorAll(words)].filter(text => {
      const style = getComputedStyle(text)
      return text.textContent.trim() && style.visibility !== "hidden" && +style.opacity > 0 && text.getBBox().width > 0
    })
    const quads = texts.map(corners)
    texts.forEach((text, i) => quads.slice(0, i).forEach((quad, j) => {
      if (!apart(quads[i], quad)) found.push(`${name}: “${text.textContent}” over “${texts[j].textContent}”`)
    }))
  }
  return found
}"""


def overlapping(page: Page) -> list[str]:
    """Which words lie over which, in all figures of the page: "closer: “the” over “dog”"."""
    found: list[str] = page.evaluate(OVERLAPPING, WORDS)
    return found
