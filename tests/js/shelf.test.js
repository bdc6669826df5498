// The shelf: what the browser keeps of pinned views, whatever wrote it; the pin of a figure; the drawer; files and pages.
import assert from "node:assert/strict"
import { beforeEach, mock, test } from "node:test"
import { inflateSync } from "node:zlib"
import { load, place, point, press, window } from "./browser.js"

Object.assign(globalThis, { HTMLElement: window.HTMLElement, AbortController: window.AbortController })
const modal = mock.fn(function () {
  this.open = true
})
Object.assign(window.HTMLDialogElement.prototype, { showModal: modal, close() { this.open = false } })
const shelf = await load("shelf.js")
const { offer } = await load("pin.js")
const drawer = await load("drawer.js")
const { copyLink, read, saveFile, saveNotebook, savePage, understood } = await load("shelf_file.js")
const { localStorage, document, Storage } = window

const saved = []
URL.createObjectURL = blob => (saved.push({ blob }), "blob:1")
URL.revokeObjectURL = () => {}
window.HTMLAnchorElement.prototype.click = function () {
  saved.at(-1).name = this.download
}
const settled = () => new Promise(resolve => setTimeout(resolve, 5))
const HOSTILE = "</script><img src=x onerror=alert(1)> \u202e $x$ \ud800"
const SCRIPT = "javascript" + ":alert(1)"
const ITEM = { page: "heads", query: "layer=2&v=4", figure: "mosaic", title: "Heads", from: "Which?", caption: "Seen.", computed: "model stories", note: "", call: ["heads.mosaic", { layer: 2 }] }
const put = (more = {}) => shelf.put({ ...ITEM, ...more }).id
const titles = () => shelf.all().items.map(one => one.title)
const says = []
const say = (sentence, acts = []) => says.push({ sentence, acts })

beforeEach(() => {
  localStorage.clear()
  saved.length = says.length = 0
  shelf.together(() => {})
})

// ---- what is kept ----

test("items keep their order, and tabs that pin at once lose none", () => {
  put({ title: "one" })
  localStorage.setItem("tf-shelf:other", JSON.stringify({ ...ITEM, title: "of another tab", at: 1 })) // written meanwhile
  put({ title: "two" })
  assert.deepEqual(titles().toSorted(), ["of another tab", "one", "two"])
  assert.equal(titles().at(-1), "two")
})

test("another tab's change is told, and what is no part of the shelf is not", () => {
  const call = mock.fn(), end = shelf.watch(call)
  for (const key of ["tf-shelf:x", "stActiveTheme", null]) dispatchEvent(new window.StorageEvent("storage", { key }))
  assert.equal(call.mock.callCount(), 2)
  end()
  put()
  assert.equal(call.mock.callCount(), 2)
})

test("whatever is stored is read in bounds, and an address stays on this server", () => {
  const bad = [null, [], 1, "x", {}, { ...ITEM, at: "1" }, { ...ITEM, at: 1, page: "../x" }, { ...ITEM, at: 1, page: "//evil.test" }, { ...ITEM, at: 1, page: SCRIPT },
    { ...ITEM, at: 1, query: 5 }, { ...ITEM, at: 1, query: "x".repeat(9000) }, { ...ITEM, at: 1, query: "a=b#c" }, { ...ITEM, at: 1, title: " " }, { ...ITEM, at: 1, figure: {} }]
  bad.forEach((value, i) => localStorage.setItem(`tf-shelf:${i}`, JSON.stringify(value)))
  localStorage.setItem("tf-shelf:text", "{")
  localStorage.setItem("something else", "{}")
  assert.deepEqual([shelf.all().items.length, shelf.all().damaged.length], [0, bad.length + 1])
  shelf.clean(shelf.all().damaged)
  assert.deepEqual(Object.keys(localStorage), ["something else"])
  const long = "y".repeat(50_000)
  const item = shelf.checked({ ...ITEM, title: long, note: HOSTILE + long, caption: 5, call: ["x", { long }], extra: long })
  assert.ok(JSON.stringify(item).length < 2_000)
  assert.deepEqual([item.caption, item.call, item.extra, item.note.includes("\ud800")], ["", null, undefined, false])
  for (const query of ["", "//evil.test", "x=</script>", "a=1&b=%22"]) assert.equal(new URL(shelf.address({ page: "heads", query })).origin, "https://app.test")
})

