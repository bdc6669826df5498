// The elements that our scripts make. Words become plain text: nothing is ever parsed as HTML.
export const SVG = "http://www.w3.org/2000/svg"

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} name its class, or nothing
 * @param {Element} [parent] it becomes the last child of
 * @param {string} [words]
 */
export function html(tag, name, parent, words) {
  const made = document.createElement(tag)
  if (name) made.className = name
  if (words) made.textContent = words
  parent?.append(made)
  return made
}

/**
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string | number>} said its attributes
 * @param {Element} [parent] it becomes the last child of
 * @param {string} [words]
 */
export function svg(tag, said, parent, words) {
  const made = document.createElementNS(SVG, tag)
  set(made, said)
  if (words) made.textContent = words
  parent?.append(made)
  return made
}

/** @param {Element} node @param {Record<string, string | number>} said */
export function set(node, said) {
  for (const [key, value] of Object.entries(said)) node.setAttribute(key, String(value))
}

// The browser's dialog for a file.
/** @param {Blob} contents @param {string} name */
export function save(contents, name) {
  const link = html("a", "")
  link.href = URL.createObjectURL(contents)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), 10000)
}
