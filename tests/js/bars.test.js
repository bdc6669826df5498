// Bars always sum to the same, whatever one of them takes.
import assert from "node:assert/strict"
import { beforeEach, test } from "node:test"
import { at, clock, load, place, point, press } from "./browser.js"

const { render } = await load("bars.js")
let pass
beforeEach(() => (pass = clock()))

const DATA = {
  seq: 0, weights: [5000, 3000, 2000], units: 10_000, names: ["a", "b", "c"], rows: [], columns: [],
  label: "distribution P", hue: 1, height: 100, top: 1, fixed: false,
}

function shown(more = {}) {
  const page = place()
  const show = data => render({ ...page, data: { ...DATA, ...more, ...data } })
  const end = show()
  const bars = page.find(".tf-column")
  for (const bar of bars) at(bar, 0, 0, 20, 100)
  const weights = () => bars.map(bar => Math.round(bar.getAttribute("aria-valuenow") * DATA.units))
  return { ...page, show, end, bars, weights }
}

test("each bar is a slider that says its probability", () => {
  const { bars, find } = shown()
  assert.deepEqual(bars.map(bar => bar.getAttribute("aria-valuetext")), ["0.500", "0.300", "0.200"])
  assert.deepEqual(bars.map(bar => bar.getAttribute("aria-label")), ["distribution P: a", "distribution P: b", "distribution P: c"])
  assert.deepEqual(find(".tf-fill").map(fill => fill.style.height), ["50%", "30%", "20%"])
  assert.equal(find(".tf-bars")[0].style.getPropertyValue("--own"), "#000002")
})

test("small probabilities have a digit more", () => {
  assert.equal(shown({ weights: [9945, 55, 0] }).bars[1].getAttribute("aria-valuetext"), "0.0055")
})

for (const [key, more, expected] of [
  ["ArrowUp", {}, [5100, 2940, 1960]],
  ["ArrowLeft", {}, [4900, 3060, 2040]],
  ["ArrowRight", { shiftKey: true }, [5010, 2994, 1996]],
  ["PageDown", {}, [4000, 3600, 2400]],
  ["End", {}, [10_000, 0, 0]],
  ["Home", {}, [0, 6000, 4000]],
]) {
  test(`${key} ${JSON.stringify(more)} moves the first bar, and the others give or take in proportion`, () => {
    const { bars, weights, sent } = shown()
    assert.equal(press(bars[0], key, more), false, "the page does not scroll")
    assert.deepEqual(weights(), expected)
    assert.deepEqual(sent(), [["moved", { weights: expected.join("_"), final: true, seq: 1 }]])
  })
}

test("keys of the browser and of others are left alone", () => {
  const { bars, sent } = shown()
  for (const [key, more] of [["a"], ["ArrowUp", { ctrlKey: true }], ["ArrowUp", { altKey: true }], ["End", { metaKey: true }]])
    assert.equal(press(bars[0], key, more), true)
  assert.deepEqual(sent(), [])
})

test("weights stay whole and sum to the same, however they are rounded", () => {
  const { bars, weights } = shown({ weights: [3333, 3333, 3334] })
  for (let i = 0; i < 40; i++) {
    press(bars[i % 3], ["ArrowUp", "PageDown", "PageUp", "ArrowDown"][i % 4], { shiftKey: i % 5 === 0 })
    assert.equal(weights().reduce((a, b) => a + b), 10_000)
  }
})

test("a bar that had everything gives to the others alike", () => {
  const { bars, weights } = shown({ weights: [10_000, 0, 0] })
  press(bars[0], "PageDown")
  assert.deepEqual(weights(), [9000, 500, 500])
})

test("dragged to the top and back, a bar gives back what it took", () => {
  const { bars, weights, sent } = shown()
  point(bars[0].querySelector(".tf-grip"), "pointerdown", 10, 45) // a little above its middle
  point(bars[0], "pointermove", 10, -35)
  assert.deepEqual(weights(), [10_000, 0, 0])
  point(bars[0], "pointermove", 10, 45)
  assert.deepEqual(weights(), [5000, 3000, 2000])
  assert.equal(sent()[0][1].final, false)
  point(bars[0], "pointerup", 10, 45)
  pass(5000)
  assert.deepEqual(sent().at(-1)[1], { weights: "5000_3000_2000", final: true, seq: 2 })
})

test("a click puts the bar there, but a finger beside the grip scrolls", () => {
  const { bars, weights } = shown()
  point(bars[0], "pointerdown", 10, 80, { touch: true })
  assert.deepEqual(weights(), [5000, 3000, 2000])
  point(bars[0], "pointerdown", 10, 80)
  assert.deepEqual(weights(), [2000, 4800, 3200])
})

test("what Python says counts once it answers the last message", () => {
  const { bars, weights, show } = shown()
  press(bars[0], "ArrowUp")
  show({ seq: 0 })
  assert.deepEqual(weights(), [5100, 2940, 1960])
  show({ seq: 1, weights: [1, 1, 2] })
  assert.deepEqual(weights(), [2500, 2500, 5000])
  press(bars[0], "ArrowUp")
  assert.deepEqual(weights(), [2600, 2467, 4933])
})

test("fixed bars are a picture that nobody moves, whatever they were before", () => {
  const { bars, show, sent } = shown()
  show({ fixed: true })
  press(bars[0], "ArrowUp")
  point(bars[0], "pointerdown", 10, 80)
  assert.deepEqual(sent(), [])
  assert.equal(bars[0].getAttribute("role"), "img")
  assert.equal(bars[0].getAttribute("aria-label"), "distribution P: a 0.500")
  assert.equal(bars[0].hasAttribute("aria-valuenow"), false)
  assert.equal(bars[0].tabIndex, -1)
})

test("a table has heads, and another shape makes it anew", () => {
  const { show, find, end } = shown({ names: ["a", "b", "c", "d"], weights: [1, 1, 1, 1], rows: ["r", "s"], columns: ["<b>", "u"] })
  const heads = () => find(".tf-bars > span").map(head => head.textContent)
  assert.deepEqual(heads(), ["", "<b>", "u", "r", "s"])
  show({ names: ["a"], weights: [1], rows: [], columns: [] })
  assert.deepEqual(heads(), ["a"])
  assert.equal(find(".tf-bars").length, 1)
  end()
  show({ names: ["a"], weights: [1], rows: [], columns: [] })
  assert.equal(find(".tf-bars").length, 1)
})
