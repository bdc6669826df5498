// Streams of tokens through the layers, ribbons between them, heads that can be changed where somebody is told of it.
import { palette, tint } from "./colours.js"
import { html, set, svg } from "./dom.js"
import { answered, begun, ended, follow, post } from "./dragging.js"
import { edges, lay, reached } from "./river_layout.js"
import { foldable } from "./river_rows.js"
import { aimed, crumbs, inward, outward, written } from "./river_zoom.js"

const SPRING = 260, WAVE = 3000 // ms
const PINCHED = 1.4 // times as far apart as before: two fingers go one step nearer
const LARGEST = 2, STEP = 0.25, PIXELS = 24 // of a head's factor; that a hand moves for a factor of 1
const SPEEDS = [1, 2, 0.5]
/** @type {Record<string, number>} */
const KEYS = { ArrowUp: STEP, ArrowRight: STEP, ArrowDown: -STEP, ArrowLeft: -STEP, Home: -2 * LARGEST, End: 2 * LARGEST }

/** @typedef {import("./river_layout.js").Shape} Shape */
/** @typedef {import("./river_layout.js").Scene} Scene */
/** @typedef {{ from: number[], now: number[], to: number[], put: (at: number[]) => void }} Spring */
/** @typedef {{ node: SVGPathElement, shape: Shape, now: number[], from: number[], to: number[], gone: boolean }} Drawn */
/**
 * @typedef {import("./dragging.js").Dragged & {
 *   root: HTMLElement, svg: SVGSVGElement, clip: SVGRectElement, bands: SVGGElement, marks: SVGGElement,
 *   play: HTMLButtonElement, whole: HTMLButtonElement, speed: HTMLButtonElement, every: HTMLButtonElement, all: boolean, observer: ResizeObserver, live: boolean,
 *   data: RiverData, colours: Palette, scene: Scene, factors: Record<string, number>, drawn: Map<string, Drawn>,
 *   kept: Map<string, SVGGElement>, springs: Map<string, Spring>, began: number, asked: number, wave: number, waved: number, paused: boolean,
 *   path: HTMLElement, nearer: HTMLButtonElement, farther: HTMLButtonElement, aim: import("./river_zoom.js").Zoom | null, zoomed: number, spread: number,
 *   rate: number, frames: number, stamp: string, size: number
 * }} View
 */
/** @type {WeakMap<HTMLElement, View>} */
const views = new WeakMap()

/** @param {HTMLElement} element @param {RiverData} data @param {Send} [tell] */
export function draw(element, data, tell) {
  const view = views.get(element) || create(element, data)
  view.live = Boolean(tell)
  view.send = tell ?? (() => {})
  view.data = view.live ? data : { ...data, tracing: false, foldable: false, linked: false, choosing: false }
  if (answered(view, data.seq ?? 0)) view.factors = { ...data.factors }
  view.whole.hidden = !data.traced || !view.live
  view.svg.setAttribute("aria-label", data.label)
  arrange(view)
  post(view)
  return () => remove(element, view)
}

/** @param {HTMLElement} parent @param {View} view */
function remove(parent, view) {
  ended(view)
  cancelAnimationFrame(view.asked)
  view.observer.disconnect()
  if (views.get(parent) === view) views.delete(parent)
  view.root.remove()
}

const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches

