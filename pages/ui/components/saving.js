// What can be taken along of a picture: files of it with its title, what was computed and its address; a video of one that
// moves; a frame for another page; and one page with all pictures that are seen.
import { brightness, palette } from "./colours.js"
import { html, save, set, svg } from "./dom.js"
import { addressOf, canvasOf, drawn, SCALE, serialised, size, vectors } from "./picture.js"
import { styled } from "./styles.js"

const PAD = 20, NARROWEST = 420, FONT = "sans-serif"
const HOLD = 600 // ms that a video stays at its end
const SLOWEST = 100 // ms from one picture of a video to the next
const BITS = 8e6 // a second of a video
const FILMS = ["video/webm;codecs=vp9", "video/webm", "video/mp4"] // the first that the browser writes

/** @typedef {import("./picture.js").Picture} Picture */

/**
 * What stands around a picture in a file.
 * @typedef {{ title: string, finding: string, computed: string, caption: string, alt: string, address: string }} Words
 */
/**
 * A picture on the page.
 * @typedef {object} Shown
 * @property {HTMLElement} frame
 * @property {HTMLElement} caption
 * @property {HTMLElement} note for what is said of a file
 * @property {FrameHead} head
 * @property {() => Promise<Picture | null>} taken the picture as it is now; null where it is not there
 * @property {() => { data: any[], layout: object }} [live] of a figure: what plotly draws
 * @property {() => LiveScene} [scene] of a scene: what its script draws
 * @property {number} [noted]
 * @property {HTMLButtonElement} [pin]
 */

await styled("figure.css")

/** @type {Set<Shown>} */
const all = new Set()

// From now on a picture is one of the page's, until it is gone.
/** @param {Shown} view */
export const keep = view => void all.add(view)
/** @param {Shown} view */
export const drop = view => void all.delete(view)

// ---- the menu ----

// A menu of what can be saved, and a place for what is said of it.
/** @param {HTMLElement} foot @param {Record<string, () => void>} kinds name -> what saves it */
export function menu(foot, kinds) {
  const pin = html("button", "tf-pin", foot, "Pin")
  pin.type = "button"
  pin.hidden = true
  const details = html("details", "tf-save", foot)
  const summary = html("summary", "", details)
  summary.textContent = "Save"
  const list = html("div", "", details)
  const note = html("div", "tf-note", foot)
  note.setAttribute("role", "status")
  /** @type {Record<string, HTMLButtonElement>} */
  const buttons = {}
  for (const [kind, action] of Object.entries(kinds)) {
    const entry = (buttons[kind] = html("button", "", list))
    entry.type = "button"
    entry.textContent = kind
    entry.onclick = () => {
      details.open = false
      action()
    }
  }
  details.addEventListener("focusout", event => details.contains(/** @type {Node | null} */ (event.relatedTarget)) || (details.open = false))
  details.addEventListener("keydown", event => {
    if (event.key !== "Escape" || !details.open) return
    details.open = false
    summary.focus()
  })
  return { note, buttons, pin }
}

/** Once a picture has been drawn: its pin, where it is a view of the app and not in a frame. @param {Shown} view */
export async function pinnable(view) {
  if (!view.head.title || !view.pin || new URLSearchParams(location.search).has("embed")) return
  const { offer } = await import("./pin.js")
  offer(/** @type {import("./pin.js").Pinnable} */ (view), () => wordsOf(view, []))
}

/** @param {Shown} view @param {string} sentence @param {number} [lasting] ms, or until something else is said */
function say(view, sentence, lasting) {
  view.note.replaceChildren()
  clearTimeout(view.noted)
  const said = html("span", "", view.note, sentence)
  if (lasting) view.noted = setTimeout(() => view.note.replaceChildren(), lasting)
  return said
}

/** @param {Shown} view @param {string} name @param {() => void} act */
function button(view, name, act) {
  const made = html("button", "", view.note, name)
  made.type = "button"
  made.onclick = act
  return made
}

// ---- the address ----

const link = () => window.viewLink ?? { address: () => location.href, own: () => [] }

// Saves a file with the address of the view, as Copy link has it. Where that carries the visitor's own text, the file can be
// had again without it, as the link can.
/** @param {Shown} view @param {(words: Words) => unknown} make */
export async function take(view, make) {
  const own = link().own()
  view.note.replaceChildren()
  await make(wordsOf(view, []))
  if (!own.length) return
  say(view, "The address in this file carries the text you typed. ", 20_000)
  button(view, "Save without the text", () => {
    view.note.replaceChildren()
    void make(wordsOf(view, own))
  })
  button(view, "Keep it", () => view.note.replaceChildren())
}

