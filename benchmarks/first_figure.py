"""From the address to the first picture and to the first drawn figure in Chromium: pages of the app, and a page of
Streamlit with one chart."""

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from benchmarks import results
from benchmarks.servers import APP, PLAIN, serving
from benchmarks.timing import Seconds, ratio
from tests.e2e.windows import find_chromium

ROUNDS = {"residuals": 9, "heads": 9, "positions": 9, "attention": 9}  # page -> rounds
PATIENCE = 60_000  # milliseconds
# The moments at which the picture that is sent with the HTML is there, and at which the live one has marks in it, in
# milliseconds since the address was asked for.
DRAWN = """
const look = () => {
  if (!window.shown && document.querySelector("#tf-first img")?.naturalWidth) window.shown = performance.now()
  const plotly = ".js-plotly-plot .main-svg :is(.trace, .hm, .plot > g > g)"
  const marks = document.querySelector(plotly + ", .tf-river path[d], .tf-planes [role=slider]")
  if (marks) window.drawn = performance.now()
  else requestAnimationFrame(look)
}
requestAnimationFrame(look)
"""


@dataclass(frozen=True, slots=True)
class First:
    """One line of the table.

    Args:
        page: of the app.
        seconds: median time of the first picture, of the figure and of the plain page's, in a window without a past.
        first_to_plain, to_plain: the first picture and the figure over the plain page's; medians of the ratios in the
            same round.
    """

    page: str
    seconds: dict[str, float]
    first_to_plain: float
    to_plain: float


def measure(rounds: dict[str, int] | None = None, device: str = "cpu") -> list[First]:
    """Open each page in turn with the plain one; the servers are warm."""
    if device != "cpu":
        return []
    with ExitStack() as stack:
        app = stack.enter_context(serving(APP, "/healthz"))
        plain = stack.enter_context(serving(PLAIN, "/_stcore/health"))
        browser = stack.enter_context(chromium())
        return [line(browser, app.address, plain.address, page, n) for page, n in (rounds or ROUNDS).items()]


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser, closed afterwards."""
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=find_chromium(os.environ), args=["--disable-gpu"])
        yield running
        running.close()


def line(browser: Browser, app: str, plain: str, page: str, rounds: int) -> First:
    """Both pages, once before and then in turns."""
    addresses = {"page": f"{app}/{page}", "plain": plain}
    for address in addresses.values():
        opened(browser, address)
    seconds: Seconds = {"first": [], "page": [], "plain": []}
    for _ in range(rounds):
        for name, address in addresses.items():
            shown, drawn = opened(browser, address)
            seconds[name].append(drawn)
            if name == "page":
                seconds["first"].append(shown)
    times = {name: round(median(found), 2) for name, found in seconds.items()}
    return First(page, times, round(ratio(seconds, "first", "plain"), 2), round(ratio(seconds, "page", "plain"), 2))


def opened(browser: Browser, address: str) -> tuple[float, float]:
    """Seconds until the first picture is there, which is the figure where none is sent, and until that is drawn."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True)
    try:
        page = context.new_page()
        page.add_init_script(DRAWN)
        page.goto(address)
        page.wait_for_function("window.drawn", timeout=PATIENCE)
        shown, drawn = page.evaluate("[window.shown || window.drawn, window.drawn]")
        return shown / 1000, drawn / 1000
    finally:
        context.close()


def table(result: Mapping[str, Any]) -> str:
    """The rows as a Markdown table."""
    heads = ["page", "first picture / plain page", "figure / plain page", "s: first picture, figure, plain page"]
    rows = []
    for row in result["rows"]:
        seconds = ", ".join(f"{row['seconds'][name]:.2f}" for name in ("first", "page", "plain"))
        rows.append([row["page"], f"{row['first_to_plain']:.2f}", f"{row['to_plain']:.2f}", seconds])
    what = "From the address to the first picture and figure; warm servers, a window without a past, Chromium"
    return results.table(heads, rows, what, result)
