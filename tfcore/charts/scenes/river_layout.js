// Where everything of the river stands, and what is on the way from or to something; nothing here touches the page.
// "a" runs along the layers, "c" across the tokens: on a wide page a is x, on a narrow one it runs down.
import { layCell } from "./river_cell.js"
import { legend, ribbonNames } from "./river_notes.js"
import { foldable, folded } from "./river_rows.js"

const WIDE = 620 // pixels from which layers run to the right
const LEFT = 100, RIGHT = 256, ROOM = 70, ALONE = 40, BELOW = 30 // margins of a wide page, with next tokens (more where there is room) and without
const NUMBERS = 86 // pixels beside the bars, for the numbers before and after a change
const SLANT = 4.3 // pixels to the right of a letter of a word that rises
const HEADER = 52, DOTS = 15, DOT = 11 // pixels: of layers' numbers, of a row of heads, of a head
const ROOMY = 84 // pixels of an open layer from which its number says that it is one
const LONGEST = 14, LONGEST_DOWN = 18 // letters of a token at the left, and above a narrow page
const SAID = 18 // pixels below the token that is explained, for the guesses at it
const FULL = 56, FULL_OF_MANY = 44, MANY = 20 // pixels across of the whole state; with more tokens than that
const FAINT = 0.002 // share of the state below which a stream is only hinted at
const FEW = 12 // tokens on a narrow page
const FOLDED = 30 // pixels along of folded layers
const NARROWEST = 60 // pixels along of an open layer
const PASSED = 8, ENLARGED = 300 // pixels along of the other layers where one is enlarged, and of that one at least
const LABELLED = 28 // pixels of a row of heads with their names
const BAND = 18 // pixels across of all weights of one token; those of the first, which much of them rests on, are faint

/**
 * @typedef {object} Shape
 * @property {string} key
 * @property {"stream" | "node" | "ribbon" | "lozenge" | "mouth"} kind
 * @property {number[]} at [a, c, height] where it begins, and where it ends
 * @property {string} colour a role of the theme
 * @property {number} opacity
 * @property {number} column
 * @property {number} row where it ends
 * @property {number} from the row where it begins
 * @property {string} title
 * @property {[number, number, number, number]} [ribbon] layer, head, query, key
 * @property {string} [name] of the ribbon of a head, in words
 */
/** @typedef {{ name: string, label: string, x: number, y: number, r: number, colour: string, kind: string, effect: string, words: string, chosen: boolean }} Dot */
/**
 * @typedef {object} Scene
 * @property {number} width
 * @property {number} height
 * @property {boolean} down
 * @property {Shape[]} shapes
 * @property {{ row: number, words: string, x: number, y: number, turn: boolean, share: number, run: number[] }[]} rows with the tokens that share one
 * @property {{ index: number, first: number, last: number, open: boolean, roomy: boolean, x: number, y: number }[]} columns
 * @property {{ layer: number, from: number, to: number }[]} places of open layers, along
 * @property {Dot[]} dots
 * @property {{ layer: number, words: string, x: number, y: number, anchor: "start" | "middle" | "end" }[]} guesses
 * @property {{ index: number, token: string, percent: string, x: number, y: number, width: number, former: number | null }[]} bars
 * @property {import("./river_notes.js").Name[]} names
 * @property {import("./river_notes.js").Sign[]} signs of the legend
 */

