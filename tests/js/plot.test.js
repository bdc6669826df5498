// Figures in a notebook: colours by role, their size, and clicks.
import assert from "node:assert/strict"
import { test } from "node:test"
import { load, place, window } from "./browser.js"

const { draw } = await load("plot.js")
const FIGURE = { data: [{ type: "scatter", marker: { color: "@query" } }], layout: { font: { color: "@ink" } } }

function begun(width = 600) {
  const page = place(), calls = [], handlers = {}, root = page.parentElement
  Object.defineProperty(root, "clientWidth", { configurable: true, get: () => width })
  window.Plotly = {
    react: async (plot, data, layout) => {
      calls.push({ plot, data, layout })
      plot.on = (name, call) => void (handlers[name] = call)
    },
    purge: plot => calls.push({ purged: plot }),
  }
  const show = more => draw(root, { figure: FIGURE, height: 230, least: 300, ...more }, page.setTriggerValue)
  return { ...page, root, calls, handlers, show }
}
const later = () => new Promise(resolve => setImmediate(resolve))

test("a figure has the colours of the theme and the width of its place", async () => {
  const { calls, show } = begun()
  show()
  await later()
  assert.match(calls[0].data[0].marker.color, /^#/)
  assert.deepEqual([calls[0].layout.width, calls[0].layout.height], [600, 230])
  assert.equal(FIGURE.data[0].marker.color, "@query")
})

test("where there is less room than it needs, it scrolls", async () => {
  const { calls, show, root } = begun(200)
  show()
  await later()
  assert.equal(calls[0].layout.width, 300)
  assert.equal(root.style.overflowX, "auto")
})

test("a click is told of, also after it was drawn again", async () => {
  const { handlers, show, sent } = begun()
  show()
  await later()
  show({ height: 300 })
  await later()
  handlers.plotly_click({ points: [{ x: 1, y: 2, customdata: undefined, curveNumber: 3 }] })
  assert.deepEqual(sent(), [["click", { x: 1, y: 2, customdata: null }]])
})

test("at the end plotly lets go of it", async () => {
  const { calls, show, root } = begun()
  const end = show()
  await later()
  end()
  assert.ok(calls.at(-1).purged)
  assert.equal(root.children.length, 0)
})
