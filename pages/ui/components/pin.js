// The pin of a figure: puts the view on the shelf, with a note of one's own, or takes it off again.
import { html } from "./dom.js"
import { isPinned, LONGEST, MOST, all, parts, pinned, put, remove, watch } from "./shelf.js"

/** @typedef {import("./saving.js").Shown & { pin: HTMLButtonElement }} Pinnable */
/** @type {Set<Pinnable>} */
const pins = new Set()

watch(() => pins.forEach(look))

/** The view is there, or it has changed. @param {Pinnable} view @param {() => import("./saving.js").Words} words */
export function offer(view, words) {
  if (!pins.has(view)) {
    pins.add(view)
    view.pin.onclick = () => (isPinned(here(view)) ? unpin(view) : keep(view, itemOf(view, words())))
    view.pin.onpointerenter = view.pin.onfocus = () => look(view) // the address may have changed by itself
  }
  view.pin.hidden = false
  view.pin.setAttribute("aria-label", `Pin ${view.head.title}`)
  look(view)
}

/** @param {Pinnable} view */
const here = view => ({ ...parts(window.viewLink?.address([]) ?? location.href), figure: view.head.key })

/** @param {Pinnable} view @param {import("./saving.js").Words} words @returns {Pinned} */
function itemOf(view, { title, caption, computed }) {
  const from = document.querySelector("h1")?.textContent ?? ""
  return { ...here(view), title, from, caption, computed, note: "", call: view.head.call ?? null }
}

/** @param {Pinnable} view */
function look(view) {
  if (!view.frame.isConnected) return void pins.delete(view)
  view.pin.setAttribute("aria-pressed", String(isPinned(here(view))))
}

/** @param {Pinnable} view @param {Pinned} item */
function keep(view, item) {
  const { id, refused } = put(item), { note } = view
  note.replaceChildren()
  clearTimeout(view.noted)
  if (refused) return void html("span", "", note, refused)
  html("span", "", note, `On your shelf: ${all().items.length} of ${MOST}.`)
  const box = html("textarea", "tf-own-note", note)
  Object.assign(box, { rows: 3, maxLength: LONGEST.note, placeholder: "A note of your own" })
  box.setAttribute("aria-label", `Your note on ${item.title}`)
  box.oninput = () => {
    const there = all().items.find(one => one.id === id)
    if (there) put({ ...there, note: box.value })
  }
  const done = () => {
    note.replaceChildren()
    view.pin.focus()
  }
  button(note, "Done", done)
  button(note, "Open the shelf", () => {
    note.replaceChildren()
    dispatchEvent(new CustomEvent("tf-open-shelf"))
  })
  note.onkeydown = event => {
    if (event.key !== "Escape") return
    event.stopPropagation()
    done()
  }
  if (!matchMedia("(pointer: coarse)").matches) box.focus() // a keyboard on the screen would cover the picture
}

/** @param {Pinnable} view */
function unpin(view) {
  const item = pinned(here(view)), { note } = view
  if (!item) return
  remove(item.id)
  note.replaceChildren()
  clearTimeout(view.noted)
  html("span", "", note, "Taken off your shelf.")
  button(note, "Undo", () => {
    put(item)
    note.replaceChildren()
    view.pin.focus()
  })
  view.noted = setTimeout(() => note.replaceChildren(), 8000)
}

/** @param {HTMLElement} parent @param {string} name @param {() => void} act */
export function button(parent, name, act) {
  const made = html("button", "", parent, name)
  made.type = "button"
  made.onclick = act
  return made
}
