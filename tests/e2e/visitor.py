"""One person at one window: opens pages, waits for them, reads what is drawn, and notes all that went wrong."""

import json
import re
import time
from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import ConsoleMessage, Error, Locator, Page, Request, Response, expect

from pages.facts import pages
from pages.ui import links
from tests.e2e.serving import SECONDS

# What each page draws last; a page is there when this is.
LAST = {f"/{key}": "How it is computed" for key in pages()} | {
    "/": "arXiv:2209.11895",
    "/lessons": "and nowhere else",
    "/teachers": "and kept nowhere",
    "/positions": "See the shuffle test",
}
WITHOUT_FIGURES = ("/", "/flow", "/glossary", "/lessons", "/teachers")  # of Plotly, in sight at first
CHARACTERS = {"/heads": 3_000}  # of a text that count; elsewhere MOST_CHARACTERS
MOST_CHARACTERS = 2_000
BEGINNINGS = ("/masks",)  # pages that read the beginning of a text that is too long; others read its end


def kept(address: str, text: str) -> str:
    """The part of a text that the box of a page keeps."""
    path = urlsplit(address).path
    most = CHARACTERS.get(path, MOST_CHARACTERS)
    return text[:most] if path in BEGINNINGS else text[-most:]


NO_TEXT = "There is no text yet"

IDLE = """last => {
  const app = document.querySelector('[data-testid="stApp"]')
  const main = document.querySelector('[data-testid="stMain"]')
  const places = [...document.querySelectorAll('[class*="st-key-"]')].filter(
    place => place.clientWidth && [...place.classList].some(name => /^st-key-.*-figure$/.test(name)))
  return app?.dataset.testScriptState === "notRunning" && main?.innerText.includes(last)
    && !main.querySelector('[data-testid="stSkeleton"]')
    && places.every(place => place.querySelector(".tf-picture .js-plotly-plot .main-svg"))
}"""
# Nothing is computed, trained or about to be, and nothing is fading.
STILL = """() => document.querySelector('[data-testid="stApp"]')?.dataset.testScriptState === "notRunning"
  && !document.querySelector('[data-stale="true"], [data-testid="stMain"] .st-key-stop-button')
  && !document.getAnimations().some(a => a.playState === "running" && a.effect.getTiming().iterations === 1)"""
# Resolves once what is on the page has kept its place for ten frames: a pointer then meets what it aims at.
STEADY = """() => new Promise(resolve => {
  const main = document.querySelector('[data-testid="stMain"]')
  let last = -1, same = 0
  const look = () => {
    same = main.scrollHeight === last ? same + 1 : 0
    last = main.scrollHeight
    same < 10 ? requestAnimationFrame(look) : resolve()
  }
  look()
})"""
# Whether a function came true in so many milliseconds.
ASKED = """([arg, patience]) => new Promise((resolve, reject) => {{
  const end = performance.now() + patience
  const look = () => {{
    try {{
      const said = Boolean(({test})(arg))
      said || performance.now() > end ? resolve(said) : requestAnimationFrame(look)
    }} catch (problem) {{
      reject(problem)
    }}
  }}
  look()
}})"""
# What plotly holds, after its own decoding: types, numbers, words.
DRAWN = """plot => JSON.stringify(plot._fullData.map(t => ({
  type: t.type, z: t.z && Array.from(t.z, row => Array.from(row)), x: t.x && Array.from(t.x), y: t.y && Array.from(t.y),
  text: t.text, opacity: t.opacity, width: t.line?.width
})))"""
PLOT = ".st-key-{}-figure .tf-figure .js-plotly-plot"
# Where on the screen the mark with this customdata is.
MARK = """(plot, wanted) => {
  for (const trace of plot._fullData) {
    const at = (trace.customdata || []).findIndex(c => JSON.stringify(Array.from(c)) === JSON.stringify(wanted))
    if (at < 0) continue
    const { xaxis, yaxis } = plot._fullLayout, box = plot.getBoundingClientRect()
    return [box.left + xaxis._offset + xaxis.d2p(trace.x[at]), box.top + yaxis._offset + yaxis.d2p(trace.y[at])]
  }
  throw new Error(`no mark ${wanted}`)
}"""
CELL = """(plot, [x, y]) => {
  const { xaxis, yaxis } = plot._fullLayout, box = plot.getBoundingClientRect()
  return [box.left + xaxis._offset + xaxis.d2p(x), box.top + yaxis._offset + yaxis.d2p(y)]
}"""
# Scrolls so that what is that far below the window's upper end is seen.
SHOW = """y => y > 60 && y < innerHeight - 60
  || document.querySelector('[data-testid="stMain"]').scrollBy({ top: y - innerHeight / 2, behavior: "instant" })"""
