// One head at work on one stage: Q at the left, its keys above the scores, the values above what comes out. Whole numbers
// of `now` are states between steps, and what lies between them is on its way: cells slide, sweep, pour and flow. Where
// somebody is told of it, a click on a cell asks why the query looks there, and the slider leads to a step.
import { legible, palette, shades } from "./colours.js"
import { html } from "./dom.js"

const LONG = 600, SHORT = 350 // ms, of a step that moves cells and of one that only changes colours
const FILMED = 800 // ms of a step in a video
const LONGER = ["scores", "softmax", "values"]
const NARROW = 560 // pixels below which names and vectors get less room
const TOP = 50, BAND = 84, GAP = 14, BARS = 62, UNDER = 16 // pixels, from top to bottom
const LARGEST = 30, ROOMY = 25 // pixels of a cell, and those from which it has room for its number
const FULL = 99 // a component of a vector that has the strongest colour

/** @typedef {{ x: number, y: number, w: number, h: number }} Box */
/** @typedef {{ cell: number, q: Box, k: Box, v: Box, s: Box, z: Box, bars: Box, names: number }} Places */
/**
 * @typedef {{
 *   root: HTMLElement, canvas: HTMLCanvasElement, scrub: HTMLInputElement, told: HTMLElement, observer: ResizeObserver,
 *   data: StageData, tell?: Send, now: number, from: number, to: number,
 *   began: number, frame: number, row: number, column: number, ready: boolean, places: Places, colours: Palette,
 *   signed: string[], weighed: string[], limit: number, stamp: string
 * }} View
 */
/** @type {WeakMap<HTMLElement, View>} */
const views = new WeakMap()

/** @param {HTMLElement} element @param {StageData} data @param {Send} [tell] */
export function draw(element, data, tell) {
  const view = views.get(element) || create(element, data)
  const other = data.tokens.join() !== view.data.tokens.join()
  view.data = data
  view.limit = Math.max(...data.scores.map(one => Math.max(...one.map(Math.abs)))) || 1
  view.tell = tell
  if (other || view.row < 0 || view.row >= data.tokens.length) focus(view, data.tokens.length - 1)
  else focus(view, view.row)
  view.scrub.max = String(data.steps.length)
  view.canvas.setAttribute("aria-label", data.label)
  view.from = view.now
  view.to = data.at + 1
  if (Math.abs(view.to - view.from) > 1.01) view.from = view.to - 1 // from afar, the step itself is shown
  view.began = performance.now()
  arrange(view)
  return () => remove(element, view)
}

/** @param {HTMLElement} parent @param {View} view */
function remove(parent, view) {
  cancelAnimationFrame(view.frame)
  view.observer.disconnect()
  if (views.get(parent) === view) views.delete(parent)
  view.root.remove()
}

/** @param {HTMLElement} parent @param {StageData} data */
function create(parent, data) {
  const root = html("div", "tf-attention-stage", parent)
  const canvas = /** @type {HTMLCanvasElement} */ (html("canvas", "", root))
  canvas.setAttribute("role", "img")
  canvas.tabIndex = 0
  const foot = html("div", "", root)
  const told = html("p", "", foot)
  told.setAttribute("aria-live", "polite")
  const named = html("label", "", foot)
  html("span", "", named).textContent = "Drag through attention"
  const scrub = /** @type {HTMLInputElement} */ (html("input", "", named))
  Object.assign(scrub, { type: "range", min: "0", step: "0.01" })
  const view = /** @type {View} */ (/** @type {Partial<View>} */ ({
    root, canvas, scrub, told, data, now: data.at, from: data.at, to: data.at, began: 0, frame: 0, row: -1, column: 0, ready: false, stamp: "",
  }))
  scrub.oninput = () => {
    cancelAnimationFrame(view.frame)
    view.now = Number(scrub.value)
    paint(view)
  }
  scrub.onchange = () => {
    const at = Math.min(Math.max(Math.ceil(view.now) - 1, 0), view.data.steps.length - 1)
    if (at !== view.data.at) view.tell?.("to", at)
  }
  canvas.onpointermove = event => point(view, event)
  canvas.onpointerdown = event => {
    const { row, column } = view
    point(view, event)
    view.ready = event.pointerType !== "touch" || (row === view.row && column === view.column) // a first touch points
  }
  canvas.onclick = event => {
    if (view.ready && inScores(view, event)) ask(view)
  }
  canvas.onkeydown = event => {
    if (event.key === "Enter") return ask(view)
    const by = { ArrowUp: -1, ArrowDown: 1 }[event.key]
    if (!by) return
    event.preventDefault()
    focus(view, Math.min(Math.max(view.row + by, 0), view.data.tokens.length - 1))
    paint(view)
  }
  view.observer = new ResizeObserver(() => arrange(view))
  view.observer.observe(canvas)
  views.set(parent, view)
  return view
}

