// A page as it is shown to a room: its title, one figure as large as the window lets it be, what to see, and nothing else.
//
// Nothing of the page is moved or drawn anew: all of it is made invisible, the figure is placed over the window where it
// is, and the words are copied. So it is as live as on its page.
import { html } from "./dom.js"
import { fit } from "./figure.js"

const OFTEN = 250 // ms between two looks at the page, which may be another at any time
const LARGEST = 1.7, SMALLEST = { figure: 0.85, scene: 0.5 } // by how much a picture is scaled
const FIGURES = ".tf-figure, .tf-scene, .tf-bars"
const HIGH = 200 // pixels from which a picture is one to begin with
const LOW = 0.42 // height of a picture, as a share of its width, below which words stand under it
const NAME = "present" // in the address
const ON = "tf-present", STAGE = "tf-on-stage" // classes of the page, and of the figure

/** @typedef {{ root: HTMLElement, head: HTMLElement, sub: HTMLElement, room: HTMLElement, words: HTMLElement, black: HTMLElement }} Stage */
/** @typedef {{ natural: { width: number, height: number }, least: number, scale: number, stamp: string }} Placed */

export const state = { on: false, at: /** @type {number | null} */ (null) } // which of the figures
/** @type {HTMLElement | undefined} */
let shown
/** @type {Placed | undefined} */
let placed
/** @type {Node | undefined} */
let copied
let copiedText = ""

/** Whether a link asks for it. */
export const asked = () => new URLSearchParams(location.search).get(NAME) === "1"

// The address says it, so that a copied link opens it; Streamlit drops the name when another page is opened.
export function remember() {
  if (asked() === state.on) return
  const url = new URL(location.href)
  if (state.on) url.searchParams.set(NAME, "1")
  else url.searchParams.delete(NAME)
  history.replaceState(history.state, "", url)
}

/** @param {HTMLElement} parent @param {() => void} leave */
export function stage(parent, leave) {
  const root = html("section", "tf-stage", parent)
  root.setAttribute("aria-label", "Presentation")
  const top = html("header", "", root)
  const head = html("h2", "", top), sub = html("p", "", top)
  const close = html("button", "", top, "Esc")
  close.type = "button"
  close.setAttribute("aria-label", "Leave the presentation")
  close.onclick = leave
  const room = html("div", "tf-room", root), words = html("div", "tf-words", root)
  const black = html("div", "tf-black", parent)
  black.setAttribute("popover", "manual")
  return { root, head, sub, room, words, black }
}

/** The figures of the page that are in sight, in their order. */
export function figures() {
  const all = /** @type {HTMLElement[]} */ ([...document.querySelectorAll(FIGURES)])
  return all.filter(one => one.getClientRects().length && one.offsetHeight > 0 && !one.parentElement?.closest(FIGURES))
}

/** The place of the figure to begin with: what a lesson rings; what has no caption is a part of something, as a map to choose from. @param {HTMLElement[]} all */
function first(all) {
  const target = /** @type {HTMLElement | null} */ (document.querySelector(".tf-lesson-ring"))?.dataset.target
  const ringed = target ? [...document.querySelectorAll(target)] : []
  const at = all.findIndex(one => ringed.some(other => other.contains(one) || one.contains(other)))
  return at >= 0 ? at : Math.max(0, all.findIndex(one => one.offsetHeight >= HIGH && one.querySelector("figcaption")?.textContent))
}

/** Another figure of the page; whether there is one. @param {number} by */
export function another(by) {
  const all = figures(), at = (state.at ?? first(all)) + by
  if (at < 0 || at >= all.length) return false
  state.at = at
  return true
}

/** Begin or end. @param {boolean} on */
export function set(on) {
  state.on = on
  state.at = null
  document.documentElement.classList.toggle(ON, on)
  if (!on) release()
  remember()
}

