"""The names of the examples of all pages, for the search (pages/ui/finder.py), read off each section of each page.

`python -m tools.examples` renews all of them, `python -m tools.examples heads masks` those of some pages.
"""

import json
import sys

from pages.facts import pages
from pages.ui import finder
from pages.ui.session import KEY
from tests.pages.visits import opened


def found(key: str, section: str = "") -> list[str]:
    """The names of the examples that a page offers.

    Args:
        section: which of its sections is open; the first, or the page as it is, without.
    """
    facts = pages()[key].facts
    view = {facts.sections.key: facts.sections.names[section]} if section else {}
    return list(opened(pages()[key].file, **view).session_state[KEY].visit.offered)


def recorded(key: str) -> dict[str, list[str]]:
    """Section of a page -> its examples; empty ones are left out."""
    sections = pages()[key].facts.sections.names or [""]
    return {section: names for section in sections if (names := found(key, section))}


if __name__ == "__main__":
    kept = finder.examples() if finder.EXAMPLES.is_file() else {}
    asked = sys.argv[1:] or list(pages())
    every = {key: recorded(key) if key in asked else kept.get(key, {}) for key in pages()}
    finder.EXAMPLES.write_text(json.dumps(every, indent=1, ensure_ascii=False) + "\n", "utf-8")
