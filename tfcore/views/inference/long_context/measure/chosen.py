"""Sparse attention by blocks of keys that each query chooses by their mean key: which blocks, the share of the full
weight that they have, and the loss of a text that is read so."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from numpy import ndarray
from torch import Tensor

from tfcore.checks import check_flag, check_whole
from tfcore.inspection.edits import Edit
from tfcore.measures.one_text import one_text
from tfcore.measures.text_loss import next_losses
from tfcore.model import Transformer

Way = Literal["chosen", "nearest", "heaviest"]
WAYS: tuple[Way, ...] = get_args(Way)
Choice = Callable[[Float[Tensor, "*batch query key"]], Bool[Tensor, "*batch query block"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockConfig:
    """Blocks of keys, and how many of them a query reads.

    Args:
        size: keys of a block; the last one may have fewer.
        count: blocks of a query, its own among them.
        first: the first block is read besides.

    Raises:
        ValueError: naming the value and what would do.
    """

    size: int = 16
    count: int = 3
    first: bool = False

    def __post_init__(self) -> None:
        check_whole(self, size=(1, 4_096), count=(1, 4_096))
        check_flag(self, "first")


def block_means(scores: Float[Tensor, "*batch query key"], size: int) -> Float[Tensor, "*batch query block"]:
    """The score of each query for the mean key of each block. A product is linear, so it is the mean of the query's
    scores for the keys of the block: q . mean(k) = mean(q . k) (arXiv:2502.13189, eq. 6)."""
    n = scores.shape[-1]
    sums = F.pad(scores, (0, -n % size)).unflatten(-1, (-1, size)).sum(-1)
    starts = torch.arange(0, n, size, device=scores.device)
    return sums / (n - starts).clamp(max=size)


def chosen_blocks(scores: Float[Tensor, "*batch query key"], config: BlockConfig) -> Bool[Tensor, "*batch query block"]:
    """The blocks that each query reads: its own, and of the earlier ones those whose mean key fits it best
    (arXiv:2502.13189, eq. 5 and 6; "causality" in section 2.2)."""
    return _best(block_means(scores, config.size), config)


def heaviest_blocks(pattern: Float[Tensor, "*batch query key"], config: BlockConfig) -> Bool[Tensor, "*batch query _"]:
    """The own block of each query, and of the earlier ones those with most of its attention weight; no query can know
    them before it has all scores."""
    return _best(block_means(pattern, config.size), config)


def nearest_blocks(scores: Float[Tensor, "*batch query key"], config: BlockConfig) -> Bool[Tensor, "*batch query _"]:
    """The own block of each query and those just before it, whatever the scores: a sliding window of blocks."""
    back = _back(scores.shape[-1], config.size, scores.device)
    near = (back >= 0) & (back < config.count) | _besides(back, config)
    return near.expand(*scores.shape[:-1], -1)


def _back(n: int, size: int, device: torch.device) -> Tensor:
    """How many blocks each block lies before that of each query; negative after it: (query, block)."""
    own = torch.arange(n, device=device) // size
    return own[:, None] - torch.arange(-(-n // size), device=device)


def _besides(back: Tensor, config: BlockConfig) -> Tensor:
    first = torch.zeros_like(back, dtype=torch.bool)
    first[:, 0] = config.first
    return first


def _best(values: Tensor, config: BlockConfig) -> Tensor:
    back = _back(values.shape[-2], config.size, values.device)
    values = values.masked_fill(back < 0, -math.inf).masked_fill(back == 0, math.inf)
    best = values.topk(min(config.count, values.shape[-1]), dim=-1).indices
    chosen = torch.zeros_like(values, dtype=torch.bool).scatter(-1, best, True)
    return chosen & (back >= 0) | _besides(back, config)


def keys_of(blocks: Bool[Tensor, "*batch query block"], size: int) -> Bool[Tensor, "*batch query key"]:
    """The keys that each query sees: those of its blocks that do not come after it."""
    n = blocks.shape[-2]
    return blocks.repeat_interleave(size, dim=-1)[..., :n].tril()


@dataclass(frozen=True, slots=True)
class BlockAttention:
    """A text read with blocks in all layers and heads.

    Args:
        config: of the blocks.
        tokens: of the text.
        pairs: share of the causal (query, key) pairs that are read.
        layers: the layers that have attention.
        kept: share of the full attention weight in the blocks of each way, of the queries that have to choose; 1 where
            none has to.
        gain: weight off the first token that the chosen blocks have more than the nearest, of the same queries.
        full: mean loss with full attention, nats per token.
        losses: the same with blocks chosen by their mean key, and with the nearest ones.
    """

    config: BlockConfig
    tokens: int
    pairs: float
    layers: tuple[int, ...]
    kept: dict[Way, Float[ndarray, "layer head"]]
    gain: Float[ndarray, "layer head"]
    full: float
    losses: dict[Way, float]

    @property
    def is_whole(self) -> bool:
        """Whether the text is so short that every query reads all blocks before it."""
        return -(-self.tokens // self.config.size) <= self.config.count

    @property
    def telling(self) -> tuple[int, int]:
        """Layer and head whose weight off the first token a choice by the mean key keeps most of, against the nearest
        blocks."""
        place, head = divmod(int(self.gain.argmax()), self.gain.shape[1])
        return self.layers[place], head


@torch.no_grad()
def block_attention(model: Transformer, ids: Sequence[int], config: BlockConfig) -> BlockAttention:
    """Read a text with full attention, and with blocks in all layers and heads.

    Args:
        model: a decoder.

    Raises:
        ValueError: a text of fewer than two tokens, or another model.
    """
    if model.config.architecture != "decoder":
        raise ValueError(f"blocks of earlier keys go with a decoder, not with an {model.config.architecture}")
    if len(ids) < 2:
        raise ValueError(f"the loss needs a text of at least two tokens, this one has {len(ids)}")
    layers, text = model.config.attention_layers, one_text(model, ids)
    names = [f"blocks.{layer}.attn.{part}" for layer in layers for part in ("scores", "pattern")]
    whole = model(text, capture=names)
    waiting = slice(config.count * config.size, None)  # queries with more blocks than they may read
    kept: dict[Way, list[Tensor]] = {way: [] for way in WAYS}
    gains = []
    for layer in layers:
        scores, pattern = (whole.activations[f"blocks.{layer}.attn.{part}"][0] for part in ("scores", "pattern"))
        blocks: dict[Way, Tensor] = {
            "chosen": chosen_blocks(scores, config),
            "nearest": nearest_blocks(scores, config),
            "heaviest": heaviest_blocks(pattern, config),
        }
        for way, own in blocks.items():
            shares = (pattern * keys_of(own, config.size)).sum(-1) / pattern.sum(-1)  # (head, query)
            kept[way].append(shares[:, waiting].mean(-1).nan_to_num(1.0).float().cpu())
        more = keys_of(blocks["chosen"], config.size).int() - keys_of(blocks["nearest"], config.size).int()
        gains.append((pattern * more)[:, waiting, 1:].sum(-1).mean(-1).nan_to_num(0.0).float().cpu())
    seen = keys_of(nearest_blocks(torch.zeros(len(ids), len(ids)), config), config.size).sum()
    return BlockAttention(
        config,
        len(ids),
        float(seen) / (len(ids) * (len(ids) + 1) / 2),
        tuple(layers),
        {way: torch.stack(of_layers).numpy() for way, of_layers in kept.items()},
        torch.stack(gains).numpy(),
        float(next_losses(whole.logits, ids).mean()),
        {
            "chosen": _loss(model, ids, partial(chosen_blocks, config=config), config.size),
            "nearest": _loss(model, ids, partial(nearest_blocks, config=config), config.size),
        },
    )


def _loss(model: Transformer, ids: Sequence[int], choice: Choice, size: int) -> float:
    """Mean loss of a text of which each query and head reads the blocks that it chooses, in nats per token."""

    def hide(scores: Tensor) -> Tensor:
        return scores.masked_fill(~keys_of(choice(scores), size), -math.inf)

    edits = [Edit(f"blocks.{layer}.attn.scores", hide) for layer in model.config.attention_layers]
    return float(next_losses(model(one_text(model, ids), edits=edits).logits, ids).mean())


@dataclass(frozen=True, slots=True)
class HeadBlocks:
    """One head on a text, with full attention.

    Args:
        weights: of the keys.
        seen: the keys in the blocks that each query chooses.
        kept: share of each query's weight in them.
    """

    weights: Float[ndarray, "query key"]
    seen: Bool[ndarray, "query key"]
    kept: Float[ndarray, " query"]


@torch.no_grad()
def head_blocks(model: Transformer, ids: Sequence[int], layer: int, head: int, config: BlockConfig) -> HeadBlocks:
    """The weights of a head, and the blocks that its queries choose."""
    names = [f"blocks.{layer}.attn.{part}" for part in ("scores", "pattern")]
    record = model.activations(one_text(model, ids), names)
    scores, pattern = (record[name][0, head].float() for name in names)
    seen = keys_of(chosen_blocks(scores, config), config.size)
    kept = (pattern * seen).sum(-1) / pattern.sum(-1)
    return HeadBlocks(pattern.cpu().numpy(), seen.cpu().numpy(), kept.cpu().numpy())
