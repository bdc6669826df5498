"""The page that asks: one question with its widget, its verdict, and the way to the experiment."""

import streamlit as st

from pages.reference.check import live_questions
from pages.reference.check.question_kinds import NumberQuestion, OrderQuestion, Question, ReadingQuestion
from pages.reference.check.round import CHAPTERS, LEVELS, Answer, Asked, Slot, asked, packed, unpacked, verdict
from pages.reference.check.typed_numbers import typed_number
from pages.ui import controls, keys, links, notices, page, places
from pages.ui.frame import show
from tfcore.measures.heads.kinds import score_heads
from tfcore.measures.text_loss import likeliest
from tfcore.views.reference.check.say import answer_text

CODE = "a"  # of the answers, in the address and in the session
HOW_TO_TYPE = (
    "1,234 or 1.2e6 or 124.4 M (k, M, B, T); fractions such as 1/16 and powers such as 2^-4 work. A comma separates "
    "thousands, a point decimals. Where the answer is in GB, a bare number means GB (10^9 bytes); 80 GiB is read as "
    "2^30 bytes each."
)


def answers(slots: tuple[Slot, ...]) -> list[Answer]:
    """Answers given in this round so far, from the address or the session; damaged codes are left out."""
    code, from_link = links.wanted(CODE, "", links.asked)
    codes = unpacked(slots, str(code)) if code else None
    if code and codes is None and from_link:
        notices.add(CODE, "The answers in this link are damaged or belong to other questions, so they were left out")
    given: list[Answer] = [None] * len(slots) if codes is None else list(codes)
    keep(slots, given)
    return given


def keep(slots: tuple[Slot, ...], given: list[Answer]) -> None:
    """Put the answers into the session and the address."""
    code = packed(slots, given)
    st.session_state[CODE] = code
    links.write(CODE, code or None)
    links.mark_seen(CODE)


def ready(slot: Slot) -> tuple[Asked, live_questions.Read | None]:
    """A question with its values; with its figure, if it has one."""
    if isinstance(slot.question, ReadingQuestion):
        read = live_questions.read(slot)
        return read.asked, read
    return asked(slot), None


def states(slots: tuple[Slot, ...], given: list[Answer]) -> list[bool | None]:
    """For each question whether it was answered right; None where it is open."""
    told: list[bool | None] = []
    for slot, answer in zip(slots, given, strict=True):
        told.append(None if answer is None else verdict(slot.question, ready(slot)[0], answer).right)
    return told


def card(slots: tuple[Slot, ...], given: list[Answer], number: int) -> None:
    """Question `number`, counted from 1."""
    slot = slots[number - 1]
    one, read = ready(slot)
    answered = given[number - 1] is not None
    with st.container(border=True):
        place = f"Question {number} of {len(slots)} · {CHAPTERS[slot.chapter][0]} · {LEVELS[slot.question.level]}"
        st.caption(place)
        st.markdown(one.ask)
        if read is not None:
            show(read.view("look and read"))
        if answered:
            judged(slot.question, one, given[number - 1])
        else:
            ask(slots, given, number, one)
        ways(len(slots), number, given)


def ways(count: int, number: int, given: list[Answer]) -> None:
    """Back, on, and to the next that is open."""
    with st.container(horizontal=True):
        st.button("Back", disabled=number == 1, on_click=controls.set_values, kwargs={"question": number - 1})
        st.button(
            "Next",
            disabled=number == count,
            on_click=controls.set_values,
            kwargs={"question": number + 1},
            type="primary" if given[number - 1] is not None and number < count else "secondary",
        )


def ask(slots: tuple[Slot, ...], given: list[Answer], number: int, one: Asked) -> None:
    """The widget for an answer, and the button that hands it in."""
    slot = slots[number - 1]
    key = f"answer {slot.seed}"
    question = slot.question
    with st.form(keys.own("form", f"form {slot.seed}"), border=False):
        answer: Answer
        if isinstance(question, NumberQuestion):
            unit = f" ({question.unit})" if question.unit else ""
            typed = st.text_input(
                f"Your answer{unit}", key=keys.own("text_input", key), help=HOW_TO_TYPE, max_chars=200
            )
            answer, problem = _number(typed, question)
        elif isinstance(question, OrderQuestion):
            picked = st.multiselect(
                "Pick the steps in order",
                range(len(one.options)),
                key=keys.own("multiselect", key),
                format_func=one.options.__getitem__,
            )
            complete = len(picked) == len(one.options)
            answer = tuple(picked) if complete else None
            problem = (
                ""
                if complete
                else f"{len(picked)} of {len(one.options)} steps are in their place: pick the others, too."
            )
        else:
            answer = st.radio(
                "Your answer",
                range(len(one.options)),
                index=None,
                key=keys.own("radio", key),
                format_func=one.options.__getitem__,
            )
            problem = "" if answer is not None else "Choose one of the answers first."
        handed_in = st.form_submit_button("Check the answer", type="primary")
    if handed_in and problem:
        st.info(problem)
    elif handed_in:
        given[number - 1] = answer
        keep(slots, given)
        st.rerun()


def _number(typed: str, question: NumberQuestion) -> tuple[float | None, str]:
    number = typed_number(typed, question.unit)
    return number.value, number.problem


def said(question: Question, one: Asked, answer: Answer) -> str:
    """An answer in words."""
    if isinstance(question, NumberQuestion) and isinstance(answer, float):
        return answer_text(answer, question.unit)
    if isinstance(answer, tuple):
        return " → ".join(one.options[place] for place in answer)
    return one.options[answer] if isinstance(answer, int) else ""


def solution(question: Question, one: Asked) -> str:
    """The right answer in words."""
    if one.problem is not None:
        return said(question, one, float(one.problem.answer))
    return said(question, one, one.order or one.right)


def judged(question: Question, one: Asked, answer: Answer) -> None:
    """The verdict with its reason, the explanation, and the experiment."""
    judgement = verdict(question, one, answer)
    if judgement.right:
        st.success(f"**Right:** {said(question, one, answer)}", icon=":material/check:")
    else:
        st.warning(f"**Not yet:** {said(question, one, answer)}  \n{judgement.words}", icon=":material/close:")
        st.markdown(f"**The answer:** {solution(question, one)}")
    st.markdown(one.because)
    st.caption("See it yourself:" if judgement.right else "The experiment that settles it:")
    places.link(judgement.look.page, judgement.look.view, judgement.look.words)
    if isinstance(question, NumberQuestion):
        page.how_it_is_computed(code=(question.problem,))
    elif isinstance(question, ReadingQuestion):
        page.how_it_is_computed(code=(likeliest if question.figure == "next" else score_heads,))


def sheet(slots: tuple[Slot, ...], solved: bool = False) -> None:
    """All questions of the round on one page: to print, or to go through in class.

    Args:
        solved: whether the answers are there at once, for a teacher; otherwise they are folded.
    """
    for number, slot in enumerate(slots, 1):
        one, read = ready(slot)
        st.markdown(f"**{number}.** {one.ask}")
        if read is not None:
            show(read.view(f"look and read {number}"))
        if one.options:
            letters = "abcdefghi"
            st.markdown("  \n".join(f"{letters[i]}) {option}" for i, option in enumerate(one.options)))
        elif isinstance(slot.question, NumberQuestion):
            st.markdown(f"Answer: ________________ {slot.question.unit}".rstrip())
        with st.container(border=True) if solved else st.expander(f"Answer to {number}"):
            st.markdown(f"**{solution(slot.question, one)}**  \n{one.because}")
            places.link(one.look.page, one.look.view, one.look.words)