// The token whose row is followed, and with it the key that it attends to most, or the one that is pointed at.
/** @param {View} view @param {number} row @param {number} [column] */
function focus(view, row, column) {
  const { tokens, weights, allowed, stories } = view.data, n = tokens.length
  view.row = row
  const here = weights.slice(row * n, row * n + n).map((weight, key) => (allowed[row * n + key] ? weight : -1))
  view.column = column ?? here.indexOf(Math.max(...here))
  view.told.textContent = column === undefined ? stories[row] : pair(view, row, column)
}

/** @param {View} view @param {number} row @param {number} column */
function pair({ data }, row, column) {
  const { tokens, weights, allowed, scores } = data, at = row * tokens.length + column
  const names = `query '${tokens[row]}', key '${tokens[column]}'`
  if (!allowed[at]) return `${names}: not allowed by the mask, so the weight is 0.`
  return `${names}: score ${scores[scores.length - 1][at].toFixed(2)}, weight ${weights[at].toFixed(3)}.`
}

/** @param {View} view @param {MouseEvent} event */
function inScores(view, { offsetX: x, offsetY: y }) {
  const { s } = view.places
  return x >= s.x && x < s.x + s.w && y >= s.y && y < s.y + s.h
}

// Why the query looks at the key of the cell that is followed, on another page.
/** @param {View} view */
function ask({ data, row, column, tell }) {
  if (data.allowed[row * data.tokens.length + column]) tell?.("cell", { query: row, key: column })
}

/** @param {View} view @param {PointerEvent} event */
function point(view, event) {
  if (!view.places) return
  view.canvas.style.cursor = view.tell && inScores(view, event) ? "pointer" : ""
  const x = event.offsetX, y = event.offsetY, n = view.data.tokens.length, { s, k, v, cell } = view.places
  const inside = y >= s.y && y < s.y + s.h
  const row = inside ? Math.floor((y - s.y) / cell) : view.row
  let column
  if (x >= s.x && x < s.x + s.w && (inside || (y >= k.y && y < k.y + k.h))) column = Math.floor((x - s.x) / cell)
  else if (x >= v.x && x < v.x + v.w && y >= v.y && y < v.y + v.h) column = Math.floor(((y - v.y) / v.h) * n)
  if (!inside && column === undefined) return
  focus(view, row, column)
  paint(view)
}

// ---- files ----

// The picture as it is now, with twice as many pixels.
/** @param {HTMLElement} element */
export function picture(element) {
  const view = views.get(element)
  if (!view?.places) return null
  const canvas = html("canvas", ""), scale = 2
  Object.assign(canvas, { width: view.canvas.clientWidth * scale, height: view.data.height * scale })
  paint({ ...view, canvas }, scale)
  return canvas
}

// Attention from its beginning to its end.
/** @param {HTMLElement} element */
export function film(element) {
  const view = views.get(element)
  if (!view?.places) return null
  const { steps, at: shown } = view.data
  /** @param {number} moment */
  const at = moment => {
    cancelAnimationFrame(view.frame)
    view.now = moment * steps.length
    view.scrub.value = String(view.now)
    paint(view)
  }
  return { lasts: FILMED * steps.length, at, end: () => at((shown + 1) / steps.length) }
}

// ---- where everything stands ----

/** @param {View} view */
function arrange(view) {
  const { canvas, data } = view, width = canvas.clientWidth
  if (!width) return // hidden: drawn when it gets a size
  view.colours = palette(view.root)
  if (view.stamp !== view.colours.stamp) {
    view.stamp = view.colours.stamp
    view.signed = shades(view.colours, "@signed")
    view.weighed = shades(view.colours, "@weights")
  }
  view.places = places(width, data.height, data.tokens.length)
  const scale = window.devicePixelRatio || 1
  canvas.width = Math.round(width * scale)
  canvas.height = Math.round(data.height * scale)
  canvas.style.height = `${data.height}px`
  cancelAnimationFrame(view.frame)
  tick(view)
}