/** @param {RiverData} given @param {number} size pixels there are to the right @param {boolean} [all] whether each token has a row @returns {Scene} */
export function lay(given, size, all = false) {
  if (given.zoom?.pair) return layCell(given, size)
  const down = size < WIDE
  const { data, rows, runs } = !down && !all && foldable(given) ? folded(given)
    : { data: given, rows: down ? widest(given) : given.tokens.map((_, i) => i), runs: /** @type {Map<number, number[]>} */ (new Map()) }
  const full = down ? Math.min(30, size / rows.length) : rows.length > MANY ? FULL_OF_MANY : FULL
  const left = down ? 34 : LEFT
  const folds = data.columns.filter(one => !one.open).length, opens = data.columns.length - folds
  const right = data.next.length ? RIGHT + Math.max(0, Math.min(ROOM, (size - 800) / 2)) : ALONE
  const zoom = enlarged(data), others = PASSED * (data.columns.length - 1)
  const open = zoom ? Math.max(ENLARGED, down ? 0 : size - LEFT - right - others)
    : down ? 104 : Math.max(NARROWEST, Math.min(230, (size - LEFT - right - folds * FOLDED) / Math.max(opens, 1)))
  /** @param {RiverColumn} one */
  const length = one => (zoom ? (one.open && one.first === zoom.layer ? open : PASSED) : one.open ? open : FOLDED)
  const inRow = headsInRow(data, 0.76 * open, zoom), pitch = zoom ? LABELLED : DOTS
  const top = down ? 92 : HEADER + pitch * Math.ceil(data.effects[0].length / inRow)
  const c = across(data, rows, full, down ? left : top, down ? (size - left - beyond(data, rows, (size - left) / rows.length)) / rows.length : 0)
  const end = Math.max(...rows.map(i => c[i])) + full / 2
  let a = down ? top : left
  const places = data.columns.map(one => {
    const a0 = a, w = length(one)
    a += w
    return { a0, a1: a, b0: a0 + Math.min(6, w / 6), b1: one.open ? a0 + 0.76 * w : a - Math.min(3, w / 4) }
  })
  const is = new Set(rows)
  const shapes = [...nodes(data, rows, c, full, places), ...flows(data, is, c, full, places)]
  /** @type {Scene} */
  const scene = { width: 0, height: 0, down, shapes, rows: [], columns: [], dots: [], guesses: [], bars: [], places: [], names: [], signs: [] }
  scene.width = down ? size : Math.max(size, a + right)
  scene.height = down ? a + 34 + 24 * data.next.length : end + BELOW
  scene.rows = rows.map(row => ({
    row, words: runs.has(row) ? "⋯ " + data.tokens[row] : cut(data.tokens[row], down ? LONGEST_DOWN : LONGEST), share: data.stream[0][row],
    turn: down, x: down ? c[row] : left - 10, y: down ? top - 10 : c[row], run: runs.get(row) ?? [],
  }))
  data.columns.forEach((one, index) => {
    const { a0, a1, b1 } = places[index]
    if (zoom && !(one.open && one.first === zoom.layer)) return
    if (one.open) scene.places.push({ layer: one.first, from: a0, to: a1 })
    const middle = one.open ? (a0 + b1) / 2 : (a0 + a1) / 2
    scene.columns.push({ index, first: one.first, last: one.last, open: one.open, roomy: !down && open >= ROOMY, x: down ? 0 : middle, y: down ? middle + 4 : 16 })
    if (!one.open) return
    scene.dots.push(...dots(data, one, down ? { x: left, y: a0 + 8, along: size - left } : { x: a0, y: 40, along: b1 - a0 }, zoom))
    const guess = data.guesses[one.first]
    if (!guess) return
    const [word, probability] = guess, number = `${Math.round(100 * probability)} %`
    const at = c[data.target], isRight = at > size / 2
    scene.guesses.push(down
      ? { layer: one.first, words: fitting(word, number, size / 2), x: at + (isRight ? -1 : 1) * (full / 2 + 3), y: a1 - 8, anchor: isRight ? "end" : "start" }
      : { layer: one.first, words: fitting(word, number, a1 - a0), x: Math.min(b1 + 4, a1 - 20), y: at + full / 2 + 17, anchor: "middle" })
  })
  bars(data, scene, c, full, a, down ? size - 130 - NUMBERS : right - 120 - NUMBERS)
  scene.names = ribbonNames(scene, Boolean(zoom))
  const signs = legend(data, scene, a)
  scene.signs = signs.signs
  scene.height = signs.height
  return scene
}

// The layer that is drawn over the whole width, where it is open.
/** @param {RiverData} data */
const enlarged = ({ zoom, columns }) => (zoom && columns.some(one => one.open && one.first === zoom.layer) ? zoom : null)

// As in "2.5" or "cross 0.5".
/** @param {RiverData} data @param {number} layer @param {number} head */
const headName = (data, layer, head) => `${data.layers[layer].replace(/^layer /, "")}.${head}`

// As in "head 2.5"; of what stands in the place of attention, as in "mixer 2".
/** @param {RiverData} data @param {number} layer @param {number} head */
const headTitle = (data, layer, head) => (data.kinds[layer][head] === "mixer" ? `mixer ${data.layers[layer].replace(/^layer /, "")}` : `head ${headName(data, layer, head)}`)

// A guess, without its number or the end of its word where there is no room for them.
/** @param {string} word @param {string} number @param {number} room */
function fitting(word, number, room) {
  const most = Math.floor(room / 6.6), whole = `${word} ${number}`
  return whole.length <= most ? whole : word.length <= most ? word : word.slice(0, most - 1) + "…"
}

/** @param {string} words @param {number} most */
const cut = (words, most) => (words.length > most ? words.slice(0, most - 1) + "…" : words)

