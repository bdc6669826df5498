// The river: where everything stands, what moves, and what is sent.
import assert from "node:assert/strict"
import { test } from "node:test"
import { load, place, press, window } from "./browser.js"

const { draw, film, picture } = await load("river.js")
const { edges, lay, reached } = await load("river_layout.js")
const { folded } = await load("river_rows.js")

const DATA = {
  seq: 0,
  tokens: ["<a>", "·b", "·c"],
  target: 2,
  layers: ["layer 0", "layer 1", "layer 2", "layer 3"],
  columns: [
    { first: 0, last: 0, open: true, ribbons: [[2, 0, 0.3, 1], [2, 1, 0.1, null]] },
    { first: 1, last: 3, open: false, ribbons: [[2, 1, 0.2, null]] },
  ],
  stream: [[0.3, 0.3, 0.4], [0, 0.2, 0.8], [0, 0, 0], [0, 0, 0], [0, 0, 1]],
  feedforward: [[0, 0, 0.2], [0, 0, 0], [0, 0, 0], [0, 0, 0]],
  effects: [[0.1, 2], [0, 0], [0, 0], [0, 0]],
  exact: [true, false, false, false],
  largest: 2,
  measure: "the logit of b",
  kinds: [["broad", "induction"], ["broad", "broad"], ["broad", "broad"], ["broad", "broad"]],
  hues: { broad: "@muted/0.7", induction: "@cat1" },
  factors: {},
  guesses: [["·b", 0.4], ["·b", 0.4], ["·b", 0.4], ["·b", 0.9]],
  next: [["·b", 0.9], ["·c", 0.1]],
  former: null,
  drawing: "",
  word: 0,
  against: null,
  whole: "the state",
  traced: false,
  tracing: true,
  foldable: true,
  linked: true,
  choosing: false,
  label: "The flow",
}
globalThis.cancelAnimationFrame = window.cancelAnimationFrame.bind(window)
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-6, `${a} is not ${b}`)
const shape = (scene, key) => scene.shapes.find(one => one.key === key)

function shown(data = DATA, width = 1000, told = true) {
  const page = place()
  Object.defineProperty(window.HTMLElement.prototype, "clientWidth", { configurable: true, get: () => width })
  const show = now => draw(page.parentElement, now, told ? page.setTriggerValue : undefined)
  return { ...page, show, end: show(data) }
}

test("what flows into a token's stream is stacked, and fills it", () => {
  const scene = lay(DATA, 1000), full = 56
  const [own, ribbon, pool] = ["s0-0:2", "r0.1:0-2", "p0-0:1-2"].map(key => shape(scene, key))
  near(own.at[2], full * 0.4) // 0.8 less what the ribbons bring
  near(ribbon.at[2], full * 0.3)
  const node = shape(scene, "n1:2")
  const top = node.at[1] - node.at[2] / 2
  near(ribbon.at[4] - ribbon.at[5] / 2, top) // from the uppermost token first
  near(pool.at[4] - pool.at[5] / 2, top + full * 0.3)
  near(own.at[4] - own.at[5] / 2, top + full * 0.4)
  near(own.at[4] + own.at[5] / 2, node.at[1] + node.at[2] / 2)
})

test("columns follow one another, and everything is inside the picture", () => {
  for (const width of [700, 1000, 390]) {
    const scene = lay(DATA, width), along = scene.down ? scene.height : scene.width
    assert.equal(scene.down, width < 620)
    for (const { at } of scene.shapes) {
      assert.ok(at[0] >= 0 && at[3] <= along && at[0] <= at[3] + 1e-9, `${at}`)
    }
    for (const bar of scene.bars) assert.ok(bar.x + bar.width <= scene.width && bar.y <= scene.height)
    const ys = scene.bars.map(bar => bar.y)
    assert.ok(ys[1] - ys[0] >= 20)
  }
})

test("a long last word rises inside a narrow page, and the sum of all bars is longest where there is room", () => {
  /** @param {string} last */
  const dozen = last => ({
    ...DATA, tokens: [...Array(11).fill("a"), last], target: 11, columns: [{ first: 0, last: 0, open: true, ribbons: [] }],
    stream: Array(5).fill(Array(12).fill(1 / 12)), feedforward: Array(4).fill(Array(12).fill(0)),
  })
  const [long, short] = ["·government", "·a"].map(last => lay(dozen(last), 390).rows[11].x)
  assert.ok(long + 4 * "·government".length <= 390)
  assert.ok(short > long) // no room is kept for it
  const total = width => lay(DATA, width).bars.reduce((sum, bar) => sum + bar.width, 0)
  assert.deepEqual([700, 800, 900, 1400].map(width => Math.round(total(width))), [50, 50, 100, 120])
})

