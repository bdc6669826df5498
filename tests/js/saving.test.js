// Files of pictures: their words and address, the choice about the visitor's own text, the sheet, a video.
import assert from "node:assert/strict"
import { beforeEach, test } from "node:test"
import { load, place, window } from "./browser.js"

const { drop, files, framed, keep, lines, menu, page: pageOf, video } = await load("saving.js")
const { svg } = await load("dom.js")

const saved = []
URL.createObjectURL = blob => (saved.push({ blob }), "blob:1")
URL.revokeObjectURL = () => {}
window.HTMLAnchorElement.prototype.click = function () {
  saved.at(-1).name = this.download
}
const canvases = []
window.HTMLCanvasElement.prototype.toBlob = function (done) {
  canvases.push(this)
  done(new Blob(["png"]))
}
globalThis.Image = class {
  async decode() {}
}
const settled = () => new Promise(resolve => setTimeout(resolve, 5))
const HOSTILE = "</text><script>alert(1)</script> & \"x\" \u0000\u202e ]]> \ud800"
const ROLES = { paper: "#fff", ink: "#000", muted: "#777" }
const HEAD = { key: "map", v: "2", alt: "seen", alone: false, open: true, title: "A title", finding: "Found.", computed: "model stories", hint: "Click it." }

let own
beforeEach(() => {
  saved.length = canvases.length = 0
  own = []
  window.viewLink = {
    address: without => `https://app.test/heads?layer=1${without.includes("text") ? "" : "&text=mine"}`,
    own: () => own,
  }
})

function shown(head = {}, kinds = {}) {
  const page = place(), frame = document.createElement("figure"), caption = document.createElement("figcaption")
  page.parentElement.append(frame)
  frame.append(caption)
  caption.textContent = "A caption. Click it."
  Object.defineProperty(frame, "clientWidth", { value: 600, configurable: true })
  const view = { frame, caption, head: { ...HEAD, ...head }, taken: async () => svg("svg", { width: 600, height: 300 }) }
  const all = { ...files(view, () => "map"), ...kinds }
  for (const [kind, make] of Object.entries({ Video: video(view, () => "map", () => view.film) })) all[kind] = make
  Object.assign(view, menu(frame, all))
  const note = () => page.find(".tf-note")[0]
  const choose = words => page.find("button").find(one => one.textContent === words).click()
  return { ...page, view, note, choose }
}
const texts = picture => [...picture.querySelectorAll("text")].map(one => one.textContent)
const read = text => new window.DOMParser().parseFromString(text, "image/svg+xml")

test("a picture carries its title and finding, what was computed, and the address as a link", async () => {
  const { choose } = shown()
  choose("SVG")
  await settled()
  const picture = read(await saved[0].blob.text())
  assert.equal(saved[0].name, "map.svg")
  assert.deepEqual(texts(picture), ["A title", "Found.", "model stories", "https://app.test/heads?layer=1&text=mine"])
  assert.equal(picture.querySelector("a").getAttribute("href"), "https://app.test/heads?layer=1&text=mine")
  assert.equal(picture.querySelector("title").textContent, "seen")
})

