// The ring of the tour: around what a stop speaks of, brought into sight once, and gone with the card.
import assert from "node:assert/strict"
import { mock, test } from "node:test"
import { at, load, place, window } from "./browser.js"

const { default: ring } = await load("lesson_ring.js")
const { document } = window
const rings = () => [...document.querySelectorAll(".tf-lesson-ring")]
let look = () => {} // what is done again and again
globalThis.setInterval = call => ((look = call), 1)
globalThis.clearInterval = () => {}
globalThis.innerHeight = 900
globalThis.innerWidth = 1440

function stop(top, height = 100) {
  const target = document.createElement("div")
  target.className = "target"
  document.body.append(target)
  at(target, 50, top, 300, height)
  target.scrollIntoView = mock.fn()
  const card = place("lesson_ring.html")
  ring({ ...card, data: { target: ".target", running: ".running", lesson: "first", stop: 1 } })
  const end = () => {
    card.parentElement.remove()
    look()
    target.remove()
  }
  return { target, card, end }
}

test("it stands around its target, hidden from screen readers, and follows it", () => {
  const { target, end } = stop(100)
  assert.equal(rings().length, 1)
  const style = rings()[0].style
  assert.deepEqual([style.left, style.top, style.width, style.height], ["44px", "94px", "312px", "112px"])
  assert.equal(rings()[0].getAttribute("aria-hidden"), "true")
  at(target, 50, 200, 300, 100)
  look()
  assert.equal(style.top, "194px")
  assert.equal(target.scrollIntoView.mock.callCount(), 0) // it was in sight
  end()
})

test("a target out of sight is brought into it, until the visitor moves", () => {
  const { target, end } = stop(1500)
  assert.deepEqual(target.scrollIntoView.mock.calls[0].arguments, [{ block: "center" }])
  look()
  assert.equal(target.scrollIntoView.mock.callCount(), 2)
  window.dispatchEvent(new window.Event("wheel"))
  look()
  assert.equal(target.scrollIntoView.mock.callCount(), 2)
  end()
})

test("while the page runs or moves, however long, it is brought into sight again", () => {
  let now = 1000
  mock.method(performance, "now", () => now)
  const { target, end } = stop(100)
  document.body.classList.add("running")
  now += 60_000 // on a slow server
  look() // it runs
  document.body.classList.remove("running")
  at(target, 50, 1500, 300, 100)
  now += 4_000
  look()
  assert.equal(target.scrollIntoView.mock.callCount(), 1)
  now += 6_000
  look() // it has come to rest
  assert.equal(target.scrollIntoView.mock.callCount(), 1)
  mock.restoreAll()
  end()
})

test("what is taller than half the window begins at its top", () => {
  const { target, end } = stop(1500, 700)
  assert.deepEqual(target.scrollIntoView.mock.calls[0].arguments, [{ block: "start" }])
  end()
})

test("what the card would cover is brought above it", () => {
  const { target, card, end } = stop(300, 400)
  assert.equal(target.scrollIntoView.mock.callCount(), 0)
  card.parentElement.className = "st-key-lesson_card"
  at(card.parentElement, 1000, 650, 372, 220)
  look()
  assert.equal(target.scrollIntoView.mock.callCount(), 0) // it stands beside
  at(card.parentElement, 200, 650, 372, 220)
  look()
  assert.deepEqual(target.scrollIntoView.mock.calls[0].arguments, [{ block: "start" }])
  at(target, 50, 72, 300, 700) // no higher than under the header
  look()
  assert.equal(target.scrollIntoView.mock.callCount(), 1)
  end()
})

test("it goes with its target and with the card", () => {
  const { target, card, end } = stop(100)
  target.remove()
  look()
  assert.equal(rings().length, 0)
  document.body.append(target)
  look()
  assert.equal(rings().length, 1)
  card.parentElement.remove()
  look()
  assert.equal(rings().length, 0)
  end()
})

test("another stop on the same page rings another target, with the same ring", () => {
  const { card, end } = stop(100)
  const other = document.createElement("p")
  other.id = "other"
  document.body.append(other)
  at(other, 10, 300, 20, 20)
  ring({ ...card, data: { target: "#other", lesson: "first", stop: 2 } })
  assert.equal(rings().length, 1)
  assert.equal(rings()[0].style.left, "4px")
  end()
})

test("all that a stop speaks of lies within one ring", () => {
  const other = document.createElement("div")
  other.className = "other"
  document.body.append(other)
  at(other, 20, 300, 100, 50)
  const { card, end } = stop(100)
  ring({ ...card, data: { target: ".target, .missing, .other", lesson: "first", stop: 2 } })
  const style = rings()[0].style
  assert.deepEqual([style.left, style.top, style.width, style.height], ["14px", "94px", "342px", "262px"])
  end()
  other.remove()
})

test("where they fit, all of them are brought into sight, from the highest on", () => {
  const other = document.createElement("div")
  other.className = "other"
  document.body.append(other)
  other.scrollIntoView = mock.fn()
  const { target, card, end } = stop(600)
  const bring = (/** @type {number} */ number, /** @type {number} */ first, /** @type {number} */ second) => {
    at(target, 50, first, 300, 100)
    at(other, 20, second, 100, 50)
    ring({ ...card, data: { target: ".target, .other", lesson: "first", stop: number } })
    return [target.scrollIntoView.mock.callCount(), other.scrollIntoView.mock.callCount()]
  }
  assert.deepEqual(bring(2, 600, 400), [0, 0])
  assert.deepEqual(bring(3, 1300, 900), [0, 1])
  assert.deepEqual(bring(4, 1300, 1500), [1, 1])
  assert.deepEqual(bring(5, 1300, 100), [2, 1]) // too much at once: what is named first
  end()
  other.remove()
})