function release() {
  if (shown) {
    shown.classList.remove(STAGE)
    for (const name of ["left", "top", "width", "height", "transform"]) shown.style.removeProperty(name)
    fit(shown, 0)
  }
  shown = placed = copied = undefined
  copiedText = ""
}

/** @param {Stage} on @param {string} see what the words begin with @param {string} sub */
export function look(on, see, sub) {
  if (!state.on) return
  const paper = getComputedStyle(on.root).getPropertyValue("--st-background-color")
  document.documentElement.style.setProperty("--tf-paper", paper)
  text(on.head, document.querySelector("h1")?.textContent ?? document.title)
  text(on.sub, sub)
  const all = figures(), found = all[Math.min(state.at ?? first(all), all.length - 1)]
  if (found !== shown) {
    release()
    shown = found
    if (shown) placed = { natural: { width: shown.offsetWidth, height: shown.offsetHeight }, least: least(shown), scale: 0, stamp: "" }
    shown?.classList.add(STAGE)
  }
  say(on.words, see)
  on.root.classList.toggle("tf-under", !shown || !placed || placed.natural.height < LOW * placed.natural.width)
  on.root.classList.toggle("tf-alone", !on.words.textContent)
  on.root.classList.toggle("tf-bare", !shown)
  if (shown && placed) put(shown, placed, on.room.getBoundingClientRect())
}

// The width below which a figure would have to be scrolled sideways.
/** @param {HTMLElement} figure */
const least = figure => Math.max(1, ...[...figure.querySelectorAll("div")].filter(one => one.scrollWidth > one.clientWidth).map(one => one.scrollWidth))

/** @param {HTMLElement} node @param {string} words */
const text = (node, words) => node.textContent === words || (node.textContent = words)

// The figure fills its room: drawn as high as it is there, and scaled, within bounds, so that its letters can be read.
/** @param {HTMLElement} figure @param {Placed} now @param {DOMRect} room */
function put(figure, now, room) {
  const drawn = figure.classList.contains("tf-figure"), stamp = [room.width, room.height].join()
  const high = drawn || !now.scale || stamp !== now.stamp ? now.natural.height : figure.scrollHeight
  const smallest = drawn ? SMALLEST.figure : SMALLEST.scene
  const scale = Math.max(smallest, Math.min(LARGEST, room.height / high, room.width / now.least))
  // A scene that has become higher, as another width may do, gets smaller, and never larger again by itself.
  now.scale = stamp === now.stamp && now.scale ? Math.min(now.scale, scale) : scale
  now.stamp = stamp
  const width = room.width / now.scale, height = room.height / now.scale
  Object.assign(figure.style, { left: `${room.left}px`, top: `${room.top}px`, width: `${width}px`, transform: `scale(${now.scale})` })
  if (drawn) fit(figure, Math.floor(height - (figure.querySelector(".tf-foot")?.clientHeight ?? 0)))
  else figure.style.height = `${height}px`
}

// What to see, copied: of several, what follows the figure; in a lesson, what its card says.
/** @param {HTMLElement} place @param {string} see */
function say(place, see) {
  const all = [...document.querySelectorAll("p")].filter(one => one.textContent?.startsWith(see) && one.getClientRects().length)
  const after = all.find(one => shown && shown.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_FOLLOWING)
  const lesson = document.querySelector(".st-key-lesson_words") ?? undefined
  const found = lesson ?? (after ?? all[0])?.parentElement ?? undefined
  const words = found?.textContent ?? ""
  if (words === copiedText && (found === copied || place.childNodes.length)) return
  copied = found
  copiedText = words
  const copy = /** @type {HTMLElement | undefined} */ (found?.cloneNode(true))
  if (!lesson) copy?.querySelector("p")?.firstElementChild?.remove() // the words that all of them begin with
  place.replaceChildren(...(copy ? copy.childNodes : []))
  place.dataset.long = String(words.length > 700 ? 3 : words.length > 420 ? 2 : 1)
}

export { OFTEN }
