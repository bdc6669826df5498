// The foot of a page, and keys: presenting with its steps, the black screen, the address; nothing while somebody types.
import assert from "node:assert/strict"
import { mock, test } from "node:test"
import { at, load, place, press, window } from "./browser.js"

let tick = () => {}
globalThis.setInterval = call => ((tick = call), 1)
globalThis.history = window.history
globalThis.Node = window.Node
const modal = mock.fn()
Object.assign(window.HTMLDialogElement.prototype, { showModal: modal, close() {} })
const { render } = await load("shortcuts.js")
const { document } = window
const root = document.documentElement
const DATA = {
  page: "heads", before: { at: 3, title: "Attention", key: "attention" }, after: { at: 5, title: "<b>Masks", key: "masks" },
  part: "foot", sections: ["One", "Two"], open: 0, examples: ["a", "b"],
}

// A page with a title, two figures, words, and its foot.
function shown(more = {}) {
  leave()
  document.body.replaceChildren()
  const page = place('<h1>What <i>is</i> it?</h1><div class="tf-scene low"></div><div class="tf-scene map"></div><div class="tf-scene high"><figcaption>Seen.</figcaption></div>' +
    '<div class="words"><p><strong>What to see.</strong> A stripe.</p></div><p>What to see is not this.</p><input><button>Go</button>')
  const [low, map, high] = page.find(".tf-scene") // a map to choose from has no caption
  for (const [node, width, height] of [[low, 800, 100], [map, 800, 300], [high, 800, 400]]) {
    Object.defineProperties(node, { offsetWidth: { value: width }, offsetHeight: { value: height }, scrollHeight: { value: height } })
    node.getClientRects = () => [{}]
  }
  for (const words of page.find("p")) words.getClientRects = () => [{}]
  const foot = place()
  // both parts in one: their elements are two on a page
  const keys = { ...place(), setTriggerValue: foot.setTriggerValue }
  const show = data => {
    const said = { ...DATA, ...more, ...data }
    const end = render({ ...keys, data: { part: "keys", page: said.page, see: "What to see." } })
    render({ ...foot, data: said })
    return end
  }
  const end = show()
  const find = foot.find
  foot.find = selector => [...find(selector), ...keys.parentElement.querySelectorAll(selector)]
  at(foot.find(".tf-room")[0], 0, 0, 1000, 500)
  const told = () => foot.sent().map(([, said]) => said)
  return { page, foot, show, end, told, low, map, high, words: () => foot.find(".tf-words")[0].textContent, key: (name, held) => press(document.body, name, held) }
}

const presenting = () => root.classList.contains("tf-present")
function leave() {
  for (let i = 0; i < 2 && presenting(); i++) press(document.body, "Escape")
}

test("the foot leads to the pages before and after, in place, with addresses of their own", () => {
  const { foot, told } = shown()
  const [before, after] = foot.find("nav a")
  assert.deepEqual([before.textContent, after.textContent], ["← Attention", "<b>Masks →"])
  assert.deepEqual([before.pathname, after.pathname], ["/attention", "/masks"])
  after.dispatchEvent(new window.MouseEvent("click", { bubbles: true, cancelable: true }))
  assert.deepEqual(told(), [["go", 5]])
  assert.equal(after.dispatchEvent(new window.MouseEvent("click", { ctrlKey: true, cancelable: true })), true) // the browser's
  assert.equal(shown({ before: null }).foot.find("nav a").length, 1)
})

test("P presents title, the first figure that is high enough and its words; P again leaves all as it was", () => {
  const { key, low, high, foot, words } = shown()
  key("p")
  assert.ok(presenting())
  assert.equal(new URL(window.location.href).searchParams.get("present"), "1")
  assert.equal(foot.find(".tf-stage h2")[0].textContent, "What is it?")
  assert.deepEqual([low, high].map(node => node.classList.contains("tf-on-stage")), [false, true])
  assert.equal(high.style.transform, "scale(1.25)")
  assert.equal(high.style.width, "800px")
  assert.equal(words().trim(), "A stripe.")
  assert.match(foot.find("[role=status]")[0].textContent, /^Presenting/)
  key("P")
  assert.ok(!presenting())
  assert.equal(new URL(window.location.href).searchParams.get("present"), null)
  assert.equal(high.getAttribute("style"), "")
  assert.match(foot.find("[role=status]")[0].textContent, /^Left/)
})

