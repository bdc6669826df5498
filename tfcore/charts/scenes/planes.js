// Points in small planes. Where somebody is told of it, they are dragged by pointer or keys. They come in kinds (query,
// key ...), one of each kind for each token; their order is that of the kinds, and inside a kind that of the tokens.
import { html, set, svg } from "./dom.js"
import { answered, begun, ended, follow, post } from "./dragging.js"

const NEAR = 22 // px: of several handles under a finger the nearest is taken
/** @type {Record<string, XY>} */
const KEYS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }
const EDGE = 1.15 // how much of the plane is seen, in limits

/** @typedef {{ box: HTMLElement, drawing: SVGElement, kinds: string[], marks: HTMLElement[] }} Plane */
/** @typedef {{ node: HTMLElement, plane: Plane, kind: string, token: number, name: HTMLElement }} Handle */
/**
 * @typedef {import("./dragging.js").Dragged & {
 *   root: HTMLElement, planes: Plane[], handles: Handle[], data: PlanesData, points: XY[], fixed: boolean
 * }} View
 */
/** @type {WeakMap<HTMLElement, View>} */
const views = new WeakMap()

/** @param {HTMLElement} element @param {PlanesData} data @param {Send} [tell] */
export function draw(element, data, tell) {
  const view = views.get(element) || create(element, data, tell)
  view.data = data
  if (tell) view.send = tell
  if (answered(view, data.seq ?? 0)) view.points = data.points.map(([x, y]) => [x, y])
  paint(view)
  post(view)
  return () => {
    ended(view)
    views.delete(element)
    view.root.remove()
  }
}

/** @param {HTMLElement} parent @param {PlanesData} data @param {Send} [tell] */
function create(parent, data, tell) {
  const root = html("div", "tf-planes", parent)
  const begin = { ...begun(data.seq ?? 0), root, planes: [], handles: [], fixed: !tell }
  const view = /** @type {View} */ (/** @type {Partial<View>} */ (begin))
  for (const { title, label, kinds } of data.planes) {
    const frame = html("figure", "", root)
    const box = html("div", "tf-plane", frame)
    box.setAttribute("role", "group")
    box.setAttribute("aria-label", label)
    const drawing = svg("svg", { "aria-hidden": "true" }, box)
    html("figcaption", "", frame, title)
    /** @type {Plane} */
    const plane = { box, drawing, kinds, marks: [] }
    for (const kind of kinds) data.tokens.forEach((_, token) => view.handles.push(handle(view, plane, kind, token)))
    view.planes.push(plane)
  }
  views.set(parent, view)
  return view
}

/** @param {View} view @param {Plane} plane @param {string} kind @param {number} token */
function handle(view, plane, kind, token) {
  const node = html("div", `tf-handle tf-${kind}`, plane.box)
  html("i", "", node)
  const made = { node, plane, kind, token, name: html("b", "", node) }
  node.setAttribute("role", view.fixed ? "img" : "slider")
  if (view.fixed) return made
  node.tabIndex = 0
  node.setAttribute("aria-roledescription", "point in the plane, moved with the arrow keys")
  node.onpointerdown = event => take(view, made, event)
  node.onkeydown = event => press(view, made, event)
  return made
}

// ---- what is seen ----

/** @param {View} view */
function paint(view) {
  const { data, planes } = view
  for (const plane of planes) grid(plane, data)
  for (const one of view.handles) place(view, one)
  planes.forEach((plane, nth) => {
    const wanted = data.marks.filter(mark => mark.plane === nth)
    while (plane.marks.length > wanted.length) plane.marks.pop()?.remove()
    while (plane.marks.length < wanted.length) {
      const mark = html("div", "tf-mark", plane.box)
      html("i", "", mark)
      plane.marks.push(mark)
    }
    wanted.forEach(({ at, strong, title }, i) => {
      put(plane.marks[i], at, data.limit)
      plane.marks[i].classList.toggle("tf-strong", strong)
      plane.marks[i].setAttribute("aria-label", title)
      plane.marks[i].setAttribute("role", "img")
    })
    for (const { from, to, width } of data.links.filter(link => link.plane === nth)) {
      line(plane, "tf-link", from, to).style.strokeWidth = width + "px"
    }
  })
}

/** @param {Plane} plane @param {PlanesData} data */
function grid(plane, { limit }) {
  const end = limit * EDGE
  plane.drawing.setAttribute("viewBox", `${-end} ${-end} ${2 * end} ${2 * end}`)
  plane.drawing.replaceChildren()
  for (let at = -Math.floor(limit); at <= limit; at += 1) {
    line(plane, at ? "tf-grid" : "tf-axis", [at, -end], [at, end])
    line(plane, at ? "tf-grid" : "tf-axis", [-end, at], [end, at])
  }
}

