// The browser's half of bars.py: bars dragged by pointer or keys that always sum to the same.
import { palette } from "./colours.js"
import { html } from "./dom.js"
import { answered, begun, ended, follow, post } from "./dragging.js"
import { styled } from "./styles.js"

// Parts of the whole; Shift makes the steps smaller.
/** @type {Record<string, number>} */
const KEYS = { ArrowUp: 0.01, ArrowRight: 0.01, ArrowDown: -0.01, ArrowLeft: -0.01, PageUp: 0.1, PageDown: -0.1, Home: -1, End: 1 }
const FINE = 0.1

/** @typedef {{ node: HTMLElement, i: number, fill: HTMLElement, number: HTMLElement, grip: HTMLElement }} Bar */
/**
 * @typedef {import("./dragging.js").Dragged & {
 *   root: HTMLElement, shape: string, bars: Bar[], heads: [HTMLElement, () => string][], data: BarsData,
 *   weights: number[], base: { i: number, weights: number[] } | null
 * }} View
 */
/** @type {WeakMap<HTMLElement, View>} */
const views = new WeakMap()
await styled("bars.css")

/** @param {Component<BarsData>} component */
export function render({ data, parentElement, setTriggerValue }) {
  let view = views.get(parentElement)
  const shape = JSON.stringify([data.names.length, data.rows.length, data.columns.length])
  if (view && view.shape !== shape) {
    remove(parentElement, view)
    view = undefined
  }
  view ||= create(parentElement, data, shape)
  view.data = data
  view.send = setTriggerValue
  if (answered(view, data.seq) && !same(view.weights, data.weights)) {
    view.weights = whole(data.weights, data.units)
    view.base = null
  }
  const { roles, table } = palette(view.root)
  view.root.style.setProperty("--own", table.categories[data.hue] || roles.ink)
  paint(view)
  post(view)
  return () => remove(parentElement, view)
}

/** @param {number[]} a @param {number[]} b */
const same = (a, b) => a && a.length === b.length && a.every((weight, i) => weight === b[i])

/** @param {HTMLElement} parent @param {View} view */
function remove(parent, view) {
  ended(view)
  if (views.get(parent) === view) views.delete(parent)
  view.root.remove()
}

/** @param {HTMLElement} parent @param {BarsData} data @param {string} shape */
function create(parent, data, shape) {
  const root = html("div", "tf-bars", parent)
  const view = /** @type {View} */ (/** @type {Partial<View>} */ ({ ...begun(data.seq), root, shape, bars: [], heads: [] }))
  const { columns, rows } = data, across = columns.length || data.names.length
  root.setAttribute("role", "group")
  root.style.gridTemplateColumns = `${rows.length ? "minmax(0, auto) " : ""}repeat(${across}, minmax(0, 1fr))`
  if (rows.length) html("span", "", root)
  columns.forEach((_, i) => view.heads.push([html("span", "", root), () => view.data.columns[i]]))
  data.names.forEach((_, i) => {
    const row = Math.floor(i / across)
    if (rows.length && i % across === 0) view.heads.push([html("span", "tf-row", root), () => view.data.rows[row]])
    view.bars.push(bar(view, i))
  })
  if (!columns.length) data.names.forEach((_, i) => view.heads.push([html("span", "tf-token", root), () => view.data.names[i]]))
  views.set(parent, view)
  return view
}

/** @param {View} view @param {number} i */
function bar(view, i) {
  const node = html("div", "tf-column", view.root)
  const made = { node, i, fill: html("div", "tf-fill", node), number: html("b", "", node), grip: html("div", "tf-grip", node) }
  node.setAttribute("aria-orientation", "vertical")
  node.onpointerdown = event => take(view, made, event)
  node.onkeydown = event => press(view, made, event)
  return made
}

// ---- what is seen ----

