// The browser's half of figure.py: draws a figure with Plotly.react in the colours of the theme, reports clicks, saves files.
import { coloured, palette } from "./colours.js"
import { html, save, svg } from "./dom.js"
import { drop, embeds, files, keep, menu, page, pageFigure, parsed, pinnable, safe, take } from "./saving.js"
import themes from "./theme.js"

/** @typedef {import("./saving.js").Words} Words */

/**
 * @typedef {object} View
 * @property {HTMLElement} frame
 * @property {HTMLElement} scroll
 * @property {HTMLElement} picture
 * @property {HTMLElement} caption
 * @property {HTMLElement} note
 * @property {HTMLElement} row
 * @property {HTMLElement} column
 * @property {Record<string, HTMLButtonElement>} buttons
 * @property {HTMLButtonElement} pin
 * @property {ResizeObserver} observer
 * @property {FigureHead} head
 * @property {string} spec the figure as JSON
 * @property {Send} send
 * @property {PlotlyElement} [plot]
 * @property {string} drawn what the picture shows
 * @property {boolean} busy
 * @property {boolean} again
 * @property {boolean} [gone]
 * @property {string} [reported] what the pointer rested on
 * @property {number} [resting]
 * @property {number} [noted]
 * @property {() => Promise<SVGSVGElement | null>} taken
 * @property {() => { data: any[], layout: object }} live
 * @property {number} [high] how high the picture is to be drawn, in place of what the page says
 */
/** @typedef {View & { plot: PlotlyElement }} Drawn a view whose picture is there */

/** @type {WeakMap<HTMLElement, View>} */
const instances = new WeakMap()
const PLOTLY = new URL("plotly.min.js", import.meta.url).href
const SMALL = new URL("plotly-cartesian.min.js", import.meta.url).href // a third of it, which a saved page carries
const CARTESIAN = ["bar", "contour", "heatmap", "pie", "scatter"] // types of traces of ours that it draws
const CONFIG = { displayModeBar: false, scrollZoom: false, showTips: false, doubleClick: "reset" }

/** @type {Promise<PlotlyLibrary> | undefined} */
let library
// Runs plotly when the first figure needs it. For up to a second nothing else is drawn meanwhile, so what the page begins
// with comes before it, where that is no figure.
const plotly = () => (library ??= (async () => {
  const first = document.getElementById("tf-first"), drawn = first?.dataset.drawn || ""
  while (first?.isConnected && !drawn.startsWith(".tf-picture") && !document.querySelector(drawn)) await new Promise(requestAnimationFrame)
  const script = html("script", "")
  script.src = PLOTLY
  document.head.append(script)
  await new Promise((done, failed) => {
    script.onload = done
    script.onerror = () => failed(new Error("plotly.min.js did not load"))
  })
  return window.Plotly
})())

/**
 * The figure that was drawn before the page was there, until the page takes it.
 * @type {{ hash: number, stamp: string, plot: Promise<PlotlyElement | null> } | null}
 */
let ahead = null

// Called by first_picture.js: draws a figure into a box while Streamlit is still starting.
/** @param {HTMLElement} box @param {Uint8Array} bytes of the component @param {"light" | "dark"} theme */
export async function begin(box, bytes, theme) {
  const size = bytes.indexOf(10), text = new TextDecoder()
  /** @type {FigureHead} */
  const head = JSON.parse(text.decode(bytes.subarray(0, size)))
  const { paper, ink, grid, accent } = themes[theme].roles
  const named = { "background-color": paper, "text-color": ink, "border-color": grid, "primary-color": accent }
  for (const [name, colour] of Object.entries(named)) box.style.setProperty(`--st-${name}`, colour)
  const colours = palette(box), width = Math.max(box.clientWidth, head.minWidth)
  const drawing = async () => {
    const Plotly = await plotly()
    if (!box.isConnected) return null
    const plot = /** @type {PlotlyElement} */ (/** @type {HTMLElement} */ (html("div", "tf-plot", box)))
    await react(Plotly, plot, text.decode(bytes.subarray(size + 1, size + 1 + head.size)), head.height, width, colours)
    return plot
  }
  ahead = { hash: head.hash, stamp: stampOf(head, head.height, width, colours), plot: drawing().catch(() => null) }
  return Boolean(await ahead.plot)
}

