"""All that the app keeps of one visitor between two runs, besides the values of controls, which have their own keys."""

import uuid
from collections import Counter
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import streamlit as st

from pages.lessons.lesson import Lesson
from tfcore.views.view import View

KEY = "_session"


class DrawnControl(NamedTuple):
    """A control as it was drawn: its value, the value in words, and what its widget can hold."""

    value: Any
    word: str
    shape: tuple[Any, ...]


@dataclass
class Visit:
    """One visitor's stay on one page.

    Args:
        page: its address.
        always: defaults that are this server's alone, by key: an address leaves them out, a copied link says them.
        seen: keys of the controls drawn so far.
        meant: of controls that are choices: every label so far, and its option.
        drawn_for: of controls that choose a part of something, such as a token of a text: what it was when they were
            drawn last.
        held: what was read from an upload: it goes when the visit ends.
        began: of controls that begin with something else in each section of the page: section and beginning.
        texts: keys of the boxes for text drawn so far.
        examples: key of a control -> words that buttons of the page set it to.
        offered: name of each example on the page -> what it sets, by control.
        found: key of a view -> the view, of those that this page has shown, while a lesson is on.
        predicted: stop of a lesson whose answer is shown -> what the visitor predicted.
        answered: the answer that stands in the card of the lesson.
    """

    page: str | None = None
    always: dict[str, str] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    drawn: dict[str, DrawnControl] = field(default_factory=dict)
    meant: dict[str, dict[str, Any]] = field(default_factory=dict)
    drawn_for: dict[str, Hashable] = field(default_factory=dict)
    held: dict[str, Any] = field(default_factory=dict)
    began: dict[str, tuple[str, Any]] = field(default_factory=dict)
    texts: set[str] = field(default_factory=set)
    examples: dict[str, set[str]] = field(default_factory=dict)
    offered: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    found: dict[str, View] = field(default_factory=dict)
    predicted: dict[str, str] = field(default_factory=dict)
    answered: str = ""


class Notice(NamedTuple):
    """Something to say about a control, for as long as the control keeps the value it was given, or, of what
    `each_run` says anew, until one does not.

    Details with the same reason become one sentence: "Corrected from the link: head 99 → 7, layer x → 0."
    """

    reason: str
    detail: str
    value: Any
    each_run: bool = False


@dataclass
class Session:
    """One visitor.

    Args:
        visitor: a name for them, in which nothing is known of them.
        page: address of the page that is open; None before the first.
        default_view_of: the page that was opened first, without a view; None from the next run on.
        visit: to that page.
        kinds: key of a control -> what kind of control had it last, see links.wanted.
        recent: address -> view, of the pages they were on, the newest last.
        notices: key of a control -> what is to be said of it.
        notices_said: keys of the notices that the last whole run has said, and fragments since.
        notices_shown: the sentences that stand on the page.
        notices_place: the empty element under the title that they stand in.
        in_whole_run: whether the whole page runs now, and not a fragment of it.
        missing_figure: the figure that a frame asked for and that is not drawn yet, or not on this page.
        stopped_job: what they stopped, not to be begun again by itself.
        live_job: what they want made here, though it is stored.
        whole_run_wanted: a button in a fragment asks for a run of the whole page.
        own_models: names of the models they asked for that do not ship.
        tries: name of such a model -> how often they tried again to load it.
        csv_wanted: figures whose numbers are to be sent along in the next run.
        dragged: keys of the controls that are being dragged, which the address does not follow yet.
        answered: control that is dragged -> the number of the last message of it.
        first_texts: key of a box -> the text that a page put there, where nobody had said anything.
        stand_ins: examples of their own models, which stood where a page's own text could not.
        way: where they asked to be taken, among finder.entries(), or shortcuts.LESSON.
        row_of_text: the place in which a page will say what it found in its text; None where it has none, or said it.
        own_texts: key of a box -> the text that they typed into it last, where no link has brought another since.
        looked_for: address of a page -> the model and the text whose highlights it found last.
        next_values: address of a page -> what its controls are set to in its next run.
        rounds: lesson -> how many of five questions about it were right in each round that they finished.
        progress: what their browser keeps of their progress in lessons, as it told it.
        own_lesson: a lesson that they brought.
        stop: where in a lesson they are (lesson_card.Place); None outside.
        carried: the lesson they are in ("lesson"), and what of theirs goes along in it.
        answer: the place for the answer to a question of a lesson; None where it is not shown.
    """

    visitor: str = field(default_factory=lambda: uuid.uuid4().hex)
    page: str | None = None
    default_view_of: str | None = None
    visit: Visit = field(default_factory=Visit)
    kinds: dict[str, str] = field(default_factory=dict)
    recent: dict[str, dict[str, str]] = field(default_factory=dict)
    notices: dict[str, Notice] = field(default_factory=dict)
    notices_said: set[str] = field(default_factory=set)
    notices_shown: list[str] = field(default_factory=list)
    notices_place: Any = None
    in_whole_run: bool = False
    missing_figure: str | None = None
    stopped_job: Hashable = None
    live_job: Hashable = None
    whole_run_wanted: bool = False
    own_models: list[str] = field(default_factory=list)
    tries: Counter[str] = field(default_factory=Counter)
    csv_wanted: set[str] = field(default_factory=set)
    dragged: set[str] = field(default_factory=set)
    answered: dict[str, int] = field(default_factory=dict)
    first_texts: dict[str, str] = field(default_factory=dict)
    stand_ins: set[str] = field(default_factory=set)
    way: int | None = None
    row_of_text: Any = None
    own_texts: dict[str, str] = field(default_factory=dict)
    looked_for: dict[str, tuple[str, str]] = field(default_factory=dict)
    next_values: dict[str | None, Mapping[str, Any]] = field(default_factory=dict)
    rounds: dict[str, dict[int, int]] = field(default_factory=dict)
    progress: str = ""
    own_lesson: Lesson | None = None
    stop: Any = None
    carried: dict[str, str] = field(default_factory=dict)
    answer: Any = None


def session() -> Session:
    """The visitor whose page runs."""
    try:
        visitor: Session = st.session_state[KEY]
    except KeyError:
        visitor = st.session_state[KEY] = Session()
    return visitor
