"""Questions as data: every one of them sound, for many seeds, and every link leads to a page that exists."""

import re

import pytest

from pages.facts import pages
from pages.lessons import LESSONS
from pages.reference.check import live_questions
from pages.reference.check.question_kinds import ChoiceQuestion, NumberQuestion, OrderQuestion, ReadingQuestion
from pages.reference.check.round import (
    CHAPTERS,
    LENGTH,
    LEVELS,
    OPTIONS,
    Slot,
    asked,
    draw,
    mark,
    packed,
    unpacked,
    verdict,
)
from pages.reference.check.typed_numbers import LARGEST, typed_number
from pages.ui import places
from tests.architecture.sources import ROOT
from tfcore.views.reference.check.say import answer_text


def named(value: object) -> str | None:
    """The name of a question, for the list of tests."""
    return getattr(value, "name", None)


ALL = [(chapter, question) for chapter, (_, questions) in CHAPTERS.items() for question in questions]
NAMES = [question.name for _, question in ALL]
DEEPER = {
    "alibi",
    "attention quadratic",
    "aux",
    "balance loss",
    "bits a byte",
    "cause",
    "control task",
    "drafts",
    "eval dropout",
    "flash",
    "gate",
    "group size",
    "grouped",
    "half precision",
    "head pairs",
    "jump",
    "kl number",
    "kv grouped",
    "length",
    "lora",
    "reward",
    "mean off",
    "modern",
    "outlier activations",
    "paths",
    "quoted",
    "random labels",
    "read sink",
    "recovered",
    "rope",
    "sound",
    "speculative",
    "swiglu",
    "training days",
    "training memory",
    "training work",
    "two n",
    "users",
    "wavelength",
    "whole",
    "window",
    "writers",
}  # the questions of level 2
LOOKS = [
    look
    for _, question in ALL
    for look in (question.look, *(w.look for w in getattr(question, "wrong", ()) if w.look is not None))
]


def test_there_are_many_of_all_kinds_in_every_chapter():
    assert len(ALL) >= 100
    assert len(set(NAMES)) == len(NAMES)
    kinds = {
        kind: sum(isinstance(question, kind) for _, question in ALL)
        for kind in (ChoiceQuestion, NumberQuestion, OrderQuestion, ReadingQuestion)
    }
    assert min(kinds.values()) >= 4, kinds
    for _, questions in CHAPTERS.values():
        assert {question.level for question in questions} == {1, 2}
        assert sum(isinstance(question, NumberQuestion) for question in questions) >= 2


@pytest.mark.parametrize(("chapter", "question"), [e for e in ALL if isinstance(e[1], ChoiceQuestion)], ids=named)
def test_a_choice_has_one_right_option_and_a_reason_for_each_other(chapter, question):
    rights = set()
    for seed in range(12):
        one = asked(Slot(chapter, question, str(seed)))
        assert one.options[one.right] == question.right
        assert len({option.casefold() for option in one.options}) == len(one.options) >= 3
        verdicts = [verdict(question, one, place) for place in range(len(one.options))]
        assert [v.right for v in verdicts].count(True) == 1
        assert all(v.words for v in verdicts if not v.right)
        assert not verdicts[one.right].words
        rights.add(one.right)
    assert len(rights) > 1, "shuffled"


@pytest.mark.parametrize(("chapter", "question"), [e for e in ALL if isinstance(e[1], NumberQuestion)], ids=named)
def test_a_number_says_its_values_and_names_every_mistake(chapter, question):
    met = set()
    for seed in range(60):
        one = asked(Slot(chapter, question, str(seed)))
        assert one.problem is not None
        assert not any(f"{{{name}}}" in one.ask + one.because for name in (*one.problem.given, "answer"))
        assert verdict(question, one, float(one.problem.answer)).right
        for name, value in one.problem.mistakes.items():
            found = verdict(question, one, float(value))
            assert (found.right, found.words) == (False, question.hints[name])
            met.add(name)
        typed = typed_number(answer_text(one.problem.answer, question.unit), question.unit)
        assert typed.value is not None
        assert verdict(question, one, typed.value).right, "the answer as it is said is right"
        assert verdict(question, one, one.problem.answer * 7.3).words
    assert met == set(question.hints), "hints that can come up"


