// What a hand moves goes to Python, which computes while it moves: one request at a time, and the last position always
// follows. A view has `send` (setTriggerValue), `next` (the message not yet sent, or null) and what is kept here.
const PAUSE = 40, PATIENCE = 2000 // ms between two requests at least; until an answer is given up

/**
 * @typedef {object} Dragged
 * @property {number} sent number of the last message
 * @property {number} last when it went, in ms
 * @property {object | null} next
 * @property {boolean} waiting for its answer
 * @property {object | null} held what the hand has
 * @property {Send} send
 * @property {number} [timer]
 * @property {number} [patience]
 */

/** @param {number} seq */
export const begun = seq => ({ sent: seq, last: -Infinity, next: null, waiting: false, held: null })

// An answer came. True when Python's values count: while the hand is ahead of it, the hand decides.
/** @param {Dragged} view @param {number} seq */
export function answered(view, seq) {
  if (seq === view.sent) view.waiting = false
  return !view.held && !view.waiting && !view.next
}

/** @param {Dragged} view */
export function post(view) {
  if (view.waiting || !view.next) return
  const early = view.last + PAUSE - performance.now()
  clearTimeout(view.timer)
  if (early > 0) return void (view.timer = setTimeout(() => post(view), early))
  view.last = performance.now()
  view.waiting = true
  view.sent += 1
  view.send("moved", { ...view.next, seq: view.sent })
  view.next = null
  clearTimeout(view.patience)
  view.patience = setTimeout(() => {
    view.waiting = false
    post(view)
  }, PATIENCE)
}

/** @param {Dragged} view */
export function ended(view) {
  clearTimeout(view.timer)
  clearTimeout(view.patience)
}

// Follow a pointer that took `node` until it lets go.
/**
 * @param {HTMLElement} node
 * @param {PointerEvent} event
 * @param {(event: PointerEvent) => void} moved
 * @param {() => void} dropped
 */
export function follow(node, event, moved, dropped) {
  node.focus({ preventScroll: true })
  node.setPointerCapture(event.pointerId)
  event.preventDefault()
  node.onpointermove = moved
  node.onpointerup = node.onpointercancel = node.onlostpointercapture = () => {
    node.onpointermove = node.onpointerup = node.onpointercancel = node.onlostpointercapture = null
    dropped()
  }
}
