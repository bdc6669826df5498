// A figure of plotly in a notebook, in the colours of its theme, told of clicks, as figure.js has them in the app. Plotly
// itself is there by then.
import { coloured, palette } from "./colours.js"
import { html } from "./dom.js"

const CONFIG = { displayModeBar: false, scrollZoom: false, showTips: false, doubleClick: "reset" }

/** @typedef {{ plot: PlotlyElement, observer: ResizeObserver, data: PlotData, tell?: Send, width: number }} Drawn */
/** @type {WeakMap<HTMLElement, Drawn>} */
const views = new WeakMap()

/** @param {HTMLElement} element @param {PlotData} data @param {Send} [tell] */
export function draw(element, data, tell) {
  const known = views.get(element), view = known ?? create(element, data)
  Object.assign(view, { data, tell })
  const drawn = paint(element, view)
  if (!known) drawn.then(() => view.plot.on("plotly_click", ({ points: [{ x, y, customdata }] }) => {
    view.tell?.("click", { x, y, customdata: customdata ?? null })
  }))
  return () => {
    view.observer.disconnect()
    views.delete(element)
    window.Plotly.purge(view.plot)
    view.plot.remove()
  }
}

/** @param {HTMLElement} element @param {PlotData} data */
function create(element, data) {
  const plot = /** @type {PlotlyElement} */ (/** @type {HTMLElement} */ (html("div", "", element)))
  element.style.overflowX = "auto" // it scrolls sideways where it has no room
  const observer = new ResizeObserver(() => element.clientWidth !== view.width && paint(element, view))
  const view = /** @type {Drawn} */ ({ plot, observer, data, width: 0 })
  views.set(element, view)
  observer.observe(element)
  return view
}

/** @param {HTMLElement} element @param {Drawn} view */
async function paint(element, view) {
  const { figure, height, least } = view.data
  view.width = element.clientWidth
  const { data, layout } = coloured(structuredClone(figure), palette(element))
  const size = { width: Math.max(view.width, least), height, autosize: false }
  await window.Plotly.react(view.plot, data, { ...layout, ...size }, CONFIG)
}
