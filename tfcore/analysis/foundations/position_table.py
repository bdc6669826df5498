"""The learned position table of a trained model: what it looks like, and where it makes a head look."""

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.foundations.embedding_table import principal_components
from tfcore.model import Transformer

ROWS = 16  # of random tokens, over which attention is averaged
WAVES = 3  # principal components that are kept


@dataclass(frozen=True, slots=True)
class PositionTable:
    """The first n position vectors of a model, and all of them on their principal components.

    Args:
        table: the first n vectors.
        similarity: cosine between any two of these.
        patterns: attention of each head of the first layer, averaged over rows of random tokens: what is common to
            them is where a token stands.
        waves: all positions on the directions in which their vectors vary most.
        explained: the share of the variance along each of these.
    """

    table: Float[ndarray, "n d_model"]
    similarity: Float[ndarray, "n n"]
    patterns: Float[ndarray, "head n n"]
    waves: Float[ndarray, "position 3"]
    explained: Float[ndarray, " 3"]

    def back(self, head: int) -> Float[ndarray, " distance"]:
        """Mean weight that a head gives to the token this far back, 0 being itself."""
        return np.array([np.diagonal(self.patterns[head], -k).mean() for k in range(len(self.table))])


@torch.no_grad()
def position_table(model: Transformer, n: int, seed: int = 0) -> PositionTable:
    """Read a model's position table.

    Args:
        model: one stack, positions="learned".
        n: how many positions, at most max_seq_len.
        seed: of the random tokens.

    Raises:
        ValueError: when the model has no such table.
    """
    if model.config.positions != "learned":
        raise ValueError(f"positions={model.config.positions!r} has no table; take a model with positions='learned'")
    whole = model.stack.pos_embed.weight.detach().float().cpu()
    table = whole[:n]
    unit = F.normalize(table, dim=-1)
    ids = torch.randint(
        0, model.config.vocab_size, (ROWS, len(table)), generator=torch.Generator().manual_seed(seed)
    ).to(model.embed.weight.device)
    # Row by row: the scores of a large vocabulary for all of them at once would take hundreds of megabytes.
    patterns = torch.stack([_pattern(model, row[None]) for row in ids]).mean(0)
    waves, explained = principal_components(whole, WAVES)
    return PositionTable(
        table.numpy(), (unit @ unit.T).numpy(), patterns.numpy(), waves.numpy(), explained[:WAVES].numpy()
    )


def _pattern(model: Transformer, ids: Tensor) -> Float[Tensor, "head n n"]:
    """Attention of the first layer on one row."""
    name = "blocks.0.attn.pattern"
    return model(ids, capture=(name,)).activations[name][0].float().cpu()
