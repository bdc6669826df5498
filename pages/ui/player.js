// Steps a control: back, forward, or on and on. The next step is asked for only when the page has shown the one before,
// so a slow server is never asked for more than one at a time.
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  const group = parentElement.querySelector(".player")
  const [back, play, forward] = group.querySelectorAll("button")
  group.setAttribute("aria-label", data.label)

  const go = to => setTriggerValue("to", Math.min(Math.max(to, data.low), data.high))
  const next = () => (data.value < data.high ? data.value + data.step : data.low)
  const wait = () => {
    clearTimeout(group.timer)
    if (group.playing) group.timer = setTimeout(() => go(next()), data.period)
  }
  const set = playing => {
    group.playing = playing
    play.setAttribute("aria-pressed", String(playing))
    play.setAttribute("aria-label", playing ? "Pause" : "Play")
    play.querySelector(".words").textContent = playing ? "Pause" : "Play"
    clearTimeout(group.timer)
  }

  back.disabled = data.value <= data.low
  forward.disabled = data.value >= data.high
  back.onclick = () => (set(false), go(data.value - data.step))
  forward.onclick = () => (set(false), go(data.value + data.step))
  play.onclick = () => {
    set(!group.playing)
    if (group.playing) go(next())
  }
  group.onkeydown = event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return
    const by = { ArrowLeft: -data.step, ArrowRight: data.step }[event.key]
    if (!by) return
    event.preventDefault()
    set(false)
    go(data.value + by)
  }
  wait()
  return () => clearTimeout(group.timer)
}
