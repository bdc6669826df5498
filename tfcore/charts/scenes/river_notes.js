// Words in the river: the widest ribbons by name, and what its forms and colours mean, where nothing else stands. Nothing
// here touches the page.
const MOST = 3, MORE = 8 // ribbons with a name, and where one layer is enlarged
const NEAR = 40 // pixels along of a ribbon of the layer that is enlarged, at least
const LONGEST = 34 // letters of one
const LETTER = 5.9, LINE = 15 // pixels of a letter and of a line
const PLACES = [0.5, 0.62, 0.38, 0.74, 0.26, 0.86, 0.14] // along a ribbon, where its name can stand
const ASIDE = [0, -LINE, LINE, -2 * LINE, 2 * LINE] // pixels from there
const SIGN = 24, APART = 14, BESIDE = 50 // pixels of a sign of the legend, after its words, and from the last layer

/** @typedef {import("./river_layout.js").Scene} Scene */
/** @typedef {import("./river_layout.js").Shape} Shape */
/** @typedef {{ left: number, top: number, right: number, bottom: number }} Box */
/** @typedef {{ key: string, words: string, x: number, y: number, anchor: "start" | "end", size?: number }} Name */
/** @typedef {"stream" | "ribbon" | "lozenge" | "dot" | "guess" | "folded" | "former"} Form */
/** @typedef {{ form: Form, colour: string, words: string, x: number, y: number }} Sign */

/** @param {Box} one @param {Box} other */
const meet = (one, other) => one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom

/** @param {string} words @param {number} x @param {number} y its middle @param {"start" | "middle" | "end"} anchor @returns {Box} */
function boxOf(words, x, y, anchor) {
  const width = LETTER * words.length + 4
  const left = anchor === "start" ? x : anchor === "end" ? x - width : x - width / 2
  return { left, top: y - LINE / 2, right: left + width, bottom: y + LINE / 2 }
}

// The widest ribbons of heads, named where they lie: nothing is written over another name, a guess, a head or a bar.
/** @param {Scene} scene @param {boolean} large whether one layer is enlarged @returns {Name[]} */
export function ribbonNames(scene, large) {
  const { shapes, guesses, dots, bars, rows, down } = scene
  const taken = [
    ...guesses.map(({ words, x, y, anchor }) => boxOf(words, x, y - 4, anchor)),
    ...dots.map(({ x, y, words }) => ({ left: x - 8, top: y - 8, right: x + 8, bottom: y + (words ? 20 : 8) })),
    ...bars.map(({ token, x, y }) => ({ left: x - 12 - LETTER * token.length, top: y - 12, right: scene.width, bottom: y + 12 })),
    ...shapes.filter(({ kind }) => kind === "lozenge").map(({ at: [a, c, r] }) => around(down ? [c, a] : [a, c], r)),
  ]
  const least = down ? rows[0].y + 14 : Math.min(...rows.map(({ y }) => y)) - LINE, left = down ? 34 : rows[0].x + 14
  const most = { left, top: least, right: scene.width - 4, bottom: scene.height - LINE }
  /** @type {Name[]} */
  const found = []
  const widest = shapes.filter(({ name, at }) => name && (!large || at[3] - at[0] > NEAR)).sort((one, other) => other.at[2] - one.at[2]).slice(0, large ? MORE : MOST)
  for (const shape of widest) {
    const place = free(shape, down, taken, most)
    if (!place) continue
    found.push(place.name)
    taken.push(place.box)
  }
  return found
}

/** @param {number[]} middle @param {number} r @returns {Box} */
const around = ([x, y], r) => ({ left: x - r, top: y - r, right: x + r, bottom: y + r })

