"""Tasks to be read from examples in a prompt: words with their answers, and prompts of 0 to 16 examples.

A prompt has a line for each example, input and answer, and ends with the input whose answer is asked for. Labels are
those of arXiv:2202.12837, section 4.1: right, or each drawn at random from all answers of the task; or right, with the
examples in another order (arXiv:2104.08786).
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from typing import Literal, NamedTuple

from tfcore.tokenizers.tokenizer import Tokenizer

Labels = Literal["right", "random", "order"]
LABELS: dict[Labels, str] = {"right": "right", "random": "random", "order": "right, another order"}
MOST_EXAMPLES = 16
CODES = 4  # letters of a made-up code, each with a digit of its own
GENERATOR = 1_000_003  # a prime that keeps the draws of labels apart from those of words

_ANTONYMS = (
    "hot cold|big small|up down|open closed|fast slow|happy sad|old new|wet dry|light dark|full empty|early late|"
    "rich poor|strong weak|high low|loud quiet|near far|clean dirty|thick thin|tall short|good bad|left right|"
    "first last|true false|day night|in out|front back|black white|love hate|begin end|push pull"
)
_CAPITALS = (
    "France Paris|Italy Rome|Japan Tokyo|Spain Madrid|Germany Berlin|Russia Moscow|Egypt Cairo|China Beijing|"
    "Greece Athens|Norway Oslo|Sweden Stockholm|Austria Vienna|Poland Warsaw|Cuba Havana|Iran Tehran|Iraq Baghdad|"
    "Kenya Nairobi|Peru Lima|Portugal Lisbon|Ireland Dublin|Turkey Ankara|Canada Ottawa|Thailand Bangkok|"
    "Hungary Budapest|Finland Helsinki|Belgium Brussels|Denmark Copenhagen|Chile Santiago"
)
_POSITIVE = (
    "the soup was delicious|I would gladly come back|a warm and funny film|the staff were so kind|we loved every room|"
    "it works better than I hoped|the best holiday in years|my children adored it|a beautiful story|quick and friendly|"
    "worth every penny|the music made me smile|I slept wonderfully|a great cast|simply perfect"
)
_NEGATIVE = (
    "the soup was cold and salty|I will never come back|a dull and endless film|the staff were rude to us|"
    "we hated every room|it broke after a day|the worst holiday in years|my children were bored|a confusing story|"
    "slow and unfriendly|a waste of money|the music hurt my ears|I slept badly|a terrible cast|simply awful"
)


class LabelledExample(NamedTuple):
    """A line of a prompt: an input, the answer that stands there, and the right one."""

    given: str
    label: str
    right: str


@dataclass(frozen=True, slots=True)
class InContextTask:
    """Inputs with their right answers; none: a code of letters and digits, made up for each prompt.

    Args:
        name: in words.
        pairs: inputs with answers.
        between: what stands between an input and its answer.
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    between: str = ": "


def _pairs(text: str) -> tuple[tuple[str, str], ...]:
    first, second = zip(*(line.split() for line in text.split("|")), strict=True)
    return tuple(zip(first, second, strict=True))


def _lines(text: str, answer: str) -> tuple[tuple[str, str], ...]:
    return tuple((line, answer) for line in text.split("|"))


TASKS: dict[str, InContextTask] = {
    "antonyms": InContextTask("antonyms", _pairs(_ANTONYMS)),
    "capitals": InContextTask("capitals", _pairs(_CAPITALS)),
    "sentiment": InContextTask("sentiment", _lines(_POSITIVE, "positive") + _lines(_NEGATIVE, "negative")),
    "code": InContextTask("a made-up code", (), between=""),
}


class DrawnExamples(NamedTuple):
    """MOST_EXAMPLES examples, the input that is asked for with its right answer, and all answers of the task."""

    task: InContextTask
    examples: tuple[LabelledExample, ...]
    query: LabelledExample
    answers: tuple[str, ...]


