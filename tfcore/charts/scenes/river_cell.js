// One cell of a head: how a query vector and a key vector become a score, and the scores of the query its attention
// weights, as bars. Nothing here touches the page.
const LEFT = 8, TOP = 6, WORDS = 24, TALL = 44, APART = 10, WEIGHTS = 90, BELOW = 12 // pixels
const LETTERS = 13 // pixels of them
const LARGEST = 3 // weights that are named beside the one in question
const LETTER = 7.2

/** @typedef {import("./river_layout.js").Scene} Scene */
/** @typedef {{ row: number, from: number, column: number }} Place */

/** @param {RiverData} data @param {number} size pixels there are to the right @returns {Scene} */
export function layCell(data, size) {
  /** @type {Scene} */
  const scene = { width: size, height: 0, down: false, shapes: [], rows: [], columns: [], dots: [], guesses: [], bars: [], places: [], names: [], signs: [] }
  const { zoom, tokens } = data
  if (!zoom?.pair) return scene
  const [query, key] = zoom.pair, { cell } = zoom, [reads, read] = [tokens[query], tokens[key]].map(bare)
  const q = cell?.q ?? [], k = cell?.k ?? []
  /** @type {[string, number[], string, string][]} */
  const strips = [
    [`query vector of ${reads}`, q, "@query", "q"],
    [`key vector of ${read}`, k, "@key", "k"],
    ["their products, dimension by dimension", q.map((one, i) => one * k[i]), "@attention", "p"],
  ]
  let y = TOP
  for (const [words, values, colour, name] of strips) {
    say(scene, name, words, LEFT, y + WORDS / 2)
    bars(scene, values, colour, name, y + WORDS, size)
    y += WORDS + TALL + APART
  }
  if (cell) say(scene, "score", sum(cell), LEFT, y + 4)
  y += WORDS
  const weights = (zoom.weights ?? []).filter(one => one[0] === query)
  say(scene, "weights", `attention weights of ${reads}, the softmax over all its scores`, LEFT, y + WORDS / 2)
  softmax(scene, data, weights, key, y + WORDS, size)
  scene.height = y + WORDS + WEIGHTS + BELOW
  return scene
}

/** @param {Scene} scene @param {string} key @param {string} words @param {number} x @param {number} y */
const say = (scene, key, words, x, y) => void scene.names.push({ key: "cell " + key, words, x, y, anchor: "start", size: LETTERS })

// A bar a dimension, up or down from zero.
/** @param {Scene} scene @param {number[]} values @param {string} colour @param {string} name @param {number} top @param {number} size */
function bars(scene, values, colour, name, top, size) {
  const most = Math.max(...values, 0), each = TALL / Math.max(most - Math.min(...values, 0), 1e-9), middle = top + each * most, step = (size - 2 * LEFT) / (values.length || 1)
  values.forEach((value, i) => {
    const h = Math.max(each * Math.abs(value), 0.5), c = middle - (Math.sign(value) * h) / 2
    scene.shapes.push(bar(`${name}${i}`, LEFT + step * i, LEFT + step * (i + 0.8), c, h, colour, value < 0 ? 0.45 : 0.85, `dimension ${i}: ${value.toFixed(3)}`))
  })
  scene.shapes.push(bar(`${name}-`, LEFT, size - LEFT, middle, 0.7, "@muted", 0.6, ""))
}

/** @param {Scene} scene @param {RiverData} data @param {[number, number, number][]} weights @param {number} key @param {number} top @param {number} size */
function softmax(scene, data, weights, key, top, size) {
  const count = data.tokens.length, step = (size - 2 * LEFT) / count, bottom = top + WEIGHTS
  const named = new Set([key, ...[...weights].sort((one, other) => other[2] - one[2]).slice(0, LARGEST).map(one => one[1])])
  let free = -Infinity
  for (const [, at, weight] of weights) {
    const h = Math.max((WEIGHTS - WORDS) * weight, 0.7), x = LEFT + step * at, words = `${bare(data.tokens[at])} ${weight.toFixed(2)}`
    scene.shapes.push(bar(`w${at}`, x, x + 0.8 * step, bottom - h / 2, h, "@attention", at === key ? 0.95 : 0.35, `${data.tokens[at]}: ${weight.toFixed(3)}`))
    const left = Math.min(x, size - LEFT - LETTER * words.length)
    if (!named.has(at) || (at !== key && left < free)) continue
    say(scene, `w${at}`, words, left, bottom - h - 10)
    free = left + LETTER * words.length + 4
  }
  scene.shapes.push(bar("w-", LEFT, size - LEFT, bottom, 0.7, "@muted", 0.6, ""))
}

// It is drawn as the mouth of a river is: lit with nothing.
/** @param {string} key @param {number} from @param {number} to @param {number} middle @param {number} height @param {string} colour @param {number} opacity @param {string} title @returns {import("./river_layout.js").Shape} */
const bar = (key, from, to, middle, height, colour, opacity, title) =>
  ({ key: "cell " + key, kind: "mouth", at: [from, middle, height, to, middle, height], colour, opacity, column: 0, row: 0, from: 0, title })

/** @param {string} token */
const bare = token => token.replace(/^·/, "")

/** @param {NonNullable<NonNullable<RiverData["zoom"]>["cell"]>} cell */
function sum({ q, k, scale, score, weight, rest }) {
  const dot = q.reduce((total, one, i) => total + one * k[i], 0), left = score - scale * dot
  const more = Math.abs(left) < 0.005 ? "" : ` ${left < 0 ? "−" : "+"} ${Math.abs(left).toFixed(2)} (${rest})`
  return `sum ${signed(dot)} × ${scale.toPrecision(3)}${more} = score ${signed(score)}; after the softmax: weight ${weight.toFixed(2)}`
}

/** @param {number} value */
const signed = value => value.toFixed(2).replace("-", "−")
