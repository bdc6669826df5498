"""The first figure of a page in its default view, which browsers of later visitors draw before Streamlit has started.

It is kept as it was sent to whoever last opened the page without having said or moved anything, so nothing that a
visitor wrote is in it. first_picture.js draws it in place of the first picture, and figure.js moves it into the page.
"""

import gzip
import re
import zlib
from typing import NamedTuple

from pages.ui import streamlit_internals
from pages.ui.server import first_pictures, previews
from pages.ui.session import session

LARGEST = 400_000  # bytes of a figure that is worth sending ahead


class PackedFigure(NamedTuple):
    """A figure as it is sent to its component, gzipped, and what its address changes with."""

    packed: bytes
    digest: str


_kept: dict[str, PackedFigure] = {}


def begin(url: str, asked: bool) -> None:
    """Note whether this run shows the default view to somebody new; called before the page is noted as open.

    Args:
        url: address of the page.
        asked: whether the address asks for a view.
    """
    present = session()
    new = present.page is None and not asked and not streamlit_internals.is_told()
    present.default_view_of = url if new else None


def keep(key: str, figure: bytes) -> None:
    """Keep a figure if it is the one that its page begins with, in its default view."""
    present = session()
    url = present.default_view_of if present.in_whole_run else None
    place = None if url is None else first_pictures.places().get(url)
    if url is None or place is None or place.figure != re.sub(r"[^\w-]", "-", key) or len(figure) > LARGEST:
        return
    digest = f"{zlib.crc32(figure):08x}"
    if url not in _kept or _kept[url].digest != digest:
        _kept[url] = PackedFigure(gzip.compress(figure, mtime=0), digest)


def address(url: str) -> str:
    """Where a browser finds the figure that a page begins with; empty where nobody has opened the page yet."""
    return f"./begin/{_kept[url].digest}/{url or previews.HOME}" if url in _kept else ""


def kept(url: str) -> PackedFigure | None:
    """The figure that a page begins with; None where nobody has opened it yet."""
    return _kept.get(url)
