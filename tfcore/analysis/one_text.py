"""A text as the models read it."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Int
from torch import Tensor

from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


class FirstTokens(NamedTuple):
    """The beginning of a text.

    Args:
        ids: of the tokens that are used.
        tokens: the same as pieces of text.
        total: how many tokens the whole text has.
    """

    ids: list[int]
    tokens: list[str]
    total: int


def first_tokens(model: Transformer, tokenizer: Tokenizer, text: str, limit: int) -> FirstTokens:
    """At most `limit` tokens of a text, and never more than the context of the model."""
    ids = tokenizer.encode(text)
    kept = ids[: min(limit, model.config.max_seq_len)]
    return FirstTokens(kept, tokenizer.tokens(kept), len(ids))


def one_text(model: Transformer, ids: Sequence[int]) -> Int[Tensor, "1 seq"]:
    """The ids of a text as a batch of one, on the model's device."""
    return torch.tensor([list(ids)], dtype=torch.int64, device=model.embed.weight.device)