def draw(name: str, labels: Labels, seed: int) -> DrawnExamples:
    """The words of one prompt; the same seed gives the same examples and query under all three kinds of labels.

    Raises:
        ValueError: no task of that name.
    """
    if name not in TASKS:
        raise ValueError(f"no task is called {name!r}; there are {', '.join(TASKS)}")
    task, words = TASKS[name], random.Random(seed)
    pairs = task.pairs or _code(words)
    answers = tuple(dict.fromkeys(answer for _, answer in pairs))
    # A code repeats its few letters, each once before any comes again; of other tasks no word comes twice.
    order: list[tuple[str, str]] = []
    while len(order) <= MOST_EXAMPLES:
        order += words.sample(pairs, len(pairs))
    order = order[: MOST_EXAMPLES + 1]
    others = random.Random(seed + GENERATOR)
    random_labels = [others.choice(answers) for _ in order]
    lines = [
        LabelledExample(given, chance if labels == "random" else right, right)
        for (given, right), chance in zip(order, random_labels, strict=True)
    ]
    examples = lines[:-1]
    if labels == "order":
        others.shuffle(examples)
    return DrawnExamples(task, tuple(examples), lines[-1], answers)


def _code(words: random.Random) -> tuple[tuple[str, str], ...]:
    letters, digits = words.sample(ascii_lowercase, CODES), words.sample("0123456789", CODES)
    return tuple(zip(letters, digits, strict=True))


class FewShotPrompt(NamedTuple):
    """A prompt as a model reads it.

    Args:
        text: the prompt, which ends with the input that is asked for.
        ids: its tokens.
        at: positions of the last token of each input, the query's last: the answer is predicted there.
        right: id of the first token of each right answer.
        answers: answer of the task -> id of its first token, in this place.
    """

    text: str
    ids: tuple[int, ...]
    at: tuple[int, ...]
    right: tuple[int, ...]
    answers: Mapping[str, int]


def written(task: InContextTask, examples: Sequence[LabelledExample]) -> str:
    """The lines of examples."""
    return "".join(f"{one.given}{task.between}{one.label}\n" for one in examples)


def prompt(tokenizer: Tokenizer, drawn: DrawnExamples, count: int, longest: int) -> FewShotPrompt:
    """The first `count` examples and the query.

    Args:
        longest: tokens of the model's context.

    Raises:
        ValueError: the prompt and an answer do not fit into the context, the tokenizer joins tokens across the places
            where answers begin, or cuts all answers so that they begin alike.
    """
    task, examples = drawn.task, drawn.examples[:count]
    asked = task.between.rstrip(" ")  # the space before an answer is part of the answer's token
    lead = task.between[len(asked) :]
    text = f"{written(task, examples)}{drawn.query.given}{asked}"
    ids = tokenizer.encode(text)
    if len(ids) + 1 > longest:
        raise ValueError(
            f"{count} examples are {len(ids)} tokens, and this model reads {longest}; fewer examples would fit"
        )
    at, right = [], []
    for place, one in enumerate((*examples, drawn.query)):
        before = tokenizer.encode(f"{written(task, examples[:place])}{one.given}{asked}")
        if list(ids[: len(before)]) != before:
            raise ValueError("this tokenizer joins an input and its answer into one token; choose another task")
        at.append(len(before) - 1)
        right.append(_first(tokenizer, before, one.given + asked, lead + one.right))
    answers = {answer: _first(tokenizer, ids, drawn.query.given + asked, lead + answer) for answer in drawn.answers}
    if len(set(answers.values())) < 2:
        raise ValueError("all answers of this task begin with the same token for this model; choose another task")
    return FewShotPrompt(text, tuple(ids), tuple(at), tuple(right), answers)


def _first(tokenizer: Tokenizer, before: Sequence[int], asked: str, answer: str) -> int:
    """The first token of an answer after an input; the end of the text decides how it is cut."""
    alone = tokenizer.encode(asked)
    begun = tokenizer.encode(asked + answer)
    if not before or begun == alone or begun[: len(alone)] != alone:
        raise ValueError("this tokenizer joins an input and its answer into one token; choose another task")
    return begun[len(alone)]
