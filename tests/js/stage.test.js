// The stage of attention: where everything stands, what is followed, and what a step does on its way.
import assert from "node:assert/strict"
import { mock, test } from "node:test"
import { clock, load, pixel, place, press, window } from "./browser.js"

const { draw, places } = await load("stage.js")
const DATA = {
  steps: ["heads", "scores", "scaled", "mask", "softmax", "values"],
  labels: ["heads", "scores", "÷ √d", "mask", "softmax", "A V"],
  at: 1,
  tokens: ["·a", "·b", "·c"],
  width: 2,
  queries: [[99, 0, 50, 50, 0, -99]],
  keys: [[99, 0, 50, 50, 0, -99]],
  values: [10, 20, 30, 40, 50, 60],
  output: [10, 20, 20, 30, 40, 50],
  scores: [[4, 2, 0, 2, 2, 1, 0, 3, 4], [2, 1, 0, 1, 1, 0.5, 0, 1.5, 2]],
  allowed: [1, 0, 0, 1, 1, 0, 1, 1, 1],
  weights: [1, 0, 0, 0.5, 0.5, 0, 0.1, 0.3, 0.6],
  stories: ["a alone", "b to a", "c to c"],
  label: "Attention of head 0 in layer 1, scores",
  height: 500,
}
Object.defineProperty(window.HTMLElement.prototype, "clientWidth", { configurable: true, get: () => 900 })
// A pen that remembers what it filled and wrote.
let drawn = []
window.HTMLCanvasElement.prototype.getContext = function () {
  const pen = { setTransform() {}, clearRect: () => (drawn = []), save() {}, restore() {}, translate() {}, rotate() {}, strokeRect() {} }
  pen.fillRect = (x, y, w, h) => drawn.push({ x, y, w, h, colour: pen.fillStyle })
  pen.fillText = words => drawn.push({ words })
  pen.getImageData = () => pixel(pen.fillStyle)
  return pen
}
const frames = []
globalThis.requestAnimationFrame = call => frames.push(call)
globalThis.cancelAnimationFrame = () => frames.splice(0)

function shown(more = {}) {
  const pass = clock(), page = place()
  const show = now => draw(page.parentElement, { ...DATA, ...more, ...now }, page.setTriggerValue)
  const end = show()
  const go = ms => {
    pass(ms)
    for (const call of frames.splice(0)) call()
  }
  return { ...page, show, end, go }
}
const words = () => drawn.flatMap(one => one.words ?? [])
const at = places(900, 500, 3)
const cells = () => drawn.filter(({ x, y, w, h }) => Math.abs(w - at.cell + 1) < 0.1 && h === w && x >= at.s.x && y >= at.s.y && y < at.bars.y)

test("keys stand above the scores, values above the output, and everything is inside", () => {
  for (const [width, height, n] of [[980, 516, 10], [340, 516, 10], [980, 596, 32], [340, 596, 32]]) {
    const { q, k, s, v, z, bars, cell } = places(width, height, n)
    assert.deepEqual([k.x, k.w, v.x, v.w], [s.x, s.w, z.x, z.w])
    assert.ok(Math.abs(s.w - cell * n) < 1e-9 && s.y === q.y && q.y === z.y && k.y + k.h < s.y)
    assert.ok(z.x + z.w <= width && bars.y + bars.h <= height && q.x > 0)
  }
})

test("a row and a column meet in their cell before the others come", () => {
  const { go } = shown()
  go(150)
  assert.equal(cells().length, 0)
  go(250)
  const some = cells().length
  assert.ok(some >= 1 && some < 9)
  go(300)
  assert.equal(cells().length, 9)
  assert.ok(words().includes("4.0") && !words().includes("0.60"))
})

test("the softmax turns scores into weights and bars", () => {
  const { go } = shown({ at: 4 })
  go(700)
  assert.ok(words().includes("0.60") && words().includes("weights A"))
  const bars = drawn.filter(({ y, h }) => y !== undefined && Math.abs(y + h - at.bars.y - at.bars.h) < 1e-6 && h > 1)
  assert.deepEqual(bars.map(({ h }) => Math.round((100 * h) / (at.bars.h - 12)) / 100), [0.1, 0.3, 0.6])
})

