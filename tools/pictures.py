"""The pictures of the running app: `make pictures`, or `python -m tools.pictures heads masks readme` for some of them.

Those of link previews are the first figure of a page in its default view under the page's title, 1200 by 630 as link
previews want it; pages without one are taken as they are. The README's is the whole window with the page on the flow.
"""

import io
import os
import sys

from PIL import Image
from playwright.sync_api import Page, ViewportSize, sync_playwright

from pages.ui import streamlit_internals
from pages.ui.server import previews
from tests.e2e.serving import PYTHON_APP, serve
from tests.e2e.visitor import Visitor
from tests.e2e.windows import FLAGS, find_chromium

COLOURS = 32
README, SHOWN = "readme", "flow"  # the README's picture: its name here, and its page
AS_THEY_ARE = ("", "glossary", README)  # pages without a figure, and the whole window
WINDOW: ViewportSize = {"width": 1440, "height": 1288}
CARD: ViewportSize = {"width": previews.WIDTH, "height": previews.HEIGHT}
SCALE = 5 / 6  # of the README's window, whose picture is 1200 pixels wide
PATIENCE = 25_000  # milliseconds for pages that train before one looks
# The component of the first figure, under a title, over everything else; it is made larger or smaller, or cut off.
COMPOSE = """([title, site, app]) => {
  const river = document.querySelector(".tf-river"), figure = river || document.querySelector(".tf-figure")
  const box = river || figure.closest('[class*="-figure"][class*="st-key-"]')
  const over = document.createElement("div"), head = document.createElement("h1"), small = document.createElement("div")
  over.style = "position:fixed;inset:0;z-index:9999999;overflow:hidden;padding:36px 48px;box-sizing:border-box;" +
    "display:flex;flex-direction:column;" +
    "background:" + getComputedStyle(document.querySelector(app)).backgroundColor
  small.textContent = site
  small.style = "font-size:26px;opacity:.7"
  head.textContent = title
  head.style = "font-size:56px;line-height:1.1;margin:0 0 20px;padding:0"
  figure.querySelector(".tf-foot, .tf-river-foot").remove()
  const least = river ? river.clientWidth : parseInt(figure.querySelector(".tf-picture").style.minWidth) || 1
  box.style.zoom = Math.max(0.6, Math.min(2, 455 / figure.clientHeight, 1100 / least))
  box.style.margin = "auto 0"
  over.append(small, head, box)
  document.querySelector(app).append(over)
}"""


def small(shot: bytes) -> bytes:
    """The picture with few colours: words, lines and areas need no more."""
    packed = io.BytesIO()
    image = Image.open(io.BytesIO(shot)).convert("RGB")
    few = image.quantize(COLOURS, method=Image.Quantize.MAXCOVERAGE, kmeans=2, dither=Image.Dither.NONE)
    few.save(packed, "PNG", optimize=True)
    return packed.getvalue()


def shoot(page: Page, server: str, url: str) -> bytes:
    """One page's picture as the browser sees it."""
    visitor = Visitor(page, server)
    page.goto(f"{server}/{SHOWN if url == README else f'{url}?embed=true'}")
    visitor.settle()
    page.locator(".tf-river-buttons button", has_text="Pause").wait_for(state="detached")  # the wave is over
    if url not in AS_THEY_ARE:
        page.wait_for_selector(".tf-picture .js-plotly-plot .main-svg, .tf-river path", state="attached")
        if page.locator(streamlit_internals.PROGRESS).count():
            page.wait_for_timeout(PATIENCE)
        visitor.settle()
        page.evaluate(COMPOSE, [previews.pages()[url].title, previews.site(), streamlit_internals.APP])
    page.wait_for_timeout(2000)  # the figure finds its new width, and the fonts are there
    return page.screenshot()


def main(names: list[str]) -> None:
    """Take the pictures of these pages, or all."""
    files = {url: previews.PICTURES / f"{url or previews.HOME}.png" for url in previews.pages()}
    files[README] = previews.PICTURES.parent / "screenshot.png"
    previews.PICTURES.mkdir(exist_ok=True)
    with serve(*PYTHON_APP) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(os.environ), args=FLAGS)
        for url, file in files.items():
            if names and (url or previews.HOME) not in names:
                continue
            size, scale = (WINDOW, SCALE) if url == README else (CARD, 1)
            window = browser.new_context(viewport=size, device_scale_factor=scale, color_scheme="light")
            window.set_default_timeout(120_000)
            kept = small(shoot(window.new_page(), server, url))
            file.write_bytes(kept)
            sys.stdout.write(f"{url or previews.HOME}: {len(kept):,} bytes\n")
            window.close()
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
