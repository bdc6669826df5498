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

/** @param {Component<CopyLinkData>} component */
export default function (component) {
  const { data, parentElement } = component
  oneEntryEach(window.history)
  /** @param {string} name */
  const find = name => /** @type {HTMLElement} */ (parentElement.querySelector(name))
  const button = find(".copy")
  const words = find(".words")
  const status = find(".status")
  const field = /** @type {AddressField} */ (find(".address"))

  const address = () => {
    const url = new URL(window.location.href)
    url.hash = ""
    for (const name of ["embed", "embed_options", "figure"]) url.searchParams.delete(name)
    for (const [name, value] of Object.entries(data.always)) {
      if (!url.searchParams.has(name)) url.searchParams.set(name, value)
    }
    url.searchParams.set("v", data.version)
    return url.toString()
  }

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

  // No clipboard without https, or when the browser refuses: show the address, selected, ready for Ctrl+C.
  /** @param {string} link */
  const offer = link => {
    field.hidden = false
    field.value = link
    field.focus()
    field.select()
    let copied = false
    try {
      copied = document.execCommand("copy")
    } catch {}
    field.hidden = copied
    if (copied) say("Link copied", "Link copied")
    else say("Press Ctrl+C", "The link is selected. Press Control C to copy it.")
  }

  field.onblur = () => (field.hidden = true)
  button.onclick = async () => {
    const link = address()
    try {
      await navigator.clipboard.writeText(link)
      say("Link copied", "Link copied")
    } catch {
      offer(link)
    }
  }
}
