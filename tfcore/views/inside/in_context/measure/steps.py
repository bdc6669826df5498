"""A question of two steps of arithmetic, answered at once or after the steps are written (arXiv:2201.11903).

    python -m tfcore.views.inside.in_context.measure.steps smollm2

asks a model all problems in both ways and writes steps.json.
"""

import json
import random
import re
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

from tfcore.config import ModelConfig
from tfcore.generation.generate import stream
from tfcore.generation.sampling import Sampling
from tfcore.loading.checkpoints import load
from tfcore.measures.flop_count import flops
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

Way = Literal["direct", "steps"]
WAYS: dict[Way, str] = {"direct": "at once", "steps": "after steps"}
KEPT = Path(__file__).with_name("steps.json")
PROBLEMS = 40
SHOTS = 4  # solved problems before each
SHOT_SEED = 1_000  # of the first of them: none of them is asked
MOST_TOKENS: dict[Way, int] = {"direct": 12, "steps": 40}
NAMES = ("Tom", "Lily", "Ben", "Anna", "Max", "Mia", "Sam", "Kate")
THINGS = ("apples", "books", "stamps", "shells", "coins", "cards", "pears", "eggs")


class WordProblem(NamedTuple):
    """A question, its steps, and its answer."""

    question: str
    steps: str
    answer: int


def problem(seed: int) -> WordProblem:
    """first + more - away, in words."""
    rng = random.Random(seed)
    name, thing = rng.choice(NAMES), rng.choice(THINGS)
    first, more, away = rng.randint(11, 40), rng.randint(3, 19), rng.randint(2, 9)
    both = first + more
    return WordProblem(
        f"{name} has {first} {thing}, gets {more} more and then gives {away} away. How many {thing} are left?",
        f"{first} + {more} = {both}. {both} - {away} = {both - away}.",
        both - away,
    )


def asked(seed: int, way: Way) -> str:
    """SHOTS solved problems and the one that is asked, up to where the answer begins."""
    lines = []
    for shot in map(problem, range(SHOT_SEED, SHOT_SEED + SHOTS)):
        steps = f" {shot.steps}" if way == "steps" else ""
        lines.append(f"Q: {shot.question}\nA:{steps} The answer is {shot.answer}.\n\n")
    return f"{''.join(lines)}Q: {problem(seed).question}\nA:"


def said_answer(written: str) -> int | None:
    """The number after "answer is" in the first line of what was written."""
    match = re.search(r"answer is (-?\d+)", written.split("\n")[0])
    return int(match[1]) if match else None


def too_long(model: Transformer, tokenizer: Tokenizer, seed: int, way: Way) -> str | None:
    """Why prompt and answer do not fit into the model's context, or None."""
    length, longest = len(tokenizer.encode(asked(seed, way))), model.config.max_seq_len
    if length + MOST_TOKENS[way] <= longest:
        return None
    return (
        f"the {SHOTS} solved problems and the question are {length} tokens, the answer up to {MOST_TOKENS[way]}, and "
        f"this model reads {longest}; choose smollm2 or another model with a longer context"
    )


def write(model: Transformer, tokenizer: Tokenizer, seed: int, way: Way) -> Iterator[int]:
    """The most probable tokens one by one, to the end of the line or MOST_TOKENS.

    Raises:
        ValueError: prompt and answer do not fit into the model's context.
    """
    if (reason := too_long(model, tokenizer, seed, way)) is not None:
        raise ValueError(reason)
    ids = tokenizer.encode(asked(seed, way))
    for step in stream(model, ids, Sampling(temperature=0), max_new_tokens=MOST_TOKENS[way]):
        if "\n" in tokenizer.decode([step.token]):
            return
        yield step.token


class WrittenAnswer(NamedTuple):
    """The answer that a model wrote.

    Args:
        seed: of the problem.
        prompt: tokens of the prompt.
        tokens: that were written.
        text: the same.
        operations: floating-point operations of the passes that wrote them; see `operations`.
    """

    seed: int
    prompt: int
    tokens: int
    text: str
    operations: float

    @property
    def right(self) -> bool:
        """Whether the answer it gives is right."""
        return said_answer(self.text) == problem(self.seed).answer


def written(config: ModelConfig, tokenizer: Tokenizer, seed: int, way: Way, ids: Sequence[int]) -> WrittenAnswer:
    """The text of the tokens, and their cost."""
    prompt = len(tokenizer.encode(asked(seed, way)))
    return WrittenAnswer(seed, prompt, len(ids), tokenizer.decode(ids), operations(config, prompt, len(ids)))


class ModelAnswers(NamedTuple):
    """Answers of a model to every problem, at once and after steps."""

    model: str
    direct: tuple[WrittenAnswer, ...]
    steps: tuple[WrittenAnswer, ...]


@lru_cache(maxsize=1)
def kept_steps() -> ModelAnswers:
    """The answers that were measured."""
    content = json.loads(KEPT.read_text("utf-8"))
    direct, steps = (tuple(WrittenAnswer(*row) for row in content[way]) for way in WAYS)
    return ModelAnswers(content["model"], direct, steps)


def operations(config: ModelConfig, prompt: int, tokens: int) -> float:
    """Operations of the matrix products in the passes over the written tokens, without the prompt: with a KV cache each
    token costs one pass, over the keys before it."""
    before = flops(config, prompt, pairs="visible").sequence
    return float(flops(config, prompt + tokens, pairs="visible").sequence - before)


class Sums(NamedTuple):
    """How many of the additions and subtractions that were written down are right, and how many there are."""

    additions_right: int
    additions: int
    subtractions_right: int
    subtractions: int


def sums(rows: Sequence[WrittenAnswer]) -> Sums:
    """Sums in lines such as "12 + 11 = 23. 23 - 9 = 14.", each taken by itself."""
    parts = [part for one in rows for part in re.findall(r"(\d+) ([+-]) (\d+) = (\d+)", one.text)]
    plus = [int(a) + int(b) == int(c) for a, sign, b, c in parts if sign == "+"]
    minus = [int(a) - int(b) == int(c) for a, sign, b, c in parts if sign == "-"]
    return Sums(sum(plus), len(plus), sum(minus), len(minus))


def main(name: str = "smollm2") -> None:
    """Ask all problems in both ways."""
    model, tokenizer = load(name)
    if tokenizer is None:
        raise ValueError(f"{name} has no tokenizer, and problems are texts")
    rows = {
        way: [
            written(model.config, tokenizer, seed, way, list(write(model.eval(), tokenizer, seed, way)))
            for seed in range(PROBLEMS)
        ]
        for way in WAYS
    }
    lines = [
        f'"{way}": [\n' + ",\n".join(json.dumps(row) for row in answered) + "\n]" for way, answered in rows.items()
    ]
    KEPT.write_text(f'{{\n"model": "{name}",\n' + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
