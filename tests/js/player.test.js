// Back, play and forward: one step at a time, and none that leaves the range.
import assert from "node:assert/strict"
import { beforeEach, test } from "node:test"
import { clock, load, place, press } from "./browser.js"

const { default: player } = await load("player.js")
let pass
beforeEach(() => (pass = clock()))

const DATA = { low: 0, high: 10, value: 4, step: 2, label: "layers", period: 400, everywhere: false, speeds: false }

function shown(more = {}) {
  const page = place("player.html")
  const show = data => player({ ...page, data: { ...DATA, ...more, ...data } })
  const end = show()
  const [back, play, forward] = page.find("button")
  return { ...page, show, end, back, play, forward, group: page.find(".player")[0] }
}

test("back and forward are one step", () => {
  const { back, forward, sent } = shown()
  back.click()
  forward.click()
  assert.deepEqual(sent(), [["to", 2], ["to", 6]])
})

test("it plays twice as fast and half as fast where that is offered", () => {
  const { find, play, show, sent } = shown({ speeds: true })
  const speed = find(".speed")[0]
  assert.deepEqual([speed.hidden, speed.textContent], [false, "1×"])
  speed.click()
  assert.deepEqual([speed.textContent, document.documentElement.dataset.tfSpeed], ["2×", "2"])
  play.click()
  show({ value: 6 })
  pass(199)
  assert.equal(sent().length, 1)
  pass(1)
  assert.equal(sent().length, 2)
  speed.click()
  assert.equal(speed.textContent, "0.5×")
  speed.click()
  assert.equal(speed.textContent, "1×")
  play.click()
  assert.ok(shown().find(".speed")[0].hidden)
})

test("at the ends a button is off, and a step that is too long ends there", () => {
  const { back, forward, show, sent } = shown({ value: 0 })
  assert.deepEqual([back.disabled, forward.disabled], [true, false])
  show({ value: 9 })
  forward.click()
  assert.deepEqual(sent(), [["to", 10]])
  show({ value: 10 })
  assert.deepEqual([back.disabled, forward.disabled], [false, true])
})

test("it plays only as fast as the page follows, and begins again after the end", () => {
  const { play, show, sent } = shown({ value: 8 })
  play.click()
  assert.deepEqual(sent(), [["to", 10]])
  pass(5000)
  assert.equal(sent().length, 1, "the page has not shown the step yet")
  show({ value: 10 })
  pass(399)
  assert.equal(sent().length, 1)
  pass(1)
  assert.deepEqual(sent()[1], ["to", 0])
})

test("a second click pauses, and so does every step by hand", () => {
  const { play, back, forward, show, sent, find } = shown()
  const words = () => [play.getAttribute("aria-pressed"), play.getAttribute("aria-label"), find(".words")[0].textContent]
  for (const stop of [play, back, forward]) {
    play.click()
    assert.deepEqual(words(), ["true", "Pause", "Pause"])
    show()
    stop.click()
    assert.deepEqual(words(), ["false", "Play", "Play"])
    const before = sent().length
    pass(5000)
    show()
    pass(5000)
    assert.equal(sent().length, before)
  }
})

test("the arrow keys step; with Shift or Ctrl they are the browser's", () => {
  const { group, sent } = shown()
  assert.equal(press(group, "ArrowRight"), false)
  press(group, "ArrowLeft")
  assert.equal(press(group, "ArrowUp"), true)
  assert.equal(press(group, "ArrowRight", { shiftKey: true }), true)
  assert.equal(press(group, "ArrowRight", { ctrlKey: true }), true)
  assert.deepEqual(sent(), [["to", 6], ["to", 2]])
})

test("on the whole page the arrow keys step once, where nothing else uses them, until the player is gone", () => {
  const { group, show, end, sent, parentElement } = shown({ everywhere: true })
  show({ value: 5 })
  const { find } = place('<p>words</p><input><div role="slider"><i></i></div>')
  press(find("p")[0], "ArrowRight")
  press(find("input")[0], "ArrowRight")
  press(find("i")[0], "ArrowRight")
  assert.deepEqual(sent(), [["to", 7]])
  press(group, "ArrowRight")
  assert.equal(sent().length, 2, "the player's own handler and the page's are one")
  end()
  press(find("p")[0], "ArrowRight")
  assert.equal(sent().length, 3, "still there: a change overtook another")
  parentElement.remove()
  end()
  press(find("p")[0], "ArrowRight")
  assert.equal(sent().length, 3)
})
