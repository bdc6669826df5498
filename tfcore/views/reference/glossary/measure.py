"""The glossary as data: the field's terms, each with a sentence, and a formula where there is one."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FACTS = Path(__file__).with_name("glossary.toml")
ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One term; the file of facts says what each part is."""

    name: str
    means: str
    formula: str = ""
    source: str = ""

    @property
    def letter(self) -> str:
        """The letter under which it stands."""
        return self.name[0].upper()


@cache
def terms() -> dict[str, Term]:
    """All terms by name, in the order of the letters."""
    content = tomllib.loads(FACTS.read_text("utf-8"))
    return {
        name: Term(name=name, **facts) for name, facts in sorted(content.items(), key=lambda item: item[0].casefold())
    }


def letters() -> list[str]:
    """The letters that terms begin with, in order."""
    return sorted({term.letter for term in terms().values()})


def matching(letter: str = ALL, words: str = "") -> list[Term]:
    """The terms of a letter that have all of these words, in capitals or not, in their name or their sentence."""
    wanted = words.casefold().split()
    return [
        term
        for term in terms().values()
        if letter in (ALL, term.letter)
        and all(word in f"{term.name} {term.means} {term.source}".casefold() for word in wanted)
    ]