/** @param {number} width @param {number} height @param {number} n tokens @returns {Places} */
export function places(width, height, n) {
  const narrow = width < NARROW, names = narrow ? 62 : 104, vector = narrow ? 52 : 180, gap = narrow ? 8 : 22
  const across = (width - names - 2 * vector - 2 * gap - 12) / n, down = (height - TOP - BAND - GAP - BARS - 2 * UNDER) / n
  const cell = Math.max(Math.min(across, down, LARGEST), 2), side = cell * n
  const x = Math.max(names, (width - 2 * vector - 2 * gap - side + names / 2) / 2), y = TOP + BAND + GAP
  return {
    cell, names,
    q: { x, y, w: vector, h: side },
    s: { x: x + vector + gap, y, w: side, h: side },
    k: { x: x + vector + gap, y: TOP, w: side, h: BAND },
    z: { x: x + vector + 2 * gap + side, y, w: vector, h: side },
    v: { x: x + vector + 2 * gap + side, y: TOP, w: vector, h: BAND },
    bars: { x: x + vector + gap, y: y + side + UNDER, w: side, h: BARS },
  }
}

// ---- what is seen ----

const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches
/** @param {number} t */
const eased = t => t * t * (3 - 2 * t)
/** @param {number} a @param {number} b @param {number} t */
const mix = (a, b, t) => a + (b - a) * t
/** @param {number} t @param {number} from @param {number} to */
const part = (t, from, to) => Math.min(Math.max((t - from) / (to - from), 0), 1)

/** @param {View} view */
function tick(view) {
  const step = view.data.steps[Math.min(Math.floor(Math.min(view.from, view.to)), view.data.steps.length - 1)]
  const rate = Number(document.documentElement.dataset.tfSpeed) || 1
  const lasts = (LONGER.includes(step) ? LONG : SHORT) / rate, t = still() ? 1 : part(performance.now() - view.began, 0, lasts)
  view.now = mix(view.from, view.to, t)
  view.scrub.value = String(view.now)
  paint(view)
  if (t < 1) view.frame = requestAnimationFrame(() => tick(view))
}

// How far each step has come: 0 is not begun, 1 is done.
/** @param {View} view @param {string} name */
function done({ data, now }, name) {
  const at = data.steps.indexOf(name)
  return at < 0 ? 0 : eased(part(now, at, at + 1))
}

// The matrix after the steps that there are, the one that is under way mixed in.
/** @param {View} view @param {number[][]} states @param {string[]} names */
function between(view, states, names) {
  const there = names.filter(name => view.data.steps.includes(name))
  let at = 0
  while (at + 1 < there.length && done(view, there[at + 1]) > 0) at++
  const t = at ? done(view, there[at]) : 1, before = states[Math.max(at - 1, 0)], after = states[at]
  return t >= 1 ? after : after.map((value, i) => mix(before[i], value, t))
}

/** @param {View} view */
function paint(view, scale = window.devicePixelRatio || 1) {
  const pen = view.canvas.getContext("2d")
  if (!pen || !view.places) return
  pen.setTransform(scale, 0, 0, scale, 0, 0)
  pen.clearRect(0, 0, view.canvas.width, view.canvas.height)
  const { data, places: at } = view, n = data.tokens.length, d = data.width
  const q = between(view, data.queries, ["heads", "qk-norm", "rotation"]), k = between(view, data.keys, ["heads", "qk-norm", "rotation"])
  pen.globalAlpha = done(view, "heads")
  matrix(pen, view, q, n, d, at.q, false)
  matrix(pen, view, k, n, d, at.k, true)
  matrix(pen, view, data.values, n, d, at.v, false)
  pen.globalAlpha = 1
  lettering(pen, view)
  products(pen, view, q, k)
  bars(pen, view)
  output(pen, view)
  frames(pen, view)
}

// Cells of vectors, a row a token; turned, a column a token.
/** @param {CanvasRenderingContext2D} pen @param {View} view @param {number[]} values @param {number} n @param {number} d @param {Box} box @param {boolean} turned */
function matrix(pen, view, values, n, d, box, turned) {
  const [across, down] = turned ? [n, d] : [d, n], w = box.w / across, h = box.h / down
  for (let token = 0; token < n; token++) for (let i = 0; i < d; i++) {
    const [column, row] = turned ? [token, i] : [i, token]
    pen.fillStyle = view.signed[Math.round(100 + (100 * values[token * d + i]) / FULL)]
    pen.fillRect(box.x + column * w, box.y + row * h, w + 0.3, h + 0.3)
  }
}

