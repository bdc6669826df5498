// The browser's half of scene.py: a scene of tfcore in the colours of the theme, its caption, and what can be saved of it.
import { html } from "./dom.js"
import { palette } from "./colours.js"
import { embeds, menu } from "./figure.js"
import { styled } from "./styles.js"

/**
 * @typedef {object} Shown
 * @property {HTMLElement} frame
 * @property {HTMLElement} root that the scene draws into
 * @property {HTMLElement} foot
 * @property {HTMLElement} caption
 * @property {HTMLElement} note
 * @property {Record<string, HTMLButtonElement>} [buttons]
 * @property {FrameHead} head
 * @property {Promise<Scene>} code
 * @property {string} [drawn] data and colours
 * @property {Send} tell
 * @property {() => void} [end]
 * @property {boolean} [gone]
 */
/** @type {WeakMap<HTMLElement, Shown>} */
const views = new WeakMap()
/** @type {Map<string, Promise<Scene>>} name -> its script, which is fetched once */
export const scenes = new Map()

/** @param {string} name */
function loaded(name) {
  const known = scenes.get(name) ?? Promise.all([import(`./${name}.js`), styled(`${name}.css`)]).then(([code]) => code)
  scenes.set(name, known)
  return known
}

/** @param {Component<SceneData>} component */
export function render({ data: { module, data, height, caption, head }, parentElement, setTriggerValue }) {
  const view = views.get(parentElement) || create(parentElement, module)
  const { root } = view, colours = palette(root)
  view.head = head
  view.caption.textContent = caption
  view.foot.style.display = caption ? "" : "none" // what has no caption is a part of something, as a map to choose from
  root.setAttribute("aria-label", head.alt)
  root.style.minHeight = `${height}px`
  for (const [role, colour] of Object.entries(colours.roles)) root.style.setProperty("--role-" + role, colour)
  view.tell = (name, value) => {
    view.drawn = "" // what is told may have moved the picture: the answer is drawn, whatever it is
    setTriggerValue("told", [name, value])
  }
  const text = JSON.stringify(data), now = text + colours.stamp
  if (now !== view.drawn) view.code.then(scene => show(view, scene, text, now))
  view.drawn = now
  view.code.then(scene => offer(view, scene))
  return () => {
    view.gone = true
    view.end?.()
    views.delete(parentElement)
    view.frame.remove()
  }
}

// The scene as it is to be by the time its script has come.
/** @param {Shown} view @param {Scene} scene @param {string} data @param {string} now */
function show(view, scene, data, now) {
  if (view.gone || now !== view.drawn) return
  view.end = scene.draw(view.root, JSON.parse(data), (name, value) => view.tell(name, value))
}

/** @param {Shown} view @param {Scene} scene */
function offer(view, { saves }) {
  view.buttons ??= Object.assign(view, menu(view.foot, { ...saves?.(view.root, () => view.caption.textContent), ...embeds(view) })).buttons
  view.buttons.Embed.hidden = view.head.alone
  view.buttons["Whole page"].hidden = !view.head.alone
}

/** @param {HTMLElement} parent @param {string} module */
function create(parent, module) {
  const frame = html("figure", "tf-scene", parent)
  const root = html("div", "", frame)
  root.setAttribute("role", "group")
  const foot = html("div", "tf-foot", frame)
  const caption = html("figcaption", "", foot)
  caption.setAttribute("aria-live", "polite")
  const view = /** @type {Shown} */ (/** @type {Partial<Shown>} */ ({ frame, root, foot, caption, code: loaded(module), tell: () => {} }))
  views.set(parent, view)
  return view
}
