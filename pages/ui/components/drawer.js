// The shelf: what is pinned, in an order of one's own, with notes; shown as a lesson, saved as a file, copied as a link.
import { html } from "./dom.js"
import { button } from "./pin.js"
import * as shelf from "./shelf.js"
import { styled } from "./styles.js"
import { copyLink, lessonOf, read, saveFile, saveNotebook, savePage } from "./shelf_file.js"

const TOLD = 190_000 // signs that the server takes of what a component tells
const LASTING = 10_000 // ms that a removal can be undone
const WHERE = "Kept by this browser alone. Files and links carry the texts of the views, and your notes."
const EMPTY = "Nothing is pinned yet. Every figure has Pin below it, beside Save: it puts the view here, with a note of yours."

/** @typedef {{ li: HTMLLIElement, number: HTMLElement, note: HTMLTextAreaElement, up: HTMLButtonElement, down: HTMLButtonElement }} Row */

/** @type {ReturnType<typeof create> | undefined} */
let drawer
await styled("shelf.css")

/** @typedef {(lesson: string, presented: boolean) => void} Begin */

/** Opens the shelf, or closes it. @param {HTMLElement} parent of the dialog @param {Begin} begin shows it as a lesson */
export function open(parent, begin) {
  drawer = drawer?.dialog.isConnected ? drawer : create(parent, begin)
  if (drawer.dialog.open) return drawer.dialog.close()
  drawer.look()
  drawer.dialog.showModal()
}

