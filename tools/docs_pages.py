"""The table of docs/pages.md, from the facts of the pages; `python -m tools.docs_pages` writes it anew.

`make docs` does so too, in an environment of its own: nothing but the standard library is used.
"""

import re
from pathlib import Path

from pages.facts import pages

FILE = Path(__file__).resolve().parents[1] / "docs" / "pages.md"
TABLE = re.compile(r"^\| page \|.*?\n(?=\n)", re.DOTALL | re.MULTILINE)


def table() -> str:
    """A row for each page, in the order of the sidebar."""
    rows = [f"| `/{key}` | {page.facts.shows} |\n" for key, page in pages().items()]
    return "".join(("| page | what you can do there |\n|---|---|\n", *rows))


def renewed(text: str) -> str:
    """The text with the table as it should be."""
    return TABLE.sub(lambda _: table(), text, count=1)


if __name__ == "__main__":
    FILE.write_text(renewed(FILE.read_text("utf-8")), "utf-8")
