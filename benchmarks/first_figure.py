"""From the address to the first drawn figure in Chromium: pages of the app, and a page of Streamlit with one chart."""

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

ROUNDS = {"residuals": 9, "heads": 9, "positions": 9}  # page -> rounds
PATIENCE = 60_000  # milliseconds
# The moment at which plotly's picture has marks in it, in milliseconds since the address was asked for.
DRAWN = """
const look = () => document.querySelector(".js-plotly-plot .main-svg :is(.trace, .hm, .plot > g > g)")
  ? (window.drawn = performance.now()) : requestAnimationFrame(look)
requestAnimationFrame(look)
"""


@dataclass(frozen=True, slots=True)
class First:
    """One line of the table.

    Args:
        page: of the app.
        seconds: median time of the page and of the plain one, in a window without a past.
        to_plain: the page over the plain one; median of the ratios in the same round.
    """

    page: str
    seconds: dict[str, float]
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
    seconds: Seconds = {name: [] for name in addresses}
    for _ in range(rounds):
        for name, address in addresses.items():
            seconds[name].append(opened(browser, address))
    times = {name: round(median(found), 2) for name, found in seconds.items()}
    return First(page, times, round(ratio(seconds, "page", "plain"), 2))


def opened(browser: Browser, address: str) -> float:
    """Seconds until the first figure is drawn."""
    context = browser.new_context(viewport={"width": 1440, "height": 900}, bypass_csp=True)
    try:
        page = context.new_page()
        page.add_init_script(DRAWN)
        page.goto(address)
        page.wait_for_function("window.drawn", timeout=PATIENCE)
        return float(page.evaluate("window.drawn")) / 1000
    finally:
        context.close()


def table(result: Mapping[str, Any]) -> str:
    """The rows as a Markdown table."""
    heads = ["page", "page / plain page", "s: page, plain page"]
    rows = []
    for row in result["rows"]:
        seconds = row["seconds"]
        rows.append([row["page"], f"{row['to_plain']:.2f}", f"{seconds['page']:.2f}, {seconds['plain']:.2f}"])
    what = "From the address to the first drawn figure; warm servers, a window without a past, Chromium"
    return results.table(heads, rows, what, result)