/** @param {Shown} view @param {string[]} without names that the address leaves out @returns {Words} */
function wordsOf({ head, caption }, without) {
  const { title = "", finding = "", computed = "", hint = "", alt } = head, whole = caption.textContent ?? ""
  const still = hint && whole.endsWith(hint) ? whole.slice(0, -hint.length).trim() : whole // nothing can be clicked in a file
  return { title, finding, computed, alt, caption: still, address: link().address(without) }
}

// ---- pictures ----

// The files of a picture: their kind -> what saves one.
/** @param {Shown} view @param {() => string} name of the files @returns {Record<"PNG" | "SVG" | "HTML", () => void>} */
export function files(view, name) {
  /** @param {string} kind @param {(picture: SVGSVGElement, said: Words) => Promise<Blob | null>} write */
  const saved = (kind, write) => () => take(view, async said => {
    const picture = await view.taken(), blob = picture && (await write(vectors(picture), said))
    if (blob) save(blob, `${name()}.${kind}`)
  })
  const roles = () => palette(view.frame).roles
  return {
    PNG: saved("png", (picture, said) => bitmap(framed(picture, said, roles()))),
    SVG: saved("svg", async (picture, said) => new Blob([serialised(framed(picture, said, roles()))], { type: "image/svg+xml" })),
    HTML: saved("html", async (picture, said) => new Blob([page(said.title, pageFigure(said, serialised(picture)), said.address, roles())], { type: "text/html" })),
  }
}

// A picture of a file that plotly or a canvas wrote: the element that a data address says.
/** @param {string} url @returns {SVGSVGElement} */
export function parsed(url) {
  const found = new DOMParser().parseFromString(decodeURIComponent(url.slice(url.indexOf(",") + 1)), "image/svg+xml")
  return /** @type {any} */ (document.importNode(found.documentElement, true))
}

// A picture with its title and finding above, what was computed and its address below.
/** @param {SVGSVGElement} picture @param {Words} said @param {Record<string, string>} roles */
export function framed(picture, { title, finding, computed, address, alt }, roles) {
  const [w, h] = size(picture), inner = Math.max(w, NARROWEST)
  const whole = /** @type {SVGSVGElement} */ (svg("svg", { "font-family": FONT }))
  svg("title", {}, whole, alt)
  const paper = svg("rect", { fill: roles.paper }, whole)
  let y = PAD
  /** @param {Element} parent @param {string} text @param {number} px @param {number} most lines @param {Record<string, string | number>} look */
  const write = (parent, text, px, most, look) => {
    for (const line of lines(text, inner, px, most, look["font-weight"])) {
      y += px * 1.35
      svg("text", { x: PAD, y: (y - px * 0.35).toFixed(1), "font-size": px, ...look }, parent, line)
    }
  }
  write(whole, title, 17, 2, { fill: roles.ink, "font-weight": 700 })
  write(whole, finding, 13, 4, { fill: roles.ink })
  if (y > PAD) y += 10
  set(picture, { x: PAD, y: y.toFixed(1) })
  whole.append(picture)
  y += h + 8
  write(whole, computed, 11.5, 3, { fill: roles.muted })
  const linked = svg("a", { href: address, target: "_blank", rel: "noopener" }, whole)
  write(linked, address, 11.5, 4, { fill: roles.muted })
  const [width, height] = [Math.ceil(inner + 2 * PAD), Math.ceil(y + PAD)]
  set(paper, { width, height })
  set(whole, { width, height, viewBox: `0 0 ${width} ${height}` })
  return whole
}

// A text in lines of a width, broken between words, and in words that are wider; what is more than fits ends with "…".
/** @param {string} text @param {number} width @param {number} px @param {number} most @param {string | number} [weight] */
export function lines(text, width, px, most, weight = 400) {
  const pen = /** @type {CanvasRenderingContext2D} */ (html("canvas", "").getContext("2d"))
  pen.font = `${weight} ${px}px ${FONT}`
  /** @param {string} some */
  const fits = some => pen.measureText(some).width <= width
  /** @type {string[]} */
  const found = []
  let line = ""
  for (const word of text.match(/\S+\s*/g) ?? []) {
    if (fits((line + word).trimEnd())) {
      line += word
      continue
    }
    if (line) found.push(line)
    line = ""
    for (const sign of word) {
      if (!fits(line + sign) && line) {
        found.push(line)
        line = ""
      }
      line += sign
    }
  }
  if (line) found.push(line)
  const kept = found.slice(0, most).map(one => one.trimEnd())
  if (found.length > most) {
    let last = kept[most - 1]
    while (last && !fits(last + "…")) last = last.slice(0, -1)
    kept[most - 1] = last + "…"
  }
  return kept
}

