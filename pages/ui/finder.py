"""What the search (Ctrl-K) finds: pages, their sections, the terms of the glossary, and examples."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

from pages import facts

EXAMPLES = Path(__file__).parents[2] / "assets" / "examples.json"
GLOSSARY = "glossary"  # the key of its page

Kind = Literal["page", "section", "term", "example"]


class Findable(NamedTuple):
    """One thing that can be found.

    Args:
        title: its name.
        about: the question of a page, the page of anything else.
        page: the key of the page that it is on.
        view: parameters of the address.
    """

    kind: Kind
    title: str
    about: str
    page: str
    view: Mapping[str, str]


@cache
def entries() -> tuple[Findable, ...]:
    """All that can be found, the pages first, in the order of the sidebar."""
    every = [page.facts for page in facts.pages().values()]
    found = [Findable("page", one.title, one.question, one.key, {}) for one in every]
    found += [
        Findable("section", name, one.title, one.key, _section(one, section))
        for one in every
        for section, name in one.sections.names.items()
    ]
    glossary = facts.pages()[GLOSSARY].facts.title
    found += [Findable("term", term, glossary, GLOSSARY, {"term": term}) for term in facts.views_of_terms()]
    kept = examples()
    found += [
        Findable("example", name, one.title, one.key, _section(one, section))
        for one in every
        for section, names in kept.get(one.key, {}).items()
        for name in names
    ]
    return tuple(found)


def _section(page: facts.Facts, section: str) -> dict[str, str]:
    """The address of a section; empty of a page without sections."""
    return {page.sections.key: page.sections.names[section]} if section in page.sections.names else {}


@cache
def examples() -> dict[str, dict[str, list[str]]]:
    """Key of a page -> section, empty where there are none -> the names of its examples. `python -m tools.examples`
    reads them off the pages."""
    found: dict[str, dict[str, list[str]]] = json.loads(EXAMPLES.read_text("utf-8"))
    return found


def script() -> str:
    """The entries for browsers, in the same order: a module that exports kind, title, about and page of each."""
    return f"export default {json.dumps([entry[:4] for entry in entries()], separators=(',', ':'))}\n"
