// Copies the address the browser shows: the bound controls keep it up to date without asking the server.

// Streamlit adds one history entry for each parameter that Python changes: a button that sets five controls would take
// five presses of Back. Entries for the same page within a second become one. Between the click on a link and the page
// it leads to, entries for the page that is left are none at all: its own, with its view, is there already.
/** @param {History} history */
const oneEntryEach = history => {
  if (history.oneEntryEach) return
  history.oneEntryEach = true
  const push = history.pushState.bind(history)
  let last = -Infinity, leaving = -Infinity
  addEventListener("click", event => {
    const nodes = /** @type {Element[]} */ (event.composedPath())
    const link = /** @type {HTMLAnchorElement | undefined} */ (nodes.find(node => node.matches?.("a[href]")))
    const elsewhere = link && !link.target && new URL(link.href).pathname !== location.pathname
    if (elsewhere && event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey) leaving = event.timeStamp
  }, true)
  history.pushState = (state, title, address) => {
    const samePage = new URL(address ?? "", location.href).pathname === location.pathname
    const now = performance.now()
    if (samePage && now - leaving < 5000) return
    leaving = -Infinity
    if (samePage && now - last < 1000) history.replaceState(state, title, address)
    else push(state, title, address)
    last = now
  }
}

// What Python told at the end of the last run; see view_told.js.
/** @returns {ViewTold} */
const told = () => JSON.parse(document.documentElement.dataset.viewTold ?? '{"names":[],"examples":[],"model":null}')

const LINK = "This link carries the text you typed, and addresses are kept in logs and histories."
const SHEET = "The address in this file carries the text you typed."

/** Names of the address whose texts are the visitor's own. @param {URL} url */
const ownTexts = url => {
  const { names, examples } = told()
  const own = /** @param {string} name */ name => {
    const value = url.searchParams.get(name)
    return value !== null && !examples.some(([example, text]) => example === name && text === value)
  }
  return names.filter(own)
}

// What a person sees who has not typed anything private: what the page calls itself, what it warns of, its figures.
const seen = () => {
  const words = /** @param {string} name */ name =>
    [...document.querySelectorAll(name)].map(node => (node.getAttribute("aria-label") ?? node.textContent ?? "").trim())
  const lines = [...words('[role="alert"]'), ...words('.tf-figure [role="img"]').slice(0, 3)]
  return lines.filter(Boolean).map(line => `- ${line.slice(0, 300)}`)
}