test("rows never overlap, however wide their streams are", () => {
  const many = { ...DATA, tokens: Array(40).fill("a"), target: 39, columns: [{ first: 0, last: 0, open: true, ribbons: [] }] }
  const some = Array(40).fill(0).map((_, i) => (i % 7 ? 0.001 : 0.15))
  const scene = lay({ ...many, stream: [some, some], feedforward: [Array(40).fill(0)] }, 1000)
  const rows = scene.rows.map(({ row, y }) => [y - 22 * some[row], y + 22 * some[row]])
  rows.slice(1).forEach(([top], i) => assert.ok(top > rows[i][1]))
})

// Tokens 1, 2, 3 and 6 have no row of their own: the first three are a run, 6 is alone.
const LONG = {
  ...DATA, tokens: ["<a>", "·b", "·c", "·d", "·e", "·f", "·g", "·h"], target: 7, kept: [0, 4, 5, 7], choosing: true,
  columns: [{ first: 0, last: 0, open: true, ribbons: [[7, 1, 0.1, 1], [7, 3, 0.2, 1], [7, 2, 0.05, null], [3, 1, 0.1, 0], [4, 0, 0.1, 0]] }],
  layers: ["layer 0"], stream: [[0.1, 0.1, 0.2, 0.1, 0.1, 0.1, 0.1, 0.2], [0, 0, 0, 0.1, 0.2, 0, 0, 0.7]],
  feedforward: [[0, 0.03, 0, 0.04, 0, 0, 0, 0.2]], effects: [[0.1, 2]], exact: [true], kinds: [["broad", "induction"]], guesses: [null],
}

test("neighbours that carry little share a row, and all sums are what they were", () => {
  const { data, rows, runs } = folded(LONG)
  assert.deepEqual(rows, [0, 1, 4, 5, 6, 7])
  assert.deepEqual([...runs], [[1, [1, 2, 3]]])
  data.stream.forEach((stage, i) => near(rows.reduce((sum, row) => sum + stage[row], 0), LONG.stream[i].reduce((sum, one) => sum + one, 0)))
  near(data.stream[0][1], 0.4)
  near(data.feedforward[0][1], 0.07)
  const ribbons = data.columns[0].ribbons.map(([query, key, share, head, cell]) => [query, key, Math.round(100 * share), head, ...cell])
  assert.deepEqual(ribbons, [[7, 1, 30, 1, 7, 3], [4, 0, 10, 0, 4, 0], [7, 1, 5, null, 7, 2]]) // within the run: none
  const scene = lay(LONG, 1000), whole = lay(LONG, 1000, true)
  assert.deepEqual(scene.rows.map(({ words }) => words), ["<a>", "⋯ 3 tokens", "·e", "·f", "·g", "·h"])
  assert.equal(whole.rows.length, 8)
  assert.ok(scene.height < whole.height)
  assert.deepEqual(shape(scene, "r0.1:1-7").ribbon, [0, 1, 7, 3]) // a click opens the cell that carries most
  assert.deepEqual(lay({ ...LONG, zoom: { layer: 0, head: 1, weights: null } }, 1000).rows.length, 8) // a head is seen whole
  assert.equal(lay({ ...LONG, kept: null }, 1000).rows.length, 8)
})

test("a click on a row that tokens share shows each of them, and a button folds them again", () => {
  const { find, sent } = shown(LONG)
  const row = () => find("[role=button]").find(one => one.getAttribute("aria-label").endsWith("Show these 3 tokens"))
  const toggle = () => find("button").find(one => /tokens|rows/.test(one.textContent))
  assert.ok(row().getAttribute("aria-label").startsWith("·b·c·d: 40 %"))
  press(row(), "Enter")
  assert.equal(row(), undefined)
  assert.equal(toggle().textContent, "Fewer rows")
  toggle().click()
  assert.ok(row())
  assert.equal(toggle().textContent, "All 8 tokens")
  assert.deepEqual(sent(), []) // it is a matter of the picture alone
})