/** @param {FigureHead} head @param {number} high @param {number} width @param {Palette} colours */
const stampOf = (head, high, width, colours) => [head.hash, high, width, colours.stamp].join()

/**
 * @param {PlotlyLibrary} Plotly @param {PlotlyElement} plot @param {string} spec @param {number} high
 * @param {number} width @param {Palette} colours
 */
async function react(Plotly, plot, spec, high, width, colours) {
  const { data, layout } = coloured(JSON.parse(spec), colours)
  Object.assign(layout, { width, height: high, autosize: false })
  if (matchMedia("(pointer: coarse)").matches) layout.dragmode = false // a finger scrolls the page
  // Plotly takes the element of an empty label away, and draws a label only where there is one.
  for (const label of plot.querySelectorAll(".textpoint:empty")) svg("text", {}, label)
  await Plotly.react(plot, data, layout, CONFIG)
}

// Called by Streamlit after every change of the data or of the theme; the same element is drawn into again.
/** @param {Component<Uint8Array<ArrayBuffer>>} component @param {FigureHead} head @param {number} start */
export function render({ parentElement, data, setTriggerValue }, head, start) {
  const view = instances.get(parentElement) || create(parentElement)
  const text = new TextDecoder()
  view.head = head
  view.send = setTriggerValue
  view.spec = text.decode(data.subarray(start, start + head.size))
  view.frame.setAttribute("aria-label", head.alt)
  view.picture.setAttribute("aria-label", head.alt)
  stretch(view)
  view.picture.style.minWidth = head.minWidth ? head.minWidth + "px" : ""
  view.caption.textContent = head.caption
  view.buttons.CSV.hidden = !head.csv
  view.buttons.Embed.hidden = head.alone
  view.buttons["Whole page"].hidden = !head.alone
  if (head.file) save(new Blob([data.subarray(start + head.size)], { type: "text/csv" }), head.name + ".csv")
  draw(view)
  return () => destroy(parentElement)
}

// How high the picture is.
/** @param {View} view */
const drawnHigh = view => view.high || view.head.height

/** @param {View} view */
const stretch = view => void (view.picture.style.height = view.scroll.style.minHeight = drawnHigh(view) + "px")

/** Draw a figure as high as this, in pixels, or as its page says (0). @param {HTMLElement} frame @param {number} high */
export function fit(frame, high) {
  const view = frame.parentElement && instances.get(frame.parentElement)
  if (!view || high === (view.high ?? 0)) return
  view.high = high
  stretch(view)
  draw(view)
}

/** @param {HTMLElement} parent */
function create(parent) {
  const frame = html("figure", "tf-figure", parent)
  const scroll = html("div", "tf-scroll", frame)
  const picture = html("div", "tf-picture", scroll)
  picture.setAttribute("role", "img")
  const foot = html("div", "tf-foot", frame)
  const caption = html("figcaption", "", foot)
  const view = /** @type {View} */ (/** @type {Partial<View>} */ ({
    frame, scroll, picture, caption, drawn: "", busy: false, again: false,
  }))
  view.taken = () => taken(view)
  view.live = () => live(view)
  Object.assign(view, menu(foot, saves(view)))
  keep(view)
  view.row = cursor()
  view.column = cursor()
  view.observer = new ResizeObserver(() => requestAnimationFrame(() => draw(view)))
  view.observer.observe(scroll)
  instances.set(parent, view)
  return view
}

/** @param {HTMLElement} parent */
function destroy(parent) {
  const view = instances.get(parent)
  if (!view) return
  instances.delete(parent)
  view.gone = true
  drop(view)
  view.observer.disconnect()
  clearTimeout(view.resting)
  if (view.plot && window.Plotly) window.Plotly.purge(view.plot)
  view.frame.remove()
}

function cursor() {
  const made = html("div", "tf-cursor")
  made.hidden = true
  return made
}

