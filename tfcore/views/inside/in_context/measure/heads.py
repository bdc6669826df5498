"""Which heads carry an answer that is read from examples, and their induction scores."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.measures.attribution_patching import estimate_effects
from tfcore.measures.effect_metric import Quantity, measured
from tfcore.measures.heads.induction_heads import Place, copying_of_random_rows
from tfcore.measures.interventions import Part, edits_for
from tfcore.measures.shared_layers import plain_run, run_above
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.inside.in_context.measure.tasks import Labels, draw, prompt
from tfcore.views.kept import kept

EXACT = 10  # heads whose effect is measured exactly: those with the largest estimates


class Start(NamedTuple):
    """The numbers that are known of all heads at once.

    Args:
        estimate: of the fall of the right answer's log-probability when each head alone is zero-ablated, nats.
    """

    estimate: Float[ndarray, "layer head"]


class Exact(NamedTuple):
    """The exact fall for one head, in nats."""

    head: Place
    effect: float


def heads_of_prompt(
    model: Transformer, tokenizer: Tokenizer, task: str, labels: Labels, examples: int, seed: int
) -> Iterator[Start | Exact]:
    """Estimates for all heads (arXiv:2310.10348), then the exact effects of the EXACT heads with the largest estimates
    by size.

    Raises:
        ValueError: see tasks.prompt.
    """
    asked = prompt(tokenizer, draw(task, labels, seed), examples, model.config.max_seq_len)
    ids, quantity = asked.ids, Quantity("prediction", asked.right[-1])
    n_heads = model.config.attention.n_heads
    estimate = estimate_effects(model, ids, quantity, "zero")[:, :n_heads]
    yield Start(estimate)
    run = plain_run(model, ids)
    whole = measured(model, run.hidden, ids, quantity)
    for place in np.argsort(-np.abs(estimate).ravel(), kind="stable")[:EXACT].tolist():
        layer, head = divmod(place, n_heads)
        with torch.no_grad():
            edits = edits_for(model, ids, [Part(layer, head)], "zero")
            hidden = next(iter(run_above(model, run, layer, [edits])))
            value = measured(model, hidden, ids, quantity)
        yield Exact((layer, head), float(whole - value))


def every_head(
    model: Transformer, tokenizer: Tokenizer, task: str, labels: Labels, examples: int, seed: int
) -> list[Start | Exact]:
    """All results of `heads_of_prompt`."""
    return list(heads_of_prompt(model, tokenizer, task, labels, examples, seed))


def induction_scores(model: Transformer) -> Float[ndarray, "layer head"]:
    """Mean weight of every head on the token after an earlier occurrence of the query token, on repeated random tokens
    (arXiv:2209.11895), as in induction_heads.head_kinds."""
    return copying_of_random_rows(model).scores["induction"]


@dataclass(frozen=True, slots=True)
class ScoredHeadEffects:
    """Effects of all heads, exact where they are known.

    Args:
        effect: fall of the log-probability, nats.
        exact: which of them are exact.
        score: induction scores.
    """

    effect: Float[ndarray, "layer head"]
    exact: Bool[ndarray, "layer head"]
    score: Float[ndarray, "layer head"]


def together(results: Sequence[Start | Exact], score: Float[ndarray, "layer head"]) -> ScoredHeadEffects:
    """The effects known so far, beside the induction scores."""
    start, *others = results
    if not isinstance(start, Start):
        raise TypeError("the first result is that of all heads")
    effect, exact = start.estimate.copy(), np.zeros(start.estimate.shape, dtype=bool)
    for one in others:
        if isinstance(one, Exact):
            effect[one.head], exact[one.head] = one.effect, True
    return ScoredHeadEffects(effect, exact, score)


every_of = kept(every_head, entries=64)
scores_of = kept(induction_scores, entries=12)