/** @param {HTMLElement} parent @param {RiverData} data */
function create(parent, data) {
  const root = html("div", "tf-river", parent)
  const where = html("div", "tf-river-path", root)
  where.setAttribute("role", "navigation")
  where.setAttribute("aria-label", "What is enlarged")
  const scroll = html("div", "tf-river-scroll", root)
  const board = svg("svg", { role: "group" }, scroll)
  const name = "tf-wave-" + Math.random().toString(36).slice(2)
  const path = svg("clipPath", { id: name }, svg("defs", {}, board))
  const clip = svg("rect", { x: 0, y: 0, width: 0, height: 0 }, path)
  const bands = svg("g", { "clip-path": `url(#${name})` }, board)
  const marks = svg("g", {}, board)
  const view = /** @type {View} */ (/** @type {Partial<View>} */ ({
    ...begun(data.seq ?? 0), root, svg: board, clip, bands, marks, data, drawn: new Map(), kept: new Map(), springs: new Map(), factors: {},
    asked: 0, began: 0, wave: still() ? 1 : 0, waved: 0, paused: false, rate: 1, frames: 0, stamp: "", size: 0, path: where, aim: null, zoomed: 0, spread: 0, all: false,
  }))
  const buttons = html("div", "tf-river-buttons", root)
  view.play = button(buttons, "Play", () => play(view))
  view.speed = button(buttons, "1×", () => {
    view.rate = SPEEDS[(SPEEDS.indexOf(view.rate) + 1) % SPEEDS.length]
    view.speed.textContent = view.rate + "×"
  })
  view.speed.title = "Speed of the wave"
  view.whole = button(buttons, "Whole state", () => view.send("whole", 0))
  view.whole.title = "Widths are shares of the state again (Escape)"
  view.every = button(buttons, "", () => rowsOfAll(view, !view.all))
  view.nearer = button(buttons, "+", () => zoom(view, inward(view.data, view.aim, view.live)))
  view.nearer.title = "Enlarge a layer, then a head, then a cell (+, or pinch over it)"
  view.farther = button(buttons, "−", () => zoom(view, outward(view.data)))
  view.farther.title = "Back (−)"
  root.onkeydown = event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === "+" || event.key === "=") zoom(view, inward(view.data, view.aim, view.live))
    else if (event.key === "-" || (event.key === "Escape" && view.data.zoom)) zoom(view, outward(view.data))
    else if (event.key === "Escape" && view.data.traced) view.send("whole", 0)
    else return
    event.preventDefault()
  }
  scroll.addEventListener("wheel", event => wheeled(view, event), { passive: false })
  scroll.addEventListener("touchstart", event => void (view.spread = spread(event.touches)))
  scroll.addEventListener("touchmove", event => pinched(view, event), { passive: false })
  view.observer = new ResizeObserver(() => scroll.clientWidth !== view.size && arrange(view))
  view.observer.observe(scroll)
  views.set(parent, view)
  return view
}

// ---- nearer and farther ----

// What is enlarged is drawn at once from what is there; what a head looks at comes with the answer.
/** @param {View} view @param {import("./river_zoom.js").Zoom | null | undefined} to undefined: as it is */
function zoom(view, to) {
  if (to === undefined) return
  const { zoom: from } = view.data, same = to?.head === from?.head && to?.layer === from?.layer
  view.data = { ...view.data, zoom: to && { ...to, weights: (same && from?.weights) || null, cell: null } }
  view.aim = null
  arrange(view)
  view.send("zoom", written(to))
}

// Pinching on a trackpad, or turning the wheel with the Ctrl key: without it, the wheel moves the page.
/** @param {View} view @param {WheelEvent} event */
function wheeled(view, event) {
  if (!event.ctrlKey) return
  event.preventDefault()
  const now = performance.now()
  if (now - view.zoomed < SPRING || Math.abs(event.deltaY) < 1) return
  view.zoomed = now
  towards(view, event.deltaY < 0, event.clientX, event.clientY)
}

// Two fingers that move apart, or together; one moves the page.
/** @param {View} view @param {TouchEvent} event */
function pinched(view, event) {
  const apart = spread(event.touches)
  if (!apart || !view.spread) return
  event.preventDefault()
  if (apart < PINCHED * view.spread && view.spread < PINCHED * apart) return
  const [one, other] = event.touches
  towards(view, apart > view.spread, (one.clientX + other.clientX) / 2, (one.clientY + other.clientY) / 2)
  view.spread = apart
}