test("a narrow page shows the twelve widest streams and the token that is explained", () => {
  const stream = [Array(20).fill(0).map((_, i) => i / 200), Array(20).fill(0)]
  const scene = lay({ ...DATA, tokens: Array(20).fill("a"), target: 0, stream, columns: [{ first: 0, last: 0, open: true, ribbons: [] }], feedforward: [Array(20).fill(0)] }, 390)
  assert.deepEqual(scene.rows.map(({ row }) => row), [0, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19])
})

test("the widest ribbons of heads are named where they lie, and no name is written over another or over a guess", () => {
  const ribbons = [0, 1, 2, 3, 4, 5].map(key => [6, key, 0.1 + key / 100, key % 2])
  const busy = {
    ...DATA, tokens: ["·a", "·b", "·c", "·d", "·e", "·f", "·g"], target: 6, columns: [{ first: 0, last: 0, open: true, ribbons }, DATA.columns[1]],
    stream: Array(5).fill(Array(7).fill(1 / 7)), feedforward: Array(4).fill(Array(7).fill(0.1)),
  }
  const box = ({ words, x, y, anchor }) => {
    const wide = 5.5 * words.length, left = anchor === "start" ? x : anchor === "end" ? x - wide : x - wide / 2
    return [left, y - 6, left + wide, y + 6]
  }
  for (const width of [700, 1000, 390]) {
    const { names, guesses, ...scene } = lay(busy, width)
    assert.deepEqual(names.map(({ words }) => words).sort(), ["from d, head 0.1", "from e, head 0.0", "from f, head 0.1"])
    const boxes = [...names, ...guesses].map(box)
    boxes.forEach((one, i) => boxes.slice(i + 1).forEach(other => {
      assert.ok(one[0] >= other[2] || other[0] >= one[2] || one[1] >= other[3] || other[1] >= one[3], `${one} and ${other} at ${width}`)
    }))
    for (const [left, top, right, bottom] of boxes) assert.ok(left >= 0 && top >= 0 && right <= scene.width && bottom <= scene.height)
  }
})

test("the legend says what there is, beside the bars where there is room and else below", () => {
  const words = data => lay(data, 1000).signs.map(one => one.words)
  assert.deepEqual(words(DATA).slice(-2), ["broad", "induction"])
  assert.ok(words(DATA).includes("layers folded together") && !words(DATA).includes("before the change"))
  assert.ok(words({ ...DATA, former: [0.5, 0.1] }).includes("before the change"))
  assert.ok(!words({ ...DATA, columns: DATA.columns.slice(0, 1) }).includes("layers folded together"))
  const { signs, bars, height } = lay({ ...DATA, next: Array(7).fill(["·b", 0.1]) }, 1000)
  assert.ok(Math.min(...signs.map(({ y }) => y)) > bars.at(-1).y && Math.max(...signs.map(({ y }) => y)) < height)
  const long = { ...DATA, tokens: Array(20).fill("a"), target: 19, stream: Array(5).fill(Array(20).fill(0.05)), feedforward: Array(4).fill(Array(20).fill(0)) }
  const beside = lay(long, 1000)
  assert.ok(Math.max(...beside.signs.map(({ y }) => y)) < beside.bars[0].y - 12)
  assert.ok(beside.signs.every(({ x, words: said }) => x > beside.bars[0].x - 120 && x + 5 * said.length < beside.width))
  const { find } = shown()
  assert.match(find("[role=note]")[0].getAttribute("aria-label"), /^Legend: stream of a token; /)
})

test("where heads were changed, the former bars stand behind, and the label has both numbers", () => {
  const { find } = shown({ ...DATA, factors: { "0.1": 0 }, former: [0.4, 0.55] })
  assert.deepEqual(find("[aria-label$=': explain it']").map(one => one.getAttribute("aria-label")), [
    "·b, 40.0 → 90.0 %: explain it", "·c, 55.0 → 10.0 %: explain it",
  ])
  const ghosts = find(".tf-former").map(one => Number(one.getAttribute("width")))
  const bars = lay({ ...DATA, former: [0.4, 0.55] }, 1000).bars
  assert.deepEqual(ghosts, bars.map(({ former }) => former))
  near(bars[0].former / bars[0].width, 0.4 / 0.9)
  assert.equal(shown().find(".tf-former").length, 0)
})

test("a long token is cut, and whole in its title", () => {
  const { find } = shown({ ...DATA, tokens: ["new line, 12 spaces", "·b", "·c"] })
  assert.ok(find("text").some(one => one.textContent === "new line, 12 …"))
  assert.ok(find("title").some(one => one.textContent.startsWith("new line, 12 spaces: 30 %")))
})