// Pixels that the rising words of a narrow page take to the right of the last of them.
/** @param {RiverData} data @param {number[]} rows @param {number} pitch */
const beyond = (data, rows, pitch) => Math.max(12, ...rows.map((row, k) => SLANT * Math.min(data.tokens[row].length, LONGEST_DOWN) - pitch * (rows.length - k - 0.5)))

// On a narrow page, the tokens with the widest streams, in their order.
/** @param {RiverData} data */
function widest(data) {
  const share = data.tokens.map((_, i) => (i === data.target ? 2 : Math.max(...data.stream.map(stage => stage[i]))))
  const kept = share.map((_, i) => i).sort((i, j) => share[j] - share[i]).slice(0, FEW)
  return kept.sort((i, j) => i - j)
}

/** @param {RiverData} data @param {number[]} rows @param {number} full @param {number} start @param {number} pitch */
function across(data, rows, full, start, pitch) {
  const least = pitch || Math.max(15, Math.min(26, 360 / rows.length))
  /** @type {Record<number, number>} */
  const c = {}
  let at = start, before = 0
  for (const i of rows) {
    const half = (full * Math.max(...data.stream.map(stage => stage[i]))) / 2
    const first = i === rows[0]
    at += pitch ? (first ? pitch / 2 : pitch) : first ? Math.max(half, 8) : Math.max(least, before + half + 7)
    c[i] = at
    before = half + (i === data.target && !pitch && data.next.length ? SAID : 0)
  }
  return c
}

/** @typedef {{ a0: number, a1: number, b0: number, b1: number }} Place */

// The streams between two columns, and what the feed-forward layer of the first of them writes.
/** @param {RiverData} data @param {number[]} rows @param {Record<number, number>} c @param {number} full @param {Place[]} places */
function nodes(data, rows, c, full, places) {
  /** @type {Shape[]} */
  const found = []
  const zoom = enlarged(data), said = { from: 0, opacity: 0.6, colour: "@residual", title: "" }
  for (let k = 0; k <= places.length; k++) {
    const stage = k ? data.columns[k - 1].last + 1 : 0
    const from = k ? places[k - 1].b1 : places[0].a0, to = k < places.length ? places[k].b0 : places[k - 1].a1 + 4
    for (const row of rows) {
      const share = data.stream[stage][row], h = Math.max(full * share, 0.7)
      const title = `${data.tokens[row]}: ${(100 * share).toFixed(1)} % of ${data.whole}`
      found.push({ ...said, opacity: share < FAINT ? 0.3 : 0.6, key: `n${stage}:${row}`, kind: "node", at: [from, c[row], h, to, c[row], h], column: k - 1, row, from: row, title })
      const layer = stage - 1, wrote = k && data.columns[k - 1].open && (!zoom || zoom.layer === layer) ? data.feedforward[layer][row] : 0
      if (wrote < 0.02) continue
      const r = Math.min(3 + 16 * Math.sqrt(wrote / Math.PI), 13), at = (from + to) / 2
      found.push({
        ...said, key: `f${layer}:${row}`, kind: "lozenge", at: [at, c[row], r, at, c[row], r], column: k - 1, row, from: row,
        colour: "@feedforward", opacity: 0.85, title: `feed-forward after ${data.layers[layer]} wrote ${(100 * wrote).toFixed(1)} % of ${data.whole}, at ${data.tokens[row]}`,
      })
    }
  }
  return found
}