// Pixels between two fingers; 0 of any other number of them.
/** @param {TouchList} touches */
const spread = touches => (touches.length === 2 ? Math.hypot(touches[0].clientX - touches[1].clientX, touches[0].clientY - touches[1].clientY) : 0)

// Nearer to what is at a place of the window, or farther.
/** @param {View} view @param {boolean} nearer @param {number} x @param {number} y */
function towards(view, nearer, x, y) {
  const { left, top } = view.svg.getBoundingClientRect()
  const aim = view.aim ?? aimed(view.scene, view.scene.down ? y - top : x - left)
  zoom(view, nearer ? inward(view.data, aim, view.live) : outward(view.data))
}

// The way back: the river, its layer, its head.
/** @param {View} view */
function way(view) {
  view.path.replaceChildren()
  view.path.hidden = !view.data.zoom
  crumbs(view.data).forEach(({ words, to }, i, { length }) => {
    if (i) html("span", "", view.path, "›")
    const one = button(view.path, words, () => zoom(view, to))
    if (i === length - 1) one.setAttribute("aria-current", "true")
  })
  const { zoom: now, linked } = view.data
  if (now?.pair && linked) button(view.path, "Who wrote these vectors?", () => view.send("ribbon", named([now.layer, Number(now.head), ...(now.pair ?? [0, 0])])))
  view.nearer.disabled = inward(view.data, view.aim, view.live) === undefined
  view.farther.disabled = !view.data.zoom
}

/** @param {Element} parent @param {string} words @param {() => void} click */
function button(parent, words, click) {
  const made = html("button", "", parent)
  made.type = "button"
  made.textContent = words
  made.onclick = click
  return made
}

// ---- what is seen ----

/** @param {View} view */
function arrange(view) {
  view.size = /** @type {HTMLElement} */ (view.svg.parentElement).clientWidth
  if (!view.size) return // hidden in a tab: drawn when it gets a size
  view.colours = palette(view.root)
  const scene = (view.scene = lay(view.data, view.size, view.all))
  view.every.hidden = scene.down || !foldable(view.data)
  view.every.textContent = view.all ? "Fewer rows" : `All ${view.data.tokens.length} tokens`
  view.every.title = view.all ? "Neighbours that carry little share a row" : "Each token in a row of its own"
  set(view.svg, { width: scene.width, height: scene.height, viewBox: `0 0 ${scene.width} ${scene.height}` })
  set(view.clip, { height: scene.height + 20, y: -10 })
  way(view)
  for (const one of view.drawn.values()) one.gone = true
  for (const shape of scene.shapes) {
    const before = view.drawn.get(shape.key)
    const one = before || { node: band(view), shape, now: thin(shape), from: [], to: [], gone: false }
    Object.assign(one, { shape, from: [...one.now], to: shape.at, gone: false })
    view.drawn.set(shape.key, one)
    dress(view, one)
  }
  for (const one of view.drawn.values()) if (one.gone) Object.assign(one, { from: [...one.now], to: thin(one.shape) })
  mark(view)
  view.began = performance.now()
  view.frames = 0
  delete view.root.dataset.fps
  cancelAnimationFrame(view.asked)
  tick(view, view.began)
}

/** @param {View} view @param {boolean} all */
function rowsOfAll(view, all) {
  view.all = all
  arrange(view)
}

/** @param {View} view */
function band(view) {
  return svg("path", {}, view.bands)
}

// A band as it comes and goes: of no height.
/** @param {Shape} shape */
function thin({ at }) {
  const [a0, c0, , a1, c1, , ] = at
  return [a0, c0, 0, a1, c1, 0]
}

