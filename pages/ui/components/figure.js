// The browser's half of figure.py: draws a figure with Plotly.react in the colours of the theme, reports clicks, saves files.
import { coloured, palette } from "./colours.js"
import { html, save, svg } from "./dom.js"
import { styled } from "./styles.js"
import themes from "./theme.js"

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
 */
/** @typedef {View & { plot: PlotlyElement }} Drawn a view whose picture is there */
/** @typedef {{ frame: HTMLElement, note: HTMLElement, noted?: number, head: FrameHead }} Framed what can be embedded */

/** @type {WeakMap<HTMLElement, View>} */
const instances = new WeakMap()
const PLOTLY = new URL("plotly.min.js", import.meta.url).href
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
await styled("figure.css")

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
    await react(Plotly, plot, text.decode(bytes.subarray(size + 1, size + 1 + head.size)), head, width, colours)
    return plot
  }
  ahead = { hash: head.hash, stamp: stampOf(head, width, colours), plot: drawing().catch(() => null) }
  return Boolean(await ahead.plot)
}

/** @param {FigureHead} head @param {number} width @param {Palette} colours */
const stampOf = (head, width, colours) => [head.hash, head.height, width, colours.stamp].join()

/**
 * @param {PlotlyLibrary} Plotly @param {PlotlyElement} plot @param {string} spec @param {FigureHead} head
 * @param {number} width @param {Palette} colours
 */
