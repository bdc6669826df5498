"""Sublayer ablation: every set of sublayers left out (arXiv:1605.06431)."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.block import Block
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.inspection.capture import ActivationRecorder
from tfcore.inspection.edits import Edit
from tfcore.measures.one_text import one_text
from tfcore.measures.text_loss import token_losses
from tfcore.model import Transformer

SUBSETS_AT_ONCE = 32  # streams whose scores are held at once


@dataclass(frozen=True, slots=True)
class SubsetLosses:
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
        return self.losses.mean(1)

    @property
    def sublayers(self) -> tuple[str, ...]:
        """The name of each sublayer."""
        return tuple(sublayer_name(s) for s in range(len(self.losses).bit_length() - 1))

    def row(self, without: Collection[int]) -> int:
        """The row in which these sublayers are left out."""
        return len(self.losses) - 1 - sum(1 << sublayer for sublayer in without)


def sublayer_name(sublayer: int) -> str:
    """5 -> "feed-forward 2"."""
    return f"{'feed-forward' if sublayer % 2 else 'attention'} {sublayer // 2}"


def sublayer_outputs(n_layers: int) -> list[str]:
    """The names of what each sublayer adds to the stream, in the vocabulary of tfcore.inspection.capture."""
    return [f"blocks.{i}.{part}" for i in range(n_layers) for part in ("attn_out", "mlp_out")]


def single_rises(result: SubsetLosses) -> list[float]:
    """The loss increase when one sublayer alone is left out, nats per token, in the order of the sublayers."""
    whole = float(result.loss[-1])
    count = len(result.loss).bit_length() - 1
    return [float(result.loss[result.row((sublayer,))]) - whole for sublayer in range(count)]


@torch.no_grad()
def every_subset(model: Transformer, ids: Sequence[int]) -> SubsetLosses:
    """The losses of a text with each of the 2^N sets of sublayers left out; what sets share is computed once.

    After sublayer k there are 2^k streams; the next one doubles them: without it, and with it.

    Raises:
        ValueError: fewer than two tokens, or a model of another kind than a pre-norm decoder.
    """
    if len(ids) < 2:
        raise ValueError("a loss needs a token and the one after it; give at least two")
    x = doubled_streams(model, one_text(model, ids))
    targets = torch.tensor(list(ids[1:]), device=x.device)
    losses = torch.cat([_losses(model, part, targets) for part in x.split(SUBSETS_AT_ONCE)])
    sublayers = torch.arange(2 * model.config.n_layers)
    kept = (torch.arange(len(x))[:, None] >> sublayers) & 1  # (subset, sublayer)
    return SubsetLosses(losses.cpu().numpy(), (1 - kept).sum(1).numpy())


def doubled_streams(model: Transformer, ids: Int[Tensor, "1 seq"]) -> Float[Tensor, "subset seq d_model"]:
    """The stream after the last block for every set of sublayers left out (arXiv:1605.06431, figure 1)."""
    config, decoder, recorder = model.config, model.decoder, ActivationRecorder()
    if config.norm.placement != "pre" or config.positions.kind != "rope" or config.parallel:
        raise ValueError(f"sublayers are left out of pre-norm models with rope, not of {config}")
    x = model.embed(ids)  # (1, seq, d_model)
    for i, block in enumerate(cast("Iterable[Block]", decoder.blocks)):
        context = decoder.attention_context(ids.shape[1], i)
        x = torch.cat((x, x + block.attn(block.ln1(x), context, recorder)))
        x = torch.cat((x, x + block.mlp(block.ln2(x), recorder)))
    return x


def _losses(model: Transformer, x: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of each next token, (subset, token)."""
    logits = F.linear(model.decoder.ln_final(x[:, :-1]), model.embed.weight)
    return token_losses(logits, targets.expand(len(x), -1))


def continue_without(model: Transformer, ids: Sequence[int], without: Collection[int], new_tokens: int) -> list[int]:
    """The greedy continuation of a text by the model without these sublayers: what they add is set to zero."""
    every = sublayer_outputs(model.config.n_layers)
    edits = [Edit.zero(every[sublayer]) for sublayer in without]
    return generate(model, ids, Sampling(temperature=0), max_new_tokens=new_tokens, edits=edits)
