"""A lesson: views in an order, of each what is to be seen there, one thing to do, and one question.

Data alone, of the standard library: whoever shows lessons (ui/lesson_card.py) adds the links and the answers.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

OUTSIDE = "own"  # the key of a lesson that a visitor brought


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """Where the answer to a question stands: in what the page finds for the model and text in sight.

    Args:
        view: the key of the view that the page shows.
        finding: its name: that of a statement, or the class of a finding. Empty means the first of the view.
    """

    view: str
    finding: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """A stop of a lesson.

    Args:
        page: the key of its page.
        view: parameters of the address. Values that several pages know travel along with a visitor (a head, a
            layer): a stop names all that matter to its view.
        words: what is to be seen there, whatever the model and the text (Markdown).
        action: one thing to do.
        question: one to answer before the answer is shown.
        answer: to that question.
        figure: the key of the view that is ringed.
        target: selectors of what is ringed, where that is no figure.
        carries: what of a visitor's own goes along to this stop, if the lesson lets it.
        tour: the number that the stop had in the tour of earlier releases, for their links; 0 for none.
    """

    page: str
    words: str
    view: Mapping[str, str] = field(default_factory=dict)
    action: str = ""
    question: str = ""
    answer: PageAnswer | None = None
    figure: str = ""
    target: str = ""
    carries: tuple[str, ...] = ("model", "text")
    tour: int = 0

    @property
    def ringed(self) -> str:
        """Selectors of what is ringed; empty for nothing."""
        return self.target or (f".st-key-{re.sub(r'[^A-Za-z0-9_-]', '-', self.figure)}-figure" if self.figure else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """A lesson.

    Args:
        key: in the address; it stays as it is.
        title, for_whom: in a few words.
        minutes: that it takes; 0 where nobody said.
        carried: what goes along from stop to stop, with what it begins as: "model", "text".
        quiz: names of the questions of the page “Check yourself” that are about it.
    """

    key: str
    title: str
    for_whom: str
    minutes: int = 0
    stops: tuple[Stop, ...]
    carried: Mapping[str, str] = field(default_factory=dict)
    quiz: tuple[str, ...] = ()
