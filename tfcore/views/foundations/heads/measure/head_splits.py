"""One width split into more or fewer heads, and query heads that share KV heads: MHA, GQA, MQA."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.attention import attention_scores, attention_weights, softcapped
from tfcore.config import ModelConfig
from tfcore.inspection.capture import scored
from tfcore.masks import bidirectional, causal
from tfcore.measures.head_vectors import learned_sinks
from tfcore.measures.heads.part_texts import TextIds, text_ids
from tfcore.measures.kv_bytes import cache_bytes, cache_shape
from tfcore.measures.one_text import one_text
from tfcore.measures.parameter_count import parameters
from tfcore.measures.text_loss import next_losses
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.kept import kept

TOKENS = 48  # of a text that are looked at
MOST_HEADS = 16  # that a width is split into
MOST_DRAWN = 32  # maps of one picture, eight in a row
LARGEST_SHARED = 30_000_000  # parameters of a model that is copied for every number of KV heads


@dataclass(frozen=True, slots=True)
class HeadSplit:
    """One layer's queries and keys, split into a number of heads.

    Args:
        layer: of the model.
        trained_heads: how many heads the model was trained with.
        product: what the one product x W_QKV gives: queries, keys and values side by side.
        widths: columns of queries, of keys and of values in it.
        patterns: attention weights of every head of the split.
        without_sinks: the model's heads have learned sinks, and those of the split none.
    """

    layer: int
    trained_heads: int
    product: Float[ndarray, "seq d_out"]
    widths: tuple[int, int, int]
    patterns: Float[ndarray, "head query key"]
    without_sinks: bool = False

    @property
    def n_heads(self) -> int:
        return len(self.patterns)

    @property
    def d_head(self) -> int:
        return self.widths[0] // self.n_heads

    @property
    def largest(self) -> float:
        """The largest weight of a query token, averaged over all heads and queries but the first, which sees no other
        token."""
        largest = self.patterns[:, 1:].max(-1)
        return float(largest.mean()) if largest.size else 1.0


@dataclass(frozen=True, slots=True)
class SplitSizes:
    """The cost of a number of heads.

    Args:
        n_heads, d_head: heads, and dimensions of each.
        parameters: of W_Q, W_K and W_V, the same for any split.
        tokens: of the text.
        weights: attention weights of a layer on it.
    """

    n_heads: int
    d_head: int
    parameters: int
    tokens: int
    weights: int


def split_sizes(config: ModelConfig, n_heads: int, tokens: int) -> SplitSizes:
    """Sizes of a layer whose queries are split into n_heads."""
    parameters = config.d_model * (config.attention.n_heads + 2 * config.attention.kv_heads) * config.head_size
    d_head = config.attention.n_heads * config.head_size // n_heads
    return SplitSizes(n_heads, d_head, parameters, tokens, n_heads * tokens**2)


def divisors(n: int) -> list[int]:
    """Numbers of heads that n dimensions, or n heads, can be split into without a rest."""
    return [i for i in range(1, min(n, MOST_HEADS) + 1) if n % i == 0]


def split_heads(rows: Float[Tensor, "seq d_model"], n_heads: int) -> Float[Tensor, "head seq d_head"]:
    """The columns of a product split into heads of equal width: a reshape, no number changes."""
    return rows.unflatten(-1, (n_heads, -1)).transpose(0, 1)


@torch.no_grad()
def resplit(model: Transformer, ids: Sequence[int], layer: int, n_heads: int) -> HeadSplit:
    """Take the queries and keys of a trained decoder's layer, and split them into n_heads instead of its own number,
    for which learned sinks, one of each of its own heads, say nothing.

    Where the model rotates queries and keys (RoPE), they are taken rotated, as its own heads use them.

    Raises:
        ValueError: the width of all heads together is not divisible by n_heads.
    """
    config = model.config
    width = config.attention.n_heads * config.head_size
    if width % n_heads:
        raise ValueError(f"{width} dimensions do not fall into {n_heads} heads; try one of {divisors(width)}")
    names = [*scored(config, layer), f"blocks.{layer}.attn.v"]
    read = model.activations(one_text(model, ids), names)
    (q,), (k,), (v,) = (read[name].float() for name in names)  # (head, seq, d_head)
    side_by_side = [part.transpose(0, 1).flatten(1) for part in (q, k, v)]  # (seq, d)
    keys = k.repeat_interleave(config.attention.n_heads // config.attention.kv_heads, 0).transpose(0, 1).flatten(1)
    scale = config.scale_of(layer) * (n_heads / config.attention.n_heads) ** 0.5  # 1 / sqrt(d_head) of either size
    products = attention_scores(split_heads(side_by_side[0], n_heads), split_heads(keys, n_heads), scale)
    scores = softcapped(products, config.attention.softcap)
    may_see = (causal if config.architecture == "decoder" else bidirectional)(len(ids))
    sinks = learned_sinks(model, [layer]) if n_heads == config.attention.n_heads else None
    own = None if sinks is None else sinks[0].to(scores.device)
    patterns = attention_weights(scores, may_see.to(scores.device), own)
    return HeadSplit(
        layer,
        config.attention.n_heads,
        torch.cat(side_by_side, dim=1).cpu().numpy(),
        (side_by_side[0].shape[1], side_by_side[1].shape[1], side_by_side[2].shape[1]),
        patterns.cpu().numpy(),
        config.attention.sinks and sinks is None,
    )


@dataclass(frozen=True, slots=True)
class SharedKV:
    """A model whose query heads share key/value heads.

    Args:
        kv_heads: how many there are: as many as query heads (MHA), fewer (GQA) or one (MQA).
        patterns: attention weights.
        loss: mean surprisal of the text, nats per token; nan for a text of one token.
        parameters: of the whole model.
        cache_bytes: size of the KV cache per token, in 16 bits.
    """

    kv_heads: int
    patterns: Float[ndarray, "layer head query key"]
    loss: float
    parameters: int
    cache_bytes: int

    @property
    def n_heads(self) -> int:
        return self.patterns.shape[1]

    @property
    def kind(self) -> str:
        """MHA, GQA or MQA."""
        return "MHA" if self.kv_heads == self.n_heads else "MQA" if self.kv_heads == 1 else "GQA"


@torch.no_grad()
def share_kv_heads(model: Transformer, ids: Sequence[int]) -> list[SharedKV]:
    """The model with its own key/value heads, then with ever fewer, each the mean of those it stands for
    (arXiv:2305.13245, section 2.1); none is trained further, which is what the loss shows."""
    points, tokens = [], one_text(model, ids)
    for kv_heads in divisors(model.config.attention.kv_heads)[::-1]:
        shared = with_kv_heads(model, kv_heads)
        output = shared(tokens, capture=("blocks.*.attn.pattern",))
        patterns = torch.cat(list(output.activations.values())).float().cpu().numpy()
        loss = float(next_losses(output.logits, tokens).mean())  # nan where nothing follows
        points.append(
            SharedKV(
                kv_heads, patterns, loss, parameters(shared.config).total, cache_bytes(cache_shape(shared.config), 1)
            )
        )
    return points


def with_kv_heads(model: Transformer, kv_heads: int) -> Transformer:
    """A decoder in which every group of key/value heads became one, the mean of their projections.

    Its other weights are the model's own, not copied.

    Raises:
        ValueError: kv_heads does not divide the model's own number.
    """
    config = model.config
    there = config.attention.kv_heads
    if there % kv_heads:
        raise ValueError(f"{there} KV heads do not fall into {kv_heads} groups; try {divisors(there)}")
    state = model.state_dict()
    for name in [name for name in state if ".attn.qkv." in name]:
        q, k, v = (
            state[name]
            .to(model.dtype)
            .split(
                [
                    n * config.head_size
                    for n in (config.attention.n_heads, config.attention.kv_heads, config.attention.kv_heads)
                ]
            )
        )
        state[name] = torch.cat([q, *(_grouped(part, kv_heads, config.head_size) for part in (k, v))])
    if config.attention.qk_norm == "width":
        for name in [name for name in state if name.endswith(".attn.k_norm.weight")]:
            state[name] = _grouped(state[name], kv_heads, config.head_size)
    if config.attention.qk_norm == "each":
        for name in [name for name in state if name.endswith(".attn.k_norm.weight")]:
            state[name] = state[name].unflatten(0, (kv_heads, -1)).mean(1)
    return model.with_weights(config.changed(n_kv_heads=kv_heads), state)


def _grouped(rows: Tensor, groups: int, d_head: int) -> Tensor:
    """Rows of a projection, (kv_head * d_head, ...), averaged over the heads of each group."""
    return rows.unflatten(0, (groups, -1, d_head)).mean(1).flatten(0, 1)


# ---- of a text, kept ----


def _split(model: Transformer, tokenizer: Tokenizer, text: str, layer: int, n_heads: int) -> HeadSplit:
    return resplit(model, _first_ids(model, tokenizer, text), layer, n_heads)


def _shared(model: Transformer, tokenizer: Tokenizer, text: str) -> list[SharedKV]:
    return share_kv_heads(model, _first_ids(model, tokenizer, text))


def _tokens(model: Transformer, tokenizer: Tokenizer, text: str) -> list[str]:
    return _first(model, tokenizer, text).queries


def _first_ids(model: Transformer, tokenizer: Tokenizer, text: str) -> list[int]:
    return _first(model, tokenizer, text).ids


def _first(model: Transformer, tokenizer: Tokenizer, text: str) -> TextIds:
    read = text_ids(model, tokenizer, text, "decoder", most=TOKENS)
    if read is None:
        raise ValueError("the tokenizer of this model makes no token of this text; type something else")
    return read


split_of_text = kept(_split, entries=24)
shared_on_text = kept(_shared, entries=8)
tokens_of_text = kept(_tokens, entries=24)
