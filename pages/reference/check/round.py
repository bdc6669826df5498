"""A round of questions: which ones a seed draws, each with its values, and the code that carries the answers."""

import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from pages.reference.check import block as block
from pages.reference.check import experts as experts
from pages.reference.check import foundations as foundations
from pages.reference.check import history as history
from pages.reference.check import inference as inference
from pages.reference.check import inside as inside
from pages.reference.check import model as model
from pages.reference.check import training as training
from pages.reference.check.question_kinds import (
    ChoiceQuestion,
    Experiment,
    NumberQuestion,
    OrderQuestion,
    Question,
    ReadingQuestion,
)
from pages.reference.check.typed_numbers import LARGEST
from tfcore.views.reference.check.measure import Problem
from tfcore.views.reference.check.measure.problem import BYTES
from tfcore.views.reference.check.say import off_by

CHAPTERS: dict[str, tuple[str, tuple[Question, ...]]] = {
    "foundations": ("Foundations", foundations.QUESTIONS),
    "block": ("Block", block.QUESTIONS),
    "model": ("Model", model.QUESTIONS),
    "training": ("Training", training.QUESTIONS),
    "inference": ("Inference", inference.QUESTIONS),
    "experts": ("Experts", experts.QUESTIONS),
    "inside": ("Inside", inside.QUESTIONS),
    "history": ("History", history.QUESTIONS),
}
LENGTH = 10  # questions of a round
LEVELS = {0: "both levels", 1: "first steps", 2: "in depth"}
SEEDS = 1_000_000

Answer = int | float | tuple[int, ...] | None  # of an option, a number, an order; None: not answered


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in a round.

    Args:
        chapter: key of CHAPTERS.
        question: asked there.
        seed: draws its values and shuffles its options.
    """

    chapter: str
    question: Question
    seed: str

    @property
    def rng(self) -> Random:
        return Random(self.seed)


def draw(
    seed: int, chapters: Sequence[str], level: int, names: Sequence[str] = (), length: int = LENGTH
) -> tuple[Slot, ...]:
    """The questions of a round: chapters in turn, none twice; where there are too few, numbers with other values. Each
    chapter begins with what is easiest.

    Args:
        names: of the questions to draw from, such as those about a lesson; empty means all.
        length: questions of the round.
    """
    rng = Random(f"round {seed}")
    pools = {}
    for chapter in chapters:
        pool = [q for q in CHAPTERS[chapter][1] if level in (0, q.level) and (not names or q.name in names)]
        pools[chapter] = rng.sample(pool, len(pool))
    turns = rng.sample(list(chapters), len(chapters))
    slots: list[Slot] = []
    while len(slots) < length and any(pools.values()):
        for chapter in turns:
            if pools[chapter] and len(slots) < length:
                question = pools[chapter].pop()
                slots.append(Slot(chapter, question, f"{seed} {chapter} {question.name}"))
    numbers = [slot for slot in slots if isinstance(slot.question, NumberQuestion)]
    again = 1
    while numbers and len(slots) < length:
        slots += [Slot(s.chapter, s.question, f"{s.seed} {again}") for s in numbers[: length - len(slots)]]
        again += 1
    rank = list(CHAPTERS).index
    return tuple(sorted(slots, key=lambda slot: (rank(slot.chapter), slot.question.level)))


# ---- one question with its values ----


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a round, ready to be shown.

    Args:
        ask, because: its words, with the values in place.
        options: to choose from or to put in order, shuffled.
        whys, looks: of each option: why it is not right, and where that is settled.
        right: place of the right option.
        order: places of the options in the right order.
        problem: of a number.
    """

    ask: str
    because: str
    look: Experiment
    options: tuple[str, ...] = ()
    whys: tuple[str, ...] = ()
    looks: tuple[Experiment, ...] = ()
    right: int = 0
    order: tuple[int, ...] = ()
    problem: Problem | None = None


def asked(slot: Slot) -> Asked:
    """A question other than a reading, with its values drawn."""
    question, rng = slot.question, slot.rng
    if isinstance(question, ChoiceQuestion):
        entries = [(question.right, "", question.look)]
        entries += [(wrong.words, wrong.why, wrong.look or question.look) for wrong in question.wrong]
        right = entries[0]
        rng.shuffle(entries)
        options, whys, looks = zip(*entries, strict=True)
        return Asked(question.ask, question.because, question.look, options, whys, looks, entries.index(right))
    if isinstance(question, OrderQuestion):
        places = rng.sample(range(len(question.steps)), len(question.steps))  # place -> step
        steps = tuple(question.steps[step] for step in places)
        order = tuple(places.index(step) for step in range(len(places)))
        return Asked(question.ask, question.because, question.look, steps, order=order)
    if isinstance(question, NumberQuestion):
        problem = question.problem(rng)
        values = {**problem.given, **derived(problem.answer)}
        because = question.because.format(**values)
        return Asked(question.ask.format(**values), because, question.look, problem=problem)
    raise TypeError(f"{question.name} reads a figure: see live_questions.py")