// Beside a ribbon, as near to its middle as there is room.
/** @param {Shape} shape @param {boolean} down @param {Box[]} taken @param {Box} most */
function free(shape, down, taken, most) {
  const whole = shape.name ?? "", words = whole.length > LONGEST ? "…" + whole.slice(1 - LONGEST) : whole
  for (const aside of ASIDE) {
    for (const t of PLACES) {
      const [x, y] = along(shape.at, t, down)
      for (const anchor of /** @type {const} */ (["start", "end"])) {
        const at = x + (anchor === "start" ? 6 : -6), box = boxOf(words, at, y + aside, anchor)
        const inside = box.left >= most.left && box.right <= most.right && box.top >= most.top && box.bottom <= most.bottom
        if (inside && !taken.some(one => meet(one, box))) return { box, name: { key: shape.key, words, x: at, y: y + aside, anchor } }
      }
    }
  }
  return null
}

// A point of the middle line of a ribbon, as the page draws it.
/** @param {number[]} at @param {number} t @param {boolean} down */
function along([a0, c0, , a1, c1], t, down) {
  const u = 1 - t, middle = (a0 + a1) / 2
  const a = u ** 3 * a0 + 3 * u * t * middle + t ** 3 * a1
  const c = (u ** 3 + 3 * u * u * t) * c0 + (3 * u * t * t + t ** 3) * c1
  return down ? [c, a] : [a, c]
}

// What is in the picture and what it means: beside the next tokens where there is room, else below all; and the height
// that the picture then has.
/** @param {RiverData} data @param {Scene} scene @param {number} end pixels along at which the last layer ends */
export function legend(data, scene, end) {
  const { bars, down, width, height } = scene
  const parts = meanings(data)
  if (bars.length && !down) {
    const x = end + BESIDE, tall = rowsOf(parts, x, 0, width - x).tall
    const above = bars[0].y - (data.drawing ? 34 : 18), under = height - bars[bars.length - 1].y - 18
    const top = tall <= above ? Math.min(16, above - tall) : tall <= under ? height - under : null
    if (top !== null) return { signs: rowsOf(parts, x, top, width - x).signs, height }
  }
  const below = rowsOf(parts, 8, height + 4, width - 8)
  return { signs: below.signs, height: height + below.tall + 8 }
}

/** @param {RiverData} data @returns {[Form, string, string][]} */
function meanings(data) {
  const open = data.columns.filter(one => one.open)
  const kinds = [...new Set(open.flatMap(one => data.kinds[one.first]))].filter(Boolean)
  /** @type {[Form, string, string][]} */
  const found = [["stream", "@residual", "stream of a token"]]
  if (data.zoom?.weights) found.push(["ribbon", "@attention", "attention weight of the head"], ["ribbon", "@attention/0.2", "the same, of the first token"])
  else if (open.some(one => one.ribbons.some(([, , , head]) => head !== null))) found.push(["ribbon", "@muted", "what a head brings over"])
  if (open.some(one => data.feedforward[one.first].some(share => share >= 0.02))) found.push(["lozenge", "@feedforward", "feed-forward layer writes"])
  if (open.some(one => data.guesses[one.first])) found.push(["guess", "@ink", "guess after this layer"])
  if (open.length < data.columns.length) found.push(["folded", "@muted", "layers folded together"])
  if (data.former) found.push(["former", "@accent", "before the change"])
  if (kinds.length) found.push(["dot", "", "head, larger: more effect"])
  return found.concat(kinds.map(kind => ["dot", data.hues[kind], kind]))
}

// Signs one after the other, in as many lines as they need.
/** @param {[Form, string, string][]} parts @param {number} left @param {number} top @param {number} room */
function rowsOf(parts, left, top, room) {
  /** @type {Sign[]} */
  const signs = []
  let x = left, y = top + LINE / 2
  for (const [form, colour, words] of parts) {
    const width = (form === "dot" && colour ? SIGN / 2 : SIGN) + LETTER * words.length
    if (x > left && x + width > left + room) {
      x = left
      y += LINE
    }
    signs.push({ form, colour, words, x, y })
    x += width + APART
  }
  return { signs, tall: y + LINE / 2 - top }
}