@pytest.mark.parametrize(("chapter", "question"), [e for e in ALL if isinstance(e[1], OrderQuestion)], ids=named)
def test_an_order_is_right_in_one_way_only(chapter, question):
    assert len(set(question.steps)) == len(question.steps) <= 9
    for seed in range(8):
        one = asked(Slot(chapter, question, str(seed)))
        assert tuple(one.options[place] for place in one.order) == question.steps
        assert verdict(question, one, one.order).right
        swapped = (*one.order[:-2], one.order[-1], one.order[-2])
        found = verdict(question, one, swapped)
        assert not found.right
        assert f"The first {len(question.steps) - 2} are right" in found.words


@pytest.mark.parametrize(("chapter", "question"), [e for e in ALL if isinstance(e[1], ReadingQuestion)], ids=named)
def test_a_reading_has_one_answer_that_the_model_gives(chapter, question):
    for seed in range(6):
        one = live_questions.read(Slot(chapter, question, str(seed))).asked
        assert len(set(one.options)) == len(one.options) == OPTIONS[question.figure]
        assert "{" not in one.ask + one.because
        assert verdict(question, one, one.right).right
        if question.figure != "next":
            scores = [float(re.search(r"has (\d\.\d+)", why)[1]) for why in one.whys]
            assert scores.index(max(scores)) == one.right
            assert sorted(scores)[-2] < 0.9 * max(scores), "a clear answer"


def test_gib_for_gb_and_bytes_for_gb_are_recognised():
    chapter, question = next(entry for entry in ALL if entry[1].name == "kv")
    one = asked(Slot(chapter, question, "1"))
    assert one.problem is not None
    answer = one.problem.answer
    assert "GiB" in verdict(question, one, answer / 2**30 * 1e9).words
    assert "bytes" in verdict(question, one, answer * 1e9).words
    assert verdict(question, one, typed_number(f"{answer / 2**30:.2f} GiB", "GB").value or 0.0).right


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("chapters", [[name] for name in CHAPTERS] + [list(CHAPTERS)], ids=str)
def test_a_round_has_ten_questions_of_what_was_chosen(chapters, level):
    for seed in (1, 2, 77):
        slots = draw(seed, chapters, level)
        assert len(slots) == LENGTH
        assert slots == draw(seed, chapters, level)
        assert {slot.chapter for slot in slots} <= set(chapters)
        assert all(level in (0, slot.question.level) for slot in slots)
        assert len({slot.seed for slot in slots}) == LENGTH
        assert mark(slots) != mark(draw(seed + 1, chapters, level))
    if len(chapters) > 1:
        assert {slot.chapter for slot in slots} == set(chapters)


def right_answers(slots):
    for slot in slots:
        one = live_questions.read(slot).asked if isinstance(slot.question, ReadingQuestion) else asked(slot)
        yield float(one.problem.answer) if one.problem is not None else one.order or one.right


def test_answers_travel_in_a_short_code_and_come_back():
    for seed in range(6):
        slots = draw(seed, list(CHAPTERS), 0)
        answers = list(right_answers(slots))
        answers[3] = None
        code = packed(slots, answers)
        found = unpacked(slots, code)
        assert found is not None
        for slot, sent, came in zip(slots, answers, found, strict=True):
            assert came == (
                pytest.approx(sent, rel=1e-11) if isinstance(slot.question, NumberQuestion) and sent else sent
            )
        assert len(code) < 150
        assert unpacked(draw(seed + 1, list(CHAPTERS), 0), code) is None
    assert packed(slots, [None] * LENGTH) == ""


@pytest.mark.parametrize("word", ["z", "9" * 99, "nan", "1e999", "\x00", "aa", "-", "1.5e5x", "0000000", "😀", "١"])
def test_damaged_codes_are_no_answers(word):
    slots = draw(1, list(CHAPTERS), 0)
    for place in range(LENGTH):
        words = [""] * LENGTH
        words[place] = word
        found = unpacked(slots, "~".join([mark(slots), *words]))
        assert found is None or all(a is None or abs(a) < 1e99 for a in found if not isinstance(a, tuple))
    assert unpacked(slots, word) is None


