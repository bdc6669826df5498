"""A residual network as a bundle of paths: leave out any set of its sublayers, see loss and text."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.one_text import one_text
from tfcore.attention import AttentionMask
from tfcore.block import Block
from tfcore.generation.generate import generate
from tfcore.inspection.capture import ActivationRecorder
from tfcore.inspection.edits import Edit
from tfcore.model import Transformer
from tfcore.positions import rope_angles

ROWS = 32  # streams whose scores are held at once


@dataclass(frozen=True, slots=True)
class Paths:
    """The loss of a text with every set of sublayers left out.

    Bit s of a row's number says whether sublayer s is kept; sublayer 2 i is the attention of block i, 2 i + 1 its
    feed-forward layer. Row 0 keeps none, the last row all.

    Args:
        losses: nats, of every next token of the text.
        removed: how many sublayers are left out.
    """

    losses: Float[ndarray, "subset token"]
    removed: Int[ndarray, " subset"]

    @property
    def loss(self) -> Float[ndarray, " subset"]:
        """Mean over the text."""
        return self.losses.mean(-1)

    def row(self, without: Collection[int]) -> int:
        """The row in which these sublayers are left out."""
        return len(self.losses) - 1 - sum(1 << sublayer for sublayer in without)


def names(n_layers: int) -> list[str]:
    """What each sublayer adds to the stream, in the vocabulary of tfcore.inspection.capture."""
    return [f"blocks.{i}.{part}" for i in range(n_layers) for part in ("attn_out", "mlp_out")]


def single_rises(result: Paths) -> list[float]:
    """By how much the loss rises when one sublayer alone is left out, in the order of the sublayers."""
    whole = float(result.loss[-1])
    count = len(result.loss).bit_length() - 1
    return [float(result.loss[result.row((sublayer,))]) - whole for sublayer in range(count)]


@torch.no_grad()
def every_subset(model: Transformer, ids: Sequence[int]) -> Paths:
    """Send a text through all 2^N ways to leave out sublayers, each way of the first k computed once.

    After sublayer k there are 2^k streams; the next one doubles them: past it, and through it.

    Raises:
        ValueError: fewer than two tokens, or a model of another kind than a pre-norm decoder.
    """
    if len(ids) < 2:
        raise ValueError("a loss needs a token and the one after it; give at least two")
    x = doubled_streams(model, one_text(model, ids))
    targets = torch.tensor(list(ids[1:]), device=x.device)
    losses = torch.cat([_losses(model, part, targets) for part in x.split(ROWS)])
    sublayers = torch.arange(2 * model.config.n_layers)
    kept = (torch.arange(len(x))[:, None] >> sublayers) & 1  # (subset, sublayer)
    return Paths(losses.cpu().numpy(), (1 - kept).sum(-1).numpy())


def doubled_streams(model: Transformer, ids: Int[Tensor, "1 seq"]) -> Float[Tensor, "subset seq d_model"]:
    """The last stream of every way through the model (arXiv:1605.06431, figure 1)."""
    config, decoder, recorder = model.config, model.decoder, ActivationRecorder()
    if config.norm_placement != "pre" or config.positions != "rope" or config.parallel:
        raise ValueError(f"the ways through a model are told apart for pre-norm with rope, not for {config}")
    places = torch.arange(ids.shape[1])
    angles = rope_angles(places, config.head_size, config.rope_base, config.rope_scaling).to(ids.device)
    mask = AttentionMask(mask=None, is_causal=True, bias=None, angles=angles, n_query=len(places), device=ids.device)
    x = model.embed(ids)  # (1, seq, d_model)
    for block in cast("Iterable[Block]", decoder.blocks):
        x = torch.cat((x, x + block.attn(block.ln1(x), mask, recorder)))
        x = torch.cat((x, x + block.mlp(block.ln2(x), recorder)))
    return x


def _losses(model: Transformer, x: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of each next token, (subset, token)."""
    logits = F.linear(model.decoder.ln_final(x[:, :-1]), model.embed.weight)
    return F.cross_entropy(logits.mT, targets.expand(len(x), -1), reduction="none")


def continue_without(model: Transformer, ids: Sequence[int], without: Collection[int], new_tokens: int) -> list[int]:
    """The greedy continuation of a text by the model without these sublayers: what they add is set to zero."""
    every = names(model.config.n_layers)
    edits = [Edit.zero(every[sublayer]) for sublayer in without]
    return generate(model, ids, max_new_tokens=new_tokens, temperature=0, edits=edits)