test("a dot is a head, as large as its effect", () => {
  const { dots } = lay(DATA, 1000)
  assert.deepEqual(dots.map(({ name, colour, effect }) => [name, colour, effect]), [
    ["0.0", "@muted/0.7", "without it, the logit of b falls by 0.10"],
    ["0.1", "@cat1", "without it, the logit of b falls by 2.00"],
  ])
  assert.ok(dots[1].r > dots[0].r)
  const guessed = lay({ ...DATA, exact: [false, false, false, false], effects: [[-0.1, 2], [0, 0], [0, 0], [0, 0]] }, 1000)
  assert.equal(guessed.dots[0].effect, "without it, the logit of b rises by 0.10 (estimate)")
})

test("the ancestry of a stream, and all that a token leads to", () => {
  const scene = lay(DATA, 1000)
  const back = reached(edges(scene), shape(scene, "n1:2"))
  for (const key of ["n1:2", "r0.1:0-2", "p0-0:1-2", "s0-0:2", "n0:0", "f0:2"]) assert.ok(back.has(key), key)
  assert.ok(!back.has("s0-0:1") && !back.has("p1-3:1-2"))
  const ahead = reached(edges(scene), { kind: "node", column: -1, row: 1 })
  for (const key of ["n0:1", "s0-0:1", "p0-0:1-2", "p1-3:1-2", "n4:2"]) assert.ok(ahead.has(key), key)
  assert.ok(!ahead.has("r0.1:0-2") && !ahead.has("n0:0"))
  const ribbon = reached(edges(scene), shape(scene, "r0.1:0-2"))
  assert.deepEqual([...ribbon].sort(), ["n0:0", "r0.1:0-2"])
})

test("words are plain text, and everything has a name", () => {
  const { find } = shown()
  assert.equal(find("svg")[0].getAttribute("aria-label"), "The flow")
  assert.ok(find("text").some(one => one.textContent === "<a>"))
  assert.ok(find("[role=button], [role=slider]").every(one => one.getAttribute("aria-label") && one.getAttribute("tabindex") === "0"))
})

test("a click on a bar, a column and a ribbon is sent", () => {
  const { find, sent } = shown()
  const click = node => node.dispatchEvent(new window.MouseEvent("click", { bubbles: true }))
  click(find('[aria-label="·c, 10.0 %: explain it"]')[0])
  click(find('[aria-label^="layer 1 to layer 3"]')[0])
  click(find('path[data-key="r0.1:0-2"]')[0])
  assert.deepEqual(sent(), [["word", 1], ["open", 1], ["ribbon", { layer: 0, head: 1, query: 2, key: 0 }]])
})

test("widths of a token, or of it above another, and back to those of the state", () => {
  const page = shown(), { find, sent, show } = page
  const bar = word => find(`[aria-label^="·${word},"][role=button]`)[0]
  const click = (node, shiftKey = false) => node.dispatchEvent(new window.MouseEvent("click", { bubbles: true, shiftKey }))
  const whole = () => find("button").find(one => one.textContent === "Whole state")
  assert.equal(bar("b").getAttribute("aria-pressed"), "false") // heads are measured on it, widths are the state's
  assert.ok(whole().hidden)
  press(bar("b"), "Escape")
  click(bar("c"), true)
  show({ ...DATA, traced: true, word: 0, against: 1, whole: "what raises b" })
  assert.equal(bar("b").getAttribute("aria-pressed"), "true")
  assert.ok(find("title").some(one => one.textContent.startsWith("feed-forward after layer 0 wrote 20.0 % of what raises b")))
  click(bar("b"), true)
  press(bar("c"), "Escape")
  click(whole())
  assert.deepEqual(sent(), [["against", 1], ["word", 0], ["whole", 0], ["whole", 0]])
  const mouth = index => shape(lay({ ...DATA, traced: true }, 1000), "m" + index).at[2]
  assert.deepEqual([mouth(0), mouth(1)], [56, 0.5]) // all of it flows into that token
  show({ ...DATA, tracing: false })
  assert.equal(bar("b").getAttribute("aria-pressed"), "true")
  click(bar("c"), true)
  assert.deepEqual(sent().at(-1), ["word", 1])
})

