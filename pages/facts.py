"""The facts of all pages. Each page has its own in `facts.py`, beside its `page.py`; here they are found.

Whatever lists pages reads them: the sidebar and the addresses, the front page, links, the map of a model, the
glossary, previews of links, docs/pages.md, the tests. Nothing but the standard library is imported, neither here nor
in any `facts.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Literal, NamedTuple

NAME = "Inside the Transformer"  # of the app
ROOT = Path(__file__).parent

# A part of the map of a model (ui/loading/model_map.py).
Part = Literal[
    "tokens",
    "embedding",
    "positions",
    "norm",
    "attention",
    "heads",
    "mask",
    "mixer",
    "cross-attention",
    "feed-forward",
    "experts",
    "residual connection",
    "encoder states",
    "unembedding",
    "next token",
    "masked tokens",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """The sections of a page, of which one is open, the first until another is chosen; none where all is seen at once.

    Args:
        label: of the choice, for screen readers alone.
        key: of the choice, in the address.
        names: section -> its name.
    """

    label: str = ""
    key: str = ""
    names: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """A page in words and names.

    Args:
        key: its address, after the root; empty for the front page.
        title: in the sidebar and in links.
        icon: of the Material set.
        order: among the pages of its chapter. In tens, so that another one fits between two.
        question: its heading.
        claim: below the heading, a sentence or a few (Markdown).
        answers: which question it answers, and by what: on the front page and in previews of links. The front page has
            none.
        shows: what one can do there: its row in docs/pages.md (Markdown).
        sections: of the page.
        terms: of the glossary, which lead here -> the settings of the view that shows it ("part=large").
        parts: of the map of a model, which lead here.
        live: whether it trains or measures while one looks, so that it is never the same twice.
    """

    key: str
    title: str
    icon: str
    order: int
    question: str
    claim: str
    answers: str = ""
    shows: str
    sections: Sections = field(default_factory=Sections)
    terms: Mapping[str, str] = field(default_factory=dict)
    parts: tuple[Part, ...] = ()
    live: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Chapter:
    """A chapter of pages.

    Args:
        folder: of its pages.
        title: in the sidebar.
        answers: the question that its pages answer.
        picture: the key of the page whose picture stands for it.
    """

    folder: str
    title: str
    answers: str
    picture: str


class Page(NamedTuple):
    """A page among the others.

    Args:
        file: its script, from this folder on; Streamlit's name of the page.
    """

    facts: Facts
    chapter: Chapter
    file: str


CHAPTERS = (
    Chapter(
        folder="start", title="Start", answers="What happens between a text and the next token?", picture="walkthrough"
    ),
    Chapter(
        folder="foundations",
        title="Foundations",
        answers="How does a text become vectors, and how do tokens attend to each other?",
        picture="positions",
    ),
    Chapter(
        folder="block", title="Block", answers="What else is in a block, and why does it train?", picture="residuals"
    ),
    Chapter(
        folder="model",
        title="Model",
        answers="How are blocks put together, and how many parameters do they have?",
        picture="architectures",
    ),
    Chapter(
        folder="training", title="Training", answers="What is learned, how fast, and at what cost?", picture="scaling"
    ),
    Chapter(
        folder="inference",
        title="Inference",
        answers="How is text generated, and what makes that fast?",
        picture="generation",
    ),
    Chapter(
        folder="experts",
        title="Experts",
        answers="How can a model have many parameters and use few per token?",
        picture="routing",
    ),
    Chapter(folder="inside", title="Inside", answers="Which part does what, and how can one know?", picture="stream"),
    Chapter(
        folder="reference",
        title="Reference",
        answers="Where does it come from, is it true, and what is it called?",
        picture="history",
    ),
)


@cache
def pages() -> Mapping[str, Page]:
    """Key -> page, of every folder with facts, in the order of the sidebar. Found once a process."""
    by_key: dict[str, Page] = {}
    for chapter in CHAPTERS:
        there = [_page(chapter, path.parent.name) for path in sorted((ROOT / chapter.folder).glob("*/facts.py"))]
        by_key |= {page.facts.key: page for page in sorted(there, key=lambda page: page.facts.order)}
    return by_key


def _page(chapter: Chapter, folder: str) -> Page:
    module = import_module(f"pages.{chapter.folder}.{folder}.facts")
    return Page(module.FACTS, chapter, f"{chapter.folder}/{folder}/page.py")


@cache
def pages_of(chapter: str) -> tuple[Page, ...]:
    """The pages of a chapter, given its folder, in their order."""
    return tuple(page for page in pages().values() if page.chapter.folder == chapter)


@cache
def views_of_terms() -> Mapping[str, str]:
    """Term of the glossary -> the address of the view that shows it, such as "kv-cache?part=large"."""
    told = ((key, *one) for key, page in pages().items() for one in page.facts.terms.items())
    return {term: f"{key}?{view}" if view else key for key, term, view in told}


@cache
def about(part: Part) -> str:
    """The key of the page that a part of the map of a model leads to."""
    return next(key for key, page in pages().items() if part in page.facts.parts)
