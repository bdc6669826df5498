// A ring around what a stop of a lesson speaks of; everything else is dimmed, and nothing is covered for the pointer.
// The browser keeps how far a lesson has come: nothing of it is on the server when the visit has ended.
const AROUND = 6 // pixels
const OFTEN = 150 // ms between two looks where it is: what a page draws may push it down at any time
const SETTLES = 5000 // ms after which a page that has kept still has settled: until then it is brought into sight again,
// unless the visitor moves first
const UNDER = 72 // pixels that Streamlit's header and a little air take
const PHONE = 640 // pixels up to which the card covers the lower part of the window
const KEPT = "tf-lessons" // key of a lesson -> the stop that was open last, and the furthest; lesson_progress.js reads it
const HANDS = ["wheel", "touchstart", "keydown", "pointerdown"]

/** @param {Component<LessonRingData>} component */
export default function (component) {
  const { data, parentElement } = component
  const place = /** @type {LessonRing} */ (parentElement.querySelector(".ring"))
  const ring = (place.ring ||= document.createElement("div")) // beside the card, not in it: under it, where they meet
  ring.className = "tf-lesson-ring"
  ring.setAttribute("aria-hidden", "true")
  ring.dataset.target = data.target // for present.js
  keep(data)
  const look = () => {
    if (!place.isConnected) return void (clearInterval(place.timer), ring.remove())
    // All that a stop speaks of lies within one ring, and is brought into sight; where that is too much, what it names first.
    const every = /** @type {HTMLElement[]} */ (data.target.split(", ").map(one => one && document.querySelector(one)).filter(Boolean))
    const named = every.filter(one => one.getBoundingClientRect().width)
    if (!named.length || named[0] !== every[0]) return void ring.remove()
    const all = around(named), floor = bottomFor(all)
    const fits = all.bottom - all.top <= floor - UNDER
    const target = fits ? named.reduce((one, other) => (top(other) < top(one) ? other : one)) : named[0]
    const box = fits ? all : around([target])
    if (place.stop !== data.lesson + data.stop) {
      place.stop = data.lesson + data.stop
      place.until = performance.now() + SETTLES
    }
    const moves = box.top !== place.top || document.querySelector(data.running)
    place.top = box.top
    if (place.until && moves) place.until = performance.now() + SETTLES
    const seen = box.top >= UNDER - 1 && (box.bottom < floor || box.top < UNDER + 1)
    if (!seen && performance.now() < (place.until ?? 0)) {
      target.style.scrollMarginTop = UNDER + "px"
      target.scrollIntoView({ block: box.bottom - box.top < 0.4 * innerHeight && innerWidth > PHONE ? "center" : "start" })
    }
    if (!ring.isConnected) document.body.append(ring)
    const { left, top: above, right, bottom } = around(named)
    const now = { left: left - AROUND, top: above - AROUND, width: right - left + 2 * AROUND, height: bottom - above + 2 * AROUND }
    for (const [side, pixels] of Object.entries(now)) ring.style.setProperty(side, pixels + "px")
  }
  if (!place.timer) for (const hand of HANDS) addEventListener(hand, () => (place.until = 0), { capture: true, passive: true })
  clearInterval(place.timer)
  place.timer = setInterval(look, OFTEN)
  look()
}

/** @param {HTMLElement} one */
const top = one => one.getBoundingClientRect().top

/** The box around all of them. @param {HTMLElement[]} named */
function around(named) {
  const boxes = named.map(one => one.getBoundingClientRect())
  const least = (/** @type {"left" | "top"} */ side) => Math.min(...boxes.map(one => one[side]))
  const most = (/** @type {"right" | "bottom"} */ side) => Math.max(...boxes.map(one => one[side]))
  return { left: least("left"), top: least("top"), right: most("right"), bottom: most("bottom") }
}

/** Down to where this box is in sight: the card covers the rest where it stands below it, and not beside it.
 * @param {{ left: number, right: number }} box */
function bottomFor(box) {
  const card = document.querySelector(".st-key-lesson_card")?.getBoundingClientRect()
  return card && box.left < card.right && card.left < box.right ? card.top : innerHeight
}

/** @param {LessonRingData} data */
function keep({ lesson, stop }) {
  if (lesson === "own") return
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT) || "{}"), furthest = Number(kept[lesson]?.[1]) || 0
    localStorage.setItem(KEPT, JSON.stringify({ ...kept, [lesson]: [stop, Math.max(stop, furthest)] }))
  } catch {} // what is there is not ours, or this browser keeps nothing
}
