// From the river to a layer, from there to a head and to a cell of it, and back; nothing here touches the page.

/** @typedef {{ layer: number, head: number | null, pair?: [query: number, key: number] | null }} Zoom */

// What is enlarged one step further: where somebody points, or what carries most; undefined where there is no more.
/** @param {RiverData} data @param {Zoom | null} aim @param {boolean} live whether somebody answers with what a head looks at @returns {Zoom | undefined} */
export function inward(data, aim, live) {
  const { zoom } = data
  if (!zoom) {
    const layer = aim?.layer ?? widest(data)?.layer
    return layer === undefined ? undefined : { layer, head: null }
  }
  if (zoom.pair || !live) return undefined
  if (zoom.head !== null) {
    const pair = aim?.pair ?? largestCell(zoom.weights ?? [], data.target)
    return pair && { layer: zoom.layer, head: zoom.head, pair }
  }
  const head = aim && aim.layer === zoom.layer ? aim.head : null
  return { layer: zoom.layer, head: head ?? widest(data, zoom.layer)?.head ?? largest(data.effects[zoom.layer]) }
}

// One step back; null is the river, undefined where that is what there is.
/** @param {RiverData} data @returns {Zoom | null | undefined} */
export function outward({ zoom }) {
  if (!zoom) return undefined
  if (zoom.pair) return { layer: zoom.layer, head: zoom.head }
  return zoom.head === null ? null : { layer: zoom.layer, head: null }
}

// The steps to what is enlarged.
/** @param {RiverData} data @returns {{ words: string, to: Zoom | null }[]} */
export function crumbs({ zoom, layers, tokens }) {
  if (!zoom) return []
  const { layer, head } = zoom, name = layers[layer]
  /** @type {{ words: string, to: Zoom | null }[]} */
  const found = [{ words: "River", to: null }, { words: name, to: { layer, head: null } }]
  if (head !== null) found.push({ words: `head ${name.replace(/^layer /, "")}.${head}`, to: { layer, head } })
  if (zoom.pair) found.push({ words: zoom.pair.map(place => tokens[place].replace(/^·/, "")).join(" → "), to: zoom })
  return found
}

// In an address, as in "13.8" or, of a cell, "13.8.5.2".
/** @param {Zoom | null} to */
export const written = to => (to ? [to.layer, to.head, ...(to.pair ?? [])].filter(one => one !== null).join(".") : "")

// The largest weight that does not rest on the first token or on the query itself: of the token that is explained, or of
// all; undefined where all rests there.
/** @param {[query: number, key: number, weight: number][]} weights @param {number} target @returns {[number, number] | undefined} */
function largestCell(weights, target) {
  const far = weights.filter(([query, key]) => key > 0 && key !== query).sort((one, other) => other[2] - one[2])
  const [query, key] = far.find(one => one[0] === target) ?? far[0] ?? []
  return query === undefined ? undefined : [query, key]
}

// The open layer at a place along.
/** @param {import("./river_layout.js").Scene} scene @param {number} along @returns {Zoom | null} */
export function aimed({ places }, along) {
  const found = places.find(({ from, to }) => from <= along && along < to)
  return found ? { layer: found.layer, head: null } : null
}

// The head with the widest ribbon, of all open layers or of one.
/** @param {RiverData} data @param {number} [layer] */
function widest({ columns }, layer) {
  const open = columns.filter(one => one.open && (layer === undefined || one.first === layer))
  const ribbons = open.flatMap(one => one.ribbons.map(([, , share, head]) => ({ layer: one.first, head, share })))
  const first = ribbons.filter(({ head }) => head !== null).sort((one, other) => other.share - one.share)[0]
  return first ?? (open.length ? { layer: open[0].first, head: null } : undefined)
}

/** @param {number[]} effects */
const largest = effects => effects.map(Math.abs).reduce((best, one, i, all) => (one > Math.abs(all[best]) ? i : best), 0)
