// The shelf as something to take along or to send: a file, a link, a page with live figures, a notebook.
import { palette } from "./colours.js"
import { html, save } from "./dom.js"
import { plotlyCode } from "./figure.js"
import { page, pageFigure, safe } from "./saving.js"
import { sceneCode } from "./scene.js"
import { address, checked, LONGEST, MOST, parts as partsOf } from "./shelf.js"

const NAME = "shelf" // of the route, and of a file whose shelf has no title
const FILE = 2_000_000 // bytes of a file that is opened
const PACKED = 3000 // signs of a lesson in an address, of which stops on other pages carry it, too
const LINK = 8000 // signs of an address: browsers, chats and proxies cut longer ones
const PATIENCE = 60_000 // ms for a view to be drawn
const AFTER = 4000 // ms for its figure, once its page is complete, and for a scene to come to rest
const STILL = 4 // looks at which a scene is the same when it rests
const LOOK = 150 // ms between two looks
const WIDE = 1000, HIGH = 900 // pixels of the window in which it is drawn

/** @typedef {{ title: string, items: Pinned[] }} Whole */
/** @typedef {(sentence: string, acts?: [string, () => void][], lasting?: number) => void} Say */
/** @typedef {{ title: string, items: Pinned[], left: number }} Came what a file says, and how much of it is no view */

// ---- what comes from outside ----

/** What a text says, or a sentence that says why it says nothing. @param {string} text @returns {Came | string} */
export function understood(text) {
  /** @type {any} */
  let said
  try {
    said = JSON.parse(text)
  } catch {
    return "This is no shelf and no lesson: it is not JSON, as Save as: File writes it."
  }
  const stops = said?.stops
  if (!Array.isArray(stops)) return "This is no shelf and no lesson: it has no list of stops, as Save as: File writes it."
  const items = stops.slice(0, MOST).map(itemOf).filter(one => one !== null)
  if (!items.length) return "No view could be read in this file: each stop needs an address, such as heads?layer=2."
  const title = typeof said.title === "string" ? said.title.slice(0, LONGEST.all) : ""
  return { title, items, left: stops.length - items.length }
}

/** A stop of a lesson (pages/lessons/from_file.py) as an item. @param {any} stop */
function itemOf(stop) {
  const { address: said, figure = "", title = "", ...rest } = stop ?? {}
  if (typeof said !== "string" || said.length > LONGEST.query + LONGEST.page) return null
  try {
    const where = partsOf(new URL(said, location.origin).toString())
    return checked({ ...rest, ...where, figure, title: title || figure || where.page || "A view" })
  } catch {
    return null // no address
  }
}

/** @param {Blob} file */
export async function read(file) {
  if (file.size > FILE) return `This file has ${(file.size / 1e6).toFixed(1)} MB, and a shelf has ${FILE / 1e6} MB at most.`
  return understood(await file.text())
}

// ---- what goes out ----

/** A lesson, in which each stop says what the shelf knows of it besides. @param {Whole} whole */
const json = ({ title, items }) => JSON.stringify({ title, stops: items.map(stopOf) }, null, 1)

/** @param {Pinned} item */
const stopOf = ({ page: key, query, note, figure, title, from, caption, computed, call }) =>
  ({ address: `${key}?${query}`, note, figure, title, from, caption, computed, call })

/** @param {string} title */
const nameOf = title => title.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "").slice(0, 60) || NAME

/** @param {Whole} whole @param {Say} say */
export function saveFile(whole, say) {
  save(new Blob([json(whole)], { type: "application/json" }), `${nameOf(whole.title)}.json`)
  say("Saved. Open a file reads it again, and the page Lessons shows it, on this server or on another.")
}

/** What a lesson needs, and no more: of a view without a note its title. @param {Whole} whole */
export const lessonOf = ({ title, items }) =>
  JSON.stringify({ title, stops: items.map(one => ({ address: `${one.page}?${one.query}`, note: one.note || one.title, figure: one.figure })) })

/** A lesson as an address carries it (lesson_card.py). @param {string} lesson */
async function packed(lesson) {
  const stream = new Blob([lesson]).stream().pipeThrough(new CompressionStream("deflate"))
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer())
  return btoa(Array.from(bytes, one => String.fromCharCode(one)).join("")).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
}