test("a token is chosen by a click or a key where that is told, and its guesses have room", () => {
  const { find, sent } = shown({ ...DATA, target: 1, choosing: true, linked: false })
  const token = find('[aria-label^="<a>:"]')[0]
  assert.equal(token.getAttribute("role"), "button")
  token.dispatchEvent(new window.MouseEvent("click", { bubbles: true }))
  press(token, "Enter")
  find('path[data-key="r0.1:0-2"]')[0].dispatchEvent(new window.MouseEvent("click", { bubbles: true }))
  assert.deepEqual(sent(), [["token", 0], ["token", 0]])
  assert.equal(find('[aria-label^="·b:"]')[0].getAttribute("aria-pressed"), "true")
  const rows = lay({ ...DATA, target: 1 }, 1000).rows, last = lay(DATA, 1000).rows
  assert.equal(rows[2].y - rows[1].y, last[2].y - last[1].y + 18)
})

test("layers have their own names, and guesses only where there are some", () => {
  const named = { ...DATA, layers: ["encoder 0", "decoder 0", "cross 0", "cross 1"], guesses: [null, null, null, ["·b", 0.9]], next: [] }
  const { find } = shown(named)
  assert.ok(find('[aria-label^="head encoder 0.1,"]')[0])
  assert.ok(!find('[aria-label^="after"]').length)
  assert.ok(lay(named, 1000).width <= 1000)
})

test("keys switch a head off and on, and change it in steps that end", () => {
  const { find, sent } = shown()
  const head = () => find('[aria-label^="head 0.1,"]')[0]
  press(head(), "Enter")
  assert.equal(head().getAttribute("aria-valuetext"), "off")
  assert.deepEqual(sent()[0], ["moved", { heads: "0.1*0", final: true, seq: 1 }])
  press(head(), "ArrowDown")
  assert.equal(head().getAttribute("aria-valuenow"), "-0.25")
  press(head(), "End")
  press(head(), "ArrowUp")
  assert.equal(head().getAttribute("aria-valuenow"), "2")
  press(head(), "Home")
  assert.equal(head().getAttribute("aria-valuenow"), "-2")
})

test("what is no longer there goes, what comes grows", async () => {
  const { find, show } = shown()
  show({ ...DATA, columns: [{ ...DATA.columns[0], ribbons: [] }, DATA.columns[1]] })
  const old = find('path[data-key="r0.1:0-2"]')
  assert.equal(old.length, 1) // still shrinking
  await new Promise(done => setTimeout(done, 400))
  assert.equal(find('path[data-key="r0.1:0-2"]').length, 0)
})

test("a bar and a dot spring to their new values, and words that look alike have a bar each", async () => {
  const next = [["·c", 0.8], ["·b", 0.1], ["·b", 0.05]]
  const { find, show } = shown({ ...DATA, next: [["·b", 0.9], ["·c", 0.1], ["·b", 0.05]] })
  const width = number => Number(find('[aria-label$=": explain it"]')[number].querySelector("rect[rx]").getAttribute("width"))
  const radius = () => Number(find('[aria-label^="head 0.1,"] circle')[1].getAttribute("r"))
  const before = [width(0), width(1), radius()]
  show({ ...DATA, next, effects: [[2, 0.1], [0, 0], [0, 0], [0, 0]] })
  near(width(0), before[1]) // where the bar of this word was
  near(width(1), before[0])
  near(radius(), before[2])
  await new Promise(done => setTimeout(done, 400))
  assert.ok(width(0) > 5 * width(1) && width(1) > width(2) && radius() < before[2] / 1.5)
})

test("the Tab key goes from left to right, also where a layer was opened later", () => {
  const { find, show } = shown()
  show({ ...DATA, columns: [...DATA.columns.slice(0, 1), { first: 1, last: 1, open: true, ribbons: [] }, { first: 2, last: 3, open: false, ribbons: [] }] })
  const names = find("[tabindex]").map(one => one.getAttribute("aria-label")).filter(name => /^(layer|head)/.test(name))
  assert.deepEqual(names.map(name => name.split(/[:,]/)[0]), [
    "layer 0", "layer 1", "layer 2 to layer 3", "head 0.0", "head 0.1", "head 1.0", "head 1.1",
  ])
})

test("a narrow page has the guesses too, beside the stream that they are read from", () => {
  const { guesses } = lay(DATA, 390)
  assert.deepEqual(guesses.map(({ words, anchor }) => [words, anchor]), [["·b 40 %", "end"]])
  assert.ok(guesses[0].x < 390)
  assert.equal(lay({ ...DATA, target: 0 }, 390).guesses[0].anchor, "start")
})

