"""A text as the models read it."""

from collections.abc import Sequence

import torch
from jaxtyping import Int
from torch import Tensor

from tfcore.model import Transformer


def one_text(model: Transformer, ids: Sequence[int]) -> Int[Tensor, "1 seq"]:
    """The ids of a text as a batch of one, on the model's device."""
    return torch.tensor([list(ids)], dtype=torch.int64, device=model.embed.weight.device)
