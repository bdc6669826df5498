// Points in planes: where keys and pointers put them, and what Python hears of it.
import assert from "node:assert/strict"
import { beforeEach, test } from "node:test"
import { at, clock, load, place, point, press } from "./browser.js"

const { draw } = await load("planes.js")
let pass
beforeEach(() => (pass = clock()))

const DATA = {
  seq: 0, tokens: ["the", "<b>"], kinds: ["query", "key", "value"], limit: 2, step: 0.05, chosen: 1,
  points: [[1, 0], [0, 1], [-1, 0.5], [0.5, 0.5], [0, 0], [1, 1]],
  planes: [{ title: "one", label: "queries and keys", kinds: ["query", "key"] }, { title: "two", label: "values", kinds: ["value"] }],
  marks: [{ plane: 1, at: [1, -1], strong: true, title: "the sum" }],
  links: [{ plane: 1, from: [0, 1], to: [1, 1], width: 3 }],
}

function shown(more = {}) {
  const page = place()
  const show = data => draw(page.parentElement, { ...DATA, ...more, ...data }, page.setTriggerValue)
  const end = show()
  for (const plane of page.find(".tf-plane")) at(plane, 0, 0, 230, 230) // 50 px a unit, as 1.15 times the limit is seen
  const handles = page.find(".tf-handle")
  for (const handle of handles) at(handle, 1000, 1000, 0, 0)
  return { ...page, show, end, handles, last: () => page.sent().at(-1)[1] }
}

const coordinates = message => message.points.split("_").map(Number)

test("handles stand in the order of kinds and tokens, and say where they are", () => {
  const { handles, find } = shown()
  assert.deepEqual(handles.map(handle => handle.getAttribute("aria-label")),
    ["query of the", "query of <b>", "key of the", "key of <b>", "value of the", "value of <b>"])
  assert.equal(handles[2].getAttribute("aria-valuetext"), "x −1.00, y 0.50")
  assert.equal(parseFloat(handles[0].style.left).toFixed(2), "71.74")
  assert.equal(parseFloat(handles[1].style.top).toFixed(2), "28.26")
  assert.equal(handles[1].querySelector("b").textContent, "<b>")
  assert.deepEqual(find(".tf-mark").map(mark => [mark.getAttribute("aria-label"), mark.className]), [["the sum", "tf-mark tf-strong"]])
  assert.equal(find(".tf-link")[0].style.strokeWidth, "3px")
  assert.equal(find(".tf-link")[0].getAttribute("y1"), "-1", "up is positive, but not in SVG")
  assert.equal(find(".tf-arm.tf-strong").length, 1, "the query of the chosen token")
})

for (const [key, more, expected] of [
  ["ArrowRight", {}, [1.1, 0]],
  ["ArrowLeft", {}, [0.9, 0]],
  ["ArrowUp", {}, [1, 0.1]],
  ["ArrowDown", { shiftKey: true }, [1, -0.5]],
]) {
  test(`${key} ${JSON.stringify(more)} moves one point`, () => {
    const { handles, last } = shown()
    assert.equal(press(handles[0], key, more), false)
    const { points, ...rest } = last()
    assert.deepEqual(coordinates({ points }), [...expected, 0, 1, -1, 0.5, 0.5, 0.5, 0, 0, 1, 1])
    assert.deepEqual(rest, { kind: "query", token: 0, final: true, seq: 1 })
  })
}

test("a point stays within the limits", () => {
  const { handles, last } = shown({ points: [[1.95, 0], ...DATA.points.slice(1)] })
  press(handles[0], "ArrowRight", { shiftKey: true })
  assert.deepEqual(coordinates(last()).slice(0, 2), [2, 0])
})

test("keys with Ctrl, Alt or Meta are the browser's", () => {
  const { handles, sent } = shown()
  for (const name of ["ctrlKey", "altKey", "metaKey"]) assert.equal(press(handles[0], "ArrowUp", { [name]: true }), true)
  assert.deepEqual(sent(), [])
})

test("a dragged point keeps its place under the finger and lands on the grid", () => {
  const { handles, last } = shown()
  at(handles[0], 155, 105, 20, 20) // its middle at 165, 115
  point(handles[0], "pointerdown", 168, 113)
  point(handles[0], "pointermove", 168 + 51, 113 - 26) // 1.02 to the right, 0.52 up
  assert.deepEqual(coordinates(last()).slice(0, 2), [2, 0.5])
  assert.equal(last().final, false)
  point(handles[0], "pointermove", 168 - 51, 113 + 26)
  point(handles[0], "pointerup", 0, 0)
  pass(5000)
  assert.deepEqual(coordinates(last()).slice(0, 2), [0, -0.5])
  assert.equal(last().final, true)
})

test("of handles under one finger the nearest is taken, of the same plane only", () => {
  const { handles, last } = shown()
  at(handles[0], 100, 100, 0, 0)
  at(handles[1], 110, 100, 0, 0)
  at(handles[4], 111, 100, 0, 0) // a value, in the other plane
  point(handles[0], "pointerdown", 111, 100)
  point(handles[1], "pointermove", 121, 100)
  const { kind, token } = last()
  assert.deepEqual([kind, token], ["query", 1])
})

test("Python's points count when it answers the last message, and are not changed here", () => {
  const { handles, show, last } = shown()
  press(handles[0], "ArrowRight")
  show({ seq: 0 })
  assert.equal(handles[0].getAttribute("aria-valuenow"), "1.1")
  const points = DATA.points.map(() => [0.25, 0])
  show({ seq: 1, points })
  assert.equal(handles[0].getAttribute("aria-valuenow"), "0.25")
  pass(40)
  press(handles[0], "ArrowLeft")
  assert.deepEqual(points[0], [0.25, 0])
  assert.deepEqual(coordinates(last()).slice(0, 2), [0.15, 0])
})

test("marks come and go", () => {
  const { show, find } = shown()
  show({ marks: [...DATA.marks, { plane: 0, at: [0, 0], strong: false, title: "new" }] })
  assert.equal(find(".tf-mark").length, 2)
  show({ marks: [] })
  assert.equal(find(".tf-mark").length, 0)
})

test("where nobody is told of it, points are pictures that say where they are", () => {
  const { parentElement, find } = place()
  const end = draw(parentElement, DATA)
  assert.deepEqual(find("[role=slider], [tabindex]"), [])
  assert.equal(find(".tf-handle")[2].getAttribute("aria-label"), "key of the: x −1.00, y 0.50")
  end()
  assert.equal(parentElement.children.length, 0)
})
