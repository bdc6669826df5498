// What a person has pinned: views with notes of their own, kept by the browser alone.
//
// Each item has a key of its own in localStorage, and its place is a number in it: tabs that pin at once lose nothing.
// What is stored may have been written by anybody (a file, a link, another program of this site), so all of it is looked
// at again whenever it is read.

export const MOST = 200 // items
const PREFIX = "tf-shelf:", TITLE = "tf-shelf-title"
/** In signs, as a lesson takes them (pages/lessons/from_file.py): */
export const LONGEST = { all: 120, title: 200, page: 40, query: 7900, from: 200, caption: 1200, computed: 300, note: 1000, call: 12_000 }
const FIGURE = /^([A-Za-z0-9][\w -]{0,79})?$/
export const NOT_KEPT = "This browser keeps nothing for this site (a private window, or storage that is blocked), so nothing can be pinned here. Copy link keeps a view as an address."
export const FULL = "This browser has no more room for this site. Remove views from the shelf, or save it as a file and begin a new one."
export const MANY = `The shelf holds ${MOST} views, and that many are on it. Remove some, or save it as a file and begin a new one.`

/** @typedef {{ page: string, query: string, figure: string }} View */

const CHANGED = "tf-shelf" // event of this tab; that of the others is "storage"
const OUTSIDE = ["embed", "embed_options", "figure", "tour", "lesson", "lesson_z", "stop", "present"] // names that are no part of a view

/** @type {Set<string> | undefined} what is pinned, until the shelf changes */
let known
let quiet = false

/** @returns {Storage | null} null where the browser keeps nothing */
function storage() {
  try {
    return window.localStorage
  } catch {
    return null
  }
}

/** @param {unknown} value @param {number} most @returns {string | null} a text, cut; null where it is none */
const text = (value, most) => (typeof value === "string" ? value.slice(0, most).replace(/\p{Surrogate}/gu, "\ufffd") : null)

/** @param {unknown} value @returns {[string, Record<string, unknown>] | null} */
function called(value) {
  if (!Array.isArray(value) || value.length !== 2) return null
  const [name, said] = value
  const whole = typeof name === "string" && typeof said === "object" && said !== null && !Array.isArray(said)
  return whole && JSON.stringify(value).length <= LONGEST.call ? [name, said] : null
}

/**
 * An item as it may be shown, with what is too long cut; null where something is none. An address leads to a page of this
 * app whatever it says: it is kept as the name of the page and what follows "?".
 * @param {unknown} value
 * @returns {Pinned | null}
 */