test("words of a visitor stay words, in a file that can be read", async () => {
  const { choose } = shown({ title: HOSTILE, finding: HOSTILE, computed: HOSTILE })
  choose("SVG")
  choose("HTML")
  await settled()
  const picture = read(await saved[0].blob.text()), page = await saved[1].blob.text()
  assert.equal(picture.querySelector("script, parsererror"), null)
  assert.match(texts(picture)[0], /^<\/text><script>alert/)
  assert.ok(!page.includes("<script>"))
  assert.match(page, /<title>&#60;\/text&#62;/)
})

test("a bitmap has two pixels for one of the picture with its words", async () => {
  const { choose, view } = shown()
  choose("SVG")
  choose("PNG")
  await settled()
  const picture = read(await saved[0].blob.text()).documentElement
  assert.equal(canvases[0].width, 2 * Number(picture.getAttribute("width")))
  assert.equal(canvases[0].height, 2 * Number(picture.getAttribute("height")))
  assert.equal(saved[1].name, "map.png")
  assert.equal(view.note.textContent, "")
})

test("where the address carries the visitor's own text, the file can be had without it", async () => {
  own = ["text"]
  const { choose, note } = shown()
  choose("SVG")
  await settled()
  assert.match(await saved[0].blob.text(), /text=mine/)
  assert.match(note().textContent, /carries the text you typed/)
  choose("Save without the text")
  await settled()
  assert.ok(!(await saved[1].blob.text()).includes("text=mine"))
  assert.equal(note().textContent, "")
})

test("lines break between words, inside of what is wider, and end where there are too many", () => {
  assert.deepEqual(lines("one two three", 7 * 8, 13, 4), ["one two", "three"])
  assert.deepEqual(lines("中文中文中文", 7 * 4, 13, 4), ["中文中文", "中文"])
  assert.deepEqual(lines("a b c d", 7, 13, 2), ["a", "…"])
  assert.deepEqual(lines("", 70, 13, 2), [])
  const { height } = framed(svg("svg", { width: 600, height: 300 }), { ...HEAD, title: "", finding: "", computed: "", address: "" }, ROLES).attributes
  assert.ok(Number(height.value) >= 300)
})

test("the sheet has every picture that is seen, in the order of the page, and nothing that is gone or hidden", async () => {
  const views = ["one", "two", "gone", "hidden"].map(title => shown({ title, alt: `<${title}>` }).view)
  for (const view of [1, 0, 2, 3].map(i => views[i])) keep(view)
  drop(views[2])
  Object.defineProperty(views[3].frame, "clientWidth", { value: 0 })
  dispatchEvent(new CustomEvent("tf-sheet", { detail: ["text"] }))
  await settled()
  const page = await saved[0].blob.text()
  assert.equal(saved[0].name, "heads-figures.html")
  assert.deepEqual(page.match(/<h2[^>]*>.*?<\/h2>/g).map(one => one.replace(/<.*?>/g, "")), ["one", "two"])
  assert.match(page, /alt="&#60;one&#62;".*A caption\..*model stories.*https:\/\/app.test\/heads\?layer=1"/s)
  assert.ok(!page.includes("text=mine"))
  views.forEach(drop)
})

test("on paper the pictures of a dark page are light, and those of a light page as they are", () => {
  const printed = paper => /@media print \{ body \{ background: #fff.*invert\(1\) hue-rotate\(180deg\)/s.test(pageOf("t", "", "", { ...ROLES, paper }))
  assert.deepEqual(["#16181d", "#fcfbf8", "#ffffff"].map(printed), [true, false, false])
})

test("what has no title is a part of something, and not on the sheet", async () => {
  const { view } = shown({ title: undefined })
  keep(view)
  dispatchEvent(new CustomEvent("tf-sheet", { detail: [] }))
  await settled()
  assert.ok(!(await saved[0].blob.text()).includes("<figure>"))
  drop(view)
})

test("a browser that cannot record says so", () => {
  const { choose, note } = shown()
  choose("Video")
  assert.match(note().textContent, /^This browser cannot record a video/)
})

// A browser that records: what is drawn, and how it ends.
function recording() {
  const began = []
  globalThis.MediaRecorder = class {
    static isTypeSupported = kind => kind === "video/webm"
    start() {
      began.push(this)
    }
    stop() {
      this.ondataavailable({ data: new Blob(["film"]) })
      this.onstop()
    }
  }
  window.HTMLCanvasElement.prototype.captureStream = () => ({ getTracks: () => [] })
  return began
}

test("a movement is recorded moment by moment from its beginning to its end, then all is as before", async () => {
  recording()
  const { view, choose, note } = shown(), moments = []
  view.film = { lasts: 60, at: moment => moments.push(moment), end: () => moments.push("end") }
  choose("Video")
  await settled()
  assert.match(note().textContent, /^Recording \d\.\d of 0 s Stop$/)
  while (!saved.length) await settled()
  assert.deepEqual([moments[0], moments.at(-2), moments.at(-1)], [0, 1, "end"])
  assert.deepEqual(moments.slice(0, -1), moments.slice(0, -1).toSorted((a, b) => a - b))
  assert.deepEqual([saved[0].name, saved[0].blob.type, await saved[0].blob.text()], ["map.webm", "video/webm", "film"])
  assert.equal(note().textContent, "")
})

test("a recording that is stopped is saved as far as it came", async () => {
  recording()
  const { view, choose } = shown(), moments = []
  view.film = { lasts: 60_000, at: moment => moments.push(moment), end: () => moments.push("end") }
  choose("Video")
  await settled()
  choose("Stop")
  while (!saved.length) await settled()
  assert.ok(moments.at(-2) < 0.5)
  assert.equal(await saved[0].blob.text(), "film")
  delete globalThis.MediaRecorder
})