// What flows through the columns: the rest of each token's own stream, and the ribbons; each has its place at both ends.
/** @param {RiverData} data @param {Set<number>} is @param {Record<number, number>} c @param {number} full @param {Place[]} places */
function flows(data, is, c, full, places) {
  /** @type {Shape[]} */
  const found = []
  data.columns.forEach((one, k) => {
    const { zoom } = data
    if (zoom?.weights && one.open && one.first === zoom.layer) return void found.push(...weights(data, zoom, k, is, c, full, places[k]))
    const { b0, b1 } = places[k], before = data.stream[one.first], after = data.stream[one.last + 1]
    /** @type {Record<number, number>} */
    const left = {}
    for (const row of is) left[row] = after[row]
    const ribbons = one.ribbons.filter(([query, key]) => is.has(query) && is.has(key))
    for (const [query, , share] of ribbons) left[query] -= share
    const parts = [...is].map(row => ({ query: row, key: row, share: Math.max(left[row], 0), head: /** @type {number | null} */ (null), cell: [row, row] }))
      .concat(ribbons.map(([query, key, share, head, cell = [query, key]]) => ({ query, key, share, head, cell })))
    const starts = stacked(parts, "key", "query", row => c[row] - (full * before[row]) / 2, full)
    const ends = stacked(parts, "query", "key", row => c[row] - (full * after[row]) / 2, full)
    parts.forEach((part, i) => {
      const { query, key, share, head, cell } = part, own = query === key
      const h = Math.max(full * share, own || head === null ? 0.7 : 1.2)
      const at = [b0, starts[i] + (full * share) / 2, h, b1, ends[i] + (full * share) / 2, h]
      const where = { column: k, row: query, from: key, at }
      if (own) return void found.push({ ...where, key: `s${one.first}-${one.last}:${query}`, kind: "stream", colour: "@residual", opacity: share < FAINT ? 0.3 : 0.6, title: `${data.tokens[query]}: its own stream` })
      const told = `from ${data.tokens[key]} to ${data.tokens[query]}, ${(100 * share).toFixed(1)} % of ${data.whole}`
      if (head === null) return void found.push({ ...where, key: `p${one.first}-${one.last}:${key}-${query}`, kind: "ribbon", colour: "@muted", opacity: 0.2, title: (one.open ? "many small routes " : "through these layers ") + told })
      const kind = data.kinds[one.first][head]
      found.push({ ...where, key: `r${one.first}.${head}:${key}-${query}`, kind: "ribbon", colour: data.hues[kind], opacity: 0.8, name: `from ${data.tokens[key].replace(/^·/, "")}, ${headTitle(data, one.first, head)}`, title: `${headTitle(data, one.first, head)} (${kind}) ${told}${data.linked ? ". Click: see this head" : ""}`, ...(data.linked ? { ribbon: /** @type {[number, number, number, number]} */ ([one.first, head, ...cell]) } : {}) })
    })
  })
  return found
}

// What one head looks at: a band from each token that is read to the one that reads it, as wide as the weight.
/** @param {RiverData} data @param {NonNullable<RiverData["zoom"]>} zoom @param {number} column @param {Set<number>} is @param {Record<number, number>} c @param {number} full @param {Place} place */
function weights(data, zoom, column, is, c, full, { b0, b1 }) {
  const { layer, head } = zoom, after = data.stream[layer + 1]
  /** @type {Shape[]} */
  const found = [...is].map(row => ({
    key: `s${layer}-${layer}:${row}`, kind: "stream", column, row, from: row, colour: "@residual", opacity: 0.15, title: `${data.tokens[row]}: its own stream`,
    at: [b0, c[row], Math.max(full * data.stream[layer][row], 0.7), b1, c[row], Math.max(full * after[row], 0.7)],
  }))
  /** @type {Record<number, number>} */
  const filled = {}
  for (const [query, key, weight] of zoom.weights ?? []) {
    if (!is.has(query) || !is.has(key)) continue
    const h = Math.max(BAND * weight, 0.7), [reads, read] = [data.tokens[query], data.tokens[key]]
    const end = c[query] - BAND / 2 + (filled[query] ?? 0) + (BAND * weight) / 2
    filled[query] = (filled[query] ?? 0) + BAND * weight
    const told = `${reads} looks at ${read} with ${weight.toFixed(2)}`
    found.push({
      key: `r${layer}.${head}:${key}-${query}`, kind: "ribbon", column, row: query, from: key, colour: "@attention", opacity: key ? 0.2 + 0.6 * weight : 0.1,
      at: [b0, c[key], h, b1, end, h], title: told + (data.linked ? ". Click: how this weight is made" : ""),
      ...(key > 0 && key !== query ? { name: `${reads.replace(/^·/, "")} → ${read.replace(/^·/, "")} ${weight.toFixed(2)}` } : {}),
      ...(data.linked ? { ribbon: /** @type {[number, number, number, number]} */ ([layer, Number(head), query, key]) } : {}),
    })
  }
  return found
}

/** @typedef {{ query: number, key: number, share: number, head: number | null, cell: number[] }} Part */

// Where each part begins in the stack of its row: in the order of the rows at its other end.
/** @param {Part[]} parts @param {"query" | "key"} mine @param {"query" | "key"} other @param {(row: number) => number} start @param {number} full */
function stacked(parts, mine, other, start, full) {
  const order = parts.map((_, i) => i).sort((i, j) => parts[i][mine] - parts[j][mine] || parts[i][other] - parts[j][other])
  /** @type {number[]} */
  const found = []
  let row = -1, at = 0
  for (const i of order) {
    if (parts[i][mine] !== row) at = start((row = parts[i][mine]))
    found[i] = at
    at += full * parts[i].share
  }
  return found
}

