"""Lessons: sound as data, each answer found on its page with stories and smollm2, and claims beside the numbers."""

import json
import os
import re
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from pages.facts import pages
from pages.lessons import FIRST, LESSONS, TOUR, reading_time
from pages.lessons.from_file import LARGEST, NOTE, STOPS, TITLE, read, write
from pages.lessons.lesson import Lesson, Stop
from pages.ui import lesson_card, lesson_progress
from pages.ui.lesson_progress import LessonProgress
from pages.ui.page import SEE
from pages.ui.session import KEY
from pages.ui.work import jobs
from tests.nightly import nightly
from tests.pages.lesson_claims import CLAIMS, StopFound
from tests.pages.visits import opened, run
from tests.pages.waiting import wait_for_jobs
from tfcore.views.finding import Finding, Statement
from tfcore.views.view import View

EVERY = [
    pytest.param(lesson, number, id=f"{lesson.key} {number}")
    for lesson in LESSONS.values()
    for number in range(1, len(lesson.stops) + 1)
]


def test_seven_lessons_ship_and_the_first_is_the_way_through():
    assert list(LESSONS) == [lesson.key for lesson in LESSONS.values()]
    assert len(LESSONS) == 7
    assert next(iter(LESSONS)) == FIRST == "text-to-token"
    assert LESSONS[FIRST].minutes == 20
    assert {stop.lesson for stop in TOUR} == {FIRST}
    assert len(TOUR) == 7
    for lesson in LESSONS.values():
        assert 6 <= len(lesson.stops) <= 9
        assert 15 <= lesson.minutes <= 40
        assert re.fullmatch(r"[a-z-]+", lesson.key)


@pytest.mark.parametrize(("lesson", "number"), EVERY)
def test_a_stop_says_what_to_see_to_do_and_to_predict_and_no_number(lesson: Lesson, number: int):
    stop = lesson.stops[number - 1]
    assert stop.page in pages()
    assert stop.words.endswith(".")
    assert stop.action.endswith(".")
    assert stop.question.endswith("?")
    assert stop.answer is not None
    assert stop.ringed
    assert not set(stop.carries) & set(stop.view)  # it is the visitor's
    words = re.sub(r"GPT-2|\b[01]\b", "", f"{stop.words} {stop.action} {stop.question}")
    assert not re.search(r"\d", words)  # numbers are findings
    for one, after in zip(lesson.stops, lesson.stops[1:], strict=False):
        assert (one.page, one.view, one.figure) != (after.page, after.view, after.figure)


# --- the walk --------------------------------------------------------------------------------------------------------

SOME = [(LESSONS[FIRST], 5)]  # that are opened in every run, by stories


class Answer(NamedTuple):
    """What answers a stop's question, the view that says it, and how many words a reader of the stop reads."""

    finding: Finding
    view: View
    words: int


def answered(lesson: Lesson, number: int, model: str) -> Answer:
    """What the page finds at a stop: the address says nothing that the page corrects, and what is ringed is there."""
    stop = lesson.stops[number - 1]
    test = opened(pages()[stop.page].file, **lesson_card.address(lesson, number, {"model": model}))
    while jobs.JOBS.registry.active:  # what a page fills in while it is looked at
        wait_for_jobs()
        test = run(test)
    present = test.session_state[KEY]
    found = present.visit.found
    assert not [said for said in present.notices_shown if "orrected" in said or "Adjusted" in said]
    assert stop.target or stop.figure in found
    assert stop.answer is not None
    answer = lesson_card.finding(found[stop.answer.view], stop.answer)
    assert answer is not None, [lesson_card.name_of(one) for one in found[stop.answer.view].findings]
    if "model" in stop.carries and "model" in lesson.carried:
        assert test.session_state["model"] == model
    see = [one.value for one in test.markdown if one.value.startswith(f"**{SEE}**")][:1]
    return Answer(answer, found[stop.answer.view], words_read(lesson, number, [answer.sentence, *see]))


def words_read(lesson: Lesson, number: int, found: list[str]) -> int:
    """Words of a stop, of what its page found and has to see, and of what the page begins with, where it is another
    page than before."""
    stop = lesson.stops[number - 1]
    read = [stop.words, stop.action, "Predict first.", stop.question, "Here:", *found]
    if number == 1 or lesson.stops[number - 2].page != stop.page:
        facts = pages()[stop.page].facts
        read += [facts.question, facts.claim]
    return sum(len(one.split()) for one in read)


def said(found: Finding) -> SimpleNamespace:
    """The values that a finding states, as attributes."""
    names = found.values if isinstance(found, Statement) else {name: getattr(found, name) for name in found.__slots__}
    return SimpleNamespace(**names)


def test_what_every_stop_says_is_compared():
    assert {(lesson.key, number) for lesson, number in (one.values for one in EVERY)} == CLAIMS.keys()


def test_minutes_are_those_of_a_reader():
    """By hand: the words at a pace, and what each stop asks for."""
    assert reading_time.counted().keys() == LESSONS.keys()
    for key, lesson in LESSONS.items():
        words = reading_time.counted()[key]
        assert len(words) == len(lesson.stops)
        assert min(words) > 50
        assert abs(lesson.minutes - sum(words) / 200 - len(words) * 80 / 60) <= 2.5