/** @param {SVGSVGElement} picture @returns {Promise<Blob | null>} */
async function bitmap(picture) {
  const canvas = await canvasOf(picture, SCALE)
  return new Promise(resolve => canvas.toBlob(resolve))
}

// ---- pages ----

/** @param {string} text */
export const safe = text => text.replace(/[&<>"]/g, c => `&#${c.charCodeAt(0)};`)

// Of a dark page, on paper: its pictures with the lightness turned round and the hues kept.
const ON_PAPER = `@media print { body { background: #fff; color: #000 } p { color: #555 }
figure > :first-child { filter: invert(1) hue-rotate(180deg) brightness(1.1) } }`

// A page of its own that needs no network and runs nothing but what it is given.
/** @param {string} title @param {string} body @param {string} address @param {Record<string, string>} roles */
export const page = (title, body, address, roles) => `<!doctype html><html lang="en"><meta charset="utf-8"><title>${safe(title)}</title>
<style>body { margin: 2em auto; max-width: 80em; padding: 0 1em; background: ${roles.paper}; color: ${roles.ink}; font-family: system-ui, sans-serif; print-color-adjust: exact }
h1 { font-size: 1.5em } h2 { font-size: 1.15em; break-after: avoid } figure { margin: 0 0 2.5em; break-inside: avoid } figcaption { white-space: pre-line } svg, img { max-width: 100%; height: auto }
p { color: ${roles.muted}; font-size: 0.9em } a { color: inherit; overflow-wrap: anywhere }
${brightness(roles.paper) < 0.5 ? ON_PAPER : ""}</style>
<h1 dir="auto">${safe(title)}</h1>
${body}
<p><a href="${safe(address)}">${safe(address)}</a></p>
</html>
`

// A picture on such a page, with its words.
/** @param {Words} said @param {string} picture in HTML */
export const pageFigure = ({ caption, computed, finding }, picture) =>
  `<figure>${picture}<figcaption dir="auto">${safe(caption || finding)}</figcaption><p dir="auto">${safe(computed)}</p></figure>`

/** A picture in HTML, whose names meet those of no other. @param {Picture} picture @param {string} alt */
function pictureOf(picture, alt) {
  const vector = vectors(picture)
  return `<img src="${addressOf(vector)}" alt="${safe(alt)}" width="${size(vector)[0]}">`
}

// All pictures that are seen on this page, one below the other. The menu beside the title asks for it.
/** @param {string[]} without names that the address leaves out */
async function sheet(without) {
  const seen = [...all].filter(({ frame, head }) => head.title && frame.isConnected && frame.clientWidth)
  seen.sort((a, b) => (a.frame.compareDocumentPosition(b.frame) & Node.DOCUMENT_POSITION_FOLLOWING ? -1 : 1))
  const parts = []
  for (const view of seen) {
    const said = wordsOf(view, without), picture = await view.taken()
    if (!picture) continue
    parts.push(`<h2 dir="auto">${safe(said.title)}</h2>`, pageFigure(said, pictureOf(picture, said.alt)))
  }
  const name = location.pathname.replace(/\W+/g, "-").replace(/^-|-$/g, "") || "home"
  const { roles } = palette(seen[0]?.frame ?? document.body)
  const whole = page(document.querySelector("h1")?.textContent || document.title, parts.join("\n"), link().address(without), roles)
  save(new Blob([whole], { type: "text/html" }), `${name}-figures.html`)
}
// Asked by the window that a figure is drawn in for a page with several: see shelf_file.js.
addEventListener("tf-piece", event => {
  const { key, take: give } = /** @type {CustomEvent<{ key: string, take: (piece: Promise<Piece | null>) => void }>} */ (event).detail
  const view = [...all].find(one => (key ? one.head.key === key : one.head.title) && one.frame.isConnected)
  if (view) give(pieceOf(view))
})

/** @param {Shown} view @returns {Promise<Piece | null>} */
async function pieceOf(view) {
  const said = wordsOf(view, []), figure = view.live?.()
  if (figure) return { said, figure }
  const picture = await view.taken()
  return picture && { said, image: pictureOf(picture, said.alt), scene: view.scene?.() }
}

addEventListener("tf-sheet", event => void sheet(/** @type {CustomEvent<string[]>} */ (event).detail))

// ---- videos ----

// Records a movement from its beginning, drawn moment by moment onto a canvas, until its end or until somebody stops it.
/** @param {Shown} view @param {() => string} name of the file @param {() => Film | null} moving */
export const video = (view, name, moving) => () => {
  const kind = typeof MediaRecorder === "undefined" ? undefined : FILMS.find(one => MediaRecorder.isTypeSupported(one))
  if (!kind) return void say(view, "This browser cannot record a video: it has no MediaRecorder that writes WebM or MP4.", 8000)
  return take(view, async said => {
    const film = moving(), blob = film && (await recorded(view, film, said, kind))
    if (blob) save(blob, `${name()}.${kind.slice(6, 10).replace(";", "")}`)
  })
}

/** @param {Shown} view @param {Film} film @param {Words} said @param {string} kind of the file */
async function recorded(view, film, said, kind) {
  const seconds = (film.lasts / 1000).toFixed(0), told = say(view, `Recording ${seconds} s `)
  let stopped = false
  button(view, "Stop", () => (stopped = true)).focus()
  film.at(0)
  const beginning = await view.taken()
  if (!beginning) return null
  const first = vectors(beginning), around = await canvasOf(framed(first, said, palette(view.frame).roles), 1)
  const [x, y, w, h] = ["x", "y", "width", "height"].map(one => Number(first.getAttribute(one)))
  const canvas = html("canvas", ""), pen = canvas.getContext("2d"), { width, height } = around
  Object.assign(canvas, { width, height })
  const { paper } = palette(view.frame).roles
  /** @param {CanvasImageSource} now */
  const put = now => {
    pen?.drawImage(around, 0, 0)
    if (pen) pen.fillStyle = paper
    pen?.fillRect(x, y, w, h)
    pen?.drawImage(now, x, y, w, h)
  }
  put(around)
  const stream = canvas.captureStream(), recorder = new MediaRecorder(stream, { mimeType: kind, videoBitsPerSecond: BITS })
  /** @type {Blob[]} */
  const parts = []
  recorder.ondataavailable = event => parts.push(event.data)
  const written = new Promise(resolve => (recorder.onstop = resolve))
  recorder.start()
  for (let past = 0, before = performance.now(); !stopped && view.frame.isConnected && past < film.lasts + HOLD;) {
    told.textContent = `Recording ${(Math.min(past, film.lasts) / 1000).toFixed(1)} of ${seconds} s `
    film.at(Math.min(past / film.lasts, 1))
    const now = await view.taken()
    if (now) put(await drawn(now))
    await new Promise(requestAnimationFrame)
    const after = performance.now()
    past += Math.min(after - before, SLOWEST) // a slow machine makes a longer film, not one that jumps
    before = after
  }
  recorder.stop()
  await written
  stream.getTracks().forEach(track => track.stop())
  film.end()
  view.note.replaceChildren()
  return new Blob(parts, { type: kind })
}

// ---- frames in other pages ----

// What shows this picture alone in a frame of another page, and the view it is from.
/** @param {Shown} view */
export const embeds = view => ({ Embed: () => void embed(view), "Whole page": () => void window.open(addressIn(view, false), "_blank", "noopener") })

// The address of this figure alone in a frame, or of the view it is from.
/** @param {Shown} view @param {boolean} framing */
function addressIn(view, framing) {
  const url = new URL(location.href)
  url.hash = ""
  for (const name of ["embed", "embed_options", "figure", "lesson", "lesson_z", "stop", "tour", "present"]) url.searchParams.delete(name)
  url.searchParams.set("v", view.head.v)
  if (framing) url.searchParams.set("embed", "true")
  if (framing) url.searchParams.set("figure", view.head.key)
  return url.toString()
}

// Copies a frame that shows this figure, live, in another page; where the browser refuses, shows it ready for Ctrl+C.
/** @param {Shown} view */
async function embed(view) {
  const high = Math.ceil(view.frame.getBoundingClientRect().height) + 24
  const code = `<iframe src="${safe(addressIn(view, true))}" title="${safe(view.head.alt)}" width="100%" height="${high}" style="border:0" loading="lazy"></iframe>`
  const where = view.head.open ? "" : " For now only pages of this server may show it; its setting TFCORE_EMBED lets others in."
  let said = "Copied: paste it into the HTML of your page." + where
  view.note.replaceChildren()
  try {
    await navigator.clipboard.writeText(code)
  } catch {
    const field = html("textarea", "", view.note)
    Object.assign(field, { readOnly: true, value: code, rows: 3 })
    field.setAttribute("aria-label", "The frame, as HTML")
    field.onblur = () => view.note.replaceChildren()
    field.select()
    said = "Press Ctrl+C, then paste it into the HTML of your page." + where
    if (document.execCommand("copy")) said = "Copied: paste it into the HTML of your page." + where
  }
  html("span", "", view.note).textContent = said
  clearTimeout(view.noted)
  if (!view.note.querySelector("textarea")) view.noted = setTimeout(() => view.note.replaceChildren(), 8000)
}
