"""How often a model answers rightly after 0 to 16 examples: measured, and kept as counts.

    python -m tfcore.views.inside.in_context.measure.accuracy smollm2 stories induction

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

from tfcore.loading.checkpoints import load
from tfcore.measures.one_text import one_text
from tfcore.measures.statistics import wilson
from tfcore.model import NO_LOGITS, Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.inside.in_context.measure.tasks import (
    LABELS,
    MOST_EXAMPLES,
    TASKS,
    FewShotPrompt,
    Labels,
    draw,
    prompt,
)

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
    """The share of `right` in so many, with Wilson's interval."""
    return Interval(right / of, *wilson(right, of))


@dataclass(frozen=True, slots=True)
class AccuracyCurve:
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
class TaskAccuracy:
    """A task as one model does it.

    Args:
        model, task: names.
        curves: of the kinds of labels.
        guess: accuracy of a guess among the task's answers.
        changed: of the prompts with all examples, how many answers another order changes.
    """

    model: str
    task: str
    curves: tuple[AccuracyCurve, ...]
    guess: float
    changed: int

    def curve(self, labels: Labels) -> AccuracyCurve:
        """The curve of one of the three kinds of labels."""
        return next(one for one in self.curves if one.labels == labels)


@torch.no_grad()
def answers(model: Transformer, asked: FewShotPrompt) -> list[int]:
    """For each line of a prompt, the token that is most probable among the first tokens of the task's answers."""
    hidden = model(one_text(model, asked.ids), logits_to_keep=NO_LOGITS).hidden.squeeze(0)[list(asked.at)]
    candidates = sorted(set(asked.answers.values()))
    logits = model.to_logits(hidden)
    if logits is None:
        raise ValueError("this model has no language head, so it gives no answers")
    return [candidates[best] for best in logits[:, candidates].argmax(1).tolist()]


def measure(model: Transformer, tokenizer: Tokenizer, name: str, task: str, prompts: int = PROMPTS) -> TaskAccuracy:
    """Accuracy by number of examples, for the three kinds of labels; the prompts are those of seeds 0, 1, ..."""
    right: dict[Labels, list[list[int]]] = {labels: [] for labels in LABELS}
    changed, distinct = 0, 1
    for seed in range(prompts):
        last: list[int] = []
        for labels, rows in right.items():
            asked = prompt(tokenizer, draw(task, labels, seed), MOST_EXAMPLES, model.config.max_seq_len)
            said = answers(model, asked)
            rows.append([int(one == true) for one, true in zip(said, asked.right, strict=True)])
            last += [said[-1]] if labels != "random" else []
            distinct = len(set(asked.answers.values()))
        changed += last[0] != last[1]
    curves = tuple(
        AccuracyCurve(labels, tuple(map(sum, zip(*rows, strict=True))), prompts) for labels, rows in right.items()
    )
    return TaskAccuracy(name, task, curves, 1 / distinct, changed)


def save(every: Sequence[TaskAccuracy], path: Path = KEPT) -> None:
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
def kept() -> dict[tuple[str, str], TaskAccuracy]:
    """The curves that were measured, by model and task."""
    measured = {}
    for row in json.loads(KEPT.read_text("utf-8")):
        curves = tuple(AccuracyCurve(labels, tuple(row[labels]), row["prompts"]) for labels in LABELS)
        measured[row["model"], row["task"]] = TaskAccuracy(
            row["model"], row["task"], curves, row["guess"], row["changed"]
        )
    return measured


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
