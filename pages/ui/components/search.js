// The search over pages, sections, terms and examples: a dialog with a box and a short list, for the keyboard alone.
import { html } from "./dom.js"

export const MOST = 12 // that are listed
export const LONGEST = 60 // signs of what is searched for
const WORDS = 8 // of it that count
const NOT = 99

/** @param {string} text without capitals and accents */
const folded = text => text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase()

/** How well a word fits a text: 0 at its beginning, 1 at that of a word in it, 2 within one. @param {string} text @param {string} word */
function place(text, word) {
  const at = text.indexOf(word)
  if (at < 0) return NOT
  return at === 0 ? 0 : new RegExp(`[^\\p{L}\\p{N}]${word.replace(/[^\p{L}\p{N}]/gu, "\\$&")}`, "u").test(text) ? 1 : 2
}

/**
 * The places of the entries that have all words, the best first: what is in the title counts more, and of equals what
 * comes first in the list. Without a word, the first entries.
 * @param {SearchEntry[]} entries @param {string} typed
 */
export function found(entries, typed) {
  const words = folded(typed.slice(0, LONGEST)).split(/\s+/).filter(Boolean).slice(0, WORDS)
  const scored = entries.map(([, title, about], at) => {
    const name = folded(title), rest = folded(about)
    const points = words.map(word => Math.min(place(name, word), 4 + place(rest, word)))
    return { at, score: points.reduce((sum, one) => sum + one, 0) }
  })
  return scored.filter(one => one.score < NOT).sort((a, b) => a.score - b.score || a.at - b.at).slice(0, MOST).map(one => one.at)
}

/**
 * The dialog, closed at first.
 * @param {HTMLElement} parent
 * @param {() => Promise<SearchEntry[]>} load
 * @param {(at: number, entry: SearchEntry) => void} go
 */
export function search(parent, load, go) {
  const dialog = html("dialog", "tf-dialog tf-search", parent)
  dialog.setAttribute("aria-label", "Search")
  const box = html("input", "", dialog)
  Object.assign(box, { type: "text", maxLength: LONGEST, autocomplete: "off", spellcheck: false, placeholder: "Pages, sections, terms, examples" })
  const list = html("ul", "", dialog)
  list.id = "tf-search-list"
  list.setAttribute("role", "listbox")
  list.setAttribute("aria-label", "Found")
  const said = { role: "combobox", "aria-label": "Search pages, sections, terms and examples", "aria-expanded": "true", "aria-controls": list.id, "aria-autocomplete": "list" }
  for (const [name, value] of Object.entries(said)) box.setAttribute(name, value)
  const none = html("p", "", dialog, "Nothing has all of these words.")
  none.setAttribute("role", "status")
  /** @type {SearchEntry[]} */
  let entries = []
  /** @type {number[]} */
  let shown = []
  let chosen = 0

  /** @param {number} at */
  const choose = at => {
    chosen = Math.max(0, Math.min(at, shown.length - 1))
    ;[...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === chosen)))
    box.setAttribute("aria-activedescendant", shown.length ? `tf-search-${chosen}` : "")
    list.children[chosen]?.scrollIntoView?.({ block: "nearest" })
  }
  const take = () => {
    const at = shown[chosen]
    if (at === undefined) return
    dialog.close()
    go(at, entries[at])
  }
  const fill = () => {
    shown = found(entries, box.value)
    list.replaceChildren(...shown.map((at, i) => {
      const [kind, title, about] = entries[at]
      const item = html("li", "")
      item.id = `tf-search-${i}`
      item.setAttribute("role", "option")
      html("span", "tf-kind", item, kind)
      html("b", "", item, title)
      html("span", "tf-about", item, about)
      item.onpointermove = () => choose(i)
      item.onclick = take
      return item
    }))
    none.hidden = shown.length > 0 || !entries.length
    choose(0)
  }
  box.oninput = fill
  box.onkeydown = event => {
    if (event.isComposing) return
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: MOST, PageUp: -MOST }[event.key]
    if (by) choose(chosen + by)
    else if (event.key === "Enter") take()
    else return
    event.preventDefault()
  }
  dialog.onclick = event => event.target === dialog && dialog.close() // beside it
  const open = async () => {
    if (dialog.open) return dialog.close()
    box.value = ""
    dialog.showModal()
    entries = await load()
    fill()
  }
  return { dialog, open }
}