/** @param {Plane} plane @param {string} name @param {XY} from @param {XY} to */
function line(plane, name, [x1, y1], [x2, y2]) {
  return svg("line", { class: name, x1, y1: -y1, x2, y2: -y2 }, plane.drawing)
}

/** @param {HTMLElement} node @param {XY} at @param {number} limit */
function put(node, [x, y], limit) {
  node.style.left = 50 + (50 * x) / (limit * EDGE) + "%"
  node.style.top = 50 - (50 * y) / (limit * EDGE) + "%"
}

/** @param {View} view @param {Handle} one */
function place(view, { node, plane, kind, token, name }) {
  const { tokens, limit, chosen } = view.data
  const at = view.points[index(view, kind, token)]
  put(node, at, limit)
  node.style.setProperty("--own", `var(--role-${kind})`)
  node.classList.toggle("tf-left", at[0] > 0.6 * limit)
  name.textContent = tokens[token]
  const called = `${kind} of ${tokens[token]}`, where = `x ${signed(at[0])}, y ${signed(at[1])}`
  const now = { "aria-valuemin": -limit, "aria-valuemax": limit, "aria-valuenow": at[0], "aria-valuetext": where }
  set(node, view.fixed ? { "aria-label": `${called}: ${where}` } : { ...now, "aria-label": called })
  if (kind === "value") return
  const arm = line(plane, "tf-arm", [0, 0], at)
  arm.style.stroke = `var(--role-${kind})`
  arm.classList.toggle("tf-strong", kind === "query" && token === chosen)
}

/** @param {number} number */
const signed = number => number.toFixed(2).replace("-", "−")
/** @param {View} view @param {string} kind @param {number} token */
const index = (view, kind, token) => view.data.kinds.indexOf(kind) * view.data.tokens.length + token

// ---- the hand ----

/** @param {View} view @param {Handle} touched @param {PointerEvent} event */
function take(view, touched, event) {
  if (event.button || view.held) return
  const one = nearest(view, touched, event)
  const [left, top] = middle(one)
  const grip = [event.clientX - left, event.clientY - top] // the point stays under the finger where it was taken
  view.held = one
  one.node.classList.add("tf-held")
  follow(one.node, event, hand => {
    const box = one.plane.box.getBoundingClientRect(), half = box.width / 2, unit = (view.data.limit * EDGE) / half
    const x = (hand.clientX - grip[0] - box.left - half) * unit, y = (box.top + half - hand.clientY + grip[1]) * unit
    move(view, one, [x, y], false)
  }, () => {
    one.node.classList.remove("tf-held")
    view.held = null
    move(view, one, view.points[index(view, one.kind, one.token)], true)
  })
}

/** @param {Handle} one */
function middle({ node }) {
  const { left, top, width, height } = node.getBoundingClientRect()
  return [left + width / 2, top + height / 2]
}

/** @param {View} view @param {Handle} touched @param {PointerEvent} event */
function nearest(view, touched, { clientX, clientY }) {
  /** @param {Handle} one */
  const distance = one => {
    const [left, top] = middle(one)
    return Math.hypot(left - clientX, top - clientY)
  }
  const near = view.handles.filter(one => one.plane === touched.plane && distance(one) <= NEAR)
  return near.reduce((best, one) => (distance(one) < distance(best) ? one : best), touched)
}

/** @param {View} view @param {Handle} one @param {KeyboardEvent} event */
function press(view, one, event) {
  const step = KEYS[event.key]
  if (!step || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  const far = view.data.step * (event.shiftKey ? 10 : 2)
  const [x, y] = view.points[index(view, one.kind, one.token)]
  move(view, one, [x + far * step[0], y + far * step[1]], true)
}

/** @param {View} view @param {Handle} one @param {XY} at @param {boolean} final */
function move(view, one, at, final) {
  const { limit, step } = view.data
  const here = index(view, one.kind, one.token)
  /** @param {number} part */
  const snapped = part => Number((step * Math.round(Math.min(Math.max(part, -limit), limit) / step)).toFixed(2)) || 0
  /** @type {XY} */
  const now = [snapped(at[0]), snapped(at[1])]
  const same = now.every((part, i) => part === view.points[here][i])
  if (same && !final) return
  view.points[here] = now
  view.next = { points: view.points.map(point => point.join("_")).join("_"), kind: one.kind, token: one.token, final }
  paint(view)
  post(view)
}
