// The door of scenes to notebooks: what Python says is drawn, what is done is told, and colours go with the paper.
import assert from "node:assert/strict"
import { test } from "node:test"
import { colours, load, place, window } from "./browser.js"

globalThis.ShadowRoot = window.ShadowRoot
const { widget } = await load("widget.js")

// A model of anywidget, and a scene that notes how it was drawn.
function begun() {
  const shown = { drawn: 1, data: { at: 1 }, alt: "the finding", caption: "what is said", height: 120 }
  const state = { shown, told: [0, "", null] }
  const heard = new Map(), saved = [], calls = [], page = place()
  const model = {
    get: name => state[name],
    set: (name, value) => void (state[name] = value),
    save_changes: () => saved.push(structuredClone(state.told)),
    on: (name, call) => heard.set(name, call),
    off: (name, call) => heard.get(name) === call && heard.delete(name),
  }
  const scene = { draw: (element, data, tell) => (calls.push({ element, data, tell }), () => calls.push("ended")) }
  const close = widget(scene).render({ model, el: page.parentElement })
  return { ...page, state, heard, saved, calls, close }
}

test("it is drawn once it has its place, and again when Python says so", () => {
  const { calls, resize, find, heard, state } = begun()
  assert.equal(calls.length, 0)
  resize()
  assert.deepEqual(calls[0].data, { at: 1 })
  const [root] = find("[role=group]")
  assert.equal(calls[0].element, root)
  assert.equal(root.getAttribute("aria-label"), "the finding")
  assert.equal(root.style.minHeight, "120px")
  assert.equal(find("figcaption")[0].textContent, "what is said")
  state.shown = { ...state.shown, data: { at: 2 }, caption: "<b>said</b>" }
  heard.get("change:shown")()
  assert.deepEqual(calls[1].data, { at: 2 })
  assert.equal(find("figcaption b").length, 0)
})

test("a scene may change what it is given", () => {
  const { calls, resize, state } = begun()
  resize()
  calls[0].data.at = 9
  assert.deepEqual(state.shown.data, { at: 1 })
})

test("what is done is counted, so that the same twice is told twice", () => {
  const { calls, resize, saved } = begun()
  resize()
  calls[0].tell("to", 3)
  calls[0].tell("to", 3)
  assert.deepEqual(saved, [[1, "to", 3], [2, "to", 3]])
})

test("at the end nothing stays", () => {
  const { calls, resize, heard, close, find } = begun()
  resize()
  close()
  assert.equal(calls.at(-1), "ended")
  assert.equal(heard.size, 0)
  assert.equal(find("figure").length, 0)
})

test("colours are those of the paper that the notebook has, also around a shadow tree", () => {
  const other = globalThis.getComputedStyle
  const host = window.document.createElement("div"), inside = window.document.createElement("div")
  window.document.body.append(host)
  host.attachShadow({ mode: "open" }).append(inside)
  globalThis.getComputedStyle = node => ({ ...other(node), backgroundColor: node === host ? "rgb(10, 10, 10)" : "rgba(0, 0, 0, 0)" })
  const model = { get: () => ({ data: {}, alt: "", caption: "", height: 1 }), on() {}, off() {} }
  let drawn = 0
  let call = () => {}
  globalThis.ResizeObserver = class {
    constructor(seen) { call = seen }
    observe() {}
    disconnect() {}
  }
  widget({ draw: () => (drawn++, () => {}) }).render({ model, el: inside })
  call()
  const { style } = inside.firstChild
  assert.equal(style.getPropertyValue("--st-background-color"), "rgb(10, 10, 10)")
  assert.ok(style.getPropertyValue("--role-query"))
  assert.ok(style.getPropertyValue("--st-text-color"))
  inside.firstChild.onpointerenter()
  assert.equal(drawn, 1)
  globalThis.getComputedStyle = node => ({ ...other(node), backgroundColor: node === host ? "rgb(250, 250, 250)" : "" })
  inside.firstChild.onpointerenter() // another theme was chosen
  assert.equal(drawn, 2)
  assert.equal(style.getPropertyValue("--st-background-color"), "rgb(250, 250, 250)")
  globalThis.getComputedStyle = other
  assert.deepEqual(colours, {})
})
