// The browser's half of scene.py: a scene of tfcore in the colours of the theme, its caption, and what can be saved of it.
import { html } from "./dom.js"
import { palette } from "./colours.js"
import { elements } from "./picture.js"
import { drop, embeds, files, keep, menu, pinnable, video } from "./saving.js"
import { styled } from "./styles.js"

/**
 * @typedef {object} Shown
 * @property {HTMLElement} frame
 * @property {HTMLElement} root that the scene draws into
 * @property {HTMLElement} foot
 * @property {HTMLElement} caption
 * @property {HTMLElement} note
 * @property {string} module
 * @property {() => Promise<import("./picture.js").Picture | null>} taken
 * @property {() => LiveScene} [scene]
 * @property {Record<string, HTMLButtonElement>} [buttons]
 * @property {HTMLButtonElement} [pin]
 * @property {FrameHead} head
 * @property {Promise<Scene>} code
 * @property {string} [drawn] data and colours
 * @property {Send} tell
 * @property {() => void} [end]
 * @property {boolean} [gone]
 */
const IMPORTED = / from "\.\/([^"]+)"/g

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
  view.foot.style.display = caption || head.title ? "" : "none" // what has neither is a part of something, as a map to choose from
  root.setAttribute("aria-label", head.alt)
  root.style.minHeight = `${height}px`
  for (const [role, colour] of Object.entries(colours.roles)) root.style.setProperty("--role-" + role, colour)
  view.tell = (name, value) => {
    view.drawn = "" // what is told may have moved the picture: the answer is drawn, whatever it is
    setTriggerValue("told", [name, value])
  }
  view.scene = () => ({ module, data, height })
  const text = JSON.stringify(data), now = text + colours.stamp
  if (now !== view.drawn) view.code.then(scene => show(view, scene, text, now))
  view.drawn = now
  view.code.then(scene => offer(view, scene))
  return () => {
    view.gone = true
    drop(view)
    view.end?.()
    views.delete(parentElement)
    view.frame.remove()
  }
}

// The picture as it is now: of a scene that draws one, its own; of others what their elements show.
/** @param {Shown} view */
async function taken(view) {
  const scene = await view.code, own = scene.picture?.(view.root)
  return own === undefined ? elements(view.root, await (await fetch(new URL(`${view.module}.css`, import.meta.url))).text()) : own
}

/**
 * What a page of its own needs for its scenes: their styles, and a classic script after which `tfScenes` has the address
 * of each of their modules, as tfcore/charts/scenes/__init__.py writes it: a browser fetches none for a page in a folder.
 * @param {Iterable<string>} names
 */
export async function sceneCode(names) {
  /** @type {Record<string, string>} file -> code, each after what it imports */
  const modules = {}
  /** @param {string} file */
  const text = async file => (await fetch(new URL(file, import.meta.url))).text()
  /** @param {string} file */
  const add = async file => {
    const code = await text(file)
    for (const [, other] of code.matchAll(IMPORTED)) if (!(other in modules)) await add(other)
    modules[file] = code
  }
  let style = ""
  for (const name of names) {
    style += await text(`${name}.css`)
    await add(`${name}.js`)
  }
  const literal = JSON.stringify(modules).replaceAll("<", "\\u003c")
  return `<style>${style}</style>
<script>const tfScenes = {}
for (const [name, code] of Object.entries(${literal})) {
  const linked = code.replace(${IMPORTED}, (_, other) => ' from "' + tfScenes[other] + '"')
  tfScenes[name] = URL.createObjectURL(new Blob([linked], { type: "text/javascript" }))
}</script>
`
}

// The scene as it is to be by the time its script has come.
/** @param {Shown} view @param {Scene} scene @param {string} data @param {string} now */
function show(view, scene, data, now) {
  if (view.gone || now !== view.drawn) return
  view.end = scene.draw(view.root, JSON.parse(data), (name, value) => view.tell(name, value))
}

/** @param {Shown} view */
const named = ({ head }) => head.key.replace(/\W+/g, "-")

/** @param {Shown} view @param {Scene} scene */
function offer(view, { film }) {
  const { PNG, SVG, HTML } = files(view, () => named(view))
  if (!view.buttons) Object.assign(view, menu(view.foot, {
    PNG,
    ...(view.root.querySelector("canvas") ? {} : { SVG }), // whose picture is made of pixels
    HTML,
    ...(film ? { Video: video(view, () => named(view), () => film(view.root)) } : {}),
    ...embeds(view),
  }))
  if (!view.buttons) return
  void pinnable(view)
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
  const view = /** @type {Shown} */ (/** @type {Partial<Shown>} */ ({ frame, root, foot, caption, module, code: loaded(module), tell: () => {} }))
  view.taken = () => taken(view)
  views.set(parent, view)
  keep(view)
  return view
}
