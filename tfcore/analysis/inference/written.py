"""How likely a model finds what was written, token by token, and how often it repeats itself."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from tfcore.analysis.one_text import one_text
from tfcore.model import Transformer


@dataclass(frozen=True, slots=True)
class Written:
    """One token of a continuation.

    Args:
        token: its id.
        probability: that the model gave it, before any filter.
        rank: its place among all tokens, 1 for the most likely.
        chance: of being drawn, after the filters; 1 where nothing was drawn.
    """

    token: int
    probability: float
    rank: int
    chance: float = 1.0


def written(probabilities: Float[Tensor, " vocab"], token: int, chance: float = 1.0) -> Written:
    """A token, in the light of the model's own distribution."""
    p = probabilities[token]
    return Written(token, float(p), 1 + int((probabilities > p).sum()), chance)


@torch.inference_mode()
def read_again(model: Transformer, ids: Sequence[int], new: Sequence[int]) -> list[Written]:
    """Every new token after the ids, from one pass over the whole text."""
    if not new:
        return []
    logits = model(one_text(model, [*ids, *new])).logits[0, len(ids) - 1 : -1].float().cpu()  # (new, vocab)
    return [written(row, token) for row, token in zip(logits.softmax(-1), new, strict=True)]


def mean_log_probability(tokens: Sequence[Written]) -> float:
    """Nats a token; 0 would be: sure of everything."""
    return float(np.mean(np.log([max(one.probability, 1e-38) for one in tokens]))) if tokens else 0.0


def repeated(tokens: Sequence[int], n: int = 3) -> float:
    """The share of groups of n tokens that have stood in this text before; texts that go in circles approach 1."""
    groups = [tuple(tokens[i : i + n]) for i in range(len(tokens) - n + 1)]
    return 1 - len(set(groups)) / len(groups) if groups else 0.0
