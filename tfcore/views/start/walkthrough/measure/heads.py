"""Attention of one head, step by step, as numbers that stand on one stage: Q, K, V, scores, weights, A V."""

from dataclasses import dataclass

from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.views.start.walkthrough.measure.tensors import stage_tensors
from tfcore.views.start.walkthrough.measure.walk import Walk, walk_stages

STEPS = ("heads", "qk-norm", "rotation", "scores", "scaled", "softcap", "bias", "mask", "softmax", "values")
VECTORS = STEPS[:3]  # those that make or change queries and keys
SCORES = STEPS[3:7]  # those that make or change scores

Vectors = Float[ndarray, "seq d_head"]
Pairs = Float[ndarray, "query key"]


@dataclass(frozen=True, slots=True)
class HeadSteps:
    """The computation of one head on a text.

    Args:
        steps: those of STEPS that the model has, in order.
        queries, keys: after each of the steps in VECTORS that there are.
        values: of each token.
        scores: after each of the steps in SCORES that there are; none is masked.
        allowed: which pairs the mask lets through; all where there is none.
        weights: after the softmax; rows sum to 1, or to less where heads have learned sinks.
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
    """The steps of one head of a walk.

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
