// From the river to a layer, from there to a head, and back; nothing here touches the page.

/** @typedef {{ layer: number, head: number | null }} Zoom */

// What is enlarged one step further: where somebody points, or what carries most; undefined where there is no more.
/** @param {RiverData} data @param {Zoom | null} aim @param {boolean} live whether somebody answers with what a head looks at @returns {Zoom | undefined} */
export function inward(data, aim, live) {
  const { zoom } = data
  if (!zoom) {
    const layer = aim?.layer ?? widest(data)?.layer
    return layer === undefined ? undefined : { layer, head: null }
  }
  if (zoom.head !== null || !live) return undefined
  const head = aim && aim.layer === zoom.layer ? aim.head : null
  return { layer: zoom.layer, head: head ?? widest(data, zoom.layer)?.head ?? largest(data.effects[zoom.layer]) }
}

// One step back; null is the river, undefined where that is what there is.
/** @param {RiverData} data @returns {Zoom | null | undefined} */
export function outward({ zoom }) {
  if (!zoom) return undefined
  return zoom.head === null ? null : { layer: zoom.layer, head: null }
}

// The steps to what is enlarged.
/** @param {RiverData} data @returns {{ words: string, to: Zoom | null }[]} */
export function crumbs({ zoom, layers }) {
  if (!zoom) return []
  const { layer, head } = zoom, name = layers[layer]
  /** @type {{ words: string, to: Zoom | null }[]} */
  const found = [{ words: "River", to: null }, { words: name, to: { layer, head: null } }]
  return head === null ? found : [...found, { words: `head ${name.replace(/^layer /, "")}.${head}`, to: { layer, head } }]
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
