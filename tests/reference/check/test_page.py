"""The page that asks: a round in the link, answers graded at once and kept, hostile input, and the score at the end."""

import re
from functools import partial

import pytest
from streamlit.testing.v1 import AppTest

from pages.lessons import LESSONS
from pages.reference.check.card import solution
from pages.reference.check.live_questions import read
from pages.reference.check.question_kinds import ChoiceQuestion, NumberQuestion, OrderQuestion, ReadingQuestion
from pages.reference.check.round import CHAPTERS, LENGTH, asked, draw, packed
from pages.ui import lesson_card
from tests.pages import visits
from tests.pages.figures import figures
from tests.pages.visits import address, press, run, said
from tfcore.views.reference.check.say import answer_text

opened = partial(visits.opened, "reference/check/page.py")
ROUND = 11
LESSON = LESSONS["attention-by-hand"]
SLOTS = draw(ROUND, list(CHAPTERS), 0)


def number_of(kind: type) -> int:
    """The first question of a kind in the round, counted from 1."""
    return next(i for i, slot in enumerate(SLOTS, 1) if isinstance(slot.question, kind))


def ready(number: int):
    slot = SLOTS[number - 1]
    return read(slot).asked if isinstance(slot.question, ReadingQuestion) else asked(slot)


def right_answer(number: int):
    one = ready(number)
    return float(one.problem.answer) if one.problem is not None else one.order or one.right


def hand_in(test: AppTest) -> AppTest:
    next(button for button in test.button if button.label == "Check the answer").click()
    return run(test)


def links_of(test: AppTest) -> list[tuple[str, str]]:
    """Page and query of the links in the page."""
    found = [e.proto for e in test.main if getattr(e, "type", "") == "page_link"]
    return [(link.page, link.query_string) for link in found]


def test_the_link_asks_the_same_questions_and_a_new_round_others():
    one, same, other = (said(opened(round=r), "markdown") for r in ("11", "11", "12"))
    assert one == same != other
    test = opened(round="11")
    next(button for button in test.button if button.label == "New round").click()
    assert address(run(test), "round") != "11"


def test_a_visit_without_a_round_gets_one_of_its_own_and_the_link_says_it():
    rounds = {address(opened(), "round") for _ in range(2)}
    assert len(rounds) == 2


def test_a_number_is_graded_at_once_and_a_known_mistake_is_named():
    at = number_of(NumberQuestion)
    one, question = ready(at), SLOTS[at - 1].question
    assert one.problem is not None
    test = opened(round=str(ROUND), question=str(at))
    test.text_input[0].set_value(answer_text(one.problem.answer, question.unit))
    test = hand_in(test)
    assert "Right" in test.success[0].value
    assert figures(test)["round"][0]["alt"].endswith("1 answered, 1 of them right.")

    name, value = next(iter(one.problem.mistakes.items()))
    test = opened(round=str(ROUND), question=str(at))
    test.text_input[0].set_value(answer_text(value, question.unit))
    test = hand_in(test)
    assert question.hints[name] in test.warning[0].value
    assert "The experiment that settles it" in said(test, "caption")
    assert links_of(test)
    assert any(f"{question.problem.__name__}`" in caption.value for caption in test.caption), "how it was computed"


def test_a_wrong_option_says_why_and_leads_to_its_experiment():
    at = number_of(ChoiceQuestion)
    one = ready(at)
    for place in range(len(one.options)):
        test = opened(round=str(ROUND), question=str(at))
        test.radio[0].set_value(place)
        test = hand_in(test)
        assert bool(test.success) == (place == one.right)
        if place != one.right:
            assert one.whys[place] in test.warning[0].value
        assert "a" in test.query_params


def test_an_order_is_picked_step_by_step():
    found = [
        (seed, i)
        for seed in range(1, 40)
        for i, slot in enumerate(draw(seed, list(CHAPTERS), 0), 1)
        if isinstance(slot.question, OrderQuestion)
    ]
    seed, at = found[0]
    one = asked(draw(seed, list(CHAPTERS), 0)[at - 1])
    test = opened(round=str(seed), question=str(at))
    test.multiselect[0].set_value([one.order[0]])
    test = hand_in(test)
    assert "pick the others" in test.info[0].value
    for fits, words in enumerate(("The first is not yet right", "The first 1 is right", "The first 2 are right")):
        test, tail = opened(round=str(seed), question=str(at)), one.order[fits:]
        test.multiselect[0].set_value([*one.order[:fits], *reversed(tail)])
        assert f"{words}; then comes “{one.options[tail[0]]}”" in said(hand_in(test), "warning")
    test = opened(round=str(seed), question=str(at))
    test.multiselect[0].set_value(list(one.order))
    assert "Right" in hand_in(test).success[0].value


def test_a_reading_shows_its_figure_and_its_numbers():
    seed, at = next(
        (seed, i)
        for seed in range(1, 60)
        for i, slot in enumerate(draw(seed, ["inside"], 0), 1)
        if slot.question.name == "read induction"
    )
    test = opened(round=str(seed), question=str(at), chapters="inside")
    assert "Six attention maps" in figures(test)["look-and-read"][0]["alt"]


@pytest.mark.parametrize("typed", ["", "1e999", "4,5", "x" * 199, "<script>alert(1)</script>", "3 dogs", "nan", "$x$"])
def test_what_is_no_number_gets_one_sentence_and_costs_nothing(typed):
    test = opened(round=str(ROUND), question=str(number_of(NumberQuestion)))
    test.text_input[0].set_value(typed)
    test = hand_in(test)
    assert len(test.info) == 1
    assert not test.success
    assert not test.warning
    assert "a" not in test.query_params