test("a shelf that is full, a browser that has no room, and one that keeps nothing each say so in a sentence", () => {
  shelf.together(() => {
    for (let i = 0; i < shelf.MOST; i++) put({ title: `${i}` })
  })
  assert.equal(shelf.put(ITEM).refused, shelf.MANY)
  assert.equal(shelf.put({ ...shelf.all().items[0], note: "changed" }).refused, "")
  shelf.remove(shelf.all().items[0].id)
  const set = mock.method(Storage.prototype, "setItem", () => {
    throw new Error("QuotaExceededError")
  })
  assert.equal(shelf.put(ITEM).refused, shelf.FULL)
  localStorage.clear()
  assert.equal(shelf.put(ITEM).refused, shelf.NOT_KEPT) // Safari's private windows had room for nothing
  set.mock.restore()
  const there = mock.getter(window, "localStorage", () => {
    throw new Error("SecurityError")
  })
  assert.deepEqual([shelf.put(ITEM).refused, shelf.all().items, shelf.title()], [shelf.NOT_KEPT, [], ""])
  there.mock.restore()
})

// ---- the pin ----

function figure(head = {}) {
  const page = place(), frame = document.createElement("figure"), pin = document.createElement("button"), note = document.createElement("div")
  frame.append(pin, note)
  page.parentElement.append(frame)
  const view = { frame, pin, note, head: { key: "mosaic", title: "Heads", v: "4", call: ITEM.call, ...head } }
  const words = () => ({ title: view.head.title, caption: "Seen.", computed: "model stories" })
  const button = name => page.find("button").find(one => one.textContent === name)
  const pressed = () => pin.getAttribute("aria-pressed")
  return { ...page, view, pin, note, button, pressed, offer: () => offer(view, words) }
}
let at
window.viewLink = { address: () => at, own: () => [] }
beforeEach(() => (at = "https://app.test/heads?layer=2&text=a+cat&v=4"))

test("a pin keeps the view as a copied link has it, with a note, and says that it does", () => {
  const { pin, note, pressed, button, offer: show, find } = figure()
  at += "&tour=2&present=1"
  show()
  assert.deepEqual([pin.getAttribute("aria-label"), pressed(), pin.hidden], ["Pin Heads", "false", false])
  pin.click()
  assert.equal(pressed(), "true")
  assert.match(note.textContent, /^On your shelf: 1 of 200\./)
  const box = find("textarea")[0]
  assert.equal(document.activeElement, box)
  box.value = "Mine."
  box.oninput()
  const [kept] = shelf.all().items
  assert.deepEqual(shelf.checked(kept), { ...ITEM, query: "layer=2&text=a+cat&v=4", from: "", note: "Mine." })
  button("Done").click()
  assert.deepEqual([note.textContent, document.activeElement === pin], ["", true])
})

test("it is pressed for the same settings in another order and not for others, and in all tabs", () => {
  const { pin, pressed, offer: show } = figure()
  show()
  pin.click()
  at = "https://app.test/heads?v=4&text=a+cat&layer=2"
  show()
  assert.equal(pressed(), "true")
  at = "https://app.test/heads?v=4&text=a+cat&layer=3"
  pin.onfocus()
  assert.equal(pressed(), "false")
  at = "https://app.test/heads?v=4&text=a+cat&layer=2"
  localStorage.clear() // in another tab
  dispatchEvent(new window.StorageEvent("storage", { key: null }))
  assert.equal(pressed(), "false")
})

test("a second press takes the view off, and Undo brings it back with its note", () => {
  const { pin, pressed, button, offer: show, find } = figure()
  show()
  pin.click()
  find("textarea")[0].value = "Mine."
  find("textarea")[0].oninput()
  pin.click()
  assert.deepEqual([pressed(), titles()], ["false", []])
  button("Undo").click()
  assert.deepEqual([pressed(), shelf.all().items[0].note], ["true", "Mine."])
})

test("where nothing is kept, the pin says so and is not pressed", () => {
  const there = mock.getter(window, "localStorage", () => {
    throw new Error("SecurityError")
  })
  const { pin, note, pressed, offer: show } = figure()
  show()
  pin.click()
  assert.deepEqual([note.textContent, pressed()], [shelf.NOT_KEPT, "false"])
  there.mock.restore()
})

// ---- the drawer ----

