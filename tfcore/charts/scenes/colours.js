// Colours of the theme, by the same rules as tfcore.charts.theme.resolve.
import { html } from "./dom.js"
import themes from "./theme.js"

// What names of colours mean where an element stands: in the theme that goes with its paper, Streamlit's own before ours.
/** @param {Element} node @returns {Palette} */
export function palette(node) {
  const css = getComputedStyle(node)
  /** @param {string} name */
  const own = name => css.getPropertyValue(`--st-${name}`).trim()
  const paper = own("background-color") || "#ffffff"
  const table = themes[brightness(paper) < 0.5 ? "dark" : "light"]
  const live = { paper, ink: own("text-color"), grid: own("border-color"), accent: own("primary-color") }
  const roles = { ...table.roles }
  for (const [role, value] of Object.entries(live)) if (value && value !== "unset") roles[role] = value
  return { roles, table, stamp: Object.values(roles).join() }
}

// ---- colours by name ----

// The colour of a role of the theme, as in "@query" or "@head3/0.3".
/** @param {string} name @param {Palette} colours @returns {string} */
export const tint = (name, colours) => replaced(name, colours)

// A figure of plotly with colours in place of their names.
/** @param {any} node @param {Palette} colours */
export function coloured(node, colours) {
  if (!node || typeof node !== "object") return node
  for (const key of Object.keys(node)) {
    node[key] = /colou?r(s|scale|way)?$/i.test(key) ? replaced(node[key], colours) : coloured(node[key], colours)
  }
  return node
}

/** @param {any} value @param {Palette} colours @returns {any} */
function replaced(value, colours) {
  if (Array.isArray(value)) return value.map(v => replaced(v, colours))
  if (typeof value !== "string" || value[0] !== "@") return coloured(value, colours)
  const { roles, table } = colours
  if (table.scales[value]) return scale(value, colours)
  const [, role, number, alpha] = /^@([a-z]+)(\d*)(?:\/([\d.]+))?$/.exec(value) || []
  const solid = number ? table.categories[Number(number) % table.categories.length] : roles[role] || roles.ink
  return alpha ? `rgba(${channels(solid)},${alpha})` : solid
}

// The stops of a scale, which begins at the paper there is.
/** @param {string} name @param {Palette} colours @returns {[number, string][]} */
const scale = (name, { roles, table }) => table.scales[name].map(([at, one]) => [at, one === table.roles.paper ? roles.paper : one])

// 201 colours of a scale from its first to its last stop.
/** @param {Palette} colours @param {string} name */
export function shades(colours, name) {
  const stops = scale(name, colours), parts = stops.map(([, one]) => channels(one))
  return [...Array(201).keys()].map(i => {
    const t = i / 200, above = Math.max(stops.findIndex(([at]) => at >= t), 1)
    const [a, b] = [stops[above - 1][0], stops[above][0]], f = b > a ? (t - a) / (b - a) : 0
    return `rgb(${parts[above - 1].map((from, c) => Math.round(from + (parts[above][c] - from) * f)).join()})`
  })
}

// ---- light and dark ----

// Any CSS colour as red, green, blue in 0..255 (a canvas knows them all).
const pen = /** @type {CanvasRenderingContext2D} */ (
  html("canvas", "").getContext("2d", { willReadFrequently: true })
)
/** @param {string} colour */
function channels(colour) {
  pen.fillStyle = colour
  pen.fillRect(0, 0, 1, 1)
  return [...pen.getImageData(0, 0, 1, 1).data.slice(0, 3)]
}

// From 0 to 1.
/** @param {string} colour */
export function brightness(colour) {
  const [red, green, blue] = channels(colour)
  return (0.299 * red + 0.587 * green + 0.114 * blue) / 255
}

// Relative luminance (WCAG 2).
/** @param {string} colour */
function luminance(colour) {
  const [r, g, b] = channels(colour).map(one => (one / 255 <= 0.04045 ? one / 255 / 12.92 : ((one / 255 + 0.055) / 1.055) ** 2.4))
  return 0.2126 * r + 0.7152 * g + 0.0722 * b
}

/** @type {Map<string, string>} */
const readable = new Map()
// Of paper and ink, the one that stands out from a colour (WCAG 2, contrast ratio).
/** @param {string} colour @param {Record<string, string>} roles */
export function legible(colour, roles) {
  const key = colour + roles.paper + roles.ink, known = readable.get(key)
  if (known) return known
  const here = luminance(colour), apart = [roles.paper, roles.ink].map(one => Math.abs(Math.log((luminance(one) + 0.05) / (here + 0.05))))
  const found = apart[0] > apart[1] ? roles.paper : roles.ink
  readable.set(key, found)
  return found
}
