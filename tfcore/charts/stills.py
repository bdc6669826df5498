"""Charts as files of SVG and PNG, which a browser of this machine draws, without a window and without a network.

Plotly and the scenes draw in browsers alone; kaleido, with which plotly writes pictures, starts one as well. Here the
browser opens a page that draws the chart and leaves the picture in its own text, as an address that holds all of it.
"""

import os
import re
import shutil
import subprocess
import sys
from base64 import b64decode
from collections.abc import Mapping
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal
from urllib.parse import unquote

from tfcore.charts import bundle, scenes
from tfcore.charts.theme import Figure, Theme

Kind = Literal["svg", "png"]
KINDS: tuple[Kind, Kind] = ("svg", "png")
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "msedge")
MAC = ("Google Chrome", "Chromium", "Microsoft Edge")
WINDOWS = (r"Google\Chrome\Application\chrome.exe", r"Microsoft\Edge\Application\msedge.exe")
FOLDERS = ("PROGRAMFILES", "PROGRAMFILES(X86)", "LOCALAPPDATA")  # of Windows, where programs are
SNAP = Path("/snap/bin/chromium")  # sees no other program's temporary files, and of a home what is not hidden
MARGIN = 400  # pixels of the window that are more than the picture
SCALE = 2  # pixels of a PNG for one of the screen
DRAWING = 30_000  # ms of the page's own clock, which runs ahead as soon as nothing is left to do
PATIENCE = 120  # s
FLAGS = (
    *("--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--hide-scrollbars", "--force-prefers-reduced-motion", f"--virtual-time-budget={DRAWING}"),
)
NO_BROWSER = (
    "SVG and PNG are drawn by a browser, and neither Chromium nor Chrome nor Edge was found: install one (on Debian, "
    "apt-get install chromium), or set CHROMIUM to the path of one; .html, .csv, .json and .txt need none"
)
PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>A picture</title>
<body style="margin: 0">
<script>
const saved = address => {{
  const text = document.createElement("pre")
  text.textContent = address
  document.body.replaceChildren(text)
}}
addEventListener("error", event => saved(event.message))
addEventListener("unhandledrejection", event => saved(String(event.reason)))
</script>
{drawing}
</body>
</html>
"""
FIGURE = """<div id="figure"></div>
<script>{plotly}</script>
<script>
const {{ data, layout }} = {figure}, size = {{ width: {width}, height: {height} }}
Plotly.newPlot("figure", data, {{ ...layout, ...size, autosize: false }})
  .then(plot => Plotly.toImage(plot, {{ ...size, format: "{kind}", scale: {scale} }}))
  .then(saved)
</script>"""
SCENE = """const {{ addressOf, canvasOf, elements, SCALE, vectors }} = await import(urls["picture.js"])
const {{ svg }} = await import(urls["dom.js"])
const own = scene.picture?.(element)
const picture = vectors(own === undefined ? elements(element, document.querySelector("style").textContent) : own)
const fill = getComputedStyle(element).getPropertyValue("--st-background-color")
picture.prepend(svg("rect", {{ width: "100%", height: "100%", fill }}))
saved("{kind}" === "svg" ? addressOf(picture) : (await canvasOf(picture, SCALE)).toDataURL())
"""


class BrowserError(ValueError):
    """There is no browser, or it did not draw the picture; the message is a sentence that says what would work."""


def figure_file(figure: Figure, width: int, kind: Kind) -> bytes:
    """A figure with a height, in the colours it has, as a file.

    Args:
        width: in pixels.

    Raises:
        BrowserError: it could not be drawn.
    """
    spec, scale = str(figure.to_json()).replace("<", "\\u003c"), SCALE if kind == "png" else 1
    size = {"width": width, "height": int(figure.layout.height)}
    drawing = FIGURE.format(plotly=bundle.script(figure), figure=spec, kind=kind, scale=scale, **size)
    return _drawn(drawing, width, size["height"], kind)


def scene_file(module: str, data: Mapping[str, Any], width: int, height: int, theme: Theme, kind: Kind) -> bytes:
    """A scene as a file: of what it draws with pixels, an SVG holds the pixels.

    Args:
        width, height: in pixels.

    Raises:
        BrowserError: it could not be drawn.
    """
    drawing = scenes.html(module, data, height, theme, SCENE.format(kind=kind))
    return _drawn(f'<div style="width: {width}px">{drawing}</div>', width, height, kind)


def find_browser() -> str:
    """The path of a browser: what CHROMIUM names, or the first that is found where they are installed.

    Raises:
        BrowserError: there is none.
    """
    if named := os.environ.get("CHROMIUM", ""):
        if found := shutil.which(named):
            return found
        raise BrowserError(f"CHROMIUM={named} is no program; set it to the path of a Chromium, a Chrome or an Edge")
    if found := next(filter(None, map(shutil.which, NAMES)), None):
        return found
    mac = [Path("/Applications", f"{name}.app", "Contents", "MacOS", name) for name in MAC]
    roots = [Path(os.environ[folder]) for folder in FOLDERS if os.environ.get(folder)]
    places = mac if sys.platform == "darwin" else [root / name for root in roots for name in WINDOWS]
    if (there := next((place for place in places if place.is_file()), None)) is None:
        raise BrowserError(NO_BROWSER)
    return str(there)


def _drawn(drawing: str, width: int, height: int, kind: Kind) -> bytes:
    """What a page that calls `saved` with the address of a picture draws."""
    browser = find_browser()
    is_root = getattr(os, "geteuid", lambda: 1)() == 0  # for whom Chromium starts without its sandbox alone
    place = Path.home() if "chromium" in browser and SNAP.exists() else None
    with TemporaryDirectory(prefix="tfcore-picture-", dir=place, ignore_cleanup_errors=True) as folder:
        page = Path(folder, "page.html")
        page.write_text(PAGE.format(drawing=drawing), "utf-8")
        window = [f"--window-size={width + MARGIN},{height + MARGIN}", f"--user-data-dir={Path(folder, 'profile')}"]
        flags = [*FLAGS, *(["--no-sandbox"] if is_root else []), *window]
        try:
            command = [browser, *flags, "--dump-dom", page.as_uri()]
            done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
        except (OSError, subprocess.TimeoutExpired) as problem:
            raise BrowserError(f"{browser} did not draw the picture: {problem}") from problem
    found = re.search(r"<pre>([^<]*)</pre>", done.stdout.decode("utf-8", "replace"))
    address = unescape(found[1]) if found else "it came to no end"
    if not address.startswith("data:"):
        raise BrowserError(f"{browser} did not draw the picture ({address}); CHROMIUM can name another Chromium")
    return _content(address, kind)


def _content(address: str, kind: Kind) -> bytes:
    """What a data address holds; an SVG without the signs that XML does not know."""
    content = address.partition(",")[2]
    if kind == "png":
        return b64decode(content)
    unknown = r"[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
    return re.sub(unknown, "\ufffd", unquote(content)).encode()
