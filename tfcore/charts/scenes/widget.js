// A scene in a notebook: the door to anywidget, as the app's scene.js is the one to Streamlit. Python says what is
// `shown`, and is `told` what a visitor did: how often something was told of, its name, its value.
import { brightness, palette } from "./colours.js"
import { html } from "./dom.js"
import themes from "./theme.js"

/** @param {Scene} scene */
export const widget = ({ draw }) => ({
  /** @param {{ model: NotebookModel, el: HTMLElement }} given */
  render({ model, el }) {
    const frame = html("figure", "tf-widget", el)
    const root = html("div", "", frame)
    root.setAttribute("role", "group")
    const caption = html("figcaption", "", frame)
    caption.setAttribute("aria-live", "polite")
    let end = () => {}
    /** @type {Send} */
    const tell = (name, value) => {
      model.set("told", [model.get("told")[0] + 1, name, value])
      model.save_changes()
    }
    let paper = ""
    const show = () => {
      const shown = model.get("shown")
      paper = behind(frame)
      dress(frame, paper)
      root.style.minHeight = `${shown.height}px`
      root.setAttribute("aria-label", shown.alt)
      caption.textContent = shown.caption
      end = draw(root, structuredClone(shown.data), tell)
    }
    frame.onpointerenter = () => behind(frame) === paper || show() // another theme was chosen
    root.style.minHeight = "1px" // so that it has a size
    const there = new ResizeObserver(() => { // a notebook gives it its place after it was rendered
      there.disconnect()
      show()
      model.on("change:shown", show)
    })
    there.observe(frame)
    return () => {
      there.disconnect()
      model.off("change:shown", show)
      end()
      frame.remove()
    }
  },
})

// The colours that go with the paper of the notebook, in the variables that the app has.
/** @param {HTMLElement} frame @param {string} paper */
function dress(frame, paper) {
  const { ink, grid, accent } = themes[brightness(paper) < 0.5 ? "dark" : "light"].roles
  const house = { "background-color": paper, "text-color": ink, "border-color": grid, "secondary-background-color": grid, "primary-color": accent }
  for (const [name, value] of Object.entries(house)) frame.style.setProperty(`--st-${name}`, value)
  for (const [role, value] of Object.entries(palette(frame).roles)) frame.style.setProperty(`--role-${role}`, value)
}

// The colour that a node stands on: that of the nearest one around it that has one, out of shadow trees, too.
/** @param {HTMLElement} node */
function behind(node) {
  /** @type {Element | null} */
  let at = node.parentElement ?? hostOf(node)
  for (; at; at = at.parentElement ?? hostOf(at)) {
    const paper = getComputedStyle(at).backgroundColor
    if (paper && paper !== "transparent" && !/, 0\)$/.test(paper)) return paper
  }
  return "#ffffff"
}

/** @param {Element} node */
function hostOf(node) {
  const root = node.getRootNode()
  return root instanceof ShadowRoot ? root.host : null
}
