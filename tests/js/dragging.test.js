// What is dragged goes to Python one message at a time, and the last position always follows.
import assert from "node:assert/strict"
import { beforeEach, mock, test } from "node:test"
import { clock, load, place, point } from "./browser.js"

const { answered, begun, ended, follow, post } = await load("dragging.js")
let pass, view

beforeEach(() => {
  pass = clock()
  view = { ...begun(7), send: mock.fn() }
})

const sent = () => view.send.mock.calls.map(({ arguments: [name, value] }) => [name, value])
const move = to => {
  view.next = { to }
  post(view)
}

test("a message has the next number, and the second waits for the answer to the first", () => {
  move("a")
  move("b")
  move("c")
  assert.deepEqual(sent(), [["moved", { to: "a", seq: 8 }]])
  assert.equal(answered(view, 8), false, "c is not yet sent, so what Python says is old")
  pass(40)
  post(view)
  assert.deepEqual(sent().slice(1), [["moved", { to: "c", seq: 9 }]], "b was overtaken")
  assert.equal(answered(view, 9), true)
})

test("an answer to an older message does not count", () => {
  move("a")
  assert.equal(answered(view, 7), false)
  assert.equal(view.waiting, true)
})

test("while the hand holds something, the hand decides", () => {
  view.held = {}
  assert.equal(answered(view, 7), false)
})

test("40 ms pass between two messages, and the later one goes by itself", () => {
  move("a")
  answered(view, 8)
  pass(10)
  move("b")
  assert.equal(sent().length, 1)
  pass(29)
  assert.equal(sent().length, 1)
  pass(1)
  assert.deepEqual(sent()[1], ["moved", { to: "b", seq: 9 }])
})

test("an answer that never comes is given up after two seconds", () => {
  move("a")
  move("b")
  pass(1999)
  assert.equal(sent().length, 1)
  pass(1)
  assert.deepEqual(sent()[1], ["moved", { to: "b", seq: 9 }])
})

test("what is gone sends nothing more", () => {
  move("a")
  move("b")
  ended(view)
  pass(5000)
  assert.equal(sent().length, 1)
})

for (const end of ["pointerup", "pointercancel", "lostpointercapture"]) {
  test(`a pointer is followed until ${end}`, () => {
    const node = place("<div tabindex=0></div>").find("div")[0]
    const moved = mock.fn(), dropped = mock.fn()
    node.onpointerdown = event => follow(node, event, moved, dropped)
    assert.equal(point(node, "pointerdown", 0, 0), false, "the browser's own dragging is prevented")
    assert.equal(document.activeElement, node)
    point(node, "pointermove", 3, 4)
    assert.equal(moved.mock.calls[0].arguments[0].clientX, 3)
    point(node, end, 3, 4)
    point(node, "pointermove", 5, 6)
    point(node, "pointerup", 5, 6)
    assert.deepEqual([moved.mock.callCount(), dropped.mock.callCount()], [1, 1])
  })
}
