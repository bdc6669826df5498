"""The lessons that ship, in their order, and what became of the tour of earlier releases."""

from typing import NamedTuple

from pages.lessons import text_to_token
from pages.lessons.lesson import Lesson

LESSONS: dict[str, Lesson] = {one.key: one for one in (text_to_token.LESSON,)}
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
