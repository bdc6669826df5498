"""The kinds of questions, as data: what a file of questions consists of.

To add a question, write a ChoiceQuestion, a NumberQuestion or an OrderQuestion into the list of its chapter, such as
block.py beside this file. Names are part of links: keep them. Words are Markdown.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from tfcore.views.reference.check.measure import Problem


@dataclass(frozen=True, slots=True)
class Experiment:
    """An experiment that settles a question.

    Args:
        page: the address of the page, such as "kv-cache".
        words: what to do and see there, one sentence.
        view: parameters of its address.
    """

    page: str
    words: str
    view: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Wrong:
    """An option that is not right: its words, why not in one sentence, where to see that (None: as the question)."""

    words: str
    why: str
    look: Experiment | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """Fields that all kinds of questions have.

    Args:
        name: of this question in links; unique.
        level: 1, asked of everyone who read the page; 2, goes deeper.
        ask: the question.
        because: the explanation, shown once it is answered.
        look: the experiment that settles it.
    """

    name: str
    level: int
    ask: str
    because: str
    look: Experiment


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceQuestion(_Question):
    """One right option among wrong ones; they are shuffled."""

    right: str
    wrong: tuple[Wrong, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberQuestion(_Question):
    """A number to work out from values that are drawn; `ask` and `because` have their names in braces.

    Args:
        problem: draws the values and computes the answer.
        unit: of the answer, shown beside the box; "GB" and the like are read as bytes.
        hints: mistake -> what went wrong, one sentence.
    """

    problem: Callable[[Random], Problem]
    unit: str = ""
    hints: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderQuestion(_Question):
    """Steps to put in order; `steps` are in the right one."""

    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingQuestion(_Question):
    """Something to read from a live figure of a model that ships.

    Args:
        figure: which one; live.py knows them.
    """

    figure: str


Question = ChoiceQuestion | NumberQuestion | OrderQuestion | ReadingQuestion
