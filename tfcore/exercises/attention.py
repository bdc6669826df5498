"""Softmax and scaled dot-product attention."""

import math
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.attention import attention_scores, attention_weights, weighted_values
from tfcore.exercises.exercise import Exercise, ExerciseProperty, Function, Inputs, Picture, UsualMistake, normal
from tfcore.views.finding import state
from tfcore.views.foundations.attention.draw.steps import attention_steps_figure
from tfcore.views.foundations.attention.measure.steps import attention_steps

WORDS = ("the", "cat", "sat", "down")
QUERIES = ((0.2, 0.4), (1.6, 0.2), (0.4, 1.8), (-1.2, 1.0))
KEYS = ((0.6, -0.4), (1.8, 0.4), (0.2, 1.4), (-1.0, 1.2))
VALUES = ((0.2, 0.1), (1.5, 0.3), (0.1, 1.7), (-1.4, 0.8))


def attention(
    q: Float[Tensor, "query d_head"], k: Float[Tensor, "key d_head"], v: Float[Tensor, "key d_value"]
) -> tuple[Float[Tensor, "query key"], Float[Tensor, "query d_value"]]:
    """Scaled dot-product attention of one head, with a softmax of your own.

    The score of a query for a key is their dot product divided by sqrt(d_head). The softmax over the keys makes
    weights of the scores of a query; the values are summed with these weights. Scores may be in the thousands.

    Args:
        q, k, v: one row a token.

    Returns:
        weights: of each query, one a key; and output: one row a query.
    """
    scores = q @ k.T / math.sqrt(q.shape[-1])  # (query, key)
    powers = (scores - scores.amax(-1, keepdim=True)).exp()  # the largest is 1: nothing overflows
    weights = powers / powers.sum(-1, keepdim=True)
    return weights, weights @ v


def by_tfcore(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    weights = attention_weights(attention_scores(q, k))
    return weights, weighted_values(weights, v)


def over_queries(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    weights = (q @ k.T / math.sqrt(q.shape[-1])).softmax(0)
    return weights, weights @ v


def unscaled(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    weights = (q @ k.T).softmax(-1)
    return weights, weights @ v


def by_width(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    weights = (q @ k.T / q.shape[-1]).softmax(-1)
    return weights, weights @ v


def overflowing(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    powers = (q @ k.T / math.sqrt(q.shape[-1])).exp()
    weights = powers / powers.sum(-1, keepdim=True)
    return weights, weights @ v


def not_normalised(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    scores = q @ k.T / math.sqrt(q.shape[-1])
    weights = (scores - scores.amax(-1, keepdim=True)).exp()
    return weights, weights @ v


def summed_scores(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
    scores = q @ k.T / math.sqrt(q.shape[-1])
    return scores.softmax(-1), scores @ v


def cases(generator: torch.Generator) -> list[Inputs]:
    sizes = ((5, 5, 8, 8), (3, 7, 16, 4), (6, 6, 4, 2))
    drawn: list[Inputs] = [
        (normal(generator, n, d), normal(generator, m, d), normal(generator, m, e)) for n, m, d, e in sizes
    ]
    q, k, v = (normal(generator, 4, 8) for _ in range(3))
    return [*drawn, (60 * q, 60 * k, v)]


def rows_sum_to_one(call: Function, q: Tensor, k: Tensor, v: Tensor) -> bool:
    sums = call(q, k, v)[0].sum(-1)
    return torch.allclose(sums, torch.ones_like(sums), atol=1e-5)


def no_weight_is_negative(call: Function, q: Tensor, k: Tensor, v: Tensor) -> bool:
    return bool((call(q, k, v)[0] >= 0).all())


def values_are_averaged(call: Function, q: Tensor, k: Tensor, v: Tensor) -> bool:
    weights, output = call(q, k, v)
    return torch.allclose(output, weights @ v, atol=1e-4)


def order_of_keys_is_free(call: Function, q: Tensor, k: Tensor, v: Tensor) -> bool:
    return torch.allclose(call(q, k.flip(0), v.flip(0))[1], call(q, k, v)[1], atol=1e-4)


def draw(call: Function) -> Picture:
    q, k, v = (torch.tensor(rows) for rows in (QUERIES, KEYS, VALUES))
    weights, outputs = (part.detach().numpy() for part in call(q, k, v))
    steps = replace(attention_steps(QUERIES, KEYS, VALUES), weights=weights, outputs=outputs)
    most = int(weights[1].argmax())
    words = (
        "Weights and outputs of the function beside products and scores: 'cat' attends most to '{key}', "
        "with {weight:.2f}."
    )
    found = state("attention", words, key=WORDS[most], weight=float(weights[1, most]))
    return Picture(attention_steps_figure(steps, WORDS, 1, 2.0), found, 660)


ATTENTION = Exercise(
    solution=attention,
    title="Softmax and scaled attention",
    asks="The softmax by hand, and attention of one head with it.",
    papers="Attention Is All You Need, equation 1 and footnote 4, arXiv:1706.03762",
    formula=r"\mathrm{softmax}\!\left(\frac{Q K^\top}{\sqrt{d_{head}}}\right) V",
    returns=("weights", "output"),
    reference=by_tfcore,
    cases=cases,
    properties=(
        ExerciseProperty("Each query's weights sum to 1.", "rows do not sum to 1", rows_sum_to_one),
        ExerciseProperty("No weight is negative.", "a weight is negative", no_weight_is_negative),
        ExerciseProperty(
            "The output is the sum of the values with these weights.",
            "the output is not the sum of the values with your weights",
            values_are_averaged,
        ),
        ExerciseProperty(
            "Keys and values in another order give the same output.",
            "the output changes when keys and values come in another order",
            order_of_keys_is_free,
        ),
    ),
    mistakes=(
        UsualMistake(over_queries, "softmax over the wrong axis?"),
        UsualMistake(unscaled, "are the scores divided by the square root of d_head?"),
        UsualMistake(by_width, "are the scores divided by d_head in place of its square root?"),
        UsualMistake(overflowing, "exp of a large score is infinite; take the row's largest away first?"),
        UsualMistake(not_normalised, "are the powers divided by their sum?"),
        UsualMistake(summed_scores, "are the values summed with the scores in place of the weights?"),
    ),
    hints=(
        "All scores are one matrix product: a row a query, a column a key.",
        "Softmax is the same for scores with a constant added to all of them. Which one keeps `exp` from overflowing?",
        "`amax(-1, keepdim=True)` and `sum(-1, keepdim=True)` keep the axis, so that each row meets its own number.",
    ),
    page="attention",
    draw=draw,
)