/** @param {View} view @param {Drawn} one */
function dress(view, one) {
  const { node, shape } = one
  set(node, { fill: tint(shape.colour, view.colours), "fill-opacity": shape.opacity, "data-key": shape.key })
  node.replaceChildren()
  if (shape.title) svg("title", {}, node, shape.title)
  const { ribbon } = shape, cell = ribbon && view.data.zoom?.weights ? /** @type {const} */ ([ribbon[2], ribbon[3]]) : null
  node.onpointerenter = () => {
    view.aim = ribbon ? { layer: ribbon[0], head: ribbon[1], pair: cell && [...cell] } : null
    if (shape.kind !== "mouth") light(view, reached(edges(view.scene), shape))
  }
  node.onpointerleave = () => {
    view.aim = null
    light(view, null)
  }
  node.style.cursor = ribbon ? "pointer" : ""
  node.onclick = !ribbon ? null : cell ? () => zoom(view, { layer: ribbon[0], head: ribbon[1], pair: [...cell] }) : () => view.send("ribbon", named(ribbon))
}

/** @param {[number, number, number, number]} ribbon */
const named = ([layer, head, query, key]) => ({ layer, head, query, key })

// One frame: bands between where they were and where they are to be, and the wave's front.
/** @param {View} view @param {number} now */
function tick(view, now) {
  const t = still() ? 1 : Math.min((now - view.began) / SPRING, 1)
  const eased = t >= 1 ? 1 : 1 - (1 + 7 * t) * Math.exp(-7 * t) // critically damped
  /** @param {{ from: number[], to: number[] }} one */
  const between = ({ from, to }) => (t >= 1 ? to : from.map((before, i) => before + (to[i] - before) * eased))
  for (const one of view.springs.values()) one.put((one.now = between(one)))
  for (const [key, one] of view.drawn) {
    one.now = between(one)
    one.node.setAttribute("d", drawing(one.shape, one.now, view.scene.down))
    if (one.gone && t >= 1) {
      one.node.remove()
      view.drawn.delete(key)
    }
  }
  if (view.wave < 1 && !view.paused) {
    if (view.waved) view.wave = Math.min(view.wave + ((now - view.waved) / WAVE) * view.rate, 1)
    view.waved = now
  }
  const { down, width, height } = view.scene
  set(view.clip, down ? { width, height: height * view.wave } : { width: width * view.wave })
  view.play.textContent = view.wave >= 1 ? "Play" : view.paused ? "Go on" : "Pause"
  view.frames += 1
  if (t < 1 || (view.wave < 1 && !view.paused)) view.asked = requestAnimationFrame(() => tick(view, performance.now()))
  else view.root.dataset.fps = ((1000 * view.frames) / Math.max(now - view.began, 1)).toFixed(0) // all is at rest
}

/** @param {View} view */
function play(view) {
  if (view.wave >= 1) view.wave = still() ? 1 : 0
  else view.paused = !view.paused
  view.waved = 0
  cancelAnimationFrame(view.asked)
  tick(view, performance.now())
}

/** @param {Shape} shape @param {number[]} at @param {boolean} down */
function drawing({ kind }, at, down) {
  /** @param {number} a @param {number} c */
  const p = (a, c) => (down ? `${c.toFixed(1)} ${a.toFixed(1)}` : `${a.toFixed(1)} ${c.toFixed(1)}`)
  const [a0, c0, h0, a1, c1, h1] = at
  if (kind === "lozenge") return h0 ? `M${p(a0 - h0, c0)}L${p(a0, c0 - h0)}L${p(a0 + h0, c0)}L${p(a0, c0 + h0)}Z` : ""
  const middle = (a0 + a1) / 2
  return `M${p(a0, c0 - h0 / 2)}C${p(middle, c0 - h0 / 2)} ${p(middle, c1 - h1 / 2)} ${p(a1, c1 - h1 / 2)}` +
    `L${p(a1, c1 + h1 / 2)}C${p(middle, c1 + h1 / 2)} ${p(middle, c0 + h0 / 2)} ${p(a0, c0 + h0 / 2)}Z`
}

// What is on the way from or to something is seen alone; null: everything.
/** @param {View} view @param {Set<string> | null} keys */
function light(view, keys) {
  view.svg.classList.toggle("tf-dim", Boolean(keys))
  for (const [key, { node }] of view.drawn) node.classList.toggle("tf-lit", Boolean(keys?.has(key)))
}