/** @param {View} view */
function paint(view) {
  const { label, names, height, top, units, fixed } = view.data
  view.root.setAttribute("aria-label", label)
  for (const [head, words] of view.heads) {
    head.textContent = words()
    head.title = words()
  }
  for (const { node, i, fill, number, grip } of view.bars) {
    const p = view.weights[i] / units
    const up = Math.min(p / top, 1) * 100 + "%"
    node.style.height = height + "px"
    node.tabIndex = fixed ? -1 : 0
    node.classList.toggle("tf-fixed", fixed)
    fill.style.height = grip.style.bottom = up
    number.textContent = written(p)
    node.setAttribute("role", fixed ? "img" : "slider")
    const said = { valuemin: 0, valuemax: 1, valuenow: p, valuetext: written(p) }
    for (const [key, value] of Object.entries(said)) {
      if (fixed) node.removeAttribute("aria-" + key) // nobody can move a picture
      else node.setAttribute("aria-" + key, String(value))
    }
    node.setAttribute("aria-label", `${label}: ${names[i]}${fixed ? " " + written(p) : ""}`)
  }
}

/** @param {number} p */
const written = p => (p > 0 && p < 0.0095 ? p.toFixed(4) : p.toFixed(3))

// ---- the hand ----

/** @param {View} view @param {Bar} one @param {PointerEvent} event */
function take(view, one, event) {
  const onGrip = event.target === one.grip
  if (event.button || view.held || view.data.fixed || (event.pointerType === "touch" && !onGrip)) return
  const { height, top, units } = view.data
  const unit = top / height
  /** @param {PointerEvent} move */
  const value = move => (one.node.getBoundingClientRect().bottom - move.clientY) * unit
  // Taken by the grip, a bar does not jump; a click anywhere else puts it there.
  const slack = onGrip ? Math.min(view.weights[one.i] / units, top) - value(event) : 0
  view.held = one
  one.node.classList.add("tf-held")
  /** @param {PointerEvent} move */
  const moved = move => set(view, one.i, value(move) + slack, false)
  follow(one.node, event, moved, () => {
    one.node.classList.remove("tf-held")
    view.held = null
    set(view, one.i, view.weights[one.i] / units, true)
  })
  if (!onGrip) moved(event)
}

/** @param {View} view @param {Bar} one @param {KeyboardEvent} event */
function press(view, one, event) {
  const step = KEYS[event.key]
  if (step === undefined || view.data.fixed || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  set(view, one.i, view.weights[one.i] / view.data.units + step * (event.shiftKey ? FINE : 1), true)
}

/** @param {View} view @param {number} i @param {number} share @param {boolean} final */
function set(view, i, share, final) {
  const { units } = view.data
  // What the others had when this bar was taken: dragged to the top and back, it gives everything back.
  if (view.base?.i !== i) view.base = { i, weights: [...view.weights] }
  const mine = Math.round(Math.min(Math.max(share, 0), 1) * units)
  const others = view.base.weights.map((weight, j) => (j === i ? 0 : weight))
  if (!others.some(weight => weight)) others.forEach((_, j) => (others[j] = j === i ? 0 : 1))
  const now = whole(others, units - mine)
  now[i] = mine
  if (same(now, view.weights) && !final) return
  view.weights = now
  view.next = { weights: now.join("_"), final }
  paint(view)
  post(view)
}

// Weights scaled to whole numbers that sum to `total`, those with the largest remainders rounded up.
/** @param {number[]} weights @param {number} total */
function whole(weights, total) {
  const sum = weights.reduce((a, b) => a + b, 0)
  const exact = weights.map(weight => (weight / sum) * total)
  const now = exact.map(Math.floor)
  const left = total - now.reduce((a, b) => a + b, 0)
  const order = exact.map((value, j) => [value - now[j], j]).filter(([, j]) => weights[j]).sort((a, b) => b[0] - a[0])
  for (const [, j] of order.slice(0, Math.round(left))) now[j] += 1
  return now
}