/** @param {HTMLElement} parent @param {Begin} begin */
function create(parent, begin) {
  const dialog = html("dialog", "tf-dialog tf-shelf", parent)
  dialog.setAttribute("aria-label", "Shelf")
  const head = html("header", "", dialog)
  html("h2", "", head, "Shelf")
  const count = html("span", "tf-count", head)
  button(head, "Close", () => dialog.close())
  html("p", "tf-where", dialog, WHERE)
  const title = html("input", "tf-title", dialog)
  Object.assign(title, { type: "text", maxLength: shelf.LONGEST.all, placeholder: "A title for all of it", value: shelf.title() })
  title.setAttribute("aria-label", "Title of the shelf")
  title.oninput = () => shelf.entitle(title.value)
  const list = html("ol", "", dialog), empty = html("p", "tf-empty", dialog, EMPTY)
  list.setAttribute("aria-label", "Pinned views")
  const status = html("p", "tf-said", dialog)
  status.setAttribute("role", "status")
  const uses = html("div", "tf-uses", dialog)
  /** @type {Map<string, Row>} */
  const rows = new Map()
  let timer = 0
  let damaged = /** @type {string[]} */ ([])

  /** @param {string} sentence @param {[string, () => void][]} [acts] @param {number} [lasting] ms */
  const say = (sentence, acts = [], lasting = 0) => {
    clearTimeout(timer)
    status.replaceChildren(sentence)
    for (const [word, act] of acts) button(status, word, act)
    if (lasting) timer = window.setTimeout(() => status.replaceChildren(), lasting)
  }
  /** @param {{ refused: string }} answer */
  const kept = ({ refused }) => {
    if (refused) say(refused)
    return !refused
  }
  const now = () => shelf.all().items

  /** @param {string} id @param {number} to the place, from 0 on */
  const move = (id, to) => {
    const items = now(), from = items.findIndex(one => one.id === id)
    if (from < 0 || to < 0 || to >= items.length || from === to) return
    const rest = items.filter(one => one.id !== id), before = rest[to - 1]?.at ?? rest[0].at - 2
    const after = rest[to]?.at ?? before + 2, at = (before + after) / 2
    if (at > before && at < after) kept(shelf.put({ ...items[from], at }))
    else [...rest.slice(0, to), items[from], ...rest.slice(to)].forEach((one, i) => shelf.put({ ...one, at: i }))
    say(`“${items[from].title}” is now ${to + 1} of ${items.length}.`)
  }
  /** @param {string} id */
  const placeOf = id => now().findIndex(one => one.id === id)

  /** @param {Kept[]} gone */
  const undoable = gone => say(gone.length === 1 ? `“${gone[0].title}” was removed.` : `${gone.length} views were removed.`, [["Undo", () => {
    if (shelf.together(() => gone.every(one => kept(shelf.put(one))))) say(gone.length === 1 ? "It is back." : "They are back.")
    ;(rows.get(gone[0].id)?.note ?? title).focus()
  }]], LASTING)

  /** @param {string} id */
  const drop = id => {
    const items = now(), at = items.findIndex(one => one.id === id)
    if (at < 0) return
    shelf.remove(id)
    undoable([items[at]])
    ;(status.querySelector("button") ?? title).focus()
  }

  /** @param {Kept} item @returns {Row} */
  const row = item => {
    const li = html("li", "", list), grip = html("span", "tf-grip", li)
    grip.setAttribute("aria-hidden", "true")
    const number = html("span", "tf-number", li), text = html("div", "tf-text", li)
    const to = html("a", "", text, item.title)
    to.href = shelf.address(item)
    to.dir = "auto"
    html("span", "tf-from", text, item.from).dir = "auto"
    const caption = html("p", "", text, item.caption)
    Object.assign(caption, { dir: "auto", title: item.caption })
    html("p", "tf-computed", text, item.computed).dir = "auto"
    const note = html("textarea", "", text)
    Object.assign(note, { rows: 1, maxLength: shelf.LONGEST.note, placeholder: "Your note", dir: "auto" })
    note.setAttribute("aria-label", `Your note on ${item.title}`)
    note.oninput = () => {
      const there = now().find(one => one.id === item.id)
      if (there) kept(shelf.put({ ...there, note: note.value }))
    }
    const acts = html("div", "tf-acts", li)
    const up = button(acts, "↑", () => stepped(-1)), down = button(acts, "↓", () => stepped(1)), off = button(acts, "Remove", () => drop(item.id))
    for (const [one, words] of /** @type {[HTMLElement, string][]} */ ([[up, "Move up:"], [down, "Move down:"], [off, "Remove"]])) one.setAttribute("aria-label", `${words} ${item.title}`)
    /** @param {number} by */
    const stepped = by => {
      const was = document.activeElement
      move(item.id, placeOf(item.id) + by)
      if (was instanceof HTMLElement) (was.hasAttribute("disabled") ? (by < 0 ? down : up) : was).focus()
      li.scrollIntoView?.({ block: "nearest" })
    }
    li.onkeydown = event => {
      const by = event.altKey ? { ArrowUp: -1, ArrowDown: 1 }[event.key] : undefined
      if (!by) return
      event.preventDefault()
      stepped(by)
    }
    grip.onpointerdown = event => drag(event, item.id)
    return { li, number, note, up, down }
  }

  // A row is dragged by its grip: a line shows where it would come, and it moves when it is let go.
  /** @param {PointerEvent} event @param {string} id */
  const drag = (event, id) => {
    if (event.button) return
    event.preventDefault()
    const all = [...list.children], from = placeOf(id), own = rows.get(id)?.li
    let to = from
    own?.classList.add("tf-dragged")
    /** @param {PointerEvent} at */
    const moved = at => {
      const { top, bottom } = list.getBoundingClientRect()
      list.scrollBy?.(0, at.clientY < top + 40 ? -12 : at.clientY > bottom - 40 ? 12 : 0)
      const above = all.filter(li => li !== own && li.getBoundingClientRect().top + li.getBoundingClientRect().height / 2 < at.clientY).length
      to = above
      all.forEach(li => li.classList.remove("tf-above", "tf-below"))
      const others = all.filter(li => li !== own)
      if (to !== from) (others[to] ?? others.at(-1))?.classList.add(others[to] ? "tf-above" : "tf-below")
    }
    const end = (/** @type {boolean} */ drops) => () => {
      stop.abort()
      all.forEach(li => li.classList.remove("tf-above", "tf-below", "tf-dragged"))
      if (drops) move(id, to)
    }
    const stop = new AbortController(), { signal } = stop
    addEventListener("pointermove", moved, { signal })
    addEventListener("pointerup", end(true), { signal })
    addEventListener("pointercancel", end(false), { signal })
    addEventListener("keydown", key => {
      if (key.key !== "Escape") return
      key.preventDefault()
      end(false)()
    }, { signal, capture: true })
  }

  const look = () => {
    const found = shelf.all(), { items } = found
    for (const [id, { li }] of rows) if (!items.some(one => one.id === id)) {
      li.remove()
      rows.delete(id)
    }
    items.forEach((item, i) => {
      const one = rows.get(item.id) ?? row(item)
      rows.set(item.id, one)
      if (list.children[i] !== one.li) list.insertBefore(one.li, list.children[i] ?? null)
      one.number.textContent = String(i + 1)
      if (one.note !== document.activeElement) one.note.value = item.note
      one.up.disabled = i === 0
      one.down.disabled = i === items.length - 1
    })
    count.textContent = items.length ? `${items.length} of ${shelf.MOST}` : ""
    empty.hidden = items.length > 0
    uses.dataset.empty = String(!items.length)
    for (const one of uses.querySelectorAll("button")) one.disabled = !items.length && one.dataset.always !== "yes"
    if (found.damaged.length && found.damaged.join() !== damaged.join()) {
      damaged = found.damaged
      say(`${damaged.length === 1 ? "One thing" : `${damaged.length} things`} kept here could not be read and ${damaged.length === 1 ? "is" : "are"} left out.`, [["Remove for good", () => {
        shelf.clean(damaged)
        say("Removed.")
      }]])
    }
  }

  const whole = () => ({ title: title.value.trim() || "Pinned views", items: now() })
  const group = (/** @type {string} */ label) => {
    const made = html("div", "", uses)
    made.setAttribute("role", "group")
    made.setAttribute("aria-label", label)
    html("span", "", made, label)
    return made
  }
  const use = group("Show")
  const show = (/** @type {boolean} */ presented) => {
    const lesson = lessonOf(whole())
    if (lesson.length > TOLD) return say("This shelf is too long to be shown from here: save it as a file, and open that on the page Lessons.")
    dialog.close()
    begin(lesson, presented)
  }
  button(use, "As a lesson", () => show(false))
  button(use, "Presented", () => show(true))
  button(use, "Copy link", () => void copyLink(whole(), say, use))
  const save = group("Save as")
  button(save, "HTML", () => void savePage(whole(), dialog, say))
  button(save, "Notebook", () => void saveNotebook(whole(), say))
  button(save, "File", () => saveFile(whole(), say))
  const more = group("More")
  const file = html("input", "", more)
  Object.assign(file, { type: "file", accept: ".json,application/json", hidden: true })
  /** @param {{ title: string, items: Pinned[], left: number }} came */
  const take = came => {
    const put = shelf.together(() => came.items.filter(item => kept(shelf.put(item))).length)
    if (put < came.items.length) return
    if (!title.value && came.title) shelf.entitle((title.value = came.title))
    say(`${put === 1 ? "One view was" : `${put} views were`} put on the shelf.${came.left ? ` ${came.left} could not be read.` : ""}`)
  }
  file.onchange = async () => {
    const chosen = file.files?.[0]
    file.value = ""
    if (!chosen) return
    const came = await read(chosen)
    if (typeof came === "string") say(came)
    else take(came)
  }
  button(more, "Open a file", () => file.click()).dataset.always = "yes"
  button(more, "Remove all", () => {
    const gone = now()
    shelf.together(() => gone.forEach(one => shelf.remove(one.id)))
    undoable(gone)
  })
  dialog.onclick = event => {
    if (event.target === dialog) dialog.close() // a handler that returns false would hold a link back
  }
  shelf.watch(() => dialog.open && look())
  return { dialog, look, take, say }
}
