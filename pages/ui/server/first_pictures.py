"""The first picture of a page, sent with its HTML: what a default view begins with is seen before any script has run.

`make pictures` takes them, of both themes, on a desktop and on a phone; first_picture.js shows one and takes it away.
Pages that train or measure at once have a place but no picture, as theirs is never the same: what is in sight there is
the figure that whoever came last saw (first_figures.py).
"""

import hashlib
import json
from functools import cache
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from pages.ui import streamlit_internals
from pages.ui.components import assets
from pages.ui.server import previews
from tfcore.loading import real_models

PICTURES = previews.ROOT / "assets" / "first"
PLACES = PICTURES / "places.json"
SCRIPT = (Path(__file__).parent / "first_picture.js").read_text("utf-8")
THEMES = ("light", "dark")


class PicturePlace(NamedTuple):
    """Where a picture stands.

    Args:
        drawn: a selector of what is there once the live picture is.
        wide, narrow: left, top, width and height in pixels, in a window of 1440 by 900 and on a phone; None where it is
            not in sight there.
        figure: the key of the live picture where that is one of Plotly's, which is then sent ahead (first_figures.py).
        model: one of the real models, without which the page begins with another one; empty where it needs neither.
    """

    drawn: str
    wide: tuple[float, ...] | None = None
    narrow: tuple[float, ...] | None = None
    model: str = ""
    figure: str = ""


@cache
def places() -> dict[str, PicturePlace]:
    """Address of a page -> where its first picture stands."""
    if not PLACES.is_file():
        return {}
    known: dict[str, dict[str, Any]] = json.loads(PLACES.read_text("utf-8"))
    return {url: PicturePlace(**fields) for url, fields in known.items()}


@cache
def pictures() -> dict[str, bytes]:
    """Name -> WebP."""
    return {file.name: file.read_bytes() for file in sorted(PICTURES.glob("*.webp"))}


@cache
def digest() -> str:
    """Twelve hexadecimal digits that change whenever any of the pictures changes."""
    return hashlib.sha256(b"".join(pictures().values())).hexdigest()[:12]


def html(url: str, figure: str = "") -> str:
    """The beginning of a page's HTML; nothing where there is neither picture nor figure of what it begins with here.

    Args:
        figure: address of the live figure, where it is known (see first_figures.py).
    """
    place = places().get(url)
    if place is None or (place.model and place.model not in real_models.installed()):
        return ""
    name = url or previews.HOME
    said = {"drawn": place.drawn, "theme": streamlit_internals.THEME}
    if any(file.startswith(f"{name}-") for file in pictures()):
        said["from"] = f"./first/{digest()}/{name}"
    elif not figure:
        return ""
    said |= {size: " ".join(map(str, at)) for size, at in (("wide", place.wide), ("narrow", place.narrow)) if at}
    if figure:
        said |= {"figure": figure, "code": f"./assets/{assets.digest()}/figure.js"}
    data = " ".join(f'data-{name}="{escape(value)}"' for name, value in said.items())
    return f'<div id="tf-first" aria-hidden="true" {data}></div><script>{SCRIPT}</script>'
