// A scene of tfcore in the app: its colours, what is told, what stays.
import assert from "node:assert/strict"
import { test } from "node:test"
import { colours, load, place } from "./browser.js"

// Scenes stand beside scene.js where they are served; here they do not.
const { draw } = await load("parts_map.js")
const { render, scenes } = await load("scene.js")
scenes.set("parts_map", Promise.resolve({ draw }))
const film = () => null
scenes.set("moving", Promise.resolve({ draw, film }))

const part = label => ({ label, note: "", role: "query", about: label, marked: false, across: "" })
const of = label => ({ label, urls: { [label]: `/${label}` }, stacks: [{ title: "", groups: [{ title: "", rows: [[part(label)]] }] }] })

function shown(data = of("q"), module = "parts_map") {
  const page = place()
  const head = { key: "map", v: "2", alt: "a model", alone: false, open: true }
  const show = (now, more = {}) =>
    render({ ...page, data: { module, data: now, caption: "A model of <i>", height: 90, head: { ...head, ...more } } })
  return { ...page, show, end: show(data) }
}
const drawn = () => new Promise(resolve => setTimeout(resolve))

test("it is drawn in the colours of the theme, with words for who cannot see it", async () => {
  const { find } = shown()
  await drawn()
  const [root] = find("[role=group]")
  assert.equal(root.getAttribute("aria-label"), "a model")
  assert.equal(root.style.minHeight, "90px")
  assert.ok(root.style.getPropertyValue("--role-query"))
  assert.deepEqual(find("a").map(a => a.textContent), ["q"])
})

test("what is clicked is told with its name", async () => {
  const { find, sent } = shown()
  await drawn()
  find("a")[0].click()
  assert.deepEqual(sent(), [["told", ["part", 0]]])
})

test("what has not changed is not drawn again, so that the focus stays; what has is", async () => {
  const { find, show } = shown()
  await drawn()
  const [first] = find("a")
  show(of("q"))
  await drawn()
  assert.equal(find("a")[0], first)
  show(of("k"))
  await drawn()
  assert.deepEqual(find("a").map(a => a.textContent), ["k"])
})

test("what was told is answered, though nothing has changed; so are other colours", async () => {
  const { find, show } = shown()
  await drawn()
  const [first] = find("a")
  first.click()
  show(of("q"))
  await drawn()
  const [second] = find("a")
  assert.notEqual(second, first)
  colours["background-color"] = "#101010"
  show(of("q"))
  await drawn()
  assert.notEqual(find("a")[0], second)
  delete colours["background-color"]
})

test("of two changes at once the last is drawn; what is gone leaves nothing and draws nothing", async () => {
  const { find, show, end, parentElement } = shown()
  show(of("k"))
  await drawn()
  assert.deepEqual(find("a").map(a => a.textContent), ["k"])
  end()
  assert.equal(parentElement.children.length, 0)
  const early = shown()
  early.end()
  await drawn()
  assert.equal(early.parentElement.children.length, 0)
})

test("its caption, and what can be saved of it: files, a video of what moves, a frame where it does not stand alone in one", async () => {
  const copied = []
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async text => copied.push(text) }, configurable: true })
  const { find, show } = shown(of("q"), "moving")
  await drawn()
  assert.equal(find("figcaption")[0].textContent, "A model of <i>")
  const offered = () => find("details button").filter(one => !one.hidden).map(one => one.textContent)
  assert.deepEqual(offered(), ["PNG", "SVG", "HTML", "Video", "Embed"])
  find("details button").find(one => one.textContent === "Embed").click()
  await drawn()
  assert.match(copied[0], /embed=true&#38;figure=map" title="a model"/)
  assert.match(find("[role=status]")[0].textContent, /^Copied/)
  show(of("q"), { alone: true })
  await drawn()
  assert.deepEqual(offered(), ["PNG", "SVG", "HTML", "Video", "Whole page"])
  const still = shown(of("q"))
  await drawn()
  assert.ok(!still.find("details button").some(one => one.textContent === "Video"))
})

test("a scene of elements is saved as the browser shows it, with its style and colours", async () => {
  const files = []
  URL.createObjectURL = blob => files.push(blob)
  URL.revokeObjectURL = () => {}
  globalThis.fetch = async () => ({ text: async () => ".tf-parts { gap: 24px }" })
  colours["text-color"] = "#123456"
  const { find } = shown(of("<q>"))
  await drawn()
  find("details button").find(one => one.textContent === "SVG").click()
  await drawn()
  await drawn()
  const picture = await files[0].text()
  assert.match(picture, /<foreignObject.*--st-text-color: #123456.*\.tf-parts { gap: 24px }.*&lt;q&gt;/s)
  delete colours["text-color"]
})
