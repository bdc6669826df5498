// Stops on a line and on branches beside it, like the map of a railway. Where somebody is told of it, a click on a stop
// or a key goes there.
import { html, svg } from "./dom.js"

const LINE = 98, BRANCH = 62, HEIGHT = 144 // px from the top: the main line, the branches, all of it
const LEFT = 24, RIGHT = 30, NEAREST = 26, FURTHEST = 54 // px: room for the first stop and the last label, between stops
const FOLD = 44 // px between two stops where layers between them are folded

/** @typedef {{ path: SVGElement, from: number, to: number }} Track between two stops */
/**
 * @typedef {object} View
 * @property {HTMLElement} root
 * @property {HTMLElement} board
 * @property {SVGElement} drawing
 * @property {HTMLElement[]} calls over each stop
 * @property {ResizeObserver} observer
 * @property {LineMapData} data
 * @property {Send} [tell]
 * @property {number} at where the reader is; ahead of the page after a click
 * @property {number} [shown] where the page was when it was last shown
 * @property {string} [stamp] what was laid out
 * @property {number[]} x
 * @property {number[]} y
 * @property {Track[]} tracks
 * @property {SVGElement[]} labels
 * @property {SVGElement[]} dots
 * @property {SVGElement} train
 */
/** @type {WeakMap<HTMLElement, View>} */
const views = new WeakMap()

/** @param {HTMLElement} element @param {LineMapData} data @param {Send} [tell] */
export function draw(element, data, tell) {
  const view = views.get(element) || create(element)
  view.data = data
  view.tell = tell
  view.at = data.value
  view.root.classList.toggle("tf-walked", Boolean(tell))
  view.root.setAttribute("aria-label", tell ? `${data.label} Arrow keys step, a click goes there.` : data.label)
  layOut(view)
  show(view)
  if (view.shown !== data.value) centre(view, view.shown === undefined ? "auto" : "smooth")
  view.shown = data.value
  return () => {
    view.observer.disconnect()
    views.delete(element)
    view.root.remove()
  }
}

/** @param {HTMLElement} parent */
function create(parent) {
  const root = html("div", "tf-map", parent)
  root.setAttribute("role", "group")
  const board = html("div", "tf-board", root)
  const drawing = svg("svg", { "aria-hidden": "true" }, board)
  const view = /** @type {View} */ (/** @type {Partial<View>} */ ({ root, board, drawing, calls: [] }))
  view.observer = new ResizeObserver(() => view.data && (layOut(view), show(view), centre(view, "auto")))
  view.observer.observe(root)
  root.onkeydown = event => press(view, event)
  views.set(parent, view)
  return view
}

// ---- where everything is ----

/** @param {View} view */
function layOut(view) {
  const { stops, parts, folds } = view.data
  const stamp = JSON.stringify([stops, parts, folds, view.root.clientWidth])
  if (stamp === view.stamp) return
  view.stamp = stamp
  const room = (view.root.clientWidth - LEFT - RIGHT - folds.length * FOLD) / Math.max(stops.length - 1, 1)
  const pitch = Math.min(Math.max(room, NEAREST), FURTHEST)
  view.x = stops.map((_, i) => LEFT + i * pitch + FOLD * folds.filter(fold => fold.before <= i).length)
  view.y = stops.map(stop => (stop.beside ? BRANCH : LINE))
  const width = view.x[stops.length - 1] + RIGHT
  view.board.style.width = width + "px"
  view.drawing.setAttribute("viewBox", `0 0 ${width} ${HEIGHT}`)
  view.drawing.setAttribute("width", String(width))
  view.drawing.setAttribute("height", String(HEIGHT))
  view.drawing.replaceChildren()
  for (const part of parts) area(view, part, pitch)
  view.tracks = tracks(view, pitch)
  for (const fold of folds) folded(view, fold, pitch)
  view.labels = stops.map((stop, i) => label(view, stop, i))
  view.dots = stops.map((_, i) => svg("circle", { class: "tf-stop", cx: view.x[i], cy: view.y[i], r: 6.5 }, view.drawing))
  view.dots.forEach((dot, i) => dot.style.setProperty("--own", `var(--role-${stops[i].role})`))
  view.train = svg("circle", { class: "tf-train", r: 10 }, view.drawing)
  calls(view, pitch)
}

/** @param {View} view @param {Area} area @param {number} pitch */
function area(view, { first, last, title, role }, pitch) {
  const left = view.x[first] - pitch / 2 + 2, width = view.x[last] - view.x[first] + pitch - 4
  const box = svg("rect", { class: "tf-area", x: left, y: 2, width, height: HEIGHT - 22, rx: 8 }, view.drawing)
  box.style.setProperty("--own", `var(--role-${role})`)
  const middle = { x: left + width / 2, y: HEIGHT - 6, "text-anchor": "middle" }
  const words = svg("text", { class: "tf-part", ...middle }, view.drawing, title)
  words.style.setProperty("--own", `var(--role-${role})`)
}

// Layers that the text passes through between two stops, which have no stops of their own: stacked sheets and their
// numbers on the line.
/** @param {View} view @param {Fold} fold @param {number} pitch */
function folded(view, { before, title, words }, pitch) {
  const middle = view.x[before] - (pitch + FOLD) / 2
  const group = svg("g", { class: "tf-fold" }, view.drawing)
  svg("title", {}, group, words)
  for (const at of [-6, 0, 6]) svg("rect", { x: middle + at - 4, y: LINE - 17, width: 8, height: 34, rx: 3 }, group)
  title.split(" ").forEach((line, i) => {
    svg("text", { x: middle, y: LINE - 37 + 14 * i, "text-anchor": "middle" }, group, line)
  })
}

