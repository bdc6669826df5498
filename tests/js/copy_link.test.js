// The link of a view, the clipboard or what stands in for it, and one entry in the history for one action.
import assert from "node:assert/strict"
import { beforeEach, mock, test } from "node:test"
import { clock, load, place, window } from "./browser.js"

const { default: copyLink } = await load("copy_link.js")
let pass, clipboard
beforeEach(() => {
  pass = clock()
  clipboard = { writeText: mock.fn(async () => {}) }
  Object.defineProperty(navigator, "clipboard", { value: clipboard, configurable: true })
  document.execCommand = () => false
  // begun anew: the same page, long after whatever was before
  pass(60_000)
})

function shown(always = {}) {
  const page = place("copy_link.html")
  const sent = []
  copyLink({ ...page, data: { version: "2", always, app: "0.1.0" }, setTriggerValue: (...said) => sent.push(said) })
  const [button] = page.find(".copy"), [words] = page.find(".words"), [field] = page.find(".address"), [status] = page.find(".status")
  const [more] = page.find(".more"), [menu] = page.find(".menu"), [own] = page.find(".own")
  return { ...page, button, words, field, status, more, menu, own, sent }
}

const LINK = "https://app.test/heads?layer=1&v=2"

test("the link has the version and not what only concerns a frame", async () => {
  window.history.replaceState(null, "", "/heads?layer=1&embed=true&embed_options=dark&figure=map#see")
  const { button, words, status } = shown()
  await button.onclick()
  assert.deepEqual(clipboard.writeText.mock.calls[0].arguments, [LINK])
  assert.deepEqual([words.textContent, status.textContent], ["Link copied", "Link copied"])
  pass(2500)
  assert.deepEqual([words.textContent, status.textContent], ["Copy link", ""])
})

test("the link says the defaults of this server, unless the address says something else", async () => {
  window.history.replaceState(null, "", "/heads?layer=1")
  await shown({ model: "smollm2", layer: "7" }).button.onclick()
  const [link] = clipboard.writeText.mock.calls[0].arguments
  assert.equal(link, "https://app.test/heads?layer=1&model=smollm2&v=2")
})

test("without a clipboard the link is shown, selected, until the focus leaves it", async () => {
  delete navigator.clipboard
  const { button, words, field } = shown()
  await button.onclick()
  assert.equal(words.textContent, "Press Ctrl+C")
  assert.deepEqual([field.hidden, field.value], [false, LINK])
  assert.deepEqual([field.selectionStart, field.selectionEnd], [0, LINK.length])
  field.blur()
  assert.equal(field.hidden, true)
})

test("where the browser copies the old way, nothing is shown", async () => {
  clipboard.writeText = async () => {
    throw new Error("refused")
  }
  document.execCommand = () => true
  const { button, words, field } = shown()
  await button.onclick()
  assert.equal(words.textContent, "Link copied")
  assert.equal(field.hidden, true)
})

test("what changes within a second is one entry of the history, a page of its own another", () => {
  shown()
  shown() // a second button does not count twice
  const { history } = window
  const entries = () => history.length
  const before = entries()
  history.pushState(null, "", "/heads?layer=2")
  pass(999)
  history.pushState(null, "", "/heads?layer=2&head=3")
  assert.equal(entries(), before + 1)
  assert.equal(location.search, "?layer=2&head=3")
  pass(1000)
  history.pushState(null, "", "/heads?layer=3")
  assert.equal(entries(), before + 2)
  history.pushState(null, "", "/masks")
  assert.equal(entries(), before + 3)
})

test("between the click on a link and its page nothing of the page that is left becomes an entry", () => {
  shown()
  const { history } = window
  const link = document.createElement("a")
  document.body.append(link)
  link.onclick = () => false
  const before = history.length, here = location.href
  const leave = (href, more = {}) => {
    link.href = href
    const event = new window.MouseEvent("click", { bubbles: true, cancelable: true, ...more })
    Object.defineProperty(event, "timeStamp", { value: performance.now() })
    link.dispatchEvent(event)
  }
  leave("/positions")
  pass(3000)
  history.pushState(null, "", "?layer=7")
  assert.equal(location.href, here)
  history.pushState(null, "", "/positions")
  assert.equal(history.length, before + 1)
  pass(1000)
  history.pushState(null, "", "?scheme=rope")
  assert.equal(location.search, "?scheme=rope", "the page has come")

  for (const [href, more] of [["/masks", { ctrlKey: true }], ["/positions?x=1", {}]]) {
    pass(1000)
    leave(href, more)
    history.pushState(null, "", `?last=${encodeURIComponent(href)}`)
    assert.equal(new URLSearchParams(location.search).get("last"), href)
  }
})

const tell = told => {
  document.documentElement.dataset.viewTold = JSON.stringify({ names: [], examples: [], model: null, ...told })
}
const copied = () => clipboard.writeText.mock.calls.map(call => call.arguments[0])

test("a text that is no example of the page is said, and can be left out", async () => {
  window.history.replaceState(null, "", "/heads?text=my+own&layer=1")
  tell({ names: ["text", "z"], examples: [["text", "It sat."]] })
  const { button, own, find } = shown()
  await button.onclick()
  assert.equal(own.hidden, false)
  await find(".without")[0].onclick()
  assert.deepEqual(copied(), ["https://app.test/heads?text=my+own&layer=1&v=2", LINK])
  assert.equal(own.hidden, true)
})

test("of an example, and of a page without a text, nothing is said", async () => {
  tell({ names: ["text", "z"], examples: [["text", "It sat."]] })
  for (const query of ["?text=It+sat.", "?layer=1"]) {
    window.history.replaceState(null, "", `/heads${query}`)
    const { button, own } = shown()
    await button.onclick()
    assert.equal(own.hidden, true)
  }
})

test("the menu opens and closes with the keyboard, and puts the settings back", () => {
  const { more, menu, find, sent } = shown()
  more.onclick()
  assert.deepEqual([menu.hidden, more.getAttribute("aria-expanded")], [false, "true"])
  find(".anew")[0].dispatchEvent(new window.KeyboardEvent("keydown", { key: "Escape", bubbles: true }))
  assert.deepEqual([menu.hidden, more.getAttribute("aria-expanded"), sent], [true, "false", []])
  more.onclick()
  find(".anew")[0].onclick()
  assert.deepEqual([menu.hidden, sent], [true, [["anew", true]]])
})

test("a report says address, version and model, and leaves out what is the visitor's own", async () => {
  window.history.replaceState(null, "", "/heads?text=my+own&layer=1")
  tell({ names: ["text", "z"], model: "stories" })
  await shown().find(".report")[0].onclick()
  const [report] = copied()
  assert.ok(!report.includes("my"))
  for (const line of [`Address: ${LINK}`, "Version: 0.1.0", "Model: stories"]) assert.ok(report.includes(line), line)
})