// Scores: a row of queries and a column of keys slide together into one cell, then the others come. The mask sweeps over
// them, and the softmax gives each row the colours of weights.
/** @param {CanvasRenderingContext2D} pen @param {View} view @param {number[]} q @param {number[]} k */
function products(pen, view, q, k) {
  const { data, places: { cell, s } } = view, n = data.tokens.length
  const come = done(view, "scores"), masked = done(view, "mask"), soft = done(view, "softmax")
  if (!come) return
  const values = between(view, data.scores, ["scores", "scaled", "softcap", "bias"])
  const { limit } = view, filled = part(come, 0.5, 1)
  pen.font = `${Math.min(11, cell * 0.42)}px sans-serif`
  pen.textAlign = "center"
  for (let row = 0; row < n; row++) for (let column = 0; column < n; column++) {
    const first = row === view.row && column === view.column
    const order = (Math.abs(row - view.row) + Math.abs(column - view.column) / n) / n
    if (!first && order > filled) continue
    if (first && come < 0.5) continue
    const i = row * n + column, x = s.x + column * cell, y = s.y + row * cell
    const blocked = !data.allowed[i] && 1 - column / n <= masked
    const pours = row === view.row ? part(soft, 0, 0.8) : part(soft, 0.3, 1)
    const [low, high] = [view.signed[Math.round(100 + (100 * values[i]) / limit)], view.weighed[Math.round(200 * data.weights[i])]]
    pen.fillStyle = blocked ? view.colours.roles.grid : pours > 0.5 ? high : low
    pen.fillRect(x, y, cell - (cell > 6 ? 1 : 0), cell - (cell > 6 ? 1 : 0))
    if (cell < ROOMY || blocked) continue
    const words = pours > 0.5 ? data.weights[i].toFixed(2) : values[i].toFixed(1)
    pen.fillStyle = legible(pours > 0.5 ? high : low, view.colours.roles)
    pen.fillText(words, x + cell / 2, y + cell * 0.64)
  }
  if (come < 0.5) meet(pen, view, q, k, come / 0.5)
}

// The row of a query and the column of a key on their way to the cell of their product.
/** @param {CanvasRenderingContext2D} pen @param {View} view @param {number[]} q @param {number[]} k @param {number} t */
function meet(pen, view, q, k, t) {
  const { data: { width: d }, places: at, row, column } = view, { cell } = at, h = at.v.h
  const to = { x: at.s.x + column * cell, y: at.s.y + row * cell, w: cell, h: cell }
  matrix(pen, view, q.slice(row * d, row * d + d), 1, d, moved({ x: at.q.x, y: to.y, w: at.q.w, h: cell }, to, t), false)
  matrix(pen, view, k.slice(column * d, column * d + d), 1, d, moved({ x: to.x, y: at.k.y, w: cell, h }, to, t), true)
}

/** @param {Box} from @param {Box} to @param {number} t @returns {Box} */
const moved = (from, to, t) => ({ x: mix(from.x, to.x, t), y: mix(from.y, to.y, t), w: mix(from.w, to.w, t), h: mix(from.h, to.h, t) })

// The softmax of the row that is followed, poured into bars under its columns.
/** @param {CanvasRenderingContext2D} pen @param {View} view */
function bars(pen, view) {
  const soft = done(view, "softmax"), { data, places: { cell, s, bars: box }, row } = view, n = data.tokens.length
  if (!soft) return
  const foot = box.y + box.h, high = box.h - 12
  for (let column = 0; column < n; column++) {
    const weight = data.weights[row * n + column]
    if (!data.allowed[row * n + column]) continue
    const tall = Math.max(high * weight, 1), x = s.x + column * cell
    const from = { x, y: s.y + row * cell, w: cell - 1, h: cell - 1 }, to = { x: x + 1, y: foot - tall, w: Math.max(cell - 3, 1), h: tall }
    const now = moved(from, to, soft)
    pen.fillStyle = view.colours.roles.attention
    pen.globalAlpha = mix(0.5, column === view.column ? 1 : 0.65, soft)
    pen.fillRect(now.x, now.y, now.w, now.h)
    pen.globalAlpha = 1
    if (soft < 1 || column !== view.column) continue
    label(pen, weight.toFixed(2), x + cell / 2, foot - tall - 4, view.colours.roles.ink, "center", 11)
  }
  pen.fillStyle = view.colours.roles.grid
  pen.fillRect(s.x, foot, s.w, 1)
}

