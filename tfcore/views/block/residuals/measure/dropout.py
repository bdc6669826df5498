"""Dropout (arXiv:1207.0580) on an activation of a trained model, and between two passes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.measures.one_text import one_text
from tfcore.model import Transformer
from tfcore.part_configs import AttentionConfig

DRAWS = 4_000  # of a dropout mask, for the distribution of the mean


def dropout(
    x: Float[Tensor, "*shape"], p: float, training: bool, generator: torch.Generator
) -> Float[Tensor, "*shape"]:
    """Set each number to zero with probability p and divide the others by 1 - p; at inference, x as it is.

    Each number's mean over many draws is then what it was: (1 - p) * x / (1 - p) = x. Source: arXiv:1207.0580, and
    the division at training time ("inverted dropout"), as torch's own module has it.
    """
    if not training or p == 0:
        return x
    keep = torch.rand(x.shape, generator=generator) >= p
    return x * keep / (1 - p)


@dataclass(frozen=True, slots=True)
class DropoutDraws:
    """The output of a sublayer for one token before and after dropout, and the means of many draws.

    Args:
        before, after: one draw.
        kept: False where it set a number to zero.
        mean: of the numbers before.
        means: mean of the numbers after, for each of DRAWS draws.
        spread: standard deviation of these means by theory, sqrt(p / (1 - p) * mean(x^2) / n).
    """

    before: Float[ndarray, " feature"]
    after: Float[ndarray, " feature"]
    kept: Bool[ndarray, " feature"]
    mean: float
    means: Float[ndarray, " draw"]
    spread: float


@torch.no_grad()
def draw_dropout(
    model: Transformer, ids: Sequence[int], name: str, p: float, training: bool, seed: int
) -> DropoutDraws:
    """Apply dropout to a real activation of a text's last token.

    Args:
        name: of the activation, (batch, seq, feature).
        p: the share that is dropped, below 1.
        training: False is inference, where dropout does nothing.
        seed: of the draw that is shown; the many draws have seeds of their own.
    """
    (activation,) = model.activations(one_text(model, ids), name)[name]
    x = activation[-1].float().cpu()  # (feature,)
    after = dropout(x, p, training, torch.Generator().manual_seed(seed))
    means = dropout(x.expand(DRAWS, -1), p, training, torch.Generator().manual_seed(DRAWS + seed)).mean(1)
    spread = math.sqrt(p / (1 - p) * float(x.pow(2).mean()) / len(x)) if training else 0.0
    return DropoutDraws(x.numpy(), after.numpy(), (after != 0).numpy(), float(x.mean()), means.numpy(), spread)


def two_passes(p: float, training: bool, seed: int = 0) -> float:
    """The largest difference of a logit between two passes of one network with dropout, on the same tokens."""
    config = ModelConfig(
        vocab_size=64,
        d_model=64,
        n_layers=2,
        attention=AttentionConfig(n_heads=4),
        max_seq_len=16,
        dropout=p,
        init="xavier",
    )
    model = Transformer(config, seed).train(training).requires_grad_(False)
    ids = torch.arange(16)[None]
    with torch.random.fork_rng(devices=[]):  # nn.Dropout draws from torch's global generator
        torch.manual_seed(seed)
        first, second = model(ids).logits, model(ids).logits
    return float((first - second).abs().max())
