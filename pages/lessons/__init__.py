"""The lessons that ship, in their order, and what became of the tour of earlier releases."""

from dataclasses import replace
from typing import NamedTuple

from pages.lessons import (
    attention_by_hand,
    in_context_and_induction,
    inside_a_prediction,
    reading_time,
    text_to_token,
    training_and_tuning,
    what_a_gpt_costs,
    why_it_trains,
)
from pages.lessons.lesson import Lesson

_ORDER = (
    text_to_token,
    attention_by_hand,
    why_it_trains,
    what_a_gpt_costs,
    inside_a_prediction,
    in_context_and_induction,
    training_and_tuning,
)
LESSONS: dict[str, Lesson] = {
    one.LESSON.key: replace(one.LESSON, minutes=reading_time.minutes(one.LESSON.key)) for one in _ORDER
}
FIRST = text_to_token.LESSON.key


class TourStop(NamedTuple):
    """A stop of the tour of earlier releases: the lesson that it belongs to now, and its number there."""

    lesson: str
    number: int


_STOPS = {
    stop.tour: TourStop(lesson.key, number)
    for lesson in LESSONS.values()
    for number, stop in enumerate(lesson.stops, start=1)
    if stop.tour
}
TOUR = tuple(_STOPS[number] for number in sorted(_STOPS))
