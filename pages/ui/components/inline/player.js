// Steps a control: back, forward, or on and on. The next step is asked for only when the page has shown the one before,
// so a slow server is never asked for more than one at a time.
const TAKES_ARROWS = `input, textarea, select, audio, video, [contenteditable], [role=slider], [role=radio], [role=radiogroup],
  [role=tab], [role=menu], [role=listbox], [role=combobox], [role=dialog], .tf-scroll, pre`

const SPEEDS = [1, 2, 0.5]

/** @param {Component<PlayerData>} component */
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const group = /** @type {PlayerGroup} */ (parentElement.querySelector(".player"))
  const words = /** @type {HTMLElement} */ (group.querySelector(".words"))
  const [back, play, forward, speed] = group.querySelectorAll("button")
  group.setAttribute("aria-label", data.label)

  const style = document.documentElement.dataset // where other parts of the page read it, too
  const rate = () => Number(style.tfSpeed) || 1
  /** @param {number} now */
  const hurry = now => {
    style.tfSpeed = String(now)
    speed.textContent = now + "×"
    speed.setAttribute("aria-label", `Speed ${now}`)
  }

  /** @param {number} to */
  const go = to => setTriggerValue("to", Math.min(Math.max(to, data.low), data.high))
  const next = () => (data.value < data.high ? data.value + data.step : data.low)
  const wait = () => {
    clearTimeout(group.timer)
    if (group.playing) group.timer = setTimeout(() => go(next()), data.period / (data.speeds ? rate() : 1))
  }
  /** @param {boolean} playing */
  const set = playing => {
    group.playing = playing
    play.setAttribute("aria-pressed", String(playing))
    play.setAttribute("aria-label", playing ? "Pause" : "Play")
    words.textContent = playing ? "Pause" : "Play"
    clearTimeout(group.timer)
  }

  speed.hidden = !data.speeds
  hurry(rate())
  speed.onclick = () => hurry(SPEEDS[(SPEEDS.indexOf(rate()) + 1) % SPEEDS.length])
  back.disabled = data.value <= data.low
  forward.disabled = data.value >= data.high
  back.onclick = () => (set(false), go(data.value - data.step))
  forward.onclick = () => (set(false), go(data.value + data.step))
  play.onclick = () => {
    set(!group.playing)
    if (group.playing) go(next())
  }
  /** @param {KeyboardEvent} event */
  const press = event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey) return
    const by = { ArrowLeft: -data.step, ArrowRight: data.step }[event.key]
    if (!by) return
    event.preventDefault()
    set(false)
    go(data.value + by)
  }
  group.onkeydown = press
  document.removeEventListener("keydown", group.listening)
  group.listening = event => {
    const element = /** @type {Element} */ (event.target)
    if (!event.defaultPrevented && !element.closest(TAKES_ARROWS)) press(event)
  }
  if (data.everywhere) document.addEventListener("keydown", group.listening)
  wait()
  return () => {
    if (parentElement.isConnected) return // Streamlit also calls this for a change that the next one overtook
    clearTimeout(group.timer)
    document.removeEventListener("keydown", group.listening)
  }
}