def test_a_reload_keeps_the_answers_and_the_end_says_what_to_do():
    answers = [right_answer(number) for number in range(1, LENGTH + 1)]
    wrong_at = number_of(ChoiceQuestion)
    answers[wrong_at - 1] = (ready(wrong_at).right + 1) % len(ready(wrong_at).options)
    test = opened(round=str(ROUND), a=packed(SLOTS, answers))
    assert address(test, "a") == packed(SLOTS, answers)
    assert f"{LENGTH - 1} of {LENGTH} right" in [header.value for header in test.subheader]
    words = said(test, "markdown")
    assert "What you missed" in words
    assert f"{wrong_at}." in words
    chapter = CHAPTERS[SLOTS[wrong_at - 1].chapter][0]
    assert f"Read next: {chapter}" in words.replace("*", "")


def test_answers_to_other_questions_are_left_out_with_a_word():
    other = packed(draw(ROUND + 1, list(CHAPTERS), 0), [1] * LENGTH)
    test = opened(round=str(ROUND), a=other)
    assert "left out" in said(test, "caption")
    assert "a" not in test.query_params
    assert figures(test)["round"][0]["alt"].endswith("0 answered, 0 of them right.")


def test_another_choice_of_chapters_is_another_round():
    at = number_of(ChoiceQuestion)
    test = opened(round=str(ROUND), question=str(at))
    test.radio[0].set_value(0)
    test = hand_in(test)
    test.pills[0].set_value(["experts"])
    test = run(test)
    assert address(test, "chapters") == "experts"
    assert "a" not in test.query_params
    assert figures(test)["round"][0]["alt"].startswith("10 questions of 1 chapters")


@pytest.mark.parametrize("said_of_it", ["0", "1000000", "-3", "1.5", "٣", "<b>", "9" * 400])
def test_a_round_that_cannot_be_is_replaced_with_a_word(said_of_it):
    test = opened(round=said_of_it)
    assert "There is no round" in said(test, "caption")
    assert 1 <= int(address(test, "round")) < 1_000_000


@pytest.mark.parametrize("chapters", ["nonsense", "model.model.", "model.nonsense", "....", "Model"])
def test_chapters_from_a_link_are_those_there_are(chapters):
    test = opened(round="5", chapters=chapters)
    assert test.pills[0].value == (["model"] if "odel" in chapters else [])
    assert ("Corrected" in said(test, "caption")) == ("nonsense" in chapters)


def test_an_example_begins_at_the_first_question():
    test = opened(round=str(ROUND), sheet="true")
    for key in [button.key for button in test.button if (button.key or "").startswith("try ")]:
        test = press(opened(round=str(ROUND), sheet="true", question="5"), key)
        assert test.slider(key="question").value == 1


def test_the_sheet_has_all_questions_with_answers_folded():
    test = opened(round=str(ROUND), sheet="true")
    words = said(test, "markdown").replace("*", "")
    assert all(re.search(rf"(^|\s){number}\. ", words) for number in range(1, LENGTH + 1))
    assert [e.label for e in test.expander][:LENGTH] == [f"Answer to {number}" for number in range(1, LENGTH + 1)]
    at = number_of(NumberQuestion)
    assert solution(SLOTS[at - 1].question, ready(at)) in words
    leads_to = {page for page, _ in links_of(test)}
    assert {ready(number).look.page for number in range(1, LENGTH + 1)} <= leads_to
    assert not test.slider, "there is no single question to choose"


# --- about a lesson --------------------------------------------------------------------------------------------------


def five(number: int, right: bool) -> str:
    """The code of five answers about the lesson, all of them right, or the first of them missed."""
    slots = draw(number, list(CHAPTERS), 0, LESSON.quiz, 5)
    ones = [read(slot).asked if isinstance(slot.question, ReadingQuestion) else asked(slot) for slot in slots]
    answers = [float(one.problem.answer) if one.problem is not None else one.order or one.right for one in ones]
    if not right:
        first = ones[0]
        answers[0] = 9e9 if first.problem is not None else first.order[::-1] or (first.right + 1) % 2
    return packed(slots, answers)


def test_five_questions_before_a_lesson_and_five_after_it_show_what_it_changed():
    test = opened(course=lesson_card.title(LESSON), five="true", round=str(ROUND), a=five(ROUND, right=False))
    assert "4 of 5 right" in [header.value for header in test.subheader]
    assert "Before the lesson: 4 right" in said(test, "markdown").replace("*", "")
    assert "difference" not in said(test, "markdown")
    test = press(test, "five others")
    number = test.session_state["round"]
    assert number != ROUND
    assert "Before the lesson" not in said(test, "markdown")
    test.session_state["a"] = five(number, right=True)
    words = said(run(test), "markdown").replace("*", "")
    assert "Before the lesson: 4 right. Now: 5, a difference of +1." in words


def test_the_sheet_for_a_teacher_has_the_answers_in_sight():
    test = opened(course=lesson_card.title(LESSON), round=str(ROUND), sheet="true", solved="true")
    assert not [one for one in test.expander if one.label.startswith("Answer to")]
    slots = draw(ROUND, list(CHAPTERS), 0, LESSON.quiz)
    at = next(i for i, slot in enumerate(slots) if not isinstance(slot.question, ReadingQuestion))
    assert solution(slots[at].question, asked(slots[at])) in said(test, "markdown").replace("*", "")
    assert not test.pills, "its chapters follow from the lesson"
