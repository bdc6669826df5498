"""The pictures of the running app: `make pictures`, or `python -m tools.pictures heads masks readme` for some of them.

The first pictures of pages, which are sent with their HTML (see first_pictures.py), are taken by
`python -m tools.pictures first`, or `first heads masks`.

Those of link previews are the first figure of a page in its default view under the page's title, 1200 by 630 as link
previews want it; pages without one are taken as they are. The README's is the whole window with the page on the flow.
"""

import io
import json
import os
import sys
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from pages import facts
from pages.ui import streamlit_internals
from pages.ui.server import first_pictures, previews
from tests.e2e.serving import PYTHON_APP, serve
from tests.e2e.visitor import Visitor
from tests.e2e.windows import FLAGS, find_chromium
from tfcore.loading import real_models

COLOURS = 32
README, SHOWN = "readme", "flow"  # the README's picture: its name here, and its page
AS_THEY_ARE = ("", "glossary", "lessons", "teachers", README)  # pages without a figure, and the whole window
WINDOW: ViewportSize = {"width": 1440, "height": 1288}
CARD: ViewportSize = {"width": previews.WIDTH, "height": previews.HEIGHT}
SCALE = 5 / 6  # of the README's window, whose picture is 1200 pixels wide
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
  figure.querySelector(".tf-foot, .tf-river-buttons").remove()
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
            visitor.wait_until_still()  # a training has ended
        visitor.settle()
        page.evaluate(COMPOSE, [previews.pages()[url].title, facts.NAME, streamlit_internals.APP])
    page.wait_for_timeout(2000)  # the figure finds its new width, and the fonts are there
    return page.screenshot()


NO_FIRST = ("check", "glossary")  # without a figure
# Pages whose first picture is never the same, as they train (lab, balance, pitfalls) or show this machine's times or
# memory (kv-cache, modern, your-model): their place is kept alone, for the figure that the server saw last.
NO_PICTURE = ("lab", "balance", "pitfalls", "kv-cache", "modern", "your-model")
OTHER_REAL = {"pictures": "dinov2", "sound": "whisper"}  # pages that begin with another real model than REAL
# Pages that begin with the language model that is fetched, where it is there.
BEGIN_REAL = ("", "flow", "generation", "in-context", "probing")
REAL = "smollm2"
# On phones what stands above it has another height where there are no real models; the line of words is cut there.
ON_DESKTOPS = ("", "heads")
SIZES: dict[str, ViewportSize] = {"wide": {"width": 1440, "height": 900}, "narrow": {"width": 390, "height": 844}}
IN_SIGHT = 0.8  # of the window's height, at which a picture has to begin to be worth while
# What can be a first picture -> what is there once it is drawn.
KINDS = {
    ".tf-picture": ".tf-picture .main-svg",
    ".tf-river-scroll": ".tf-river path",
    ".tf-planes": ".tf-planes [role=slider]",
    ".tf-parts": ".tf-parts *",
    ".tf-bars": ".tf-bars *",
    ".tf-map": ".tf-map path",
    ".st-key-chips-chips": ".st-key-chips-chips",
}
# The first of them below the title, marked.
FIRST = """kinds => {
  const title = document.querySelector("h1").getBoundingClientRect().bottom
  const boxes = Object.keys(kinds).flatMap(kind => [...document.querySelectorAll(kind)].map(node => ({ kind, node })))
    .map(one => ({ ...one, box: one.node.getBoundingClientRect() }))
    .filter(({ box }) => box.top > title && box.width > 150 && box.height > 60).sort((a, b) => a.box.top - b.box.top)
  if (!boxes.length) return null
  const { kind, node, box } = boxes[0]
  node.setAttribute("data-first", "")
  const place = node.closest('[class*="-figure"][class*="st-key-"]')
  const [, figure] = /st-key-(\\S+)-figure/.exec(place?.className) || []
  const seen = node.closest(".tf-scroll")?.getBoundingClientRect() || box // of a wider one, what its box shows
  const left = Math.max(box.left, seen.left), width = Math.min(box.right, seen.right) - left
  const at = [left, box.top, width, box.height].map(one => Math.round(10 * one) / 10)
  return { drawn: kinds[kind], figure: (kind === ".tf-picture" && width === box.width && figure) || "", at }
}"""


def first(browser: Browser, server: str, url: str) -> dict[str, Any]:
    """Take the first picture of a page in both themes and sizes, where it is in sight; returns its place."""
    place: dict[str, Any] = {"model": OTHER_REAL.get(url, REAL if url in BEGIN_REAL else "")}
    for size, window in SIZES.items():
        if size == "narrow" and url in ON_DESKTOPS:
            continue
        for theme in first_pictures.THEMES:
            opened = browser.new_context(viewport=window, color_scheme="dark" if theme == "dark" else "light")
            opened.set_default_timeout(120_000)
            visitor = Visitor(opened.new_page(), server)
            visitor.page.goto(f"{server}/{url}")
            visitor.settle()
            visitor.page.locator(".tf-river-buttons button", has_text="Pause").wait_for(state="detached")
            visitor.page.wait_for_selector("#tf-first", state="detached")  # the picture that was there before
            if url in NO_PICTURE:
                visitor.wait_until_still()  # the work has ended
            visitor.page.wait_for_timeout(2000)
            found = visitor.page.evaluate(FIRST, KINDS)
            if found is not None and found["at"][1] < IN_SIGHT * window["height"]:
                x, y, width, height = found["at"]
                shown = min(height, window["height"] - y)
                if url not in NO_PICTURE:
                    shot = visitor.page.screenshot(clip={"x": x, "y": y, "width": width, "height": shown})
                    file = first_pictures.PICTURES / f"{url or previews.HOME}-{size}-{theme}.webp"
                    Image.open(io.BytesIO(shot)).convert("RGB").save(file, "WEBP", quality=60, method=6)
                place |= {"drawn": found["drawn"], "figure": found["figure"], size: [x, y, width, round(shown, 1)]}
            opened.close()
    return place


def take_first(names: list[str]) -> None:
    """Take the first pictures of these pages, or of all that have one."""
    if REAL not in real_models.installed():
        sys.exit(f"{REAL} is not there, with which some pages begin: make real fetches it")
    first_pictures.PICTURES.mkdir(exist_ok=True)
    known = json.loads(first_pictures.PLACES.read_text("utf-8")) if first_pictures.PLACES.is_file() else {}
    with serve(*PYTHON_APP) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(os.environ), args=FLAGS)
        for url in previews.pages():
            if url in NO_FIRST or (names and (url or previews.HOME) not in names):
                continue
            place = first(browser, server, url)
            if "drawn" in place:
                known[url] = place
            sys.stdout.write(f"{url or previews.HOME}: {place}\n")
        browser.close()
    first_pictures.PLACES.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", "utf-8")


def main(names: list[str]) -> None:
    """Take the pictures of these pages, or all."""
    if names[:1] == ["first"]:
        take_first(names[1:])
        return
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
