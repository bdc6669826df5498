"""Findings on in-context learning: accuracies, heads, written steps."""

from collections import Counter
from dataclasses import dataclass

import numpy as np

from tfcore.measures.heads.induction_heads import Place, listed
from tfcore.measures.quantities import counted
from tfcore.measures.statistics import rank_correlation
from tfcore.views.finding import Finding, Statement, state
from tfcore.views.inside.in_context.measure.accuracy import Interval, TaskAccuracy, interval
from tfcore.views.inside.in_context.measure.heads import ScoredHeadEffects
from tfcore.views.inside.in_context.measure.steps import ModelAnswers, said_answer, sums
from tfcore.views.inside.in_context.measure.tasks import LABELS, MOST_EXAMPLES, TASKS, Labels


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


def accuracy(measured: TaskAccuracy, labels: Labels, examples: int) -> Accuracy:
    """State the accuracy of a curve at one number of examples."""
    curve = measured.curve(labels)
    spans = curve.intervals
    name = TASKS[measured.task].name
    return Accuracy(
        measured.model, name, LABELS[labels], examples, spans[examples], spans[0], curve.prompts, measured.guess
    )


@dataclass(frozen=True, slots=True)
class LabelsMatter(Finding):
    """The change by random labels and by another order after all examples.

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


def labels_matter(measured: TaskAccuracy) -> LabelsMatter:
    """The accuracy after all examples with right and with random labels, and the answers that another order changes."""
    right, chance = (measured.curve(labels) for labels in ("right", "random"))
    return LabelsMatter(MOST_EXAMPLES, right.prompts, right.intervals[-1], chance.intervals[-1], measured.changed)


TOP = 10  # heads of each kind that are compared


NAMED = 3  # heads that a sentence names


@dataclass(frozen=True, slots=True)
class HeadsAgree(Finding):
    """How far the heads that an answer depends on are the induction heads.

    Args:
        heads: of the model.
        best: the heads with the largest falls -> fall, nats.
        exact: how many falls are exact.
        correlation: Spearman's, of fall and induction score, over all heads; None where one is the same everywhere.
        top, shared: of so many with the largest fall and the highest score, how many are the same.
        by_chance: how many would be the same on average, if the two had nothing to do with each other.
    """

    heads: int
    best: dict[Place, float]
    exact: int
    correlation: float | None
    top: int
    shared: int
    by_chance: float

    @property
    def sentence(self) -> str:
        best = ", ".join(f"{listed([head])} {effect:+.2f}" for head, effect in self.best.items())
        ranks = "" if self.correlation is None else f"Rank correlation of the two: {self.correlation:.2f}. "
        return (
            f"Fall of the right answer's log-probability when a head alone is zero-ablated, beside its induction "
            f"score, of {self.heads} heads ({self.exact} exact, the others estimated). Most: {best} nats. {ranks}"
            f"Of the {self.top} with the largest fall {self.shared} are among the {self.top} with the highest "
            f"induction score; by chance it would be {self.by_chance:.1f}."
        )


def heads_agree(effects: ScoredHeadEffects) -> HeadsAgree:
    """The agreement of effects and induction scores over all heads; the top is TOP heads, or a quarter of a small
    model's."""
    effect, score = effects.effect.ravel(), effects.score.ravel()
    top = max(1, min(TOP, len(effect) // 4))
    order = np.argsort(-effect, kind="stable")
    highest = set(np.argsort(-score, kind="stable")[:top].tolist())
    heads = effects.effect.shape[1]
    best = {divmod(place, heads): float(effect[place]) for place in order[:NAMED].tolist()}
    return HeadsAgree(
        heads=len(effect),
        best=best,
        exact=int(effects.exact.sum()),
        correlation=rank_correlation(effect, score),
        top=top,
        shared=len(highest & set(order[:top].tolist())),
        by_chance=top * top / len(effect),
    )


@dataclass(frozen=True, slots=True)
class StepsHelp(Finding):
    """Right answers at once and after steps, with what each costs.

    Args:
        model: its name.
        problems: how many were asked.
        direct, steps: shares of right answers, with intervals.
        tokens: that are written, on average, at once and after steps; each is one forward pass.
        operations: as many floating-point operations, on average.
    """

    model: str
    problems: int
    direct: Interval
    steps: Interval
    tokens: tuple[float, float]
    operations: tuple[float, float]

    @property
    def sentence(self) -> str:
        one, other = (f"{each.share:.0%} ({each.low:.0%} to {each.high:.0%})" for each in (self.direct, self.steps))
        few, many = self.tokens
        apart = self.steps.apart(self.direct)
        verdict = "the intervals do not overlap" if apart else "the intervals overlap, so neither is shown to be better"
        return (
            f"{self.model}, {self.problems} problems of two steps: right at once in {one}, after written steps in "
            f"{other}; {verdict}. Steps take {many:.0f} tokens, so {many:.0f} forward passes, instead of {few:.0f}: "
            f"{self.operations[1] / 1e9:.1f} billion operations instead of {self.operations[0] / 1e9:.1f}."
        )


def steps_help(answered: ModelAnswers) -> StepsHelp:
    """The share of right answers given at once, beside that after written steps, and what both cost."""
    both = answered.direct, answered.steps
    direct, steps = (interval(sum(one.right for one in way), len(way)) for way in both)
    tokens = [sum(one.tokens for one in way) / len(way) for way in both]
    costs = [sum(one.operations for one in way) / len(way) for way in both]
    return StepsHelp(answered.model, len(answered.direct), direct, steps, (tokens[0], tokens[1]), (costs[0], costs[1]))


def step_errors(answered: ModelAnswers) -> Statement:
    """Where steps go wrong: additions and subtractions that were written, and the answers that are given at once."""
    answers = Counter(number for one in answered.direct if (number := said_answer(one.text)) is not None)
    ((commonest, times),) = answers.most_common(1)
    written = sums(answered.steps)
    return state(
        "step errors",
        "Of the {additions} additions that it writes down {additions_right} are right, of the {subtractions} "
        "subtractions {subtractions_right}. At once it gives {answers} different answers to {problems} problems, "
        "{times} times {commonest}.",
        additions=written.additions,
        additions_right=written.additions_right,
        subtractions=written.subtractions,
        subtractions_right=written.subtractions_right,
        answers=len(answers),
        problems=len(answered.direct),
        times=times,
        commonest=commonest,
    )
