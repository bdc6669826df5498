// A model drawn as boxes from its text to its prediction, by the browser's own layout. Each box that there is a page
// about is a link, where somebody is told of clicks.
import { html, svg } from "./dom.js"

/**
 * @typedef {object} View
 * @property {HTMLElement} root
 * @property {{ gives?: HTMLElement, takes?: HTMLElement }} ends of the arrow from stack to stack
 * @property {ResizeObserver} observer
 * @property {Send} [tell]
 */
/** @type {WeakMap<HTMLElement, View>} */
const views = new WeakMap()

/** @param {HTMLElement} element @param {PartsMapData} data @param {Send} [tell] */
export function draw(element, data, tell) {
  const view = views.get(element) || create(element)
  view.tell = tell
  fill(view, data)
  join(view)
  return () => {
    views.delete(element)
    view.observer.disconnect()
    view.root.remove()
  }
}

/** @param {HTMLElement} parent */
function create(parent) {
  const root = html("nav", "tf-parts", parent)
  const view = /** @type {View} */ (/** @type {Partial<View>} */ ({ root, ends: {} }))
  view.observer = new ResizeObserver(() => join(view))
  view.observer.observe(root)
  views.set(parent, view)
  return view
}

/** @param {View} view @param {PartsMapData} data */
function fill(view, { stacks, label, urls }) {
  view.root.setAttribute("aria-label", label)
  view.root.replaceChildren()
  view.ends = {}
  let count = 0
  for (const { title, groups } of stacks) {
    const stack = html("section", "tf-stack", view.root)
    if (title) html("div", "tf-stack-title", stack, title)
    for (const group of groups) {
      const frame = html("div", group.title ? "tf-group tf-framed" : "tf-group", stack)
      if (group.title) html("div", "tf-group-title", frame, group.title)
      for (const row of group.rows) {
        const line = html("div", "tf-row", frame)
        for (const part of row) box(view, line, part, count++, urls?.[part.about])
      }
    }
  }
}

// An arrow from the box that gives to the one that takes.
/** @param {View} view */
function join({ root, ends: { gives, takes } }) {
  root.querySelector(".tf-across")?.remove()
  root.classList.remove("tf-beside")
  const stack = gives?.closest(".tf-stack")
  if (!gives || !takes || !stack) return
  const frame = root.getBoundingClientRect()
  const beside = takes.getBoundingClientRect().left < gives.getBoundingClientRect().right
  root.classList.toggle("tf-beside", beside)
  const from = gives.getBoundingClientRect(), to = takes.getBoundingClientRect()
  /** @param {DOMRect} one */
  const middle = one => one.top + one.height / 2 - frame.top
  const start = (beside ? from.left : from.right) - frame.left, end = to.left - frame.left
  const turn = beside ? 6 : stack.getBoundingClientRect().right - frame.left + 12
  const made = svg("svg", { class: "tf-across", "aria-hidden": "true" }, root)
  svg("path", { d: `M${start} ${middle(from)}H${turn}V${middle(to)}H${end - 2}m-6 -5l6 5l-6 5` }, made)
}

/**
 * @param {View} view @param {HTMLElement} line @param {PartBox} part @param {number} index
 * @param {string} [url] of the page about it
 */
function box(view, line, { label, note, role, marked, across }, index, url) {
  const tell = url === undefined ? undefined : view.tell
  const link = /** @type {HTMLAnchorElement} */ (html(tell ? "a" : "span", marked ? "tf-part-box tf-marked" : "tf-part-box", line))
  if (across) view.ends[across] = link
  link.style.setProperty("--own", `var(--role-${role})`)
  html("span", "tf-part-label", link, label)
  if (note) html("span", "tf-part-note", link, note)
  if (!tell) return
  link.href = url ?? ""
  link.onclick = event => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.button) return // a new window is the browser's
    event.preventDefault()
    tell("part", index)
  }
}
