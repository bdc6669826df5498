// Pictures as files have them: what a scene shows as an SVG or a canvas, an SVG as text, as an address, or on a canvas.
import { html, svg } from "./dom.js"

export const SCALE = 2 // pixels of a file for one of the screen
const LARGEST = 16384 // pixels of a side, which browsers draw
const LINE = 20 // pixels below elements: without the page's font their words may take a line more

/** @typedef {SVGSVGElement | HTMLCanvasElement} Picture a canvas has SCALE pixels for one of the screen */

/** @param {SVGElement} picture */
export const serialised = picture => new XMLSerializer().serializeToString(picture).replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/gu, "\ufffd")

/** @param {SVGElement} picture */
export const addressOf = picture => "data:image/svg+xml," + encodeURIComponent(serialised(picture))

// A picture as SVG, a canvas as an image in it.
/** @param {Picture} picture */
export function vectors(picture) {
  if (!(picture instanceof HTMLCanvasElement)) return picture
  const [width, height] = [picture.width / SCALE, picture.height / SCALE]
  const made = /** @type {SVGSVGElement} */ (svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }))
  svg("image", { href: picture.toDataURL(), width, height }, made)
  return made
}

/** @param {SVGSVGElement} picture @returns {[number, number]} */
export const size = picture => [Number(picture.getAttribute("width")), Number(picture.getAttribute("height"))]

/** @param {Picture} picture @returns {Promise<CanvasImageSource>} */
export async function drawn(picture) {
  if (picture instanceof HTMLCanvasElement) return picture
  const image = new Image()
  image.src = addressOf(picture)
  await image.decode()
  return image
}

// A canvas that a picture fills, so many times as large.
/** @param {SVGSVGElement} picture @param {number} scale */
export async function canvasOf(picture, scale) {
  const [w, h] = size(picture), fitting = Math.min(scale, LARGEST / w, LARGEST / h)
  const canvas = html("canvas", "")
  Object.assign(canvas, { width: 2 * Math.round((w * fitting) / 2), height: 2 * Math.round((h * fitting) / 2) }) // videos want them even
  canvas.getContext("2d")?.drawImage(await drawn(picture), 0, 0, canvas.width, canvas.height)
  return canvas
}

// A scene that is made of elements, drawn by the browser as it draws them on the page.
/** @param {HTMLElement} root @param {string} style the rules of its stylesheet */
export function elements(root, style) {
  const { width, height: seen } = root.getBoundingClientRect(), css = getComputedStyle(root)
  const height = seen + LINE
  const picture = /** @type {SVGSVGElement} */ (svg("svg", { width, height, viewBox: `0 0 ${width} ${height}` }))
  const place = svg("foreignObject", { width, height }, picture)
  const body = html("div", "", place)
  for (const name of HOUSE) body.style.setProperty("--st-" + name, css.getPropertyValue("--st-" + name))
  html("style", "", body, style)
  body.append(root.cloneNode(true))
  return picture
}
const HOUSE = ["text-color", "background-color", "secondary-background-color", "border-color", "primary-color", "font", "base-radius", "button-radius"]
