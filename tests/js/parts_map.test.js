// Boxes that are links: a plain click is Streamlit's, every other one the browser's.
import assert from "node:assert/strict"
import { test } from "node:test"
import { at, load, place, window } from "./browser.js"

const { draw } = await load("parts_map.js")

const part = (label, more = {}) => ({ label, note: "", role: "query", about: label, marked: false, across: "", ...more })
const DATA = {
  label: "a model",
  urls: { memory: "/memory", q: "/q", k: "/k", "<b>": "/<b>" },
  stacks: [
    { title: "Encoder", groups: [{ title: "", rows: [[part("memory", { across: "gives" })]] }] },
    { title: "", groups: [{ title: "Block", rows: [[part("q", { note: "(2, 3)" }), part("k", { marked: true })], [part("<b>", { across: "takes" })]] }] },
  ],
}

function shown(data = DATA) {
  const page = place()
  const show = now => draw(page.parentElement, now, page.setTriggerValue)
  return { ...page, show, end: show(data) }
}

const click = (node, more = {}) => node.dispatchEvent(new window.MouseEvent("click", { bubbles: true, cancelable: true, ...more }))

test("boxes are links in reading order, their words plain text", () => {
  const { find } = shown()
  assert.deepEqual(find("a").map(a => [a.getAttribute("href"), a.textContent]),
    [["/memory", "memory"], ["/q", "q(2, 3)"], ["/k", "k"], ["/<b>", "<b>"]])
  assert.deepEqual(find(".tf-marked").map(a => a.textContent), ["k"])
  assert.deepEqual(find(".tf-stack-title, .tf-group-title").map(title => title.textContent), ["Encoder", "Block"])
  assert.equal(find("a")[0].style.getPropertyValue("--own"), "var(--role-query)")
})

test("a click sends the place of the box and does not load the page", () => {
  const { find, sent } = shown()
  assert.equal(click(find("a")[2]), false)
  assert.deepEqual(sent(), [["part", 2]])
})

for (const more of [{ ctrlKey: true }, { metaKey: true }, { shiftKey: true }, { button: 1 }]) {
  test(`a click with ${Object.keys(more)} opens a window`, () => {
    const { find, sent } = shown()
    const [link] = find("a")
    let prevented
    document.addEventListener("click", event => {
      prevented = event.defaultPrevented
      event.preventDefault() // jsdom cannot open one
    }, { once: true })
    click(link, more)
    assert.equal(prevented, false)
    assert.deepEqual(sent(), [])
  })
}

test("an arrow leads from the box that gives to the one that takes, also where stacks stand one under the other", () => {
  const { find, resize } = shown()
  const [gives, , , takes] = find("a")
  at(gives, 0, 100, 50, 20)
  at(takes, 200, 40, 50, 20)
  at(gives.closest(".tf-stack"), 0, 0, 60, 200)
  resize()
  assert.equal(find(".tf-across path")[0].getAttribute("d"), "M50 110H72V50H198m-6 -5l6 5l-6 5")
  at(takes, 20, 140, 50, 20)
  resize()
  assert.equal(find(".tf-across").length, 1)
  assert.equal(find(".tf-across path")[0].getAttribute("d"), "M0 110H6V150H18m-6 -5l6 5l-6 5")
  assert.ok(find(".tf-parts")[0].classList.contains("tf-beside"))
})

test("where nobody is told of a click, there are no links", () => {
  const { parentElement, find } = place()
  draw(parentElement, DATA)
  assert.equal(find("a").length, 0)
  assert.deepEqual(find(".tf-part-label").map(label => label.textContent), ["memory", "q", "k", "<b>"])
})

test("another model is drawn anew; what is gone leaves nothing", () => {
  const { find, show, end, parentElement } = shown()
  show({ ...DATA, label: "small", stacks: [DATA.stacks[1]] })
  assert.deepEqual(find("a").map(a => a.textContent), ["q(2, 3)", "k", "<b>"])
  assert.equal(find(".tf-across").length, 0)
  end()
  assert.equal(parentElement.children.length, 0)
})