def derived(answer: float) -> dict[str, float]:
    """An answer in the units that explanations use."""
    return {
        "answer": answer,
        "gb": answer / 1e9,
        "gib": answer / 2**30,
        "millions_answer": answer / 1e6,
        "billions_answer": answer / 1e9,
    }


# ---- verdicts ----


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on an answer: right or not, one sentence (empty if right), and the experiment that settles it."""

    right: bool
    words: str
    look: Experiment


def verdict(question: Question, one: Asked, answer: Answer) -> Verdict:
    """Grade an answer."""
    if isinstance(question, NumberQuestion) and one.problem is not None and isinstance(answer, float):
        return _graded_number(question, one, one.problem, answer)
    if isinstance(question, OrderQuestion) and isinstance(answer, tuple):
        return _graded_order(one, answer)
    if isinstance(question, ChoiceQuestion | ReadingQuestion) and isinstance(answer, int):
        right = answer == one.right
        return Verdict(right, "" if right else one.whys[answer], one.look if right else one.looks[answer])
    raise ValueError(f"{answer!r} is no answer to {question.name}")


def _graded_number(question: NumberQuestion, one: Asked, problem: Problem, value: float) -> Verdict:
    if problem.is_right(value):
        return Verdict(True, "", one.look)
    name = problem.mistake(value)
    if name is not None and name in question.hints:
        return Verdict(False, question.hints[name], one.look)
    if question.unit in BYTES:
        if problem.is_right(value / 1e9 * 2**30):
            return Verdict(False, "That is the number of GiB (2^30 bytes); GB, 10^9 bytes, were asked.", one.look)
        if problem.is_right(value / 1e9):
            return Verdict(False, "That is the number of bytes; GB were asked.", one.look)
    return Verdict(False, str(off_by(value, problem.answer)), one.look)


def _graded_order(one: Asked, answer: tuple[int, ...]) -> Verdict:
    fits = next((i for i, (a, b) in enumerate(zip(answer, one.order, strict=True)) if a != b), None)
    if fits is None:
        return Verdict(True, "", one.look)
    first = "The first is not yet right" if not fits else f"The first {fits} {'is' if fits == 1 else 'are'} right"
    return Verdict(
        False, f"{first}; then comes “{one.options[one.order[fits]]}”, not “{one.options[answer[fits]]}”.", one.look
    )


# ---- answers in the address ----

_NUMBER = re.compile(r"-?\d{1,40}(\.\d{1,20})?(e[-+]?\d{1,3})?")
_LONGEST = 400


def mark(slots: Sequence[Slot]) -> str:
    """A few letters that tell one round from another: answers to other questions are not taken for these."""
    return f"{zlib.crc32('|'.join(slot.seed for slot in slots).encode()) % 36**4:x}"


def packed(slots: Sequence[Slot], answers: Sequence[Answer]) -> str:
    """All answers as a short code for the address; empty if there are none."""
    if all(answer is None for answer in answers):
        return ""
    return "~".join([mark(slots), *(_word(answer) for answer in answers)])


def _word(answer: Answer) -> str:
    if answer is None:
        return ""
    if isinstance(answer, tuple):
        return "".join(map(str, answer))
    return f"{answer:.12g}" if isinstance(answer, float) else "abcdefghi"[answer]


def unpacked(slots: Sequence[Slot], code: str) -> tuple[Answer, ...] | None:
    """The answers in a code; None if it is damaged or belongs to another round."""
    words = code[:_LONGEST].split("~")
    if words[0] != mark(slots) or len(words) != len(slots) + 1:
        return None
    answers = [_answer(slot.question, word) for slot, word in zip(slots, words[1:], strict=True)]
    if any(answer is None and word for answer, word in zip(answers, words[1:], strict=True)):
        return None
    return tuple(answers)


def _answer(question: Question, word: str) -> Answer:
    if isinstance(question, NumberQuestion):
        return float(word) if _NUMBER.fullmatch(word) and abs(float(word)) <= LARGEST else None
    if isinstance(question, OrderQuestion):
        places = tuple(int(c) for c in word if c in "0123456789")
        return places if len(word) == len(places) and sorted(places) == list(range(len(question.steps))) else None
    count = len(question.wrong) + 1 if isinstance(question, ChoiceQuestion) else OPTIONS[question.figure]
    return "abcdefghi".index(word) if len(word) == 1 and word in "abcdefghi"[:count] else None


OPTIONS = {"previous": 6, "spread": 6, "induction": 6, "next": 4}  # of readings, by figure