// One drawing at a time; what arrives meanwhile is drawn afterwards, the latest only.
/** @param {View} view */
async function draw(view) {
  if (view.busy) return void (view.again = true)
  view.busy = true
  try {
    const Plotly = await plotly()
    do {
      view.again = false
      await paint(Plotly, view)
    } while (view.again && !view.gone)
    if (view.plot) void pinnable(view)
  } catch (problem) {
    if (!view.plot) view.picture.textContent = `The picture could not be drawn (${problem instanceof Error ? problem.message : problem}). Reload the page.`
  } finally {
    view.busy = false
  }
}

/** @param {PlotlyLibrary} Plotly @param {View} view */
async function paint(Plotly, view) {
  const width = Math.max(view.scroll.clientWidth, view.head.minWidth)
  if (!view.scroll.clientWidth || view.gone) return // hidden in a tab: drawn when it gets a size
  reachable(view.scroll, width > view.scroll.clientWidth)
  const colours = palette(view.frame)
  const stamp = stampOf(view.head, drawnHigh(view), width, colours)
  if (stamp === view.drawn) return
  mark(view, null)
  const early = !view.plot && ahead?.hash === view.head.hash ? ahead : null
  if (early) ahead = null
  const there = early && (await early.plot)
  const plot = view.plot ?? there ?? /** @type {PlotlyElement} */ (/** @type {HTMLElement} */ (html("div", "tf-plot")))
  if (!view.plot) view.picture.replaceChildren(plot)
  if (!there || early?.stamp !== stamp) await react(Plotly, plot, view.spec, drawnHigh(view), width, colours)
  if (view.gone) return Plotly.purge(plot)
  if (!view.plot) listen(Object.assign(view, { plot })) // a view has a plot once it is drawn, not where drawing failed
  plot.classList.toggle("tf-clickable", view.head.click)
  view.drawn = stamp
  legend(view, plot, width > view.scroll.clientWidth)
  bring(view)
}

// The legend of a picture wider than its place stands above it as lines of its own, so that none of it is out of sight.
/** @param {View} view @param {HTMLElement} plot @param {boolean} wide */
function legend({ frame, scroll }, plot, wide) {
  frame.querySelector(".tf-legend")?.remove()
  const own = /** @type {SVGElement | null} */ (plot.querySelector(".legend"))
  if (!own) return
  own.style.visibility = wide ? "hidden" : ""
  if (!wide) return
  const lines = html("div", "tf-legend")
  lines.setAttribute("aria-hidden", "true") // as Plotly's is, within a picture
  for (const item of own.querySelectorAll(".traces")) {
    const entry = html("span", "", lines), sign = item.querySelector(".layers")
    if (sign) svg("svg", { width: 30, height: 16, viewBox: "0 -10 40 20" }, entry).append(sign.cloneNode(true))
    entry.append(item.querySelector(".legendtext")?.textContent ?? "")
  }
  scroll.before(lines)
}

// Scrolls to the mark that the page names, where it has changed and is out of sight with the words beside it.
/** @param {View} view */
function bring({ scroll, head: { at } }) {
  const room = Math.min(120, scroll.clientWidth / 3)
  if (at === null || at === Number(scroll.dataset.at)) return
  scroll.dataset.at = String(at)
  if (at < scroll.scrollLeft || at + room > scroll.scrollLeft + scroll.clientWidth)
    scroll.scrollLeft = at - scroll.clientWidth / 2
}

// A picture wider than its place is scrolled with the arrow keys, too.
/** @param {HTMLElement} scroll @param {boolean} wide */
function reachable(scroll, wide) {
  const said = { tabindex: 0, role: "group", "aria-label": "Wider than the screen: the arrow keys move it" }
  for (const [name, value] of Object.entries(said)) wide ? scroll.setAttribute(name, String(value)) : scroll.removeAttribute(name)
}

// ---- events ----

/** @param {Drawn} view */
function listen(view) {
  view.plot.querySelector(".hoverlayer")?.closest("svg")?.before(view.row, view.column) // under the hover text
  view.plot.on("plotly_click", event => view.head.click && view.send("click", point(event)))
  // While a picture is drawn anew, Plotly says of the box in it that nothing lies there.
  const select = (/** @type {PlotlyEvent | undefined} */ event) =>
    view.head.select && !view.busy && view.send("select", places(event))
  view.plot.on("plotly_selected", event => event && select(event)) // without one, a click that draws no box
  view.plot.on("plotly_deselect", () => select(undefined))
  view.plot.on("plotly_hover", event => {
    mark(view, view.head.cursor && event.points[0])
    clearTimeout(view.resting)
    if (view.head.hover) view.resting = setTimeout(() => report(view, point(event)), 120)
  })
  view.plot.on("plotly_unhover", () => {
    clearTimeout(view.resting)
    mark(view, null)
  })
}

