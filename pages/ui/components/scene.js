// The browser's half of scene.py: a scene of tfcore in the colours of the theme.
import { palette } from "./colours.js"
import { html } from "./dom.js"
import { styled } from "./styles.js"

/**
 * @typedef {object} Shown
 * @property {HTMLElement} root
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
export function render({ data: { module, data, alt, height }, parentElement, setTriggerValue }) {
  const view = views.get(parentElement) || create(parentElement, module)
  const { root } = view
  root.setAttribute("role", "group")
  root.setAttribute("aria-label", alt)
  root.style.minHeight = `${height}px`
  const colours = palette(root)
  for (const [role, colour] of Object.entries(colours.roles)) root.style.setProperty("--role-" + role, colour)
  view.tell = (name, value) => {
    view.drawn = "" // what is told may have moved the picture: the answer is drawn, whatever it is
    setTriggerValue("told", [name, value])
  }
  const text = JSON.stringify(data), now = text + colours.stamp
  if (now !== view.drawn) view.code.then(scene => show(view, scene, text, now))
  view.drawn = now
  return () => {
    view.gone = true
    view.end?.()
    views.delete(parentElement)
    root.remove()
  }
}

// The scene as it is to be by the time its script has come.
/** @param {Shown} view @param {Scene} scene @param {string} data @param {string} now */
function show(view, scene, data, now) {
  if (view.gone || now !== view.drawn) return
  view.end = scene.draw(view.root, JSON.parse(data), (name, value) => view.tell(name, value))
}

/** @param {HTMLElement} parent @param {string} module */
function create(parent, module) {
  const root = html("div", "", parent)
  const view = /** @type {Shown} */ ({ root, code: loaded(module), tell: () => {} })
  views.set(parent, view)
  return view
}
