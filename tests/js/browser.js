// A page for the scripts of pages/: jsdom, and stand-ins for what it lacks. Import it before anything else.
import { readdirSync, readFileSync } from "node:fs"
import { register } from "node:module"
import { basename } from "node:path"
import { mock } from "node:test"
import { fileURLToPath } from "node:url"
import { JSDOM } from "jsdom"

const PAGES = new URL("../../pages/", import.meta.url), SCENES = new URL("../../tfcore/charts/scenes/", import.meta.url)
// Where they are served, all scripts stand in one folder.
const ELSEWHERE = JSON.stringify({
  ...Object.fromEntries(["theme.js", "entries.js"].map(name => [`./${name}`, new URL(name, import.meta.url).href])),
  ...Object.fromEntries(readdirSync(fileURLToPath(SCENES)).map(name => [`./${name}`, new URL(name, SCENES).href])),
})
const HOOK = `export const resolve = (name, context, next) => next(${ELSEWHERE}[name] ?? name, context)`
register("data:text/javascript," + encodeURIComponent(HOOK))

export const { window } = new JSDOM("<!doctype html>", { url: "https://app.test/heads?layer=1", pretendToBeVisual: true })
const { document } = window
globalThis.addEventListener = window.addEventListener.bind(window)
globalThis.removeEventListener = window.removeEventListener.bind(window)
globalThis.dispatchEvent = window.dispatchEvent.bind(window)
globalThis.requestAnimationFrame = window.requestAnimationFrame.bind(window)
const { CustomEvent, DOMParser, HTMLCanvasElement, Node, XMLSerializer } = window
Object.assign(globalThis, { window, document, location: window.location, CustomEvent, DOMParser, HTMLCanvasElement, Node, XMLSerializer })
Object.defineProperty(globalThis, "navigator", { value: window.navigator, configurable: true })

// ---- what jsdom lacks ----

// The colours that Streamlit gives to the page: name, as in "background-color" -> colour.
export const colours = {}
globalThis.getComputedStyle = () => ({ getPropertyValue: name => colours[name.replace("--st-", "")] ?? "" })
globalThis.matchMedia = () => ({ matches: false })
const watched = new Map() // element -> what is called when its size changes
globalThis.ResizeObserver = class {
  constructor(call) {
    this.call = call
  }
  observe(node) {
    watched.set(node, this.call)
  }
  disconnect() {}
}
window.Element.prototype.setPointerCapture = () => {}
for (const kind of ["pointerdown", "pointermove", "pointerup", "pointercancel", "lostpointercapture"]) {
  const handlers = new WeakMap()
  const set = function (handler) {
    if (!handlers.has(this)) this.addEventListener(kind, event => handlers.get(this)?.(event))
    handlers.set(this, handler)
  }
  Object.defineProperty(window.HTMLElement.prototype, "on" + kind, { set })
}
window.Element.prototype.scrollTo = () => {}
// Red, green and blue of a colour as #rrggbb or rgb(r,g,b), as a canvas that is filled with it has them.
export function pixel(colour) {
  const hex = /^#(..)(..)(..)$/.exec(colour)
  return { data: hex ? hex.slice(1).map(part => parseInt(part, 16)) : colour.match(/\d+/g).map(Number) }
}
window.HTMLCanvasElement.prototype.getContext = () => ({
  fillRect() {},
  drawImage() {},
  measureText: words => ({ width: 7 * words.length }),
  getImageData() {
    return pixel(this.fillStyle)
  },
})
// Styles and scripts are not fetched: they have come as soon as they are asked for.
document.head.append = node => queueMicrotask(() => node.onload?.())

// ---- for tests ----

// Where a file is, anywhere in pages/ or among the scenes.
function whereabouts(file) {
  for (const folder of [PAGES, SCENES]) {
    const found = readdirSync(fileURLToPath(folder), { recursive: true }).find(name => basename(name) === file)
    if (found) return new URL(found, folder)
  }
}

export const load = file => import(whereabouts(file).href)

// The element that Streamlit gives to a component, with the component's own markup in it, and what the component sends.
export function place(html = "") {
  const parentElement = document.createElement("div")
  document.body.append(parentElement)
  parentElement.innerHTML = html.endsWith(".html") ? readFileSync(whereabouts(html), "utf-8") : html
  const setTriggerValue = mock.fn()
  const sent = () => setTriggerValue.mock.calls.map(call => call.arguments)
  const find = selector => [...parentElement.querySelectorAll(selector)]
  const resize = () => find("*").forEach(node => watched.get(node)?.())
  return { parentElement, setTriggerValue, sent, find, resize }
}

export function press(node, key, more = {}) {
  return node.dispatchEvent(new window.KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }))
}

export function point(node, kind, x, y, more = {}) {
  const event = new window.MouseEvent(kind, { clientX: x, clientY: y, bubbles: true, cancelable: true, ...more })
  return node.dispatchEvent(Object.assign(event, { pointerId: 1, pointerType: more.touch ? "touch" : "mouse" }))
}

// jsdom has no layout: says where an element is.
export function at(node, left, top, width, height) {
  const box = { left, top, width, height, right: left + width, bottom: top + height }
  node.getBoundingClientRect = () => box
}

// Time that only passes when it is told to: the function given back lets so many milliseconds pass.
export function clock() {
  let now = 10_000, last = 0
  const waiting = new Map()
  Object.defineProperty(performance, "now", { value: () => now, configurable: true })
  globalThis.clearTimeout = id => waiting.delete(id)
  globalThis.setTimeout = (call, ms) => {
    waiting.set(++last, { call, due: now + ms })
    return last
  }
  return ms => {
    const end = now + ms
    const next = () => [...waiting].filter(([, { due }]) => due <= end).sort((a, b) => a[1].due - b[1].due)[0]
    for (let one = next(); one; one = next()) {
      const [id, { call, due }] = one
      waiting.delete(id)
      now = due
      call()
    }
    now = end
  }
}