export function checked(value) {
  if (typeof value !== "object" || value === null) return null
  const said = /** @type {Record<string, unknown>} */ (value)
  const { page, query, figure, title } = said
  if (typeof page !== "string" || page.length > LONGEST.page || !/^[a-z0-9-]*$/.test(page)) return null
  if (typeof query !== "string" || query.length > LONGEST.query || /[\s#]/.test(query)) return null
  if (typeof figure !== "string" || !FIGURE.test(figure) || typeof title !== "string" || !title.trim()) return null
  return {
    page, query, figure,
    title: text(title, LONGEST.title) ?? "",
    from: text(said.from, LONGEST.from) ?? "",
    caption: text(said.caption, LONGEST.caption) ?? "",
    computed: text(said.computed, LONGEST.computed) ?? "",
    note: text(said.note, LONGEST.note) ?? "",
    call: called(said.call),
  }
}

/** What a copied link says, as an item keeps it. @param {string} link */
export function parts(link) {
  const url = new URL(link)
  for (const name of OUTSIDE) url.searchParams.delete(name)
  return { page: url.pathname.split("/").at(-1) ?? "", query: url.searchParams.toString() }
}

/** The address of an item, on this server. @param {{ page: string, query: string }} item */
export function address({ page, query }) {
  const url = new URL(`./${page}`, location.href)
  url.search = query
  url.hash = ""
  return url.toString()
}

/** Two addresses say the same in whatever order. @param {View} item */
const sameness = ({ page, query, figure }) => {
  const said = new URLSearchParams(query)
  said.delete("v")
  said.sort()
  return JSON.stringify([page, said.toString(), figure])
}

/**
 * All items in their order, and how many there are that are none.
 * @returns {{ items: Kept[], damaged: string[] }}
 */
export function all() {
  const there = storage(), items = /** @type {Kept[]} */ ([]), damaged = /** @type {string[]} */ ([])
  const keys = there ? Object.keys(there).filter(key => key.startsWith(PREFIX)) : []
  for (const key of keys) {
    const item = readItem(there?.getItem(key) ?? "")
    if (item) items.push({ ...item.item, id: key.slice(PREFIX.length), at: item.at })
    else damaged.push(key)
  }
  items.sort((a, b) => a.at - b.at || (a.id < b.id ? -1 : 1))
  return { items: items.slice(0, 2 * MOST), damaged } // tabs that pin at once may go beyond what one of them lets
}

/** @param {string} stored */
function readItem(stored) {
  try {
    const value = JSON.parse(stored), item = checked(value)
    return item && Number.isFinite(value.at) ? { item, at: /** @type {number} */ (value.at) } : null
  } catch {
    return null
  }
}

/** The item of a view, where it is pinned. @param {View} view */
export const pinned = view => all().items.find(one => sameness(one) === sameness(view))

/** Whether a view is pinned: asked after every change of a page. @param {View} view */
export function isPinned(view) {
  known ??= new Set(all().items.map(sameness))
  return known.has(sameness(view))
}

/**
 * Keeps an item, at its place or at the end.
 * @param {Pinned & { id?: string, at?: number }} item
 * @returns {{ id: string, refused: string }} a sentence where it could not be kept
 */
export function put({ id, at, ...item }) {
  const there = storage(), { items } = all()
  const isNew = !id || !items.some(one => one.id === id)
  if (there && isNew && items.length >= MOST) return { id: "", refused: MANY }
  const name = id ?? Date.now().toString(36) + Math.random().toString(36).slice(2, 10)
  try {
    if (!there) throw new Error("no storage")
    there.setItem(PREFIX + name, JSON.stringify({ ...item, at: at ?? Math.floor((items.at(-1)?.at ?? 0) + 1) }))
  } catch {
    return { id: "", refused: there?.length ? FULL : NOT_KEPT } // a store that takes nothing is none
  }
  tell()
  return { id: name, refused: "" }
}

/** @param {string} id */
export function remove(id) {
  storage()?.removeItem(PREFIX + id)
  tell()
}

/** @param {string[]} keys of what is no item */
export function clean(keys) {
  for (const key of keys) storage()?.removeItem(key)
  tell()
}

export const title = () => storage()?.getItem(TITLE)?.slice(0, LONGEST.all) ?? ""

/** @param {string} words */
export function entitle(words) {
  try {
    storage()?.setItem(TITLE, words.slice(0, LONGEST.all))
  } catch {} // a title that is not kept is asked for again
}

/** Several changes at once, told as one. @template T @param {() => T} change */
export function together(change) {
  quiet = true
  try {
    return change()
  } finally {
    quiet = false
    tell()
  }
}

function tell() {
  if (quiet) return
  known = undefined
  dispatchEvent(new CustomEvent(CHANGED))
}

/** Called whenever the shelf changes, in this tab or in another; what it returns ends that. @param {() => void} call */
export function watch(call) {
  /** @param {StorageEvent} event */
  const elsewhere = event => {
    if (event.key !== null && !event.key.startsWith(PREFIX)) return
    known = undefined
    call()
  }
  addEventListener("storage", elsewhere)
  addEventListener(CHANGED, call)
  return () => {
    removeEventListener("storage", elsewhere)
    removeEventListener(CHANGED, call)
  }
}
