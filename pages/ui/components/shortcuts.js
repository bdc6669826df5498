// The browser's half of shortcuts.py: the foot of a page, and keys that work wherever the focus is, unless somebody types.
import { html } from "./dom.js"
import { styled } from "./styles.js"
import * as present from "./present.js"
import { search } from "./search.js"

// Where letters are typed, or the arrow keys mean something.
const TYPED = `textarea, select, [contenteditable]:not([contenteditable=false]), [role=textbox], [role=combobox],
  input:not([type=button], [type=submit], [type=checkbox], [type=radio], [type=range], [type=color], [type=file], [type=reset])`
const MOVED = "[role=slider], [role=radio], [role=tab], [role=menu], [role=listbox], [role=option], input, audio, video, .tf-scroll"
/** @type {[string, string][]} */
const KEYS = [
  ["Ctrl K or ⌘ K", "Search pages, sections, terms and examples"],
  ["P", "Show this page to a room: its title, one figure, what to see. P or Esc leaves"],
  ["← → or Page Up, Page Down", "While it is shown: the examples of a section, then the next section"],
  ["↑ ↓", "While it is shown: another figure of the page"],
  ["B", "While it is shown: a black screen, and back"],
  ["← →", "In a lesson: the stop before, and the next"],
  ["A", "In a lesson: the answer to its question"],
  ["S", "Your shelf: the views that you have pinned"],
  ["?", "These keys"],
  ["Ctrl Enter", "In a box for text: run the page on it"],
]

/**
 * What is there from the beginning of a run on.
 * @typedef {object} Keys
 * @property {HTMLElement} root
 * @property {HTMLElement} status
 * @property {import("./present.js").Stage} stage
 * @property {HTMLDialogElement} help
 * @property {ReturnType<typeof search>} search
 * @property {KeysData} data
 * @property {Send} send
 */
/**
 * What is there once the page is.
 * @typedef {object} Foot
 * @property {HTMLElement} nav
 * @property {FootData} data
 * @property {Send} send
 * @property {string} drawn
 */
/** @type {WeakMap<HTMLElement, Keys>} */
const every = new WeakMap()
/** @type {WeakMap<HTMLElement, Foot>} */
const feet = new WeakMap()
/** @type {Keys | undefined} */
let keys
/** @type {Foot | undefined} */
let foot
let example = -1 // which of the section was pressed last
/** @type {{ page: string, name: string } | undefined} an example that was found elsewhere */
let wanted
await styled("shortcuts.css")
addEventListener("keydown", pressed)
addEventListener("resize", look)
addEventListener("tf-open-shelf", () => void openShelf())
setInterval(look, present.OFTEN)

/** @param {Component<KeysData | FootData>} component */
export function render({ data, parentElement, setTriggerValue }) {
  return data.part === "keys" ? begin(data, parentElement, setTriggerValue) : end(data, parentElement, setTriggerValue)
}

/** @param {KeysData} data @param {HTMLElement} parent @param {Send} send */
function begin(data, parent, send) {
  const made = every.get(parent) || create(parent)
  const begins = !keys
  keys = Object.assign(made, { data, send })
  if (begins && present.asked()) show(true)
  else present.remember()
  look()
  return () => {
    every.delete(parent)
    made.root.remove()
    if (keys === made) keys = undefined
  }
}

/** @param {FootData} data @param {HTMLElement} parent @param {Send} send */
function end(data, parent, send) {
  const made = feet.get(parent) || { nav: html("nav", "tf-foot-of-page", parent), data, send, drawn: "" }
  made.nav.setAttribute("aria-label", "Pages before and after, and keys")
  feet.set(parent, made)
  if (data.page !== foot?.data.page || data.open !== foot.data.open) {
    example = -1
    present.state.at = null
  }
  foot = Object.assign(made, { data, send })
  const now = JSON.stringify([data.page, data.before, data.after])
  if (made.drawn !== now) fill(made)
  made.drawn = now
  if (wanted?.page === data.page) {
    const at = data.examples.indexOf(wanted.name)
    wanted = undefined
    if (at >= 0) press(at)
  }
  look()
  return () => {
    feet.delete(parent)
    made.nav.remove()
    if (foot === made) foot = undefined
  }
}

/** The foot of the page in sight; that of another may still be there while it is left. */
const here = () => (foot?.data.page === keys?.data.page ? foot : undefined)

/** @param {HTMLElement} parent @returns {Keys} */
function create(parent) {
  const root = html("div", "tf-keys-of-page", parent)
  const status = html("span", "tf-status", root)
  status.setAttribute("role", "status")
  const load = () => import("./entries.js").then(module => module.default)
  const made = {
    root, status, stage: present.stage(root, () => show(false)), help: help(root), search: search(root, load, go),
    data: /** @type {any} */ (null), send: () => {},
  }
  every.set(parent, made)
  return made
}

/** @param {HTMLElement} parent */
function help(parent) {
  const dialog = html("dialog", "tf-dialog tf-keys", parent)
  dialog.setAttribute("aria-label", "Keys")
  html("h2", "", dialog, "Keys")
  const list = html("dl", "", dialog)
  for (const [key, does] of KEYS) {
    html("dt", "", list, key)
    html("dd", "", list, does)
  }
  const close = html("button", "", dialog, "Close")
  close.type = "button"
  close.onclick = () => dialog.close()
  dialog.onclick = event => event.target === dialog && dialog.close()
  return dialog
}

// ---- the foot ----

