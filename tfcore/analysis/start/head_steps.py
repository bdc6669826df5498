"""Attention of one head, step by step, as numbers that stand on one stage: Q, K, V, scores, weights, A V."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.start.walk_tensors import stage_tensors
from tfcore.analysis.start.walkthrough import Walk, WalkedText, walk_stages
from tfcore.measures.token_text import visible

STEPS = ("heads", "qk-norm", "rotation", "scores", "scaled", "bias", "mask", "softmax", "values")
VECTORS = STEPS[:3]  # those that make or change queries and keys
SCORES = STEPS[3:6]  # those that make or change scores

Vectors = Float[ndarray, "seq d_head"]
Pairs = Float[ndarray, "query key"]


@dataclass(frozen=True, slots=True)
class HeadSteps:
    """What one head computes on a text.

    Args:
        steps: those of STEPS that the model has, in order.
        queries, keys: after each of the steps in VECTORS that there are.
        values: of each token.
        scores: after each of the steps in SCORES that there are; none is masked.
        allowed: which pairs the mask lets through; all where there is none.
        weights: after the softmax; rows sum to 1.
        output: the weighted sums of values.
    """

    steps: tuple[str, ...]
    queries: tuple[Vectors, ...]
    keys: tuple[Vectors, ...]
    values: Vectors
    scores: tuple[Pairs, ...]
    allowed: Bool[ndarray, "query key"]
    weights: Pairs
    output: Vectors


def head_steps(walk: Walk, head: int) -> HeadSteps:
    """Take the steps of one head out of a walk.

    Raises:
        ValueError: a head that is not there.
    """
    there = {stage.name for stage in walk_stages(walk.config, walk.layer)}
    steps = tuple(step for step in STEPS if step in there)
    stages = {step: stage_tensors(walk, step, head) for step in steps}
    vectors, scores = ([stages[step] for step in steps if step in group] for group in (VECTORS, SCORES))
    return HeadSteps(
        steps,
        tuple(stage.made.values for stage in vectors),
        tuple(stage.after[1].values for stage in vectors),
        vectors[0].after[2].values,
        tuple(stage.made.values for stage in scores),
        walk.tensors["allowed"],
        stages["softmax"].made.values,
        stages["values"].made.values,
    )


@dataclass(frozen=True, slots=True)
class StrongestKey(Finding):
    """What one token attends to most.

    Args:
        query, key: tokens.
        score, weight: of the two.
        others: tokens that share the rest of the weight.
    """

    query: str
    key: str
    score: float
    weight: float
    others: int

    @property
    def sentence(self) -> str:
        pair = f"'{visible(self.query)}' attends most to '{visible(self.key)}'"
        most = f"{pair}: score {self.score:.2f}, weight {self.weight:.2f}"
        if not self.others:
            return f"{most}; it can attend to nothing else."
        share = "s share" if self.others > 1 else " has"
        return f"{most}; {self.others} other token{share} the remaining {1 - self.weight:.2f}."


def strongest_keys(walked: WalkedText, found: HeadSteps) -> list[StrongestKey]:
    """What each token of the text attends to most."""
    told = []
    for query, row in enumerate(found.weights):
        key = int(np.where(found.allowed[query], row, -1.0).argmax())
        others = int(found.allowed[query].sum()) - 1
        score = float(found.scores[-1][query, key])
        told.append(StrongestKey(walked.tokens[query], walked.tokens[key], score, float(row[key]), others))
    return told
