"""Views of attention on a few tokens, step by step, and of softmax at many temperatures."""

from collections.abc import Mapping, Sequence

import pandas as pd

from tfcore import attention
from tfcore.measures.information import entropy_bits
from tfcore.views.finding import state
from tfcore.views.foundations.attention.draw.planes import points_scene
from tfcore.views.foundations.attention.draw.steps import attention_steps_figure, temperature_figure
from tfcore.views.foundations.attention.measure.steps import (
    AttentionSteps,
    Vectors,
    attention_steps,
    softmax_at,
    temperature_sweep,
)
from tfcore.views.foundations.attention.say import attended, softmax_weights
from tfcore.views.kept import kept
from tfcore.views.view import View, view

sweep_of = kept(temperature_sweep, entries=64)


@view
def steps(
    queries: Vectors,
    keys: Vectors,
    values: Vectors,
    words: Sequence[str],
    chosen: int,
    limit: float,
    temperature: float,
) -> View:
    """Attention in four steps: products, scores, weights, outputs (arXiv:1706.03762, equation 1).

    Args:
        queries, keys, values: a vector of two numbers for each word.
        chosen: the query that is framed and spoken of.
        limit: the largest coordinate that a vector may have.
        temperature: by which scores are divided before the softmax.
    """
    computed, n = attention_steps(queries, keys, values, temperature), len(words)
    return View(
        key="steps",
        title="The steps of attention",
        result=computed,
        chart=attention_steps_figure(computed, words, chosen, limit),
        min_width=660,
        described=state(
            "steps",
            "Four matrices in a row: products of queries and keys, the same divided by the square root of 2, the "
            "weights, and the outputs. {attended}",
            attended=attended(computed, words, chosen),
        ),
        note=f"(query, key) = ({n}, {n}) three times, then the output, (query, d_v) = ({n}, 2). Queries down, keys "
        "across; every row of weights sums to 1. Blue is negative, red positive.",
        table=lambda: _steps_table(computed, words),
        formula=r"\mathrm{Attention}(Q, K, V) = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}}\right) V",
        papers="Attention Is All You Need, section 3.2.1, equation 1, arXiv:1706.03762. Here d_k = d_v = 2.",
        terms=("query", "key", "value", "weighted sum of values"),
        code=(attention_steps, attention.attention_scores, attention.attention_weights, attention.weighted_values),
    )


def _steps_table(computed: AttentionSteps, words: Sequence[str]) -> pd.DataFrame:
    """All four matrices, one row a query and key; the output is that of the query."""
    rows = [
        {
            "query": words[i],
            "key": words[j],
            "q.k": computed.products[i, j],
            "score": computed.scores[i, j],
            "weight": computed.weights[i, j],
            "output x": computed.outputs[i, 0],
            "output y": computed.outputs[i, 1],
        }
        for i in range(len(words))
        for j in range(len(words))
    ]
    return pd.DataFrame(rows)


@view
def planes(
    queries: Vectors,
    keys: Vectors,
    values: Vectors,
    words: Sequence[str],
    chosen: int,
    limit: float,
    step: float,
    temperature: float,
) -> View:
    """Queries, keys and values as points of planes, and the outputs among the values.

    Args:
        queries, keys, values: a vector of two numbers for each word.
        chosen: the query whose weights are drawn as lines.
        limit: the largest coordinate that a vector may have.
        step: of the grid that they lie on.
        temperature: by which scores are divided before the softmax.
    """
    computed = attention_steps(queries, keys, values, temperature)
    titles = [f"output of {word}: {attended(computed, words, i).output_text}" for i, word in enumerate(words)]
    return View(
        key="points",
        title="Queries, keys, values and outputs in the plane",
        result=computed,
        chart=points_scene((queries, keys, values), computed, words, chosen, limit, step, titles),
        described=attended(computed, words, chosen),
        table=lambda: _points_table(
            {"query": queries, "key": keys, "value": values, "output": computed.outputs.tolist()}, words
        ),
        code=(attention_steps,),
    )


def _points_table(points: Mapping[str, Vectors], words: Sequence[str]) -> pd.DataFrame:
    """The coordinates of all points, one row a word."""
    columns = {
        f"{kind} {axis}": [at[i] for at in coordinates]
        for kind, coordinates in points.items()
        for i, axis in enumerate("xy")
    }
    return pd.DataFrame({"word": list(words), **columns})


@view
def temperature(scores: tuple[float, ...], temperature: float) -> View:
    """A low temperature gives the largest score nearly all the weight, a high one makes the weights even."""
    sweep = sweep_of(scores, temperature)
    said = softmax_weights(sweep)
    names = [f"x = {x} ({i})" for i, x in enumerate(said.scores_text.split(", "))]
    return View(
        key="temperature",
        title="Weights against the temperature",
        result=said,
        chart=temperature_figure(sweep),
        described=state("sweep", "Weights against the temperature from 0.1 to 100. {weights}", weights=said),
        findings=(said,),
        table=lambda: pd.DataFrame(sweep.curves, columns=names).assign(temperature=sweep.temperatures),
        formula=r"p_i = \frac{e^{x_i / T}}{\sum_j e^{x_j / T}}, \qquad \sqrt{d_k} \text{ is a temperature too}",
        papers="Softmax: arXiv:1706.03762, equation 1. Temperature in this sense: arXiv:1503.02531, equation 1.",
        code=(softmax_at, entropy_bits),
    )