/** @param {RiverData} data @param {number} along @param {RiverData["zoom"]} zoom */
const headsInRow = (data, along, zoom) => Math.min(data.effects[0].length, Math.max(4, Math.floor(along / (zoom ? 3 * DOT : DOT))))

/** @param {RiverData} data @param {RiverColumn} column @param {{ x: number, y: number, along: number }} room @param {RiverData["zoom"]} zoom */
function dots(data, column, { x, y, along }, zoom) {
  const layer = column.first, effects = data.effects[layer], kinds = data.kinds[layer]
  const per = headsInRow(data, along, zoom)
  const step = Math.min(zoom ? 44 : 18, along / per)
  const there = effects.map((effect, head) => ({ effect, head })).filter(({ head }) => kinds[head])
  return there.map(({ effect, head }, place) => ({
    name: `${layer}.${head}`, label: headTitle(data, layer, head), kind: kinds[head], colour: data.hues[kinds[head]],
    x: x + (along - step * per) / 2 + step * ((place % per) + 0.5), y: y + (zoom ? LABELLED : DOTS) * Math.floor(place / per),
    r: 2.2 + 5 * Math.sqrt(Math.min(Math.abs(effect) / (data.largest || 1), 1)), words: zoom ? (kinds[head] === "mixer" ? "mixer" : headName(data, layer, head)) : "", chosen: zoom?.head === head,
    effect: `without it, ${data.measure} ${effect >= 0 ? "falls" : "rises"} by ${Math.abs(effect).toFixed(2)}${data.exact[layer] ? "" : " (estimate)"}`,
  }))
}

// The next tokens, and the mouth of the river that divides among them.
/** @param {RiverData} data @param {Scene} scene @param {Record<number, number>} c @param {number} full @param {number} a @param {number} longest */
function bars(data, scene, c, full, a, longest) {
  const count = data.next.length, pitch = 24, target = c[data.target], { down } = scene
  const x = down ? 130 : a + 120
  const top = down ? a + 36 : Math.max(HEADER, Math.min(target - (pitch * (count - 1)) / 2, target + full / 2 - pitch * (count - 1)))
  let at = target - full / 2
  data.next.forEach(([token, probability], index) => {
    const y = top + pitch * index
    const former = data.former?.[index] ?? null, now = `${(100 * probability).toFixed(1)} %`
    const percent = former === null ? now : `${(100 * former).toFixed(1)} → ${now}`
    scene.bars.push({ index, token, percent, x, y, width: longest * probability, former: former === null ? null : longest * former })
    const h = full * (data.traced ? Number(index === data.word) : probability)
    if (!down) scene.shapes.push({
      key: `m${index}`, kind: "mouth", at: [a + 4, at + h / 2, Math.max(h, 0.5), a + 34, y, Math.max(Math.min(h, 18), 0.5)], colour: "@residual", opacity: 0.25,
      column: data.columns.length, row: data.target, from: data.target, title: "",
    })
    at += h
  })
}

/** @param {Scene} scene */
export const edges = scene => scene.shapes.filter(shape => shape.kind !== "mouth")

// The keys of all that leads to a shape; to the stream of a token before the first layer (column -1): of all that it
// leads to.
/** @param {Shape[]} shapes @param {{ kind: string, column: number, row: number, from?: number, key?: string }} to */
export function reached(shapes, to) {
  const ahead = to.column < 0, found = new Set(to.key ? [to.key] : [])
  const passing = to.kind === "ribbon" || to.kind === "stream"
  let rows = new Set([passing ? to.from ?? to.row : to.row])
  const count = Math.max(...shapes.map(shape => shape.column)) + 1
  const order = [...Array(count + 1).keys()].map(k => k - 1)
  const columns = ahead ? order.filter(k => k >= to.column) : order.filter(k => k <= to.column - (passing ? 1 : 0)).reverse()
  /** @param {Shape} shape */
  const still = shape => shape.kind === "node" || shape.kind === "lozenge"
  for (const k of columns) {
    const here = shapes.filter(shape => shape.column === k)
    const next = new Set()
    const flow = here.filter(shape => !still(shape) && rows.has(ahead ? shape.from : shape.row))
    for (const shape of flow) next.add(ahead ? shape.row : shape.from), found.add(shape.key)
    const ends = ahead && k >= 0 ? next : rows
    for (const shape of here.filter(still)) if (ends.has(shape.row)) found.add(shape.key)
    if (k >= 0) rows = next
  }
  return found
}