const begun = []
function opened() {
  document.querySelectorAll("dialog").forEach(one => one.remove())
  const { parentElement } = place()
  drawer.open(parentElement, (...said) => begun.push(said))
  const find = selector => [...parentElement.querySelectorAll(selector)]
  const named = name => find("button").find(one => (one.getAttribute("aria-label") ?? one.textContent) === name)
  const listed = () => find("li a").map(one => one.textContent)
  return { find, named, listed, said: () => find(".tf-said")[0].textContent }
}

test("views are listed as text, with links to this server and their notes", () => {
  put({ title: HOSTILE, note: HOSTILE, from: HOSTILE, caption: HOSTILE })
  const { find, listed } = opened()
  assert.deepEqual([listed()[0], find("img, script").length], [HOSTILE.replace("\ud800", "\ufffd"), 0])
  assert.equal(find("li a")[0].href, "https://app.test/heads?layer=2&v=4")
  assert.equal(find("li textarea")[0].value, HOSTILE.replace("\ud800", "\ufffd"))
  const click = new window.MouseEvent("click", { bubbles: true, cancelable: true })
  find("li a b, li a")[0].parentElement.dispatchEvent(click)
  assert.ok(!click.defaultPrevented)
})

test("they are ordered by buttons and by keys, which keep the focus and say what they did", () => {
  for (const title of ["a", "b", "c"]) put({ title })
  const { find, named, listed, said } = opened()
  named("Move down: a").focus()
  named("Move down: a").click()
  assert.deepEqual([listed(), titles(), said()], [["b", "a", "c"], ["b", "a", "c"], "“a” is now 2 of 3."])
  press(find("li textarea")[2], "ArrowUp", { altKey: true })
  press(find("li textarea")[1], "ArrowUp", { altKey: true })
  assert.deepEqual(listed(), ["c", "b", "a"])
  assert.ok(named("Move up: c").disabled)
  for (let i = 0; i < 60; i++) named("Move down: c").click() || named("Move up: c").click() // no numbers left between two
  assert.deepEqual(titles().toSorted(), ["a", "b", "c"])
})

test("a row is dragged by its grip to where it is let go, and stays for Escape", () => {
  for (const title of ["a", "b", "c"]) put({ title })
  const { find, listed } = opened()
  find("ol")[0].getBoundingClientRect = () => ({ top: 0, bottom: 300 })
  const drag = (to, ends) => {
    find("li").forEach((li, i) => (li.getBoundingClientRect = () => ({ top: 100 * i, height: 100 })))
    point(find(".tf-grip")[0], "pointerdown", 0, 50)
    dispatchEvent(new window.MouseEvent("pointermove", { clientY: to }))
    ends()
  }
  drag(290, () => press(document.body, "Escape"))
  assert.deepEqual(listed(), ["a", "b", "c"])
  drag(290, () => dispatchEvent(new window.MouseEvent("pointerup")))
  assert.deepEqual([listed(), find(".tf-above, .tf-below, .tf-dragged").length], [["b", "c", "a"], 0])
})

test("what is removed comes back to its place, one or all", () => {
  for (const title of ["a", "b", "c"]) put({ title })
  const { named, listed, said } = opened()
  named("Remove b").click()
  assert.deepEqual([listed(), said()], [["a", "c"], "“b” was removed.Undo"])
  named("Undo").click()
  assert.deepEqual(listed(), ["a", "b", "c"])
  named("Remove all").click()
  assert.deepEqual([listed(), named("HTML").disabled, named("Open a file").disabled], [[], true, false])
  named("Undo").click()
  assert.deepEqual(titles(), ["a", "b", "c"])
})

test("what another tab pins appears, and a note that is being written stays", () => {
  put({ title: "a" })
  const { find, listed } = opened(), note = find("li textarea")[0]
  note.focus()
  note.value = "half a"
  localStorage.setItem("tf-shelf:other", JSON.stringify({ ...ITEM, title: "b", at: 9 }))
  dispatchEvent(new window.StorageEvent("storage", { key: "tf-shelf:other" }))
  assert.deepEqual([listed(), note.value], [["a", "b"], "half a"])
})

test("what cannot be read is said and can be removed for good", () => {
  localStorage.setItem("tf-shelf:x", "{")
  const { named, said } = opened()
  assert.match(said(), /^One thing kept here could not be read and is left out\./)
  named("Remove for good").click()
  assert.deepEqual(shelf.all().damaged, [])
})