test("where nobody is told of it, nothing can be clicked or changed, and all is still named", () => {
  const { find } = shown({ ...DATA, choosing: true, traced: true }, 1000, false)
  assert.equal(find("[role=button], [role=slider], .tf-press, .tf-head").length, 0)
  const names = find("[tabindex]").map(one => one.getAttribute("aria-label"))
  assert.ok(names.includes("·b, 90.0 %") && names.includes("head 0.1, induction: without it, the logit of b falls by 2.00"))
  assert.deepEqual(find("button").map(one => [one.textContent, one.hidden]), [["Pause", false], ["1×", false], ["Whole state", true], ["All 3 tokens", true], ["+", false], ["−", false]])
  assert.ok(find("path").every(one => !one.onclick))
})

const ZOOMED = { ...DATA, zoom: { layer: 0, head: 1, weights: [[1, 0, 0.9], [2, 0, 0.25], [2, 1, 0.75]] } }

const CELL = { ...ZOOMED, linked: true, zoom: { ...ZOOMED.zoom, pair: [2, 1], cell: { q: [1, -2], k: [3, 0.5], scale: 0.5, score: 1.25, rest: "position bias", weight: 0.75 } } }

test("a cell has a bar for each dimension of both vectors and their products, and one for each weight of the query", () => {
  const scene = lay(CELL, 600), heights = name => [0, 1].map(i => shape(scene, `cell ${name}${i}`).at[2])
  near(heights("q")[0] / heights("q")[1], 0.5)
  near(heights("k")[1] / heights("k")[0], 0.5 / 3)
  near(heights("p")[1] / heights("p")[0], 1 / 3)
  near(heights("p")[0] + heights("p")[1], heights("q")[0] + heights("q")[1]) // from the lowest to the highest
  assert.ok(shape(scene, "cell p0").at[1] < shape(scene, "cell p-").at[1] && shape(scene, "cell p1").at[1] > shape(scene, "cell p-").at[1])
  near(shape(scene, "cell w1").at[2] / shape(scene, "cell w0").at[2], 3)
  const words = scene.names.map(one => one.words)
  assert.deepEqual(words.slice(0, 3), ["query vector of c", "key vector of b", "their products, dimension by dimension"])
  assert.equal(words[3], "sum 2.00 × 0.500 + 0.25 (position bias) = score 1.25; after the softmax: weight 0.75")
  assert.ok(words.includes("b 0.75"))
  const plain = lay({ ...CELL, zoom: { ...CELL.zoom, cell: { ...CELL.zoom.cell, score: 1 } } }, 600)
  assert.ok(plain.names.some(one => one.words.startsWith("sum 2.00 × 0.500 = score 1.00;")))
  for (const one of scene.shapes) assert.ok(one.at[0] >= 0 && one.at[3] <= 600 && one.at[1] + one.at[2] / 2 <= scene.height)
})

test("a click on a weight enlarges its cell, and from there a button leads to what wrote the vectors", () => {
  const { find, sent, show } = shown({ ...ZOOMED, linked: true })
  find('path[data-key="r0.1:1-2"]')[0].onclick()
  assert.deepEqual(sent(), [["zoom", "0.1.2.1"]])
  show(CELL)
  assert.deepEqual(find(".tf-river-path button").map(one => one.textContent), ["River", "layer 0", "head 0.1", "c → b", "Who wrote these vectors?"])
  find(".tf-river-path button").at(-1).click()
  assert.deepEqual(sent().at(-1), ["ribbon", { layer: 0, head: 1, query: 2, key: 1 }])
  press(find("svg")[0], "+")
  assert.equal(sent().length, 2) // there is no more
  press(find("svg")[0], "-")
  assert.deepEqual(sent().at(-1), ["zoom", "0.1"])
})

