"""How often a model answers rightly after 0 to 16 examples: measured, and kept as counts.

    python -m tfcore.analysis.inside.in_context.accuracy smollm2 stories induction

measures anew and writes accuracy.json. One pass answers for every number of examples: under a causal mask the answer
to the i-th line depends on the lines before it alone, so the lines of one prompt are asked one by one.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import torch

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.in_context.tasks import LABELS, MOST_EXAMPLES, TASKS, Labels, Prompt, draw, prompt
from tfcore.loading.checkpoints import load
from tfcore.measures.one_text import one_text
from tfcore.measures.quantities import counted
from tfcore.measures.statistics import wilson
from tfcore.model import NO_LOGITS, Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

KEPT = Path(__file__).with_name("accuracy.json")
PROMPTS = 60  # of each task and kind of labels


class Interval(NamedTuple):
    """A share with its 95 % interval."""

    share: float
    low: float
    high: float

    def apart(self, other: "Interval") -> bool:
        """Whether the two intervals do not overlap."""
        return self.low > other.high or other.low > self.high


def interval(right: int, of: int) -> Interval:
    """The share of so many, with Wilson's interval."""
    return Interval(right / of, *wilson(right, of))


@dataclass(frozen=True, slots=True)
class Curve:
    """Right answers after each number of examples.

    Args:
        labels: of the examples.
        right: how many answers are right after 0, 1, ... examples.
        prompts: of how many.
    """

    labels: Labels
    right: tuple[int, ...]
    prompts: int

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """The accuracy after each number of examples."""
        return tuple(interval(one, self.prompts) for one in self.right)


@dataclass(frozen=True, slots=True)
class Measured:
    """A task as one model does it.

    Args:
        model, task: names.
        curves: of the kinds of labels.
        guess: accuracy of a guess among the task's answers.
        changed: of the prompts with all examples, how many answers another order changes.
    """

    model: str
    task: str
    curves: tuple[Curve, ...]
    guess: float
    changed: int

    def curve(self, labels: Labels) -> Curve:
        """One of the three."""
        return next(one for one in self.curves if one.labels == labels)


@torch.no_grad()
def answers(model: Transformer, asked: Prompt) -> list[int]:
    """For each line of a prompt, the token that is most probable among the first tokens of the task's answers."""
    hidden = model(one_text(model, asked.ids), logits_to_keep=NO_LOGITS).hidden.squeeze(0)[list(asked.at)]
    candidates = sorted(set(asked.answers.values()))
    logits = model.to_logits(hidden)
    if logits is None:
        raise ValueError("this model has no language head, so it gives no answers")
    return [candidates[best] for best in logits[:, candidates].argmax(1).tolist()]


def measure(model: Transformer, tokenizer: Tokenizer, name: str, task: str, prompts: int = PROMPTS) -> Measured:
    """Accuracy by number of examples, for the three kinds of labels; the prompts are those of seeds 0, 1, ..."""
    found: dict[Labels, list[list[int]]] = {labels: [] for labels in LABELS}
    changed, distinct = 0, 1
    for seed in range(prompts):
        last: list[int] = []
        for labels, rows in found.items():
            asked = prompt(tokenizer, draw(task, labels, seed), MOST_EXAMPLES, model.config.max_seq_len)
            said = answers(model, asked)
            rows.append([int(one == true) for one, true in zip(said, asked.right, strict=True)])
            last += [said[-1]] if labels != "random" else []
            distinct = len(set(asked.answers.values()))
        changed += last[0] != last[1]
    curves = tuple(Curve(labels, tuple(map(sum, zip(*rows, strict=True))), prompts) for labels, rows in found.items())
    return Measured(name, task, curves, 1 / distinct, changed)


def save(every: Sequence[Measured], path: Path = KEPT) -> None:
    """Write the counts."""
    rows = [
        {
            "model": one.model,
            "task": one.task,
            "prompts": one.curve("right").prompts,
            "guess": round(one.guess, 6),
            "changed": one.changed,
            **{curve.labels: list(curve.right) for curve in one.curves},
        }
        for one in every
    ]
    path.write_text("[\n" + ",\n".join(f"  {json.dumps(row)}" for row in rows) + "\n]\n", "utf-8")