/** @param {View} view @param {object} found */
function report(view, found) {
  const text = JSON.stringify(found)
  if (text !== view.reported) view.send("hover", found)
  view.reported = text
}

/** @param {PlotlyEvent} event */
function point(event) {
  const { curveNumber, pointNumber, pointIndex, x, y, customdata } = event.points[0]
  return { curve: curveNumber, point: pointNumber ?? pointIndex, x, y, customdata: customdata ?? null }
}

/** The customdata of all marks within a box or a lasso. @param {PlotlyEvent | undefined} event */
function places(event) {
  return (event?.points ?? []).map(({ customdata }) => customdata ?? null)
}

// Two bands over the plot, row and column of the cell under the pointer: no redraw, so it keeps up with the pointer.
/** @param {View} view @param {PlotlyPoint | null | false} at */
function mark(view, at) {
  view.row.hidden = view.column.hidden = !at
  if (!at) return
  const { xaxis, yaxis } = at
  /** @param {PlotlyAxis} axis @param {unknown} value */
  const band = (axis, value) => {
    const middle = axis.d2p(value), half = Math.abs(axis.c2p(axis.d2c(value) + 0.5) - middle)
    return [axis._offset + Math.max(middle - half, 0), Math.min(middle + half, axis._length) - Math.max(middle - half, 0)]
  }
  const [left, width] = band(xaxis, at.x), [top, height] = band(yaxis, at.y)
  place(view.column, left, yaxis._offset, width, yaxis._length)
  place(view.row, xaxis._offset, top, xaxis._length, height)
}

/** @param {HTMLElement} box @param {number} left @param {number} top @param {number} width @param {number} height */
function place(box, left, top, width, height) {
  Object.assign(box.style, { left: left + "px", top: top + "px", width: width + "px", height: height + "px" })
}

// ---- saving ----

/** @param {View} view @returns {Record<string, () => void>} */
function saves(view) {
  /** @param {() => void} action */
  const drawn = action => () => view.plot && action()
  const { PNG, SVG } = files(view, () => view.head.name)
  return {
    PNG: drawn(PNG), SVG: drawn(SVG), HTML: drawn(() => void take(view, said => savePage(view, said))),
    CSV: drawn(() => view.send("download", "csv")), ...embeds(view),
  }
}

// The picture as it is now.
/** @param {View} view */
async function taken({ plot }) {
  if (!plot) return null
  const { width, height } = plot.getBoundingClientRect()
  return parsed(await (await plotly()).toImage(plot, { format: "svg", width, height }))
}

/** What plotly draws, in the colours that it has now. @param {View} view */
const live = view => coloured(JSON.parse(view.spec), palette(view.frame))

/** The script that draws traces of these types, to stand in a page. @param {string[]} types */
export async function plotlyCode(types) {
  const small = types.every(type => CARTESIAN.includes(type))
  return (await (await fetch(small ? SMALL : PLOTLY)).text()).replaceAll("</script", "<\\/script")
}

// A page of its own that needs no network: plotly, the figure in the colours it has now, the words around it.
/** @param {View} view @param {Words} said */
async function savePage(view, said) {
  const spec = live(view), code = await plotlyCode(spec.data.map((/** @type {{ type?: string }} */ trace) => trace.type ?? "scatter"))
  const json = JSON.stringify(spec).replaceAll("<", "\\u003c")
  const body = pageFigure(said, `<div id="figure" role="img" aria-label="${safe(said.alt)}"></div>`) +
    `\n<script>${code}</script><script>const f=${json};Plotly.newPlot("figure",f.data,f.layout,{responsive:true,displaylogo:false})</script>`
  save(new Blob([page(said.title || said.alt, body, said.address, palette(view.frame).roles)], { type: "text/html" }), view.head.name + ".html")
}
