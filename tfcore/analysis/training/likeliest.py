"""The most probable tokens of a distribution, and of what comes after a text."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.one_text import one_text
from tfcore.model import Transformer


@dataclass(frozen=True, slots=True)
class Likeliest:
    """Tokens and their probabilities, the most probable first."""

    ids: Int[ndarray, " guess"]
    chance: Float[ndarray, " guess"]


def top(chance: Float[ndarray, " vocab"], count: int) -> Likeliest:
    """The first tokens of a distribution; at most as many as there are."""
    ids = torch.from_numpy(chance).topk(min(count, len(chance))).indices.numpy()
    return Likeliest(ids, chance[ids])


def likeliest(logits: Float[Tensor, " vocab"], count: int) -> Likeliest:
    """The same, from its logits."""
    return top(logits.float().softmax(-1).cpu().numpy(), count)


@torch.no_grad()
def next_tokens(model: Transformer, ids: Sequence[int], count: int) -> Likeliest:
    """What a model expects after a text."""
    return likeliest(model(one_text(model, ids)).logits[0, -1], count)