test("arrows lead through the examples of a section and on to the next, up and down to other figures", () => {
  const { key, told, show, foot, map, high } = shown()
  key("ArrowRight") // not presented yet
  assert.deepEqual(told(), [])
  key("p")
  key("ArrowRight")
  key("ArrowRight")
  assert.equal(foot.find(".tf-stage header p")[0].textContent, "One · b")
  key("PageDown")
  assert.deepEqual(told(), [["example", 0], ["example", 1], ["section", 1]])
  show({ open: 1, examples: ["c"] })
  assert.equal(foot.find(".tf-stage header p")[0].textContent, "Two")
  key("ArrowRight")
  key("ArrowRight")
  assert.match(foot.find("[role=status]")[0].textContent, /last/)
  key("ArrowLeft")
  assert.deepEqual(told().slice(3), [["example", 0], ["section", 0]])
  key("ArrowDown")
  assert.ok(high.classList.contains("tf-on-stage"))
  key("ArrowUp")
  assert.deepEqual([map, high].map(node => node.classList.contains("tf-on-stage")), [true, false])
  leave()
})

test("B is black and back, Escape ends the black first and presenting then", () => {
  const { key, foot } = shown()
  key("b")
  const black = foot.find(".tf-black")[0]
  assert.notEqual(black.dataset.on, "yes")
  key("p")
  key("b")
  assert.equal(black.dataset.on, "yes")
  key(".")
  assert.notEqual(black.dataset.on, "yes")
  key("b")
  key("Escape")
  assert.ok(presenting())
  assert.notEqual(black.dataset.on, "yes")
  key("Escape")
  assert.ok(!presenting())
})

test("? shows the keys and Ctrl K the search; with other keys held, nothing", () => {
  const { key } = shown()
  const before = modal.mock.callCount()
  key("?")
  key("k", { ctrlKey: true })
  key("k", { metaKey: true })
  assert.equal(modal.mock.callCount(), before + 3)
  for (const more of [{ ctrlKey: true }, { metaKey: true }, { altKey: true }]) key("p", more)
  key("k", { ctrlKey: true, shiftKey: true })
  assert.equal(modal.mock.callCount(), before + 3)
  assert.ok(!presenting())
})

test("nothing happens while somebody types", () => {
  const { page, foot } = shown()
  const [box] = page.find("input"), [button] = page.find("button")
  const before = modal.mock.callCount()
  for (const name of ["p", "?", "b"]) press(box, name)
  press(box, "k", { ctrlKey: true })
  const [search] = foot.find(".tf-search input")
  press(search, "p")
  assert.ok(!presenting())
  assert.equal(modal.mock.callCount(), before)
  press(button, "p")
  assert.ok(presenting())
  leave()
})

test("what a link says is compared with 1, and what another page drops is put back while it is presented", () => {
  const { key, show } = shown()
  key("p")
  window.history.replaceState(null, "", "/heads?layer=2")
  show({ examples: [] })
  assert.equal(new URL(window.location.href).search, "?layer=2&present=1")
  leave()
  assert.equal(new URL(window.location.href).search, "?layer=2")
})

test("words that change are copied anew, a figure that is gone is replaced", () => {
  const { key, page, high, low, words } = shown()
  key("p")
  page.find(".words p")[0].lastChild.textContent = " Another."
  tick()
  assert.equal(words().trim(), "Another.")
  high.remove()
  tick()
  assert.ok(low.classList.contains("tf-on-stage"))
  leave()
})

test("an example that was found elsewhere is pressed once its page is there", async () => {
  const { foot, key, show, told } = shown()
  key("k", { ctrlKey: true })
  while (!foot.find("li").length) await new Promise(resolve => setTimeout(resolve)) // the entries are fetched
  const [box] = foot.find(".tf-search input")
  box.value = "second"
  box.dispatchEvent(new window.Event("input"))
  press(box, "Enter")
  assert.deepEqual(told(), [["go", 1]])
  show({ page: "masks", examples: ["first", "second"] })
  assert.deepEqual(told(), [["go", 1], ["example", 1]])
  show({ page: "masks", examples: ["first", "second"] })
  assert.equal(told().length, 2)
})

test("when its element goes, no key does anything", () => {
  const { end, key } = shown()
  end()
  key("p")
  assert.ok(!presenting())
})