FOCUS = """() => {
  let at = document.activeElement
  while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement
  return `${at.closest('[class*="st-key-"]')?.className ?? ""} ${at.className} ${at.tagName} ${at.innerText ?? ""}`
}"""


class Visitor:
    """A page in a browser context of its own."""

    def __init__(self, page: Page, address: str) -> None:
        self.page, self.address = page, address
        self.complaints: list[str] = []
        page.add_init_script("window.alert = words => console.error('a script of the visitor ran: ' + words)")
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.complaints.append(f"uncaught: {error}"))
        page.on("requestfailed", self._failed)
        page.on("response", self._answered)

    def _console(self, message: ConsoleMessage) -> None:
        # A failed load is reported by _answered as well, with its address.
        if message.type == "error" and not message.text.startswith("Failed to load resource"):
            self.complaints.append(f"console: {message.text}")

    def _failed(self, request: Request) -> None:
        if request.failure != "net::ERR_ABORTED":  # a page that is left stops loading
            self.complaints.append(f"failed: {request.url} {request.failure}")

    def _answered(self, response: Response) -> None:
        if response.status >= 400:
            self.complaints.append(f"{response.status}: {response.url}")

    def check(self) -> None:
        """Nothing went wrong until now: no complaint of the browser, no traceback on the page."""
        shown = self.page.get_by_test_id("stException").all_inner_texts()
        assert not self.complaints + shown, "\n".join(self.complaints + shown)

    def leave(self) -> None:
        """Check, and close the window."""
        self.check()
        self.page.context.close()

    def forget(self) -> None:
        """Be as new: no page, no complaint, nothing kept or permitted."""
        self.page.evaluate("try { localStorage.clear(); sessionStorage.clear() } catch {}")
        self.page.context.clear_cookies()
        self.page.context.clear_permissions()
        self.page.goto("about:blank")
        self.complaints.clear()

    # ---- moving about ----

    def open(self, path: str, last: str = "") -> "Visitor":
        """Go to an address and wait until the page is complete."""
        self.page.goto(self.address + path, wait_until="commit")
        where = urlsplit(path).path
        self.settle(last or LAST[where])
        if not last and where not in WITHOUT_FIGURES:  # the others show one, which may come after the words
            self.page.wait_for_selector(".tf-picture .js-plotly-plot .main-svg", state="attached")
            self.settle(LAST[where])
        self.page.evaluate(STEADY)
        return self

    def wait_until(self, test: str, arg: Any = None, seconds: float = SECONDS) -> None:
        """Wait until a JavaScript function gives a true value for `arg`; it is asked at every frame.

        Playwright's own wait_for_function compiles a text within the page, which the app's policy forbids.
        """
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            try:
                if self.page.evaluate(ASKED.format(test=test), [arg, 1000 * left]):
                    return
            except Error as problem:
                if "Execution context was destroyed" not in problem.message:  # the page is being replaced by another
                    raise
        raise AssertionError(f"not true within {seconds:.0f} s: {test} for {arg!r}")

    def settle(self, last: str = "") -> None:
        """Wait until the script is idle, what the page draws last is there, and every figure is drawn."""
        self.wait_until(IDLE, last)

    def wait_until_still(self) -> None:
        """Wait until whatever trains here has ended, and nothing fades from one state into the next."""
        self.wait_until(STILL, seconds=2 * SECONDS)

    def box(self) -> Locator:
        """The box for the text."""
        return self.page.locator(".st-key-text textarea")

    def paste(self, text: str, last: str = "") -> None:
        """Put a text into the box, and wait until the page was computed with it: the address then says so."""
        self.box().fill(text)
        self.box().press("Control+Enter")
        self.wait_for_address(**links.text_parameters("text", kept(self.page.url, text)))
        self.settle(last)

    def choose(self, key: str, option: str) -> None:
        """Take an option of a dropdown. It is brought into view first: scrolling closes an open one."""
        dropdown = self.page.locator(f".st-key-{key}").get_by_role("combobox")
        dropdown.scroll_into_view_if_needed()
        self.wait_until_still()
        dropdown.click()
        self.page.get_by_role("option", name=option).click()

    def more_settings(self, key: str) -> None:
        """Open the settings among which a control is."""
        for button in self.page.get_by_role("button", name="More settings").all():
            button.click()
            self.page.get_by_test_id("stPopoverBody").wait_for()
            if self.page.locator(f".st-key-{key}").count():
                return
            self.page.keyboard.press("Escape")
        raise AssertionError(f"{key} is not among the settings")

    def wait_for_address(self, **said: str) -> None:
        """Wait until the address says these values."""
        self.wait_until(
            "said => { const now = new URLSearchParams(location.search);"
            " return Object.entries(said).every(([key, value]) => now.get(key) === value) }",
            said,
        )

    def said(self) -> dict[str, str]:
        """What the address says now."""
        query = urlsplit(self.page.url).query
        return {key: values[-1] for key, values in parse_qs(query, keep_blank_values=True).items()}

    # ---- what is on the page ----

    def control(self, key: str) -> Locator:
        """A slider: what has focus and takes the arrow keys."""
        return self.page.locator(f".st-key-{key}").get_by_role("slider")

    def figure(self, name: str) -> Locator:
        return self.page.locator(f".st-key-{name}-figure .tf-figure")

    def plot(self, name: str) -> Locator:
        return self.figure(name).locator(".js-plotly-plot")

    def drawn(self, name: str) -> str:
        """What plotly holds of a figure, as JSON: equal if and only if the same numbers and words are drawn."""
        return str(self.plot(name).evaluate(DRAWN))

    def traces(self, name: str) -> list[dict[str, Any]]:
        """The same, taken apart."""
        return list(json.loads(self.drawn(name)))

    def expect_drawing(self, name: str, same: str | None = None, unlike: str | None = None) -> str:
        """Wait until a figure shows these data, or others than these."""
        test = f"""([place, same, unlike]) => {{
          const plot = document.querySelector(place)
          if (!plot?._fullData) return false // it is just being drawn
          const now = ({DRAWN})(plot)
          return same ? now === same : now !== unlike
        }}"""
        self.wait_until(test, [PLOT.format(name), same, unlike])
        return self.drawn(name)

    def expect_change(self, before: dict[str, str]) -> None:
        """Wait until one of these figures at least shows other data."""
        test = f"""([places, before]) => places.some((place, i) => {{
          const plot = document.querySelector(place)
          return plot?._fullData && ({DRAWN})(plot) !== before[i]
        }})"""
        self.wait_until(test, [[PLOT.format(name) for name in before], list(before.values())])

    def names(self) -> list[str]:
        """The figures on this page, but for those in a closed expander."""
        place = self.page.locator('[class*="st-key-"]:has(.tf-figure):not(details:not([open]) *)')
        found = place.evaluate_all("all => all.map(e => e.className)")
        return [name[1] for name in (re.search(r"st-key-(\S+)-figure", words) for words in found) if name]

    def click_mark(self, name: str, customdata: list[int]) -> None:
        """Click a figure where it draws the mark with this customdata."""
        plot = self.plot(name)
        plot.scroll_into_view_if_needed()
        self.page.mouse.click(*plot.evaluate(MARK, customdata))

    def click_cell(self, name: str, x: int, y: int) -> None:
        """Click a cell of a heatmap."""
        plot = self.plot(name)
        plot.scroll_into_view_if_needed()
        self.page.evaluate(SHOW, plot.evaluate(CELL, [x, y])[1])
        self.page.mouse.click(*plot.evaluate(CELL, [x, y]))

    def hover_cell(self, name: str, x: int, y: int) -> None:
        """Rest the pointer on a cell of a heatmap."""
        plot = self.plot(name)
        plot.scroll_into_view_if_needed()
        left, top = plot.evaluate(CELL, [x, y])
        self.page.mouse.move(left - 1, top - 1)
        self.page.mouse.move(left, top)

    def chips(self) -> Locator:
        return self.page.locator(".st-key-chips-chips .chip")

    def expect_title(self, words: str) -> None:
        """The closer head's own title; it begins with layer and head."""
        expect(self.page.get_by_role("heading", name=re.compile(f"^{re.escape(words)}"))).to_be_visible()

    def focused(self) -> str:
        """Where the keyboard is: the key of the control, class, tag and words of the element."""
        return str(self.page.evaluate(FOCUS))
