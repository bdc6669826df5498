// The first picture of a page in its default view, as it was when `make pictures` took it, in sight while the page is
// being built. It goes when the live one is drawn, or at the first move of whoever waits. Where the server knows the
// figure itself, plotly draws it here in place of the picture, and figure.js moves it into the page.
{
  const place = document.getElementById("tf-first")
  const COLUMN = { left: 380, width: 980 } // pixels of the main column where the pictures were taken
  const SIDEBAR = 300
  const PATIENCE = 15_000 // ms
  const MOVES = ["wheel", "touchmove", "keydown", "pointerdown", "resize", "popstate"]
  const SOON = 150 // ms, of the way out

  // The theme that this visitor chose, or that of the system.
  const theme = () => {
    const key = Object.keys(localStorage).find(one => one.startsWith(place?.dataset.theme || ""))
    const said = /"(?:name|base)":"(dark|light)"/i.exec((key && localStorage.getItem(key)) || "")
    return said ? said[1].toLowerCase() : matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"
  }

  // Have the figure drawn in the frame; whether it was.
  /** @param {HTMLElement} frame @param {string} figure @param {string} code */
  async function ahead(frame, figure, code) {
    const [bytes, { begin }] = await Promise.all([
      fetch(figure).then(answer => (answer.ok ? answer.arrayBuffer() : Promise.reject(answer.status))),
      import(new URL(code, location.href).href),
      typeface(),
    ])
    return begin(frame, new Uint8Array(bytes), theme())
  }

  // The typeface that Streamlit names later, from the file that its page fetches at once.
  async function typeface() {
    const link = /** @type {HTMLLinkElement | null} */ (document.querySelector('link[rel="preload"][as="font"]'))
    if (link) document.fonts.add(await new FontFace("Source Sans", `url(${link.href})`, { weight: "200 900" }).load())
  }

  /** @param {HTMLElement} box @param {string} size */
  function show(box, size) {
    const [x, y, w, h] = (box.dataset[size] || "").split(" ").map(Number)
    const margin = matchMedia("(max-height: 800px) and (min-width: 1000px)").matches ? 40 : 80 // streamlit_internals.css
    const across = size === "wide" ? (innerWidth - SIDEBAR - 2 * margin) / COLUMN.width : innerWidth / 390
    const left = size === "wide" ? SIDEBAR + margin + (x - COLUMN.left) * across : x * across
    const frame = document.createElement("div")
    frame.style.cssText = `position:fixed;z-index:1000;overflow:hidden;transition:opacity ${SOON}ms;` +
      `left:${left}px;top:${y}px;width:${w * across}px;height:${h}px;pointer-events:none` // the page below is in use already
    const picture = new Image()
    picture.alt = ""
    picture.fetchPriority = "high"
    picture.style.cssText = "position:absolute;width:100%;height:100%;pointer-events:none"
    if (box.dataset.from) {
      picture.src = `${box.dataset.from}-${size}-${theme()}.webp`
      frame.append(picture)
    }
    box.append(frame)
    if (box.dataset.figure) ahead(frame, box.dataset.figure, box.dataset.code || "").then(there => there && picture.remove(), () => {})
    const gone = () => {
      for (const move of MOVES) removeEventListener(move, gone, true)
      box.remove()
    }
    for (const move of MOVES) addEventListener(move, gone, { capture: true, passive: true })
    const until = performance.now() + PATIENCE
    const look = () => {
      if (!box.isConnected) return
      if (performance.now() > until) gone()
      else if (!document.querySelector(box.dataset.drawn || "")) requestAnimationFrame(look)
      else {
        frame.style.opacity = "0"
        setTimeout(gone, SOON)
      }
    }
    look()
  }

  if (place) {
    const size = innerWidth >= 1240 && innerWidth <= 1700 ? "wide" : innerWidth >= 340 && innerWidth <= 480 ? "narrow" : ""
    if (size && place.dataset[size] && !location.search) show(place, size)
    else place.remove()
  }
}