/** @param {Foot} foot */
function fill({ nav, data: { before, after } }) {
  nav.replaceChildren(way(before, "prev", "← "), actions(), way(after, "next", "", " →"))
}

/** @param {Way | null} to @param {string} rel @param {string} lead @param {string} [rest] */
function way(to, rel, lead, rest = "") {
  if (!to) return html("span", "")
  const link = html("a", "", undefined, lead + to.title + rest)
  link.href = new URL(`./${to.key}`, location.href).pathname
  link.rel = rel
  link.title = rel === "next" ? "The next page" : "The page before"
  link.onclick = event => {
    if (event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    foot?.send("told", ["go", to.at])
  }
  return link
}

function actions() {
  const row = html("span", "tf-actions")
  /** @type {[string, string, () => unknown][]} */
  const all = [["Search", "Ctrl K", find], ["Present", "P", () => show(true)], ["Shelf", "S", openShelf], ["Keys", "?", showKeys]]
  for (const [name, key, act] of all) {
    const button = html("button", "", row, name)
    html("kbd", "", button, key)
    button.type = "button"
    button.onclick = () => void act()
  }
  return row
}

/** @param {number} at @param {SearchEntry} entry */
function go(at, [kind, title, , page]) {
  wanted = kind === "example" ? { page, name: title } : undefined
  keys?.send("told", ["go", at])
}

const find = () => keys?.search.open()
const openShelf = async () => keys && (await import("./drawer.js")).open(keys.root, beginLesson)

/** What is on the shelf as a lesson, here or presented. @param {string} lesson as JSON @param {boolean} presented */
function beginLesson(lesson, presented) {
  keys?.send("told", ["lesson", lesson])
  if (presented) show(true)
}

const showKeys = () => keys?.help.showModal()

// ---- presenting ----

/** @param {boolean} on */
function show(on) {
  if (!keys || on === present.state.on) return
  if (on) /** @type {HTMLElement | null} */ (document.activeElement)?.blur?.()
  dark(false)
  present.set(on)
  say(on ? "Presenting. Arrow keys lead on, Escape leaves." : "Left the presentation.")
  look()
}

/** @param {string} words */
const say = words => keys && (keys.status.textContent = words)

function look() {
  if (!keys || !present.state.on) return
  present.remember() // the address of another page comes after its first words
  present.look(keys.stage, keys.data.see, subtitle(here()?.data))
}

/** Section and example. @param {FootData} [data] */
const subtitle = data => (data ? [data.sections[data.open], data.examples[example]].filter(Boolean).join(" · ") : "")

/** @param {boolean} on */
function dark(on) {
  const black = keys?.stage.black
  if (!black || (black.dataset.on === "yes") === on) return
  black.dataset.on = on ? "yes" : ""
  if (on) black.showPopover?.()
  else black.hidePopover?.()
  say(on ? "The screen is black." : "The screen is back.")
}

const isDark = () => keys?.stage.black.dataset.on === "yes"

/** @param {number} at */
function press(at) {
  example = at
  foot?.send("told", ["example", at])
  if (present.state.on) say(`Example: ${foot?.data.examples[at]}`)
  look()
}

/** On through the examples of the section and then to the next section, or back. @param {number} by */
function step(by) {
  const on = here()
  if (!on) return
  const { sections, open, examples } = on.data, to = example + by
  if (to >= 0 && to < examples.length) press(to)
  else if (open + by >= 0 && open + by < sections.length) {
    on.send("told", ["section", open + by])
    say(`Section: ${sections[open + by]}`)
  } else say(by > 0 ? "This is the last one." : "This is the first one.")
}

// ---- keys ----

/** @type {Record<string, () => unknown>} */
const PRESENTING = {
  Escape: () => (isDark() ? dark(false) : show(false)),
  b: () => dark(!isDark()),
  ".": () => dark(!isDark()),
  ArrowRight: () => step(1),
  ArrowLeft: () => step(-1),
  PageDown: () => step(1),
  PageUp: () => step(-1),
  ArrowDown: () => present.another(1) ? look() : say("There is no other figure."),
  ArrowUp: () => present.another(-1) ? look() : say("This is the first figure."),
}

// In a lesson: what is pressed in its card (lesson_card.py), if it is there.
/** @type {Record<string, string>} */
const IN_LESSON = { ArrowRight: ".st-key-lesson_next a", ArrowLeft: ".st-key-lesson_back a", a: ".st-key-lesson_answer button" }

/** @param {string} key */
function inLesson(key) {
  const found = /** @type {HTMLElement | null} */ (IN_LESSON[key] ? document.querySelector(IN_LESSON[key]) : null)
  return found ? () => found.click() : undefined
}

/** @param {KeyboardEvent} event */
function pressed(event) {
  const target = /** @type {Element | undefined} */ (event.composedPath()[0])
  if (!keys || event.defaultPrevented || event.isComposing || target?.closest?.(`${TYPED}, dialog[open]`)) return
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key
  const command = event.ctrlKey || event.metaKey
  let act
  if (command && !event.altKey && !event.shiftKey && key === "k") act = find
  else if (command || event.altKey) return
  else if (key === "?") act = showKeys
  else if (key === "s" && !present.state.on) act = openShelf
  else if (key === "p") act = () => show(!present.state.on)
  else if (!(event.key.startsWith("Arrow") && target?.closest?.(MOVED))) act = inLesson(key) ?? (present.state.on ? PRESENTING[key] : undefined)
  if (!act) return
  event.preventDefault()
  if (!event.repeat || event.key.startsWith("Arrow")) act()
}