test("it begins as a lesson, of a view without a note its title; what is too long is not sent", () => {
  put({ note: "Mine." })
  put({ title: "Bare" })
  const { named, said, find } = opened()
  find(".tf-title")[0].value = "A lesson"
  named("As a lesson").click()
  named("Presented").click()
  const lesson = { title: "A lesson", stops: ["Mine.", "Bare"].map(note => ({ address: "heads?layer=2&v=4", note, figure: "mosaic" })) }
  assert.deepEqual(begun.map(([text, presented]) => [JSON.parse(text), presented]), [[lesson, false], [lesson, true]])
  shelf.together(() => {
    for (let i = 0; i < 40; i++) put({ query: "x".repeat(7000) + i })
  })
  named("As a lesson").click()
  assert.match(said(), /^This shelf is too long/)
  assert.equal(begun.length, 2)
})

test("a link carries a lesson where there is room for it", async () => {
  const copied = []
  Object.defineProperty(navigator, "clipboard", { value: { writeText: async text => copied.push(text) }, configurable: true })
  await copyLink({ title: "T", items: [ITEM, { ...ITEM, note: "Mine." }] }, say)
  const url = new URL(copied[0])
  assert.deepEqual([url.pathname, url.searchParams.get("layer"), url.searchParams.get("lesson"), url.searchParams.get("stop")], ["/heads", "2", "own", "1"])
  const lesson = JSON.parse(inflateSync(Buffer.from(url.searchParams.get("lesson_z"), "base64url")))
  assert.deepEqual(lesson.stops.map(one => one.note), ["Heads", "Mine."])
  const random = Array.from({ length: 4000 }, () => Math.random().toString(36)[3]).join("")
  await copyLink({ title: "T", items: [{ ...ITEM, note: random }] }, say)
  assert.match(says.at(-1).sentence, /^This shelf is too long for a link/)
  assert.equal(copied.length, 1)
})

// ---- files ----

test("a file has a lesson in it that is read as the same shelf", async () => {
  put({ note: "Mine.", title: HOSTILE })
  saveFile({ title: "For: my/class", items: shelf.all().items }, say)
  assert.equal(saved[0].name, "for-my-class.json")
  const said = JSON.parse(await saved[0].blob.text())
  assert.equal(said.stops[0].address, "heads?layer=2&v=4")
  const came = await read(saved[0].blob)
  assert.deepEqual([came.title, came.items, came.left], ["For: my/class", [shelf.checked({ ...ITEM, note: "Mine.", title: HOSTILE })], 0])
})

test("what is no file of a shelf is refused in a sentence, and of one that is damaged the views are kept", async () => {
  for (const text of ["", "[", "[]", "5", '{"stops": {}}', '{"stops": []}', '{"stops": [null, 5, {"address": 5}]}', "[".repeat(100_000)]) assert.match(understood(text), /^(This is no|No view).+\.$/)
  assert.match(await read({ size: 3e6 }), /^This file has 3\.0 MB, and a shelf has 2 MB at most\.$/)
  const stops = [{ address: "https://evil.test/heads?layer=1#x" }, { address: SCRIPT }, { address: "masks" }, { address: "heads", title: 5, note: {} }]
  const came = understood(JSON.stringify({ stops }))
  assert.deepEqual(came.items.map(shelf.address), ["https://app.test/heads?layer=1", "https://app.test/masks"])
  assert.equal(came.left, 2)
  assert.equal(understood(JSON.stringify({ stops: Array(1000).fill({ address: "heads" }) })).items.length, shelf.MOST)
})

test("a notebook is asked of the server, with what was sent and what it answers", async () => {
  const asked = []
  globalThis.fetch = async (url, options) => (asked.push({ url, options }), { ok: true, blob: async () => new Blob(["{}"]) })
  await saveNotebook({ title: "T", items: [ITEM, { ...ITEM, call: null }] }, say)
  assert.deepEqual([asked[0].url.pathname, JSON.parse(asked[0].options.body).stops.length, saved[0].name], ["/shelf/notebook", 1, "t.ipynb"])
  assert.match(says.at(-1).sentence, /^Saved: a notebook that makes this view again\. 1 without a program is left out\.$/)
  globalThis.fetch = async () => ({ ok: false, text: async () => "View 1 is none." })
  await saveNotebook({ title: "T", items: [ITEM] }, say)
  assert.equal(says.at(-1).sentence, "View 1 is none.")
  globalThis.fetch = async () => Promise.reject(new Error("offline"))
  await saveNotebook({ title: "T", items: [ITEM] }, say)
  assert.match(says.at(-1).sentence, /^The server did not answer/)
  await saveNotebook({ title: "T", items: [{ ...ITEM, call: null }] }, say)
  assert.equal(saved.length, 1)
})

