"""Link previews: title and picture of each page, and its description or, of a link to a view that was shown here
before, what that said (seen.py), written into Streamlit's HTML.

Those who ask for previews run no JavaScript, so all of it is put into Streamlit's own HTML before it is sent. There is
no og:url: it would lead everybody to the page without the view that the link is of.

TFCORE_ADDRESS    none; the address at which others reach this server, such as https://example.org, for the picture
"""

import os
from functools import cache
from html import escape
from pathlib import Path
from typing import NamedTuple

from pages import facts
from pages.ui import streamlit_internals
from tfcore.views import addresses

ROOT = Path(__file__).parents[3]
PICTURES = ROOT / "assets" / "previews"
WIDTH = 1200  # pixels of a picture
HEIGHT = 630
HOME = "home"  # the name of the front page's picture, which stands for a page without one too


class Preview(NamedTuple):
    """Title and description of a page."""

    title: str
    description: str


@cache
def pages() -> dict[str, Preview]:
    """Address -> title and description."""
    every = (page.facts for page in facts.pages().values())
    return {one.key: Preview(one.title if one.key else facts.NAME, one.answers or one.claim) for one in every}


@cache
def pictures() -> dict[str, bytes]:
    """Name -> PNG, of the pictures that `make pictures` took of the pages."""
    return {file.stem: file.read_bytes() for file in sorted(PICTURES.glob("*.png"))}


def check() -> None:
    """Raises ValueError where TFCORE_ADDRESS makes no sense."""
    addresses.checked(os.environ.get(addresses.SETTING, ""))


def base(host: str, scheme: str) -> str | None:
    """The address that pictures begin with: that of the setting, else the one asked; None where that is no host.

    Args:
        host, scheme: as the request says them, which anybody can write.
    """
    if said := addresses.checked(os.environ.get(addresses.SETTING, "")):
        return said
    return f"{scheme}://{host}" if scheme in ("http", "https") and addresses.HOST.fullmatch(host) else None


def tags(url: str, base: str | None, said: str = "") -> str:
    """The meta elements of a page.

    Args:
        url: address of the page, "" for the front page.
        base: what the picture's address begins with; no picture without.
        said: what the view of the link said, in place of the page's description.
    """
    title, description = pages()[url]
    description = said or description
    named = {"og:type": "website", "og:site_name": facts.NAME, "og:title": title, "og:description": description}
    name = url if url in pictures() else HOME
    shown = f"{title}: a figure of this page" if url == name else f"The front page of {facts.NAME}"
    if base is not None and name in pictures():
        named |= {
            "og:image": f"{base}/previews/{name}.png",
            "og:image:type": "image/png",
            "og:image:width": str(WIDTH),
            "og:image:height": str(HEIGHT),
            "og:image:alt": shown,
        }
    plain = {"description": description, "twitter:card": "summary_large_image" if "og:image" in named else "summary"}
    lines = [f'<meta property="{key}" content="{escape(value)}" />' for key, value in named.items()]
    return "\n    ".join(lines + [f'<meta name="{key}" content="{escape(value)}" />' for key, value in plain.items()])


@cache
def _halves() -> tuple[str, str]:
    """Streamlit's page before and after its title."""
    before, title, after = streamlit_internals.index().partition(streamlit_internals.TITLE)
    if not title:  # another version of Streamlit: its page as it is, with ours at the end of its head
        before, title, after = before.partition("</head>")
        after = title + after
    return before, after


def html(url: str, base: str | None, first: str = "", said: str = "") -> str:
    """The HTML of a page with its title and meta elements.

    Args:
        first: what its body begins with.
        said: see tags.
    """
    title = pages()[url].title
    before, after = _halves()
    named = escape(title if title == facts.NAME else f"{title} - {facts.NAME}")
    head, body, rest = after.partition("<body>")
    script, meta = f"<script>{streamlit_internals.SERVER}</script>", tags(url, base, said)
    begins = f"{before}{script}\n    <title>{named}</title>\n    {meta}"
    return f"{begins}{head}{body}{first if body else ''}{rest}"