// ---- words, heads and bars ----

// Numbers of a mark that go from where they are to where they are to be.
/** @param {View} view @param {string} key @param {number[]} to @param {(at: number[]) => void} put @param {View["springs"]} [before] */
function spring(view, key, to, put, before = view.springs) {
  const now = before.get(key)?.now ?? to
  view.springs.set(key, { from: now, now, to, put })
  put(now)
}

/** @param {View} view */
function mark(view) {
  const { data, scene, colours } = view
  const { roles } = colours
  const seen = new Set(), before = view.springs
  view.springs = new Map()
  /** @param {string} key @param {Record<string, string | number>} said */
  const group = (key, said) => {
    seen.add(key)
    const old = view.kept.get(key)
    const node = old || svg("g", {}, view.marks)
    view.kept.set(key, node)
    node.replaceChildren()
    set(node, said)
    return node
  }
  for (const { row, words: token, x, y, turn, share, run } of scene.rows) {
    const began = `${run.length ? run.map(i => data.tokens[i]).join("") : data.tokens[row]}: ${percent(share)} of ${data.whole} began here`
    const node = group("row" + row, run.length ? { tabindex: 0, role: "button", "aria-label": `${began}. Show these ${run.length} tokens`, class: "tf-press" } : data.choosing
      ? { tabindex: 0, role: "button", "aria-pressed": String(row === data.target), "aria-label": `${began}. Explain this token`, class: "tf-press" }
      : { tabindex: 0, role: "img", "aria-label": began })
    svg("title", {}, node, began + (run.length ? ". Click: show each" : data.choosing ? ". Click: explain this token" : ""))
    const words = svg("text", {
      x, y, fill: roles.ink, "fill-opacity": 0.55 + 0.45 * Math.min(4 * share, 1), "font-size": 12.5,
      "font-weight": !run.length && (share >= 0.15 || row === data.target) ? 700 : 400, "text-anchor": turn ? "start" : "end",
      ...(turn ? { transform: `rotate(-55 ${x} ${y})` } : {}),
    }, node, token)
    words.setAttribute("dominant-baseline", "middle")
    const ancestry = () => light(view, reached(edges(view.scene), { kind: "node", column: -1, row }))
    node.onpointerenter = node.onfocus = ancestry
    node.onpointerleave = node.onblur = () => light(view, null)
    pressed(node, run.length ? () => rowsOfAll(view, true) : data.choosing ? () => view.send("token", row) : null)
  }
  for (const head of scene.columns) {
    const first = data.layers[head.first], last = data.layers[head.last]
    const words = head.first === head.last ? shortened(first) : `${shortened(first)}–${shortened(last)}`
    const many = head.first === head.last ? first : `${first} to ${last}`
    const does = head.open ? "fold it" : "open the one that carries most"
    const node = group(`col${head.first}-${head.last}`, data.foldable ? { tabindex: 0, role: "button", "aria-label": `${many}: ${does}`, class: "tf-press" } : {})
    svg("title", {}, node, data.foldable ? `${many}: ${does}` : many)
    svg("text", { x: head.x, y: head.y, fill: head.open ? roles.attention : roles.muted, "font-size": head.open ? 12.5 : 11, "font-weight": head.open ? 700 : 400, "text-anchor": scene.down ? "start" : "middle" }, node, head.open && head.roomy ? first : words)
    pressed(node, data.foldable ? () => view.send("open", head.index) : null)
    aims(view, node, { layer: head.first, head: null })
  }
  for (const dot of scene.dots) headDot(view, group("dot" + dot.name, {}), dot, before)
  for (const guess of scene.guesses) {
    const node = group("guess" + guess.layer, { role: "img", "aria-label": `after ${data.layers[guess.layer]}: ${guess.words}` })
    svg("text", {
      x: guess.x, y: guess.y, fill: roles.ink, "font-size": 11.5, "font-weight": 600, "text-anchor": guess.anchor,
      stroke: roles.paper, "stroke-width": 4, "paint-order": "stroke",
    }, node, guess.words)
  }
  for (const bar of scene.bars) {
    const chosen = bar.index === data.word, other = bar.index === data.against
    const does = !data.tracing ? "Measure the heads on this token" : chosen && data.traced ? "Widths for the state again"
      : `Widths for this token${chosen || data.word === null ? "" : `. With Shift: for ${data.next[data.word][0]} above it`}`
    const node = group("bar" + bar.index, view.live
      ? { tabindex: 0, role: "button", "aria-pressed": String(chosen && (data.traced || !data.tracing)), "aria-label": `${bar.token}, ${bar.percent}: explain it`, class: "tf-press" }
      : { tabindex: 0, role: "img", "aria-label": `${bar.token}, ${bar.percent}` })
    if (view.live) svg("title", {}, node, does)
    svg("rect", { x: bar.x - 96, y: bar.y - 10, width: scene.width - bar.x + 96, height: 21, fill: "transparent" }, node)
    svg("text", { x: bar.x - 6, y: bar.y + 4, fill: roles.ink, "font-size": bar.index ? 12.5 : 15, "font-weight": chosen ? 700 : 400, "text-anchor": "end" }, node, bar.token)
    if (bar.former !== null) svg("rect", { x: bar.x, y: bar.y - 8.5, width: Math.max(1, bar.former), height: 17, rx: 2, fill: roles.accent, "fill-opacity": 0.14, stroke: roles.accent, "stroke-opacity": 0.6, "stroke-dasharray": "3 2", class: "tf-former" }, node)
    const length = svg("rect", { x: bar.x, y: bar.y - 7, height: 14, rx: 2, fill: roles.accent, "fill-opacity": chosen ? 1 : other ? 0 : 0.45, ...(other ? { stroke: roles.accent, "stroke-width": 1.5 } : {}) }, node)
    const number = svg("text", { y: bar.y + 4, fill: roles.ink, "font-size": 11.5 }, node, bar.percent)
    const twin = scene.bars.filter(({ index, token }) => index < bar.index && token === bar.token).length
    spring(view, `bar${twin} ${bar.token}`, [bar.width, bar.y], ([width, y]) => {
      set(length, { width: Math.max(1, width) })
      set(number, { x: bar.x + Math.max(width, bar.former ?? 0) + 5 })
      set(node, { transform: `translate(0 ${y - bar.y})` })
    }, before)
    pressed(node, view.live ? event => view.send(event.shiftKey && data.tracing && !chosen ? "against" : "word", bar.index) : null)
  }
  if (data.drawing && scene.bars.length) {
    const [first] = scene.bars, node = group("drawing", { role: "note" })
    svg("text", { x: first.x, y: first.y - 16, fill: roles.muted, "font-size": 11, "text-anchor": "middle" }, node, `drawn at ${data.drawing}`)
  }
  for (const name of scene.names) {
    const node = group("name" + name.key, { "aria-hidden": "true", class: "tf-said" }) // its ribbon says more
    svg("text", {
      x: name.x, y: name.y + 4, fill: roles.ink, "font-size": name.size ?? 11, "text-anchor": name.anchor, stroke: roles.paper, "stroke-width": 4,
      "stroke-opacity": 0.85, "paint-order": "stroke",
    }, node, name.words)
  }
  const meaning = group("legend", { role: "note", "aria-label": "Legend: " + scene.signs.map(({ words }) => words).join("; ") })
  for (const one of scene.signs) sign(meaning, one, view.colours)
  for (const [key, node] of view.kept) {
    if (seen.has(key)) continue
    node.remove()
    view.kept.delete(key)
  }
  inOrder(view, seen)
}