/** @param {Whole} whole @param {Say} say @param {HTMLElement} place for the address, where the browser does not copy */
export async function copyLink(whole, say, place) {
  const text = await packed(lessonOf(whole)), url = new URL(address(whole.items[0]))
  for (const [name, value] of [["lesson", "own"], ["stop", "1"], ["lesson_z", text]]) url.searchParams.set(name, value)
  if (text.length > PACKED || url.href.length > LINK) return say("This shelf is too long for a link: save it as a file, or remove views.")
  const done = `Copied: a link that shows ${whole.items.length === 1 ? "this view" : `these ${whole.items.length} views`} as a lesson, with your notes.`
  try {
    await navigator.clipboard.writeText(url.href)
    say(done)
  } catch {
    const field = html("input", "", place)
    Object.assign(field, { readOnly: true, value: url.href })
    field.setAttribute("aria-label", "Link to the lesson")
    field.onblur = () => field.remove()
    field.focus()
    field.select()
    say(document.execCommand("copy") ? done : "Press Ctrl+C to copy the link.")
  }
}

/** @param {Whole} whole @param {Say} say */
export async function saveNotebook(whole, say) {
  say("The notebook is being written.")
  const called = whole.items.filter(one => one.call)
  if (!called.length) return say("None of these views says how it was made, so there is no notebook of them: open and pin them again.")
  const body = JSON.stringify({ title: whole.title, stops: called.map(one => ({ ...one, address: address(one) })) })
  const answer = await fetch(new URL(`./${NAME}/notebook`, location.href), { method: "POST", body }).catch(() => null)
  if (!answer) return say("The server did not answer: try again.")
  if (!answer.ok) return say(await answer.text())
  save(await answer.blob(), `${nameOf(whole.title)}.ipynb`)
  const without = whole.items.length - called.length
  say(`Saved: a notebook that makes ${called.length === 1 ? "this view" : `these ${called.length} views`} again.${without ? ` ${without} without a program ${without === 1 ? "is" : "are"} left out.` : ""}`)
}

// ---- one page with all figures ----

/**
 * A page of its own with every view as it is now: each address is opened in a window of this app, one after the other,
 * and its figure taken from there.
 * @param {Whole} whole @param {HTMLElement} parent of the windows @param {Say} say
 */
export async function savePage(whole, parent, say) {
  const parts = /** @type {string[]} */ ([]), missing = /** @type {string[]} */ ([]), types = /** @type {Set<string>} */ (new Set())
  const scenes = /** @type {Set<string>} */ (new Set())
  let stopped = false, count = 0
  for (const item of whole.items) {
    count += 1
    say(`Drawing ${count} of ${whole.items.length}: ${item.title}`, [["Stop", () => (stopped = true)]])
    const piece = await taken(item, parent, () => stopped)
    if (stopped) return say("Stopped; nothing was saved.")
    if (!piece) missing.push(item.title)
    parts.push(part(item, piece, count))
    if (piece?.scene) scenes.add(piece.scene.module)
    piece?.figure?.data.forEach((/** @type {{ type?: string }} */ trace) => types.add(trace.type ?? "scatter"))
  }
  const { roles } = palette(parent)
  const code = (types.size ? `<script>${await plotlyCode([...types])}</script>\n` : "") + (scenes.size ? scenesIn(roles) + (await sceneCode(scenes)) : "")
  const body = `<style>.note { color: inherit; font-size: 1em; white-space: pre-line } h2 { margin-bottom: 0.3em }</style>\n${code}${parts.join("\n")}`
  save(new Blob([page(whole.title, body, new URL("./", location.href).toString(), roles)], { type: "text/html" }), `${nameOf(whole.title)}.html`)
  say(missing.length ? `Saved without ${missing.length} of ${whole.items.length} pictures, which are not drawn at their address: ${missing.join("; ")}.` : `Saved: a page with ${count === 1 ? "this figure" : `these ${count} figures`}, which needs no network.`)
}

