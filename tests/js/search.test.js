// The search: what is found, in which order, and a dialog that keys alone lead through; whatever is typed stays text.
import assert from "node:assert/strict"
import { mock, test } from "node:test"
import { load, place, press, window } from "./browser.js"

const { found, search, LONGEST, MOST } = await load("search.js")
Object.assign(window.HTMLDialogElement.prototype, {
  showModal() {
    this.open = true
  },
  close() {
    this.open = false
  },
})

const ENTRIES = [
  ["page", "Attention", "How do tokens look at each other?", "attention"],
  ["page", "Attention heads", "What does each head do?", "heads"],
  ["section", "Why it looks there", "Attention heads", "heads"],
  ["term", "attention head", "Glossary", "glossary"],
  ["term", "Rényi entropy", "Glossary", "glossary"],
  ["example", "<img src=x onerror=alert(1)>", "Attention heads", "heads"],
]
const titles = typed => found(ENTRIES, typed).map(at => ENTRIES[at][1])

test("a title counts more than what it is about, its beginning more than its middle", () => {
  assert.deepEqual(titles("head"), ["Attention heads", "attention head", "Why it looks there", "<img src=x onerror=alert(1)>"])
  assert.deepEqual(titles("attention").slice(0, 3), ["Attention", "Attention heads", "attention head"])
})

test("all words have to be there, in capitals or not, with accents or not", () => {
  assert.deepEqual(titles("HEADS why"), ["Why it looks there"])
  assert.deepEqual(titles("renyi"), ["Rényi entropy"])
  assert.deepEqual(titles("attention nowhere"), [])
})

test("signs of a pattern are signs, and the list and what is typed are bounded", () => {
  for (const typed of ["[a-", "\\", ".*", "^$", "|", "a{9999}"]) assert.deepEqual(titles(typed), [])
  assert.deepEqual(titles("alert(1"), ["<img src=x onerror=alert(1)>"])
  const many = Array.from({ length: 500 }, (_, i) => ["page", `page ${i}`, "", ""])
  assert.equal(found(many, "page").length, MOST)
  assert.equal(found(many, "").length, MOST)
  assert.equal(found(many, "page " + "x".repeat(LONGEST)).length, 0)
  assert.deepEqual(found([["page", "a".repeat(LONGEST), "", ""]], "a".repeat(5_000)), [0])
})

async function opened() {
  const { parentElement, find } = place()
  const go = mock.fn()
  const { dialog, open } = search(parentElement, async () => ENTRIES, go)
  await open()
  const [box] = find("input")
  const type = words => {
    box.value = words
    box.dispatchEvent(new window.Event("input"))
  }
  const chosen = () => find("[aria-selected=true] b").map(node => node.textContent)
  return { dialog, open, find, go, box, type, chosen }
}

test("arrow keys choose, Enter takes, and the box says which is chosen", async () => {
  const { dialog, type, box, chosen, go, find } = await opened()
  type("attention")
  assert.deepEqual(chosen(), ["Attention"])
  press(box, "ArrowDown")
  assert.deepEqual(chosen(), ["Attention heads"])
  assert.equal(find("[aria-selected=true]")[0].id, box.getAttribute("aria-activedescendant"))
  press(box, "ArrowUp")
  press(box, "ArrowUp") // no further than the first
  assert.deepEqual(chosen(), ["Attention"])
  press(box, "ArrowDown")
  press(box, "Enter")
  assert.deepEqual(go.mock.calls.map(call => call.arguments), [[1, ENTRIES[1]]])
  assert.equal(dialog.open, false)
})

test("nothing found says so, and Enter then does nothing", async () => {
  const { type, box, go, find, dialog } = await opened()
  type("nowhere")
  assert.equal(find("p")[0].hidden, false)
  press(box, "Enter")
  assert.equal(go.mock.callCount(), 0)
  assert.equal(dialog.open, true)
})

test("what is found is text, whatever it is", async () => {
  const { type, find } = await opened()
  type("onerror")
  assert.deepEqual(find("li b").map(node => node.textContent), ["<img src=x onerror=alert(1)>"])
  assert.equal(find("img").length, 0)
})

test("opened again it begins anew, and the key that opens it closes it", async () => {
  const { type, box, open, dialog } = await opened()
  type("head")
  await open()
  assert.equal(dialog.open, false)
  await open()
  assert.deepEqual([dialog.open, box.value], [true, ""])
})
