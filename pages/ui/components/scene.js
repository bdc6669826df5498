// The browser's half of scene.py: a scene of tfcore in the colours of the theme.
import { palette } from "./colours.js"
import { html } from "./dom.js"
import { styled } from "./styles.js"

/**
 * @typedef {object} Shown
 * @property {HTMLElement} root
 * @property {Promise<Scene>} code
 * @property {string} [stamp] what was drawn
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
export function render({ data: { module, data, alt, height }, parentElement, setTriggerValue }) {
  const view = views.get(parentElement) || create(parentElement, module)
  const { root } = view
  root.setAttribute("role", "group")
  root.setAttribute("aria-label", alt)
  root.style.minHeight = `${height}px`
  for (const [role, colour] of Object.entries(palette(root).roles)) root.style.setProperty("--role-" + role, colour)
  view.tell = (name, value) => setTriggerValue("told", [name, value])
  const stamp = JSON.stringify(data)
  if (stamp !== view.stamp) view.code.then(scene => show(view, scene, stamp))
  view.stamp = stamp
  return () => {
    view.gone = true
    view.end?.()
    views.delete(parentElement)
    root.remove()
  }
}

// The scene as it is to be by the time its script has come.
/** @param {Shown} view @param {Scene} scene @param {string} stamp */
function show(view, scene, stamp) {
  if (view.gone || stamp !== view.stamp) return
  view.end = scene.draw(view.root, JSON.parse(stamp), (name, value) => view.tell(name, value))
}

/** @param {HTMLElement} parent @param {string} module */
function create(parent, module) {
  const root = html("div", "", parent)
  const view = /** @type {Shown} */ ({ root, code: loaded(module), tell: () => {} })
  views.set(parent, view)
  return view
}
