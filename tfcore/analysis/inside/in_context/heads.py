"""Which heads carry an answer that is read from examples, and whether they are the induction heads."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.inside.in_context.tasks import Labels, draw, prompt
from tfcore.measures.attribution_patching import estimate_effects
from tfcore.measures.effect_metric import Quantity, measured
from tfcore.measures.heads.induction_heads import Place, copying_of_random_rows, listed
from tfcore.measures.interventions import Part, edits_for
from tfcore.measures.shared_layers import plain_run, run_above
from tfcore.measures.statistics import rank_correlation
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

EXACT = 10  # heads whose effect is measured exactly: those with the largest estimates
TOP = 10  # heads of each kind that are compared
NAMED = 3  # heads that a sentence names


class Start(NamedTuple):
    """What is known of all heads at once.

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
    n_heads = model.config.n_heads
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
class HeadEffects:
    """Effects of all heads, exact where they are known.

    Args:
        effect: fall of the log-probability, nats.
        exact: which of them are exact.
        score: induction scores.
    """

    effect: Float[ndarray, "layer head"]
    exact: Bool[ndarray, "layer head"]
    score: Float[ndarray, "layer head"]


def together(found: Sequence[Start | Exact], score: Float[ndarray, "layer head"]) -> HeadEffects:
    """What there is until now, beside the induction scores."""
    start, *others = found
    if not isinstance(start, Start):
        raise TypeError("the first result is that of all heads")
    effect, exact = start.estimate.copy(), np.zeros(start.estimate.shape, dtype=bool)
    for one in others:
        if isinstance(one, Exact):
            effect[one.head], exact[one.head] = one.effect, True
    return HeadEffects(effect, exact, score)


# ---- findings ----


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


def heads_agree(found: HeadEffects) -> HeadsAgree:
    """From effects and scores of all heads; the top is TOP heads, or a quarter of a small model's."""
    effect, score = found.effect.ravel(), found.score.ravel()
    top = max(1, min(TOP, len(effect) // 4))
    order = np.argsort(-effect, kind="stable")
    highest = set(np.argsort(-score, kind="stable")[:top].tolist())
    heads = found.effect.shape[1]
    best = {divmod(place, heads): float(effect[place]) for place in order[:NAMED].tolist()}
    return HeadsAgree(
        heads=len(effect),
        best=best,
        exact=int(found.exact.sum()),
        correlation=rank_correlation(effect, score),
        top=top,
        shared=len(highest & set(order[:top].tolist())),
        by_chance=top * top / len(effect),
    )