// The main line runs through under every branch: that is the residual connection.
/** @param {View} view @param {number} pitch */
function tracks(view, pitch) {
  const { stops, folds } = view.data, { x } = view
  /** @type {Track[]} */
  const made = []
  /** @param {string} d @param {string} role @param {number} from @param {number} to */
  const add = (d, role, from, to) => {
    const path = svg("path", { class: "tf-track", d }, view.drawing)
    path.style.setProperty("--own", `var(--role-${role})`)
    made.push({ path, from, to })
  }
  const onLine = stops.map((_, i) => i).filter(i => !stops[i].beside)
  for (let k = 1; k < onLine.length; k += 1) {
    const [a, b] = [onLine[k - 1], onLine[k]]
    add(`M${x[a]} ${LINE}H${x[b]}`, stops[a].carried ? "residual" : stops[a].role, a, b)
  }
  stops.forEach((stop, i) => {
    if (i === 0) return
    const before = stops[i - 1]
    if (stop.beside && before.beside) add(`M${x[i - 1]} ${BRANCH}H${x[i]}`, stop.branch, i - 1, i)
    else if (stop.beside) {
      const from = folds.some(fold => fold.before === i) ? x[i] - pitch : x[i - 1]
      add(bend(from, LINE, x[i], BRANCH), stop.branch, i - 1, i)
    }
    else if (before.beside) add(bend(x[i - 1], BRANCH, x[i], LINE), before.branch, i - 1, i)
  })
  return made
}

/** @param {number} x0 @param {number} y0 @param {number} x1 @param {number} y1 */
function bend(x0, y0, x1, y1) {
  const middle = (x0 + x1) / 2
  return `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}`
}

/** @param {View} view @param {Stop} stop @param {number} i */
function label(view, stop, i) {
  const under = stop.under
  const isLast = i === view.x.length - 1, isFolded = view.data.folds.some(fold => fold.before === i + 1)
  const ends = isLast ? RIGHT - 2 : isFolded ? 12 : 0 // px behind the stop, where a long label has no more room
  const x = view.x[i] + (under ? ends : 3), y = view.y[i] + (under ? 22 : -13)
  /** @type {Record<string, string>} */
  const turned = under ? { "text-anchor": ends ? "end" : "middle" } : { transform: `rotate(-42 ${x} ${y})` }
  const words = svg("text", { class: "tf-name", x, y, ...turned }, view.drawing, stop.label)
  words.onclick = () => go(view, i)
  return words
}

// Over each stop what says which it is: a button that is clicked and that the keyboard reaches, where it leads there.
/** @param {View} view @param {number} pitch */
function calls(view, pitch) {
  const { stops } = view.data
  while (view.calls.length > stops.length) view.calls.pop()?.remove()
  while (view.calls.length < stops.length) view.calls.push(call(view, view.calls.length))
  view.calls.forEach((one, i) => {
    Object.assign(one.style, { left: view.x[i] - pitch / 2 + "px", top: view.y[i] - 20 + "px", width: pitch + "px" })
    one.title = stops[i].title
    one.setAttribute("aria-label", `${i + 1} of ${stops.length}: ${stops[i].title}`)
  })
}

/** @param {View} view @param {number} i */
function call(view, i) {
  if (!view.tell) {
    const sign = html("span", "tf-call", view.board)
    sign.setAttribute("role", "img")
    return sign
  }
  const button = html("button", "tf-call", view.board)
  button.type = "button"
  button.onclick = () => go(view, i)
  return button
}

// ---- where we are ----

/** @param {View} view */
function show(view) {
  const { at, x, y } = view
  view.calls.forEach((one, i) => {
    if (view.tell) one.tabIndex = i === at ? 0 : -1 // one stop of the Tab key for the whole map
    if (i === at) one.setAttribute("aria-current", "step")
    else one.removeAttribute("aria-current")
  })
  view.dots.forEach((dot, i) => dot.classList.toggle("tf-passed", i <= at))
  view.labels.forEach((words, i) => {
    words.classList.toggle("tf-here", i === at)
    words.classList.toggle("tf-passed", i <= at)
  })
  for (const { path, from, to } of view.tracks) path.classList.toggle("tf-passed", to <= at || from < at && to - from > 1)
  view.train.style.transform = `translate(${x[at]}px, ${y[at]}px)`
  view.train.style.setProperty("--own", `var(--role-${view.data.stops[at].role})`)
}

/** @param {View} view @param {ScrollBehavior} behavior */
function centre(view, behavior) {
  view.root.scrollTo({ left: view.x[view.at] - view.root.clientWidth / 2, behavior })
}

/** @param {View} view @param {number} to */
function go(view, to) {
  if (!view.tell || to === view.at) return
  view.at = to // shown at once; the page follows
  show(view)
  centre(view, "smooth")
  view.tell("to", to)
}

/** @param {View} view @param {KeyboardEvent} event */
function press(view, event) {
  if (!view.tell || event.ctrlKey || event.metaKey || event.altKey) return
  const last = view.data.stops.length - 1
  const to = { ArrowLeft: view.at - 1, ArrowRight: view.at + 1, Home: 0, End: last }[event.key]
  if (to === undefined) return
  event.preventDefault()
  go(view, Math.min(Math.max(to, 0), last))
  view.calls[view.at].focus({ preventScroll: true })
}