def test_a_stop_finds_its_answer_on_its_page():
    for lesson, number in SOME:
        assert answered(lesson, number, "stories").finding.sentence.endswith(".")


@nightly
@pytest.mark.parametrize("model", ["stories", "smollm2"])
@pytest.mark.parametrize(("lesson", "number"), EVERY)
def test_every_stop_finds_its_answer_with_every_model(lesson, number, model, real_models):
    found = answered(lesson, number, model)
    assert found.finding.sentence.endswith((".", "%)."))
    if model == "stories":
        words = reading_time.counted()[lesson.key]
        if os.environ.get("TFCORE_RECORD") == "yes":
            words[number - 1] = found.words
            lines = [f"  {json.dumps(key)}: {counts}" for key, counts in reading_time.counted().items()]
            reading_time.COUNTED.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")
        assert words[number - 1] == pytest.approx(found.words, rel=0.1)
    text = lesson.carried.get("text", "")
    assert CLAIMS[lesson.key, number](StopFound(said(found.finding), found.view, model, text)), found.finding.sentence


# --- lessons from outside --------------------------------------------------------------------------------------------

OWN = {
    "title": "Mine",
    "for_whom": "my class",
    "minutes": 15,
    "stops": [
        {"address": "heads?layer=2&head=5&text=A+cat+%26+%3Cb%3E", "note": "Look.\nThere.", "figure": "mosaic"},
        {"address": "https://elsewhere.test/app/masks?v=4&kind=causal&lesson=x&tour=3&present=1"},
    ],
}


def with_stop(**said: Any) -> dict[str, Any]:
    return {"title": "Mine", "stops": [{"address": "heads", **said}]}


def test_a_lesson_is_read_from_json_and_comes_back():
    lesson = read(json.dumps(OWN).encode())
    assert (lesson.title, lesson.for_whom, lesson.minutes, lesson.carried) == ("Mine", "my class", 15, {})
    assert lesson.stops == (
        Stop(
            page="heads",
            view={"layer": "2", "head": "5", "text": "A cat & <b>"},
            words="Look.\nThere.",
            figure="mosaic",
            carries=(),
        ),
        Stop(page="masks", view={"v": "4", "kind": "causal"}, words="", carries=()),
    )
    assert lesson.stops[0].ringed == ".st-key-mosaic-figure"
    assert read(write(lesson)) == lesson
    front = read(json.dumps({"title": "", "stops": [{"address": "?text=a", "figure": "a b"}]}))
    assert front.stops[0].page == ""
    assert front.stops[0].ringed == ".st-key-a-b-figure"
    assert read(json.dumps(with_stop(note="\ud800"))).stops[0].words == "\ufffd"


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("", "it is not JSON"),
        (b"\xff\xfe\xff", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("9" * 5_000, "it is not JSON"),
        ("[]", 'needs a "title" and a list of "stops"'),
        ({"title": "a", "stops": {}}, 'needs a "title" and a list of "stops"'),
        ({"title": "a", "stops": []}, f"has 0 stops; it may have 1 to {STOPS}"),
        ({"title": "a", "stops": [{"address": "heads"}] * (STOPS + 1)}, f"{STOPS + 1} stops"),
        ({**with_stop(), "title": 1}, "The title is no text"),
        ({**with_stop(), "title": "a" * (TITLE + 1)}, "The title is too long"),
        ({**with_stop(), "minutes": "20"}, "The minutes of the lesson"),
        ({**with_stop(), "minutes": True}, "The minutes of the lesson"),
        ({**with_stop(), "minutes": 601}, "The minutes of the lesson"),
        ({"title": "a", "stops": ["heads"]}, 'Stop 1 has no "address"'),
        (with_stop(address=3), 'Stop 1 has no "address"'),
        (with_stop(address="heads?" + "a=1&" * 61), "more than 60 settings"),
        (with_stop(address="heads?x=" + "a" * 8_000), "The address of stop 1 is too long"),
        (with_stop(address="http://[x/heads"), "cannot be read"),
        (with_stop(address="nowhere?a=1"), "Stop 1 is on no page of this app"),
        (with_stop(address="javascript:alert(1)"), "Stop 1 is on no page of this app"),
        (with_stop(address="heads?<b>=1"), "a setting whose name is none"),
        (with_stop(note="a" * (NOTE + 1)), "The note of stop 1 is too long"),
        (with_stop(note=[]), "The note of stop 1 is no text"),
        (with_stop(figure="a, body *"), "The figure of stop 1 is no key"),
        (with_stop(figure=7), "The figure of stop 1 is no text"),
        (" " * (LARGEST + 1), "too long for a lesson"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_what_is_no_lesson_is_refused_in_a_sentence(said, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)) as refused:
        read(said if isinstance(said, str | bytes) else json.dumps(said))
    assert str(refused.value).endswith(".")
    assert str(refused.value).count("\n") == 0


def test_the_progress_that_a_browser_tells_is_taken_where_it_is_some():
    told = {FIRST: [3, 5], "nowhere": [1, 1], "why-it-trains": [5, 3], "attention-by-hand": [1, 99]}
    assert lesson_progress.read(json.dumps(told)) == {FIRST: LessonProgress(3, 5)}
    for word in ("", "[]", "{", "[" * 4_000, json.dumps({FIRST: [True, 1]}), json.dumps({FIRST: [1.5, 2]})):
        assert lesson_progress.read(word) == {}