/** @param {Component<CopyLinkData>} component */
export default function (component) {
  const { data, parentElement, setTriggerValue } = component
  oneEntryEach(window.history)
  /** @param {string} name */
  const find = name => /** @type {HTMLElement} */ (parentElement.querySelector(name))
  const button = find(".copy"), words = find(".words"), status = find(".status")
  const more = find(".more"), menu = find(".menu"), own = find(".own")
  const field = /** @type {AddressField} */ (find(".address"))

  /** @param {string[]} without names that the address leaves out */
  const address = (without = []) => {
    const url = new URL(window.location.href)
    url.hash = ""
    for (const name of ["embed", "embed_options", "figure", ...without]) url.searchParams.delete(name)
    for (const [name, value] of Object.entries(data.always)) {
      if (!url.searchParams.has(name)) url.searchParams.set(name, value)
    }
    url.searchParams.set("v", data.version)
    return url.toString()
  }

  window.viewLink = { address, own: () => ownTexts(new URL(location.href)) } // what saved pictures carry

  /** @param {string} short @param {string} long */
  const say = (short, long) => {
    words.textContent = short
    button.classList.add("said")
    status.textContent = long
    clearTimeout(field.timer)
    field.timer = setTimeout(() => {
      words.textContent = "Copy link"
      button.classList.remove("said")
      status.textContent = ""
    }, 2500)
  }

  // No clipboard without https, or when the browser refuses: show what is to be copied, selected, ready for Ctrl+C.
  /** @param {string} text @param {string} what */
  const offer = (text, what) => {
    field.hidden = false
    field.value = text
    field.setAttribute("aria-label", what === "Link" ? "Address of this view" : "Report of this view")
    field.focus()
    field.select()
    let copied = false
    try {
      copied = document.execCommand("copy")
    } catch {}
    field.hidden = copied
    if (copied) say(`${what} copied`, `${what} copied`)
    else say("Press Ctrl+C", `The ${what.toLowerCase()} is selected. Press Control C to copy it.`)
  }

  /** @param {string} text @param {string} what */
  const copy = async (text, what) => {
    try {
      await navigator.clipboard.writeText(text)
      say(`${what} copied`, `${what} copied`)
    } catch {
      offer(text, what)
    }
  }

  /** @param {HTMLElement} panel @param {boolean} shown */
  const show = (panel, shown) => {
    const { bottom, right } = more.getBoundingClientRect()
    Object.assign(panel.style, { top: `${bottom + 6}px`, right: `${document.documentElement.clientWidth - right}px` })
    panel.hidden = !shown
    if (shown) panel.showPopover?.()
    else panel.hidePopover?.()
    if (panel === menu) more.setAttribute("aria-expanded", String(shown))
  }
  const close = () => {
    if (!menu.hidden) show(menu, false)
    if (!own.hidden) show(own, false)
  }

  // Where what was copied or saved carries the visitor's own text: offers it without.
  /** @param {string} sentence @param {string} offered @param {(without: string[]) => void} again */
  const warn = (sentence, offered, again) => {
    const texts = ownTexts(new URL(location.href))
    find(".carries").textContent = sentence
    find(".without").textContent = offered
    find(".without").onclick = () => {
      close()
      button.focus()
      again(texts)
    }
    show(own, texts.length > 0)
  }

  const report = () => {
    const private_ = ownTexts(new URL(location.href))
    const left = private_.length ? [`Text: the visitor's own, left out (${private_.join(", ")})`] : seen().length ? ["Seen:", ...seen()] : []
    return [
      "What I did, what I expected, what I saw instead:",
      "",
      "",
      `Page: ${document.querySelector("h1")?.textContent ?? document.title}`,
      `Address: ${address(private_)}`,
      `Version: ${data.app}`,
      `Model: ${told().model ?? "none"}`,
      `Browser: ${navigator.userAgent}, ${window.innerWidth} × ${window.innerHeight}`,
      ...left
    ].join("\n")
  }

  field.onblur = () => (field.hidden = true)
  button.onclick = async () => {
    close()
    await copy(address(), "Link")
    warn(LINK, "Copy without the text", without => copy(address(without), "Link"))
  }
  more.onclick = () => {
    const opening = menu.hidden
    close()
    find(".sheet").hidden = !document.querySelector(".tf-figure, .tf-scene")
    if (opening) show(menu, true)
    if (opening) find(".anew").focus()
  }
  find(".anew").onclick = () => {
    close()
    more.focus()
    say("As at first", "The settings are as they were at first")
    setTriggerValue("anew", true)
  }
  /** @param {string[]} without */
  const sheet = without => void dispatchEvent(new CustomEvent("tf-sheet", { detail: without })) // see saving.js
  find(".sheet").onclick = () => {
    close()
    more.focus()
    sheet([])
    warn(SHEET, "Save without the text", sheet)
  }
  find(".report").onclick = async () => {
    close()
    more.focus()
    await copy(report(), "Report")
  }
  parentElement.onkeydown = event => {
    if (event.key !== "Escape" || (menu.hidden && own.hidden)) return
    const back = menu.hidden ? button : more
    close()
    back.focus()
  }
  // Whoever goes on to something else on the page has no more use for them.
  /** @param {FocusEvent} event */
  const left = event => {
    const to = /** @type {Node | null} */ (event.relatedTarget)
    if (to !== null && !parentElement.contains(to)) close()
  }
  /** @param {Event} event */
  const elsewhere = event => {
    if (!event.composedPath().some(node => node === menu || node === own || node === more)) close()
  }
  parentElement.addEventListener("focusout", left)
  addEventListener("pointerdown", elsewhere)
  addEventListener("scroll", close, true)
  return () => {
    parentElement.removeEventListener("focusout", left)
    removeEventListener("pointerdown", elsewhere)
    removeEventListener("scroll", close, true)
  }
}