// A line of the legend: a form as in the picture, and what it means.
/** @param {SVGGElement} parent @param {import("./river_notes.js").Sign} one @param {Palette} colours */
function sign(parent, { form, colour, words, x, y }, colours) {
  const fill = colour ? tint(colour, colours) : "none", { muted, ink } = colours.roles, kind = form === "dot" && colour
  if (form === "stream") svg("rect", { x, y: y - 4, width: 18, height: 8, fill, "fill-opacity": 0.6 }, parent)
  if (form === "ribbon") svg("path", { d: `M${x} ${y - 5}C${x + 9} ${y - 5} ${x + 9} ${y + 5} ${x + 18} ${y + 5}`, fill: "none", stroke: fill, "stroke-width": 3 }, parent)
  if (form === "lozenge") svg("path", { d: `M${x + 3} ${y}L${x + 9} ${y - 6}L${x + 15} ${y}L${x + 9} ${y + 6}Z`, fill, "fill-opacity": 0.85 }, parent)
  if (form === "dot" && !kind) for (const [cx, r] of [[x + 3, 2.2], [x + 12, 5.5]]) svg("circle", { cx, cy: y, r, fill: muted, "fill-opacity": 0.75 }, parent)
  if (kind) svg("circle", { cx: x + 4, cy: y, r: 4, fill }, parent)
  if (form === "guess") svg("text", { x, y: y + 4, fill: ink, "font-size": 11, "font-weight": 600 }, parent, "abc")
  if (form === "folded") svg("text", { x, y: y + 4, fill: muted, "font-size": 11 }, parent, "2–9")
  if (form === "former") svg("rect", { x, y: y - 5, width: 18, height: 10, rx: 2, fill, "fill-opacity": 0.14, stroke: fill, "stroke-opacity": 0.6, "stroke-dasharray": "3 2" }, parent)
  svg("text", { x: x + (kind ? 12 : 24), y: y + 4, fill: muted, "font-size": 11 }, parent, words)
}

