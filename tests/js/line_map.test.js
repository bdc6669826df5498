// The map of a railway: where its stops are, which are passed, and where clicks and keys go.
import assert from "node:assert/strict"
import { test } from "node:test"
import { load, place, press, window } from "./browser.js"

const { draw } = await load("line_map.js")

const stop = (label, more = {}) => ({
  label, title: `all of ${label}`, role: "query", beside: false, branch: "", carried: false, under: false, ...more,
})
const DATA = {
  stops: [
    stop("text"), stop("embed", { carried: true }), stop("attn", { beside: true, branch: "attention" }),
    stop("add"), stop("<i>"),
  ],
  parts: [{ first: 1, last: 3, title: "block", role: "attention" }],
  folds: [],
  value: 1, label: "The forward pass.",
}

function shown(more = {}) {
  const page = place()
  const show = data => draw(page.parentElement, { ...DATA, ...more, ...data }, page.setTriggerValue)
  const end = show()
  const at = () => page.find("button").findIndex(button => button.hasAttribute("aria-current"))
  return { ...page, show, end, at, root: page.find(".tf-map")[0] }
}

test("there is a button for each stop, and one stop of the Tab key for all", () => {
  const { find, at, root } = shown()
  assert.equal(root.getAttribute("aria-label"), "The forward pass. Arrow keys step, a click goes there.")
  assert.deepEqual(find("button").map(button => button.getAttribute("aria-label")).at(-1), "5 of 5: all of <i>")
  assert.deepEqual(find("button").map(button => button.tabIndex), [-1, 0, -1, -1, -1])
  assert.equal(at(), 1)
  assert.deepEqual(find(".tf-name").map(name => name.textContent), ["text", "embed", "attn", "add", "<i>"])
  assert.equal(find(".tf-part")[0].textContent, "block")
})

for (const [key, from, to] of [
  ["ArrowRight", 1, 2], ["ArrowLeft", 1, 0], ["Home", 3, 0], ["End", 1, 4], ["ArrowRight", 3, 4],
]) {
  test(`${key} goes from ${from} to ${to}`, () => {
    const { root, sent, at, find } = shown({ value: from })
    assert.equal(press(root, key), false)
    assert.deepEqual(sent(), [["to", to]])
    assert.equal(at(), to, "shown before the page follows")
    assert.equal(document.activeElement, find("button")[to])
  })
}

test("beyond the ends there is nothing, and other keys are left alone", () => {
  const { root, sent, show, at } = shown({ value: 0 })
  assert.equal(press(root, "ArrowLeft"), false)
  assert.equal(at(), 0)
  show({ value: 4 })
  press(root, "ArrowRight")
  assert.equal(at(), 4)
  assert.equal(press(root, "ArrowDown"), true)
  assert.equal(press(root, "Home", { altKey: true }), true)
  assert.deepEqual(sent(), [])
})

test("a click on a button or on a name goes there, one on the stop where we are does not", () => {
  const { find, sent } = shown()
  find("button")[3].click()
  find("button")[3].click()
  find(".tf-name")[0].dispatchEvent(new window.MouseEvent("click"))
  assert.deepEqual(sent(), [["to", 3], ["to", 0]])
})

test("what is passed: stops up to here, tracks to them, and the line under a branch that is entered", () => {
  const { find, show } = shown({ value: 2 })
  const passed = name => find(name).map(node => node.classList.contains("tf-passed"))
  assert.deepEqual(passed(".tf-stop"), [true, true, true, false, false])
  // text-embed, embed-add under the branch, add-<i>; into the branch, out of it
  assert.deepEqual(passed(".tf-track"), [true, true, false, true, false])
  show({ value: 1 })
  assert.deepEqual(passed(".tf-track"), [true, false, false, false, false])
})

test("tracks have the colour of what they carry", () => {
  const own = shown().find(".tf-track").map(track => track.style.getPropertyValue("--own"))
  assert.deepEqual(own, ["query", "residual", "query", "attention", "attention"].map(role => `var(--role-${role})`))
})

test("stops are at least 26 px apart, and a branch is above the line", () => {
  const [a, b, c] = shown().find(".tf-stop").map(dot => [Number(dot.getAttribute("cx")), Number(dot.getAttribute("cy"))])
  assert.deepEqual([a, b, c], [[24, 98], [50, 98], [76, 62]])
})

test("folded layers stand between two stops, and a branch begins behind them", () => {
  const { find } = shown({ folds: [{ before: 2, title: "layers 0–2", words: "more <i>layers" }] })
  assert.deepEqual(find(".tf-stop").map(dot => Number(dot.getAttribute("cx"))), [24, 50, 120, 146, 172])
  assert.deepEqual(find(".tf-fold text").map(one => one.textContent), ["layers", "0–2"])
  assert.equal(find(".tf-fold title")[0].textContent, "more <i>layers")
  const branch = find(".tf-track").find(track => track.getAttribute("d").includes("C"))
  assert.match(branch.getAttribute("d"), /^M94 98C/)
})

test("a long label of the last stop ends where the map ends", () => {
  const last = find => find(".tf-name").at(-1)
  const { find } = shown({ stops: [stop("text"), stop("a long answer", { under: true })], parts: [], value: 0 })
  assert.deepEqual([last(find).getAttribute("text-anchor"), last(find).getAttribute("x")], ["end", "78"])
})

test("another model has other stops; what is gone leaves nothing", () => {
  const { find, show, end, parentElement } = shown()
  show({ stops: DATA.stops.slice(0, 2), parts: [], value: 0 })
  assert.equal(find("button").length, 2)
  assert.equal(find(".tf-stop").length, 2)
  end()
  assert.equal(parentElement.children.length, 0)
})

test("where nobody is told of it, stops are signs that say which they are", () => {
  const { parentElement, find } = place()
  const end = draw(parentElement, DATA)
  const [root] = find(".tf-map")
  assert.equal(root.getAttribute("aria-label"), "The forward pass.")
  assert.deepEqual(find("button, [tabindex], .tf-walked"), [])
  assert.deepEqual(find("[role=img]").map(sign => sign.getAttribute("aria-label")).at(-1), "5 of 5: all of <i>")
  find(".tf-name")[0].dispatchEvent(new window.MouseEvent("click"))
  assert.equal(press(root, "End"), true)
  assert.equal(find(".tf-call").findIndex(one => one.hasAttribute("aria-current")), 1)
  end()
  assert.equal(parentElement.children.length, 0)
})