test("plus enlarges a layer, then a head, then a cell; minus and the path go back", () => {
  const page = shown(), { find, sent, show } = page
  const crumb = () => find(".tf-river-path button").map(one => one.textContent)
  press(find("svg")[0], "+")
  assert.deepEqual(sent(), [["zoom", "0"]])
  assert.deepEqual(crumb(), ["River", "layer 0"])
  const { places, dots } = lay({ ...DATA, zoom: { layer: 0, head: null, weights: null } }, 1000)
  assert.ok(places.length === 1 && places[0].to - places[0].from > 500)
  assert.deepEqual(dots.map(({ words }) => words), ["0.0", "0.1"])
  press(find("svg")[0], "+")
  assert.deepEqual(sent().at(-1), ["zoom", "0.1"]) // the head of the widest ribbon
  show(ZOOMED)
  assert.deepEqual(crumb(), ["River", "layer 0", "head 0.1"])
  press(find("svg")[0], "+")
  assert.deepEqual(sent().at(-1), ["zoom", "0.1.2.1"]) // where the explained token looks, but for the first
  press(find("svg")[0], "-")
  press(find("svg")[0], "-")
  assert.deepEqual(sent().slice(3), [["zoom", "0.1"], ["zoom", "0"]])
  find(".tf-river-path button")[0].click()
  assert.deepEqual(sent().at(-1), ["zoom", ""])
  assert.ok(find(".tf-river-path")[0].hidden)
  press(find("svg")[0], "-")
  assert.equal(sent().length, 6)
})

test("a head that somebody points at is the one enlarged", () => {
  const { find, sent } = shown({ ...DATA, zoom: { layer: 0, head: null, weights: null } })
  find('[aria-label^="head 0.0,"]')[0].dispatchEvent(new window.FocusEvent("focus"))
  press(find('[aria-label^="head 0.0,"]')[0], "+")
  assert.deepEqual(sent(), [["zoom", "0.0"]])
})

test("of an enlarged head every weight is a band to the token that reads, together as wide as 1", () => {
  const scene = lay(ZOOMED, 1000), [one, other] = ["r0.1:0-2", "r0.1:1-2"].map(key => shape(scene, key))
  near(one.at[2] + other.at[2], 18)
  near(one.at[4] + one.at[5] / 2, other.at[4] - other.at[5] / 2)
  near(other.at[1], scene.rows[1].y)
  assert.match(other.title, /^·c looks at ·b with 0.75/)
  assert.deepEqual(scene.names.map(({ words }) => words), ["c → b 0.75"]) // not those to the first token
  assert.ok(scene.signs.some(({ words }) => words === "attention weight of the head"))
  assert.ok(one.opacity < other.opacity) // the first token is where weights rest that look at nothing
  assert.ok(scene.dots.find(({ name }) => name === "0.1").chosen)
  assert.ok(scene.width <= 1000)
})

test("the wheel enlarges with the Ctrl key alone, what is under the pointer", () => {
  const { find, sent } = shown()
  const turn = (ctrlKey, deltaY) => find(".tf-river-scroll")[0].dispatchEvent(new window.WheelEvent("wheel", { ctrlKey, deltaY, clientX: 150, cancelable: true }))
  assert.ok(turn(false, -5))
  assert.deepEqual(sent(), [])
  assert.ok(!turn(true, -5))
  assert.deepEqual(sent(), [["zoom", "0"]])
})

test("two fingers that move apart enlarge what is between them, together they go back, one moves the page", () => {
  const { find, sent } = shown()
  const touch = (type, ...places) => find(".tf-river-scroll")[0].dispatchEvent(
    Object.assign(new window.Event(type, { cancelable: true }), { touches: places.map(clientX => ({ clientX, clientY: 0 })) }))
  touch("touchstart", 150)
  assert.ok(touch("touchmove", 250))
  touch("touchstart", 140, 160)
  assert.ok(!touch("touchmove", 138, 162))
  assert.deepEqual(sent(), [])
  touch("touchmove", 130, 170)
  assert.deepEqual(sent(), [["zoom", "0"]])
  touch("touchmove", 145, 155)
  assert.deepEqual(sent(), [["zoom", "0"], ["zoom", ""]])
})

test("its picture for a file is as it is now, and its film goes with the wave to the end", () => {
  const { parentElement, find } = shown()
  const copy = new XMLSerializer().serializeToString(picture(parentElement))
  assert.match(copy, /^<svg[^>]* width="\d+".*without it, the logit of b falls by 2.00/s)
  const { lasts, at, end } = film(parentElement)
  assert.equal(lasts, 3000)
  const front = () => Number(find("clipPath rect")[0].getAttribute("width")) / Number(find("svg")[0].getAttribute("width"))
  at(0.25)
  near(front(), 0.25)
  end()
  near(front(), 1)
  assert.equal(find("button")[0].textContent, "Play")
  assert.equal(picture(place().parentElement), null)
})
