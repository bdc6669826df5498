// Which tokens have a row of their own. Neighbours that carry little share one, "⋯ 9 tokens": what flows from or to any of
// them flows from or to the run, so that nothing is lost in sums. Nothing here touches the page.

/** @typedef {{ data: RiverData, rows: number[], runs: Map<number, number[]> }} Rows */

/** @param {RiverData} data */
export const foldable = data => Boolean(data.kept) && !data.zoom && runs(data).size > 0

// The data with each run at the place of its first token, the rows that are left, and the tokens of each run.
/** @param {RiverData} data @returns {Rows} */
export function folded(data) {
  const together = runs(data), home = data.tokens.map((_, i) => i)
  for (const [first, all] of together) for (const i of all) home[i] = first
  const rows = [...new Set(home)], tokens = [...data.tokens]
  for (const [first, all] of together) tokens[first] = `${all.length} tokens`
  /** @param {number[]} shares */
  const summed = shares => shares.reduce((sums, share, i) => ((sums[home[i]] += share), sums), Array(shares.length).fill(0))
  const columns = data.columns.map(one => ({ ...one, ribbons: merged(one.ribbons, home) }))
  return { data: { ...data, tokens, columns, stream: data.stream.map(summed), feedforward: data.feedforward.map(summed) }, rows, runs: together }
}

// First token of a run -> all of it; a run is two neighbours or more.
/** @param {RiverData} data */
function runs({ tokens, kept }) {
  const own = new Set(kept ?? tokens.keys())
  /** @type {Map<number, number[]>} */
  const found = new Map()
  let first = -1
  tokens.forEach((_, i) => {
    if (own.has(i)) return void (first = -1)
    if (first < 0) found.set((first = i), [])
    found.get(first)?.push(i)
  })
  for (const [alone, { length }] of found) if (length < 2) found.delete(alone)
  return found
}

// Ribbons of one head between the same two rows are one, of the cell that carries most; within a run they are its stream.
/** @param {RiverColumn["ribbons"]} ribbons @param {number[]} home */
function merged(ribbons, home) {
  /** @type {Map<string, RiverColumn["ribbons"][number]>} */
  const found = new Map()
  for (const one of [...ribbons].sort((a, b) => b[2] - a[2])) {
    const [query, key, share, head] = one, [to, from] = [home[query], home[key]]
    if (to === from && query !== key) continue
    const name = `${head}:${from}-${to}`, before = found.get(name)
    if (before) before[2] += share
    else found.set(name, [to, from, share, head, [query, key]])
  }
  return [...found.values()]
}
