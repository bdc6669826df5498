"""The most probable next tokens of a text."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.analysis.one_text import one_text
from tfcore.model import Transformer


@dataclass(frozen=True, slots=True)
class NextTokens:
    """Tokens and their probabilities, the most probable first."""

    ids: Int[ndarray, " guess"]
    chance: Float[ndarray, " guess"]


@torch.no_grad()
def next_tokens(model: Transformer, ids: Sequence[int], count: int) -> NextTokens:
    """What a model expects after a text; at most as many tokens as it knows."""
    chance = model(one_text(model, ids)).logits[0, -1].float().softmax(-1)
    top = chance.topk(min(count, len(chance)))
    return NextTokens(top.indices.cpu().numpy(), top.values.cpu().numpy())