async function react(Plotly, plot, spec, head, width, colours) {
  const { data, layout } = coloured(JSON.parse(spec), colours)
  Object.assign(layout, { width, height: head.height, autosize: false })
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
  view.picture.style.height = view.scroll.style.minHeight = head.height + "px"
  view.picture.style.minWidth = head.minWidth ? head.minWidth + "px" : ""
  view.caption.textContent = head.caption
  view.buttons.CSV.hidden = !head.csv
  view.buttons.Embed.hidden = head.alone
  view.buttons["Whole page"].hidden = !head.alone
  if (head.file) save(new Blob([data.subarray(start + head.size)], { type: "text/csv" }), head.name + ".csv")
  draw(view)
  return () => destroy(parentElement)
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
  Object.assign(view, menu(foot, files(view)))
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
  const stamp = stampOf(view.head, width, colours)
  if (stamp === view.drawn) return
  mark(view, null)
  const taken = !view.plot && ahead?.hash === view.head.hash ? ahead : null
  if (taken) ahead = null
  const there = taken && (await taken.plot)
  const plot = view.plot ?? there ?? /** @type {PlotlyElement} */ (/** @type {HTMLElement} */ (html("div", "tf-plot")))
  if (!view.plot) view.picture.replaceChildren(plot)
  if (!there || taken?.stamp !== stamp) await react(Plotly, plot, view.spec, view.head, width, colours)
  if (view.gone) return Plotly.purge(plot)
  if (!view.plot) listen(Object.assign(view, { plot })) // a view has a plot once it is drawn, not where drawing failed
  plot.classList.toggle("tf-clickable", view.head.click)
  view.drawn = stamp
  bring(view)
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

// ---- saving and embedding ----

// A menu of what can be saved, and a place for what is said of it.
/** @param {HTMLElement} foot @param {Record<string, () => void>} kinds name -> what saves it */
export function menu(foot, kinds) {
  const details = html("details", "tf-save", foot)
  const summary = html("summary", "", details)
  summary.textContent = "Save"
  const list = html("div", "", details)
  const note = html("div", "tf-note", foot)
  note.setAttribute("role", "status")
  /** @type {Record<string, HTMLButtonElement>} */
  const buttons = {}
  for (const [kind, action] of Object.entries(kinds)) {
    const button = (buttons[kind] = html("button", "", list))
    button.type = "button"
    button.textContent = kind
    button.onclick = () => {
      details.open = false
      action()
    }
  }
  details.addEventListener("focusout", event => details.contains(/** @type {Node | null} */ (event.relatedTarget)) || (details.open = false))
  details.addEventListener("keydown", event => {
    if (event.key !== "Escape" || !details.open) return
    details.open = false
    summary.focus()
  })
  return { note, buttons }
}

/** @param {View} view @returns {Record<string, () => void>} */
function files(view) {
  /** @param {(view: Drawn) => void} action */
  const drawn = action => () => view.plot && action(/** @type {Drawn} */ (view))
  return {
    PNG: drawn(one => void savePicture(one, "png")), SVG: drawn(one => void savePicture(one, "svg")),
    HTML: drawn(savePage), CSV: drawn(() => view.send("download", "csv")), ...embeds(view),
  }
}

// What shows this picture alone in a frame of another page, and the view it is from.
/** @param {Framed} view */
export const embeds = view => ({ Embed: () => void embed(view), "Whole page": () => void window.open(address(view, false), "_blank", "noopener") })

// The address of this figure alone in a frame, or of the view it is from.
/** @param {Framed} view @param {boolean} framed */
function address(view, framed) {
  const url = new URL(location.href)
  url.hash = ""
  for (const name of ["embed", "embed_options", "figure", "tour"]) url.searchParams.delete(name)
  url.searchParams.set("v", view.head.v)
  if (framed) url.searchParams.set("embed", "true")
  if (framed) url.searchParams.set("figure", view.head.key)
  return url.toString()
}

/** @param {string} text */
const safe = text => text.replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`)

// Copies a frame that shows this figure, live, in another page; where the browser refuses, shows it ready for Ctrl+C.
/** @param {Framed} view */
async function embed(view) {
  const high = Math.ceil(view.frame.getBoundingClientRect().height) + 24
  const code = `<iframe src="${safe(address(view, true))}" title="${safe(view.head.alt)}" width="100%" height="${high}" style="border:0" loading="lazy"></iframe>`
  const where = view.head.open ? "" : " For now only pages of this server may show it; its setting TFCORE_EMBED lets others in."
  let said = "Copied: paste it into the HTML of your page." + where
  view.note.replaceChildren()
  try {
    await navigator.clipboard.writeText(code)
  } catch {
    const field = html("textarea", "", view.note)
    Object.assign(field, { readOnly: true, value: code, rows: 3 })
    field.setAttribute("aria-label", "The frame, as HTML")
    field.onblur = () => view.note.replaceChildren()
    field.select()
    said = "Press Ctrl+C, then paste it into the HTML of your page." + where
    if (document.execCommand("copy")) said = "Copied: paste it into the HTML of your page." + where
  }
  html("span", "", view.note).textContent = said
  clearTimeout(view.noted)
  if (!view.note.querySelector("textarea")) view.noted = setTimeout(() => view.note.replaceChildren(), 8000)
}

/** @param {Drawn} view @param {string} format */
async function savePicture(view, format) {
  const { width, height } = view.plot.getBoundingClientRect()
  const url = await (await plotly()).toImage(view.plot, { format, width, height, scale: format === "png" ? 3 : 1 })
  save(await blob(url), `${view.head.name}.${format}`)
}

// toImage answers with a data address, which our content policy does not let fetch() read.
/** @param {string} url */
async function blob(url) {
  const [kind, body] = url.split(/,(.*)/s)
  const text = kind.includes(";base64") ? atob(body) : null
  const bytes = text === null ? new TextEncoder().encode(decodeURIComponent(body)) : Uint8Array.from(text, c => c.charCodeAt(0))
  return new Blob([bytes], { type: kind.slice(5).split(/[;,]/)[0] })
}

// A page of its own that needs no network: plotly, the figure in the colours it has now, the words under it.
/** @param {View} view */
async function savePage(view) {
  const code = (await (await fetch(PLOTLY)).text()).replaceAll("</script", "<\\/script")
  const spec = coloured(JSON.parse(view.spec), palette(view.frame))
  const { paper, ink } = palette(view.frame).roles
  const json = JSON.stringify(spec).replaceAll("<", "\\u003c")
  save(new Blob([`<!doctype html><meta charset="utf-8"><title>${safe(view.head.alt)}</title>
<body style="margin:2em;background:${paper};color:${ink};font-family:system-ui,sans-serif">
<figure style="margin:0"><div id="figure" role="img" aria-label="${safe(view.head.alt)}"></div><figcaption>${safe(view.head.caption)}</figcaption></figure>
<script>${code}</script><script>const f=${json};Plotly.newPlot("figure",f.data,f.layout,{responsive:true,displaylogo:false})</script>`],
    { type: "text/html" }), view.head.name + ".html")
}
