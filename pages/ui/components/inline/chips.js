// Token chips. User text only ever goes through textContent, title and aria-label: never through innerHTML.
/** @type {Record<string, number>} */
const STEPS = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 1, ArrowUp: -1 }

/** @param {Chip} chip @param {string} name @param {string | number | null | undefined} value */
const mark = (chip, name, value) => value == null ? delete chip.dataset[name] : (chip.dataset[name] = String(value))

/** @param {ColourPair | undefined} colours */
const own = colours => (colours ? `light-dark(${colours.join(",")})` : "transparent")

// A bar under the token, cut into parts: [what is written in it, its share, index of its colour, whether it is hatched].
/** @param {Chip} chip @param {BarPart[] | undefined} parts @param {ColourPair[] | null} colours */
function divide(chip, parts, colours) {
  const stamp = parts && JSON.stringify(parts)
  if (stamp === chip.dataset.parts) return
  mark(chip, "parts", stamp)
  chip.querySelector(".parts")?.remove()
  chip.style.removeProperty("--own")
  if (!parts || !colours) return
  const bar = document.createElement("span")
  bar.className = "parts"
  bar.setAttribute("aria-hidden", "true")
  for (const [words, share, colour, hatched] of parts) {
    const part = document.createElement("i")
    part.textContent = words
    part.style.flexGrow = String(share)
    for (const one of bar.children.length ? [part] : [part, chip]) one.style.setProperty("--own", own(colours[colour ?? -1]))
    if (hatched) part.className = "hatched"
    bar.append(part)
  }
  chip.append(bar)
}

/** @param {Component<ChipsData>} component */
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const row = /** @type {HTMLElement} */ (parentElement.querySelector(".chips"))
  row.setAttribute("aria-label", data.label)

  // Chips are reused from run to run, so focus and scroll stay where they are.
  const kind = data.clickable ? "BUTTON" : "SPAN"
  while (row.children.length > data.tokens.length) row.lastElementChild?.remove()
  data.tokens.forEach((token, index) => {
    let chip = /** @type {Chip | undefined} */ (row.children[index])
    if (!chip || chip.tagName !== kind) {
      const fresh = /** @type {Chip} */ (document.createElement(kind))
      if (chip) chip.replaceWith(fresh)
      else row.append(fresh)
      chip = fresh
      chip.className = "chip"
    }
    if (chip.firstChild?.nodeValue !== token) chip.replaceChildren(token)
    divide(chip, data.parts?.[index], data.colours)
    chip.classList.toggle("faint", Boolean(data.faint?.[index]))
    chip.title = data.titles?.[index] ?? ""
    chip.style.setProperty("--shade", String(data.shade?.[index] ?? 0))
    mark(chip, "hue", data.hues?.[index])
    mark(chip, "note", data.notes?.[index])
    if (data.clickable) {
      chip.type = "button"
      chip.setAttribute("aria-pressed", String(index === data.selected))
    }
  })
  if (!data.clickable) {
    // Without buttons in it the box itself is a stop of the Tab key, if it is too full: the arrow keys scroll it.
    requestAnimationFrame(() => (row.scrollHeight > row.clientHeight ? (row.tabIndex = 0) : row.removeAttribute("tabindex")))
    return
  }
  row.removeAttribute("tabindex")

  // One tab stop for the whole row; the arrow keys move inside it.
  const root = /** @type {Document | ShadowRoot} */ (row.getRootNode())
  const chips = /** @type {Chip[]} */ ([...row.children])
  const focused = chips.findIndex(chip => chip === root.activeElement)
  const stop = focused >= 0 ? focused : (data.selected ?? 0)
  chips.forEach((chip, index) => (chip.tabIndex = index === stop ? 0 : -1))

  /** @param {number} from @param {number} to */
  const move = (from, to) => {
    const target = Math.min(Math.max(to, 0), chips.length - 1)
    chips[from].tabIndex = -1
    chips[target].tabIndex = 0
    chips[target].focus()
  }
  /** @param {Event} event */
  const place = ({ target }) => chips.findIndex(chip => chip.contains(/** @type {Node} */ (target)))
  row.onclick = event => {
    const index = place(event)
    if (index < 0) return
    chips.forEach((chip, other) => (chip.tabIndex = other === index ? 0 : -1))
    setTriggerValue("chosen", index)
  }
  row.onkeydown = event => {
    const index = place(event)
    if (index < 0 || event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key in STEPS) move(index, index + STEPS[event.key])
    else if (event.key === "Home") move(index, 0)
    else if (event.key === "End") move(index, chips.length - 1)
    else return
    event.preventDefault()
  }
}