@lru_cache(maxsize=1)
def kept() -> dict[tuple[str, str], Measured]:
    """What was measured, by model and task."""
    found = {}
    for row in json.loads(KEPT.read_text("utf-8")):
        curves = tuple(Curve(labels, tuple(row[labels]), row["prompts"]) for labels in LABELS)
        found[row["model"], row["task"]] = Measured(row["model"], row["task"], curves, row["guess"], row["changed"])
    return found


# ---- findings ----


@dataclass(frozen=True, slots=True)
class Accuracy(Finding):
    """The accuracy after some examples, and after none.

    Args:
        model, task, labels: names.
        examples: how many.
        now, none: accuracy with its interval, after that many and after no examples.
        prompts: how many were asked.
        guess: accuracy of a guess.
    """

    model: str
    task: str
    labels: str
    examples: int
    now: Interval
    none: Interval
    prompts: int
    guess: float

    @property
    def sentence(self) -> str:
        here = f"{self.now.share:.0%} ({self.now.low:.0%} to {self.now.high:.0%})"
        start = f"{self.model}, {self.task}, labels {self.labels}: "
        end = f"a guess among the task's answers is right in {self.guess:.0%}. {self.prompts} prompts, 95 % intervals."
        if self.examples == 0:
            return f"{start}right in {here} of the prompts without examples; {end}"
        before = f"{self.none.share:.0%} ({self.none.low:.0%} to {self.none.high:.0%})"
        count = counted(self.examples, "example")
        return f"{start}right in {here} of the prompts after {count}, in {before} without any; {end}"


def accuracy(found: Measured, labels: Labels, examples: int) -> Accuracy:
    """What a curve says at one number of examples."""
    curve = found.curve(labels)
    spans = curve.intervals
    name = TASKS[found.task].name
    return Accuracy(found.model, name, LABELS[labels], examples, spans[examples], spans[0], curve.prompts, found.guess)


@dataclass(frozen=True, slots=True)
class LabelsMatter(Finding):
    """What random labels and another order change after all examples.

    Args:
        examples, prompts: how many.
        right, random: accuracy with right and with random labels.
        changed: how many answers another order of the same examples changes.
    """

    examples: int
    prompts: int
    right: Interval
    random: Interval
    changed: int

    @property
    def sentence(self) -> str:
        verdict = "the intervals do not overlap" if self.right.apart(self.random) else "the intervals overlap"
        return (
            f"After {self.examples} examples random labels give {self.random.share:.0%} ({self.random.low:.0%} to "
            f"{self.random.high:.0%}), right ones {self.right.share:.0%} ({self.right.low:.0%} to "
            f"{self.right.high:.0%}): {verdict}. Another order of the same {self.examples} changes the answer in "
            f"{self.changed} of {self.prompts} prompts."
        )


def labels_matter(found: Measured) -> LabelsMatter:
    """From the counts after all examples."""
    right, chance = (found.curve(labels) for labels in ("right", "random"))
    return LabelsMatter(MOST_EXAMPLES, right.prompts, right.intervals[-1], chance.intervals[-1], found.changed)


def main(names: Sequence[str]) -> None:
    """Measure the tasks on each of the models that can read them."""
    every = []
    for name in names:
        model, tokenizer = load(name)
        if tokenizer is None:
            raise ValueError(f"{name} has no tokenizer, and prompts are texts")
        for task in TASKS:
            try:
                every.append(measure(model.eval(), tokenizer, name, task))
            except ValueError as problem:
                sys.stderr.write(f"{name}, {task}: {problem}\n")
            else:
                sys.stderr.write(f"{every[-1]}\n")
    save(every)


if __name__ == "__main__":
    main(sys.argv[1:] or ["smollm2", "stories", "induction"])