// Rows of values, each as strong as its weight, flow into the output of the row that is followed; then the other rows.
/** @param {CanvasRenderingContext2D} pen @param {View} view */
function output(pen, view) {
  const t = done(view, "values"), { data, places: at, row } = view, n = data.tokens.length, d = data.width
  if (!t) return
  const flows = part(t, 0, 0.6), filled = part(t, 0.6, 1), { cell } = at
  if (flows < 1) for (let key = 0; key < n; key++) {
    const weight = data.weights[row * n + key]
    if (weight < 0.01) continue
    const from = { x: at.v.x, y: at.v.y + (key * at.v.h) / n, w: at.v.w, h: at.v.h / n }
    pen.globalAlpha = Math.min(0.25 + weight, 1)
    matrix(pen, view, data.values.slice(key * d, key * d + d), 1, d, moved(from, { x: at.z.x, y: at.z.y + row * cell, w: at.z.w, h: cell }, flows), false)
  }
  pen.globalAlpha = 1
  for (let one = 0; one < n; one++) {
    if (flows < 1 || Math.abs(one - row) / n > filled) continue
    matrix(pen, view, data.output.slice(one * d, one * d + d), 1, d, { x: at.z.x, y: at.z.y + one * cell, w: at.z.w, h: cell - (cell > 6 ? 1 : 0) }, false)
  }
}

// ---- names and frames ----

/** @param {CanvasRenderingContext2D} pen @param {string} words @param {number} x @param {number} y @param {string} colour @param {CanvasTextAlign} align @param {number} size @param {boolean} [bold] */
function label(pen, words, x, y, colour, align, size, bold) {
  pen.fillStyle = colour
  pen.textAlign = align
  pen.font = `${bold ? "700 " : ""}${size}px sans-serif`
  pen.fillText(words, x, y)
}

/** @param {CanvasRenderingContext2D} pen @param {View} view */
function lettering(pen, view) {
  const { data, places: at, colours: { roles }, row, column } = view, { cell, q, k, v, s, z } = at
  const most = Math.floor((at.names - 8) / 6.4)
  data.tokens.forEach((token, i) => {
    const words = token.length > most ? token.slice(0, most - 1) + "…" : token, size = Math.min(12, cell + 1)
    if (cell >= 8 || i === row) label(pen, words, q.x - 6, q.y + (i + 0.5) * cell + 4, i === row ? roles.query : roles.ink, "right", Math.max(size, 9), i === row)
    if (cell < 12 && i !== column) return
    pen.save()
    pen.translate(k.x + (i + 0.6) * cell, k.y - 5)
    pen.rotate(-0.8)
    label(pen, words, 0, 0, i === column ? roles.key : roles.ink, "left", Math.max(Math.min(size, 11), 9), i === column)
    pen.restore()
  })
  label(pen, "Q", q.x - 6, q.y - 5, roles.query, "right", 14, true)
  label(pen, "Kᵀ", k.x - 6, k.y + 12, roles.key, "right", 14, true)
  label(pen, "V", v.x - 6, v.y + 12, roles.value, "right", 14, true)
  const weighed = done(view, "softmax") > 0.5
  if (done(view, "scores")) label(pen, weighed ? "weights A" : "scores", s.x - 6, s.y + s.h + 13, roles.attention, "right", 12, true)
  if (done(view, "values")) label(pen, "A V", z.x + z.w, z.y + z.h + 15, roles.value, "right", 14, true)
  if (at.names > 90) label(pen, view.data.labels[Math.min(Math.ceil(view.now), data.steps.length) - 1] ?? "", q.x, k.y + 12, roles.muted, "left", 13)
}

// What is followed: a row of queries, scores and output, a column of keys, a row of values.
/** @param {CanvasRenderingContext2D} pen @param {View} view */
function frames(pen, view) {
  const { places: at, colours: { roles }, row, column, data } = view, { cell, q, k, v, s, z } = at
  const thin = v.h / data.tokens.length
  /** @param {string} colour @param {number} x @param {number} y @param {number} w @param {number} h */
  const frame = (colour, x, y, w, h) => {
    pen.strokeStyle = colour
    pen.lineWidth = 1.5
    pen.strokeRect(x - 0.5, y - 0.5, w + 1, h + 1)
  }
  if (done(view, "heads") < 1) return
  frame(roles.query, q.x, q.y + row * cell, q.w, cell)
  frame(roles.key, k.x + column * cell, k.y, cell, k.h)
  if (done(view, "scores") >= 0.5) frame(roles.attention, s.x, s.y + row * cell, s.w, cell)
  if (done(view, "softmax") >= 1) frame(roles.value, v.x, v.y + column * thin, v.w, thin)
  if (done(view, "values") >= 1) frame(roles.value, z.x, z.y + row * cell, z.w, cell)
}
