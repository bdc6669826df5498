// Token chips: plain text, one stop of the Tab key, clicks and arrow keys.
import assert from "node:assert/strict"
import { test } from "node:test"
import { load, place, press } from "./browser.js"

const { default: chips } = await load("chips.js")

const DATA = {
  tokens: ["<b>", "a", "a", "."], selected: 1, shade: null, titles: null, hues: null, notes: null, parts: null,
  colours: null, faint: null, clickable: true, label: "tokens",
}

function shown(more = {}) {
  const page = place('<div class="chips" role="group"></div>')
  const show = data => chips({ ...page, data: { ...DATA, ...more, ...data } })
  show()
  return { ...page, show, row: page.find(".chips")[0], stops: () => page.find(".chip").map(chip => chip.tabIndex) }
}

test("tokens are text, not HTML, and the chosen one is pressed", () => {
  const { find, row } = shown()
  assert.deepEqual(find(".chip").map(chip => [chip.tagName, chip.textContent]), DATA.tokens.map(token => ["BUTTON", token]))
  assert.deepEqual(find(".chip").map(chip => chip.getAttribute("aria-pressed")), ["false", "true", "false", "false"])
  assert.equal(find("b").length, 0)
  assert.equal(row.getAttribute("aria-label"), "tokens")
})

test("a click sends the place of the token, one beside the chips nothing", () => {
  const { find, row, sent, stops } = shown({ parts: [[["x", 1, 0, false]], [], [], []], colours: [["#111", "#eee"]] })
  find(".parts i")[0].click()
  find(".chip")[2].click()
  row.click()
  assert.deepEqual(sent(), [["chosen", 0], ["chosen", 2]])
  assert.deepEqual(stops(), [-1, -1, 0, -1])
})

for (const [key, from, to] of [
  ["ArrowRight", 1, 2], ["ArrowLeft", 1, 0], ["ArrowDown", 1, 2], ["ArrowUp", 1, 0], ["Home", 3, 0], ["End", 0, 3],
  ["ArrowLeft", 0, 0], ["ArrowRight", 3, 3],
]) {
  test(`${key} moves the focus from ${from} to ${to} and chooses nothing`, () => {
    const { find, sent, stops } = shown({ selected: from })
    find(".chip")[from].focus()
    assert.equal(press(find(".chip")[from], key), false)
    assert.equal(document.activeElement, find(".chip")[to])
    assert.deepEqual(stops(), DATA.tokens.map((_, i) => (i === to ? 0 : -1)))
    assert.deepEqual(sent(), [])
  })
}

test("other keys, and keys with Ctrl, are left alone", () => {
  const { find } = shown()
  assert.equal(press(find(".chip")[0], "x"), true)
  assert.equal(press(find(".chip")[0], "End", { ctrlKey: true }), true)
})

test("chips are kept from run to run, with their focus; what is too many goes", () => {
  const { find, show, stops } = shown()
  const [first, , third] = find(".chip")
  third.focus()
  show({ tokens: ["new", "a", "b"], selected: 0 })
  assert.deepEqual(find(".chip").map(chip => chip.textContent), ["new", "a", "b"])
  assert.equal(find(".chip")[0], first)
  assert.equal(document.activeElement, third)
  assert.deepEqual(stops(), [-1, -1, 0])
})

test("shade, hue, note, title and faintness come and go", () => {
  const { find, show } = shown({ shade: [0.5, 0, 0, 0], hues: [4, 0, 0, 0], notes: ["n", "", "", ""], titles: ['"t"', "", "", ""], faint: [true, false, false, false] })
  const [chip] = find(".chip")
  const said = () => [chip.style.getPropertyValue("--shade"), chip.dataset.hue, chip.dataset.note, chip.title, chip.classList.contains("faint")]
  assert.deepEqual(said(), ["0.5", "4", "n", '"t"', true])
  assert.equal(find(".chip")[1].dataset.hue, "0")
  show({ shade: null, hues: null, notes: null, titles: null, faint: null })
  assert.deepEqual(said(), ["0", undefined, undefined, "", false])
})

test("a bar is cut into parts with their shares and colours", () => {
  const parts = [[["<i>", 0.75, 1, false], ["", 0.25, null, true]], [], [], []]
  const { find, show } = shown({ parts, colours: [["#111", "#eee"], ["#222", "#ddd"]] })
  const seen = find(".chip")[0].querySelectorAll(".parts > i")
  assert.deepEqual([...seen].map(part => [part.textContent, part.style.flexGrow, part.style.getPropertyValue("--own"), part.className]),
    [["<i>", "0.75", "light-dark(#222,#ddd)", ""], ["", "0.25", "transparent", "hatched"]])
  assert.equal(find(".chip")[0].style.getPropertyValue("--own"), "light-dark(#222,#ddd)")
  show({ parts: null, colours: null })
  assert.equal(find(".parts").length, 0)
  assert.equal(find(".chip")[0].style.getPropertyValue("--own"), "")
})

test("chips that cannot be chosen are no buttons, do nothing, and a full row is scrolled with the keys", async () => {
  const { find, show, row, sent } = shown()
  Object.defineProperty(row, "scrollHeight", { value: 200, configurable: true })
  show({ clickable: false })
  assert.deepEqual(find(".chip").map(chip => chip.tagName), ["SPAN", "SPAN", "SPAN", "SPAN"])
  find(".chip")[0].click()
  assert.deepEqual(sent(), [])
  await new Promise(requestAnimationFrame)
  assert.equal(row.tabIndex, 0)
  Object.defineProperty(row, "scrollHeight", { value: 0 })
  show({ clickable: false })
  await new Promise(requestAnimationFrame)
  assert.equal(row.hasAttribute("tabindex"), false)
})