test("what is followed is told, by pointer and by key", () => {
  const { find, go } = shown({ at: 4 })
  go(700)
  const told = () => find("p")[0].textContent
  assert.equal(told(), "c to c")
  press(find("canvas")[0], "ArrowUp")
  assert.equal(told(), "b to a")
  const point = (x, y) => {
    const event = new window.MouseEvent("pointermove", { bubbles: true })
    Object.defineProperties(event, { offsetX: { value: x }, offsetY: { value: y } })
    find("canvas")[0].dispatchEvent(event)
  }
  point(at.s.x + 1.5 * at.cell, at.s.y + 2.5 * at.cell)
  assert.equal(told(), "query '·c', key '·b': score 1.50, weight 0.300.")
  point(at.s.x + 2.5 * at.cell, at.s.y + 0.5 * at.cell)
  assert.equal(told(), "query '·a', key '·c': not allowed by the mask, so the weight is 0.")
  point(at.v.x + 5, at.v.y + 0.5 * (at.v.h / 3))
  assert.equal(told(), "query '·a', key '·a': score 2.00, weight 1.000.")
})

test("a click or Enter asks why the query looks there; a first touch only points, and nothing is asked of what is masked", () => {
  const { find, go, sent } = shown({ at: 4 })
  go(700)
  const canvas = find("canvas")[0]
  const click = (row, column, pointerType = "mouse") => {
    for (const kind of ["pointerdown", "click"]) {
      const event = new window.MouseEvent(kind, { bubbles: true })
      const [x, y] = [at.s.x + (column + 0.5) * at.cell, at.s.y + (row + 0.5) * at.cell]
      Object.defineProperties(event, { offsetX: { value: x }, offsetY: { value: y }, pointerType: { value: pointerType } })
      canvas.dispatchEvent(event)
    }
  }
  click(2, 1)
  assert.deepEqual(sent(), [["cell", { query: 2, key: 1 }]])
  click(0, 2)
  assert.equal(sent().length, 1)
  click(1, 0, "touch")
  assert.equal(sent().length, 1)
  click(1, 0, "touch")
  assert.deepEqual(sent()[1], ["cell", { query: 1, key: 0 }])
  press(canvas, "Enter")
  assert.deepEqual(sent()[2], ["cell", { query: 1, key: 0 }])
})

test("the slider scrubs, and where it is let go is sent", () => {
  const { find, go, sent } = shown()
  go(700)
  const scrub = find("input")[0]
  assert.equal(scrub.value, "2")
  scrub.value = "4.5"
  scrub.oninput()
  assert.ok(words().includes("softmax"))
  scrub.onchange()
  assert.deepEqual(sent(), [["to", 4]])
  scrub.value = "1.5"
  scrub.oninput()
  scrub.onchange()
  assert.deepEqual(sent(), [["to", 4]]) // the step that is shown
})

test("from one step to the next it moves, backwards too; from afar the step itself; at another speed sooner", () => {
  const { find, go, show } = shown({ at: 0 })
  go(700)
  show({ at: 1 })
  go(300)
  assert.ok(Math.abs(find("input")[0].value - 1.5) < 0.02)
  go(300)
  show({ at: 0 })
  go(300)
  assert.ok(Math.abs(find("input")[0].value - 1.5) < 0.02)
  go(300)
  show({ at: 5 })
  go(0)
  assert.equal(find("input")[0].value, "5")
  document.documentElement.dataset.tfSpeed = "2"
  go(300)
  assert.equal(find("input")[0].value, "6")
  document.documentElement.dataset.tfSpeed = "1"
})

test("nothing moves for those who want none of it", () => {
  const media = mock.method(globalThis, "matchMedia", () => ({ matches: true }))
  const { find, end } = shown({ at: 4 })
  assert.equal(find("input")[0].value, "5")
  media.mock.restore()
  end()
  assert.equal(find("canvas").length, 0)
})

test("where nobody is told of it, it can be followed and scrubbed, and nothing else", () => {
  const { parentElement, find } = place()
  const end = draw(parentElement, DATA)
  const [canvas] = find("canvas"), [scrub] = find("input")
  press(canvas, "ArrowUp")
  assert.equal(find("p")[0].textContent, "b to a")
  press(canvas, "Enter")
  scrub.value = "4.5"
  scrub.oninput()
  scrub.onchange()
  assert.ok(words().includes("softmax"))
  assert.equal(canvas.style.cursor, "")
  end()
  assert.equal(parentElement.children.length, 0)
})