// ---- a page with all of them ----

// Answers in each window that is opened, as saving.js does there.
function windows(answers) {
  const urls = []
  const observer = new window.MutationObserver(changes => changes.flatMap(one => [...one.addedNodes]).forEach(frame => {
    if (frame.tagName !== "IFRAME") return
    urls.push(new URL(frame.src))
    const piece = answers[urls.length - 1]
    const answer = () => {
      const page = frame.contentDocument?.documentElement
      if (piece) frame.contentWindow?.addEventListener("tf-piece", event => event.detail.take(Promise.resolve(piece)))
      else if (page) page.dataset.viewTold = "{}"
      if (frame.isConnected && !page) setTimeout(answer, 20)
    }
    answer()
  }))
  observer.observe(document.body, { childList: true, subtree: true })
  return { urls, end: () => observer.disconnect() }
}

test("a page has each figure as it is drawn at its address, live, and words that stay words", async () => {
  globalThis.fetch = async url => ({ text: async () => `/* ${new URL(url).pathname.split("/").at(-1)} </script */` })
  const words = { title: HOSTILE, finding: "", computed: HOSTILE, caption: HOSTILE, alt: HOSTILE }
  const { urls, end } = windows([{ said: words, figure: { data: [{ type: "bar", x: [HOSTILE] }], layout: {} } }, { said: words, image: "<img src='data:,'>", scene: { module: "river", data: { token: HOSTILE }, height: 300 } }])
  await savePage({ title: HOSTILE, items: [{ ...ITEM, note: HOSTILE }, ITEM] }, place().parentElement, say)
  end()
  const text = await saved[0].blob.text(), page = new window.DOMParser().parseFromString(text, "text/html")
  assert.deepEqual(urls.map(url => [url.searchParams.get("figure"), url.searchParams.get("embed"), url.searchParams.get("layer")]), [["mosaic", "true", "2"], ["mosaic", "true", "2"]])
  assert.deepEqual([page.querySelectorAll("[onerror]").length, page.querySelectorAll("script").length, page.querySelectorAll("h2").length], [0, 4, 2])
  const [, modules, , drawn] = [...page.querySelectorAll("script")].map(one => one.textContent ?? "")
  assert.match(modules, /"river\.js":"\/\* river\.js/)
  assert.match(drawn, /import\(tfScenes\["river\.js"\]\)/)
  assert.deepEqual(JSON.parse(/draw\(place, (.*)\)$/m.exec(drawn)?.[1] ?? ""), { token: HOSTILE })
  assert.deepEqual([...page.querySelectorAll(".scene")].map(one => [one.id, one.style.minHeight, one.innerHTML]), [["figure-2", "300px", '<img src="data:,">']])
  assert.match(page.querySelectorAll("script")[0].textContent, /plotly-cartesian/)
  assert.deepEqual([...page.querySelectorAll("a")].map(one => one.href), ["https://app.test/heads?layer=2&v=4", "https://app.test/heads?layer=2&v=4", "https://app.test/"])
  assert.equal(document.querySelector("iframe"), null)
  assert.match(says.at(-1).sentence, /^Saved: a page with these 2 figures/)
})

test("a figure that its page does not draw is named, and Stop saves nothing", async () => {
  const piece = { said: { title: "t", finding: "", computed: "", caption: "", alt: "" }, image: "<img>" }
  const now = mock.method(performance, "now", () => (clock += 3000))
  let clock = 0
  const { end } = windows([null, piece, null])
  await savePage({ title: "T", items: [{ ...ITEM, title: "gone" }, ITEM] }, place().parentElement, say)
  assert.match(says.at(-1).sentence, /^Saved without 1 of 2 pictures, which are not drawn at their address: gone\.$/)
  now.mock.restore()
  saved.length = 0
  const going = savePage({ title: "T", items: [ITEM] }, place().parentElement, say)
  await settled()
  says.at(-1).acts[0][1]()
  await going
  end()
  assert.deepEqual([saved.length, says.at(-1).sentence], [0, "Stopped; nothing was saved."])
})