def test_the_largest_number_that_can_be_typed_comes_back():
    slots = draw(1, list(CHAPTERS), 0)
    place = next(i for i, slot in enumerate(slots) if isinstance(slot.question, NumberQuestion))
    for value, read in ((LARGEST, LARGEST), (1.01 * LARGEST, None)):
        words = [""] * LENGTH
        words[place] = f"{value:.12g}"
        found = unpacked(slots, "~".join([mark(slots), *words]))
        assert (found and found[place]) == read


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("1,234", "", 1234),
        ("1.2e6", "", 1.2e6),
        ("124M", "parameters", 124e6),
        ("124.4 M", "parameters", 124.4e6),
        ("124.4 M parameters", "parameters", 124.4e6),
        ("7B", "parameters", 7e9),
        ("12k", "", 12_000),
        ("85.9 GB", "GB", 85.9e9),
        ("85.9", "GB", 85.9e9),
        ("80 GiB", "GB", 80 * 2**30),
        ("12 b", "GB", 12),
        ("１２", "", 12),
        ("٣٤", "", 34),
        ("12 345 678", "", 12_345_678),
        ("−3.5", "", -3.5),
        ("~ 2", "", 2),
        ("1/16", "", 0.0625),
        ("2^-4", "", 0.0625),
        ("50%", "", 0.5),
        ("3 bits", "bits", 3),
        (" .5 ", "", 0.5),
    ],
)
def test_numbers_are_read_as_people_write_them(text, unit, value):
    assert typed_number(text, unit).value == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("1e999", "exponent"),
        ("9" * 41, "longer"),
        ("4,5", "4.5"),
        ("1,23", "4.5"),
        ("", "Type a number"),
        ("nan", "not a number"),
        ("inf", "not a number"),
        ("1/0", "not a number"),
        ("2^99999", "not a number"),
        ("3 dogs", "dogs"),
        ("<script>", "not a number"),
        ("0x10", "not a number"),
        ("1\n2", "not a number"),
        ("9" * 10_000, "longer"),
        ("85.9 GB", "gb"),
        ("1e1e1", "not a number"),
        ("\u202e5", "not a number"),
    ],
)
def test_anything_else_gets_one_sentence(text, word):
    found = typed_number(text)
    assert found.value is None
    assert word in found.problem
    assert found.problem.count(". ") == 0


def test_every_link_leads_to_a_page_that_exists():
    for look in LOOKS:
        assert look.page in pages(), look.page
        assert look.words


def test_a_page_that_is_not_there_is_the_front_page():
    assert places.place("check") == pages()["check"]
    assert places.place("nowhere") == pages()[""]


STOPS = [stop for lesson in LESSONS.values() for stop in lesson.stops]
LINKS = [(one.page, one.view) for one in [*LOOKS, *STOPS]]


@pytest.mark.parametrize(("key", "view"), LINKS, ids=str)
def test_the_parameters_of_a_link_are_controls_of_its_page(key, view):
    page = (ROOT / "pages" / pages()[key].file).parent
    parts = [*page.glob("*.py"), *page.parent.glob("*.py"), *(ROOT / "pages" / "ui").rglob("*.py")]
    source = "".join(part.read_text() for part in parts)
    assert all(f'"{name}"' in source for name in view)


def test_every_question_has_the_level_it_was_given():
    """A level is a judgement; what changes one shows here."""
    assert set(LEVELS) == {0, 1, 2}
    assert {question.name for _, question in ALL if question.level == 2} == DEEPER
    assert all(question.level == 1 for _, question in ALL if question.name not in DEEPER)


# --- questions about a lesson ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("lesson", LESSONS.values(), ids=lambda lesson: lesson.key)
@pytest.mark.parametrize("length", [5, LENGTH])
def test_a_round_about_a_lesson_has_questions_about_it_alone(lesson, level, length):
    assert set(lesson.quiz) <= {question.name for _, question in ALL}
    assert len(set(lesson.quiz)) == len(lesson.quiz) >= LENGTH
    for seed in (1, 2, 77):
        slots = draw(seed, list(CHAPTERS), level, lesson.quiz, length)
        assert len(slots) == len({slot.seed for slot in slots}) == length
        assert {slot.question.name for slot in slots} <= set(lesson.quiz)
        assert slots == draw(seed, list(CHAPTERS), level, lesson.quiz, length)