// The Tab key goes through the marks as they stand: what is new goes to its place, what has the focus is not touched.
/** @param {View} view @param {Set<string>} keys */
function inOrder(view, keys) {
  let next = view.marks.firstChild
  for (const key of keys) {
    const node = /** @type {SVGGElement} */ (view.kept.get(key))
    if (node === next) next = node.nextSibling
    else view.marks.insertBefore(node, next)
  }
}

// The pointer or the focus is there: that is what is enlarged next.
/** @param {View} view @param {SVGGElement} node @param {import("./river_zoom.js").Zoom} at */
function aims(view, node, at) {
  node.onpointerenter = node.onfocus = () => (view.aim = at)
  node.onpointerleave = node.onblur = () => (view.aim = null)
}

/** @param {SVGGElement} node @param {((event: MouseEvent | KeyboardEvent) => void) | null} act */
function pressed(node, act) {
  node.onclick = act
  node.onkeydown = event => {
    if (!act || (event.key !== "Enter" && event.key !== " ")) return
    event.preventDefault()
    act(event)
  }
}

// Where there is little room: the number of a layer alone.
/** @param {string} layer */
const shortened = layer => layer.replace(/^layer /, "")

/** @param {number} share */
const percent = share => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`

/** @param {View} view @param {SVGGElement} node @param {import("./river_layout.js").Dot} dot @param {View["springs"]} [before] */
function headDot(view, node, dot, before) {
  const { roles } = view.colours
  const factor = view.factors[dot.name] ?? 1
  const colour = tint(dot.colour, view.colours)
  const words = `${dot.label}${dot.kind === "mixer" ? "" : `, ${dot.kind}`}: ${dot.effect}`, now = factor === 1 ? "as it is" : factor === 0 ? "off" : `times ${factor}`
  set(node, { tabindex: 0, ...(view.live
    ? { role: "slider", class: "tf-head", "aria-label": words, "aria-orientation": "vertical", "aria-valuemin": -LARGEST, "aria-valuemax": LARGEST, "aria-valuenow": factor, "aria-valuetext": now }
    : { role: "img", "aria-label": factor === 1 ? words : `${words}; ${now}` }) })
  svg("title", {}, node, words + (view.live ? ". Click: off and on; drag up or down: from −2 to 2" : ""))
  svg("circle", { cx: dot.x, cy: dot.y, r: 8, fill: "transparent" }, node)
  const round = svg("circle", { cx: dot.x, cy: dot.y, fill: factor === 0 ? roles.paper : colour, stroke: factor === 1 ? colour : roles.ink, "stroke-width": factor === 1 ? 0 : 1.5 }, node)
  spring(view, "dot" + dot.name, [dot.r], ([r]) => set(round, { r }), before)
  if (dot.chosen) svg("circle", { cx: dot.x, cy: dot.y, r: 10, fill: "none", stroke: roles.attention, "stroke-width": 2 }, node)
  if (dot.words) svg("text", { x: dot.x, y: dot.y + 19, fill: roles.muted, "font-size": 10, "text-anchor": "middle" }, node, dot.words)
  const [layer, head] = dot.name.split(".").map(Number)
  aims(view, node, { layer, head })
  if (factor !== 1) svg("text", { x: dot.x, y: dot.y - 10, fill: roles.ink, "font-size": 10, "font-weight": 700, "text-anchor": "middle" }, node, factor === 0 ? "off" : `×${factor}`.replace("-", "−"))
  if (!view.live) return
  let touched = false
  node.onpointerdown = event => {
    touched = event.pointerType === "touch"
    if (!touched && !event.button) take(view, node, dot.name, event)
  }
  node.onclick = () => touched && toggle(view, dot.name)
  node.onkeydown = event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const step = KEYS[event.key]
    if (event.key === "Enter" || event.key === " ") toggle(view, dot.name)
    else if (step) change(view, dot.name, (view.factors[dot.name] ?? 1) + step, true)
    else return
    event.preventDefault()
  }
}

/** @param {View} view @param {SVGGElement} node @param {string} name @param {PointerEvent} event */
function take(view, node, name, event) {
  const before = view.factors[name] ?? 1
  let moved = false
  view.held = node
  follow(/** @type {any} */ (node), event, move => {
    const up = event.clientY - move.clientY
    moved ||= Math.abs(up) > 4
    if (moved) change(view, name, before + up / PIXELS, false)
  }, () => {
    view.held = null
    if (moved) change(view, name, view.factors[name] ?? 1, true)
    else toggle(view, name)
  })
}

/** @param {View} view @param {string} name */
const toggle = (view, name) => change(view, name, (view.factors[name] ?? 1) === 1 ? 0 : 1, true)

/** @param {View} view @param {string} name @param {number} factor @param {boolean} final */
function change(view, name, factor, final) {
  const now = Math.round(Math.min(Math.max(factor, -LARGEST), LARGEST) / STEP) * STEP
  if (now === (view.factors[name] ?? 1) && !final) return
  view.factors[name] = now
  const words = Object.entries(view.factors).filter(([, by]) => by !== 1).map(([head, by]) => `${head}*${by}`)
  view.next = { heads: words.join(" "), final }
  const dot = view.scene.dots.find(one => one.name === name), node = view.kept.get("dot" + name)
  if (dot && node) {
    node.replaceChildren()
    headDot(view, node, dot)
  }
  post(view)
}

// ---- files ----

// The picture as it is now.
/** @param {HTMLElement} element */
export function picture(element) {
  const view = views.get(element)
  if (!view?.scene) return null
  const copy = /** @type {SVGSVGElement} */ (view.svg.cloneNode(true))
  set(copy, { "font-family": "sans-serif" })
  return copy
}

// The wave through the layers.
/** @param {HTMLElement} element */
export function film(element) {
  const view = views.get(element)
  if (!view?.scene) return null
  /** @param {number} moment */
  const at = moment => {
    Object.assign(view, { wave: moment, paused: moment < 1 })
    cancelAnimationFrame(view.asked)
    tick(view, performance.now())
  }
  return { lasts: WAVE, at, end: () => at(1) }
}