/** The colours that scenes take, which are CSS variables (tfcore/charts/scenes). @param {Record<string, string>} roles */
function scenesIn(roles) {
  const { ink, paper, grid, accent } = roles
  const house = {
    "text-color": ink, "background-color": paper, "secondary-background-color": grid, "border-color": grid, "primary-color": accent,
    font: "system-ui, sans-serif", "code-font": "monospace", "base-radius": "0.5rem", "button-radius": "0.5rem",
  }
  const said = [...Object.entries(roles).map(([role, colour]) => `--role-${role}: ${colour}`), ...Object.entries(house).map(([name, value]) => `--st-${name}: ${value}`)]
  return `<style>.scene { ${said.join("; ")} }</style>\n`
}

/** @param {Pinned} item @param {Piece | null} piece @param {number} number */
function part(item, piece, number) {
  const where = address(item), id = `figure-${number}`
  const note = item.note ? `<p class="note" dir="auto">${safe(item.note)}</p>` : ""
  const linked = `<p><a href="${safe(where)}">${safe(where)}</a></p>`
  if (!piece) return `<h2 dir="auto">${safe(item.title)}</h2>${note}<p dir="auto">${safe(item.caption)} (This picture is not drawn at its address.)</p>${linked}`
  const { said, figure, image, scene } = piece, label = `aria-label="${safe(said.alt)}"`
  /** @param {unknown} data */
  const literal = data => JSON.stringify(data).replaceAll("<", "\\u003c")
  let picture = image, drawn = ""
  if (figure) {
    picture = `<div id="${id}" role="img" ${label}></div>`
    drawn = `<script>{const f=${literal(figure)};Plotly.newPlot("${id}",f.data,f.layout,{responsive:true,displaylogo:false})}</script>`
  } else if (scene) { // its picture stands there until it is drawn
    picture = `<div id="${id}" class="scene" role="group" ${label} style="min-height: ${scene.height}px">${image}</div>`
    drawn = `<script>import(tfScenes["${scene.module}.js"]).then(one => {
  const place = document.getElementById("${id}")
  place.replaceChildren()
  one.draw(place, ${literal(scene.data)})
})</script>`
  }
  return `<h2 dir="auto">${safe(said.title)}</h2>${note}${pageFigure(said, picture ?? "")}${drawn}${linked}`
}

/** @param {Pinned} item @param {HTMLElement} parent @param {() => boolean} stopped @returns {Promise<Piece | null>} */
async function taken(item, parent, stopped) {
  const frame = html("iframe", "tf-drawing", parent), url = new URL(address(item))
  url.searchParams.set("embed", "true")
  if (item.figure) url.searchParams.set("figure", item.figure)
  Object.assign(frame, { src: url.toString(), width: WIDE, height: HIGH, tabIndex: -1, title: "A view that is being drawn" })
  frame.setAttribute("aria-hidden", "true")
  try {
    let complete = 0, same = 0, seen = ""
    for (const end = performance.now() + PATIENCE; performance.now() < end && !stopped();) {
      await new Promise(resolve => setTimeout(resolve, LOOK))
      const piece = await asked(frame, item.figure)
      if (piece?.figure) return piece
      same = piece?.image && piece.image === seen ? same + 1 : 0
      seen = piece?.image ?? ""
      if (piece && (same >= STILL || complete && performance.now() > complete + AFTER)) return piece
      if (!frame.contentDocument?.documentElement?.dataset.viewTold) continue // set at the end of a run
      complete ||= performance.now()
      if (performance.now() > complete + AFTER) return null
    }
    return null
  } finally {
    frame.remove()
  }
}

/**
 * The figure in a window, where it is drawn already; saving.js answers there.
 * @param {HTMLIFrameElement} frame @param {string} key @returns {Promise<Piece | null>}
 */
async function asked(frame, key) {
  const there = /** @type {(Window & typeof globalThis) | null} */ (frame.contentWindow)
  /** @type {Promise<Piece | null> | null} */
  let piece = null
  const detail = { key, take: (/** @type {Promise<Piece | null>} */ one) => (piece = one) }
  try {
    there?.dispatchEvent(new there.CustomEvent("tf-piece", { detail }))
  } catch {} // in place of the page there is one of the browser's: the server is not reached
  return piece
}
