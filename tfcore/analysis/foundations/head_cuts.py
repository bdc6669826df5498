"""The same width cut into more or fewer heads, and heads that share their keys and values: what that changes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
import torch.nn.functional as F
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.inference.kv_cache import cache_bytes, cache_shape
from tfcore.analysis.model.parameter_count import parameters
from tfcore.analysis.one_text import one_text
from tfcore.attention import attention_scores, attention_weights
from tfcore.masks import bidirectional, causal
from tfcore.model import Transformer

MOST_HEADS = 16


@dataclass(frozen=True, slots=True)
class Cut:
    """One layer's queries and keys, cut into a number of heads.

    Args:
        product: what the one product x W_QKV gives: queries, keys and values side by side.
        widths: columns of queries, of keys and of values in it.
        patterns: attention weights of every head of the cut.
    """

    product: Float[ndarray, "seq d_out"]
    widths: tuple[int, int, int]
    patterns: Float[ndarray, "head query key"]

    @property
    def largest(self) -> float:
        """The largest weight of a query token, averaged over all heads and queries but the first, which is always 1."""
        return float(self.patterns[:, 1:].max(-1).mean()) if self.patterns.shape[1] > 1 else 1.0


def divisors(n: int) -> list[int]:
    """Numbers of heads that n dimensions, or n heads, can be cut into without a rest."""
    return [i for i in range(1, min(n, MOST_HEADS) + 1) if n % i == 0]


def cut(rows: Float[Tensor, "seq d_model"], n_heads: int) -> Float[Tensor, "head seq d_head"]:
    """The columns of a product cut into heads of equal width: a reshape, no number changes."""
    return rows.unflatten(-1, (n_heads, -1)).transpose(0, 1)


@torch.no_grad()
def cut_anew(model: Transformer, ids: Sequence[int], layer: int, n_heads: int) -> Cut:
    """Take the queries and keys of a trained decoder's layer, and cut them into n_heads instead of its own number.

    Where the model rotates queries and keys (RoPE), they are taken rotated, as its own heads use them.

    Raises:
        ValueError: the width of all heads together is not divisible by n_heads.
    """
    config = model.config
    width = config.n_heads * config.head_size
    if width % n_heads:
        raise ValueError(f"{width} dimensions do not fall into {n_heads} heads; try one of {divisors(width)}")
    rotated = "rot_" if config.positions == "rope" else ""
    names = [f"blocks.{layer}.attn.{part}" for part in (f"{rotated}q", f"{rotated}k", "v")]
    output = model(one_text(model, ids), capture=names)
    q, k, v = (output.activations[name][0].float() for name in names)  # (head, seq, d_head)
    side_by_side = [part.transpose(0, 1).flatten(1) for part in (q, k, v)]  # (seq, d)
    keys = k.repeat_interleave(config.n_heads // config.kv_heads, 0).transpose(0, 1).flatten(1)
    scores = attention_scores(cut(side_by_side[0], n_heads), cut(keys, n_heads))
    may_see = (causal if config.architecture == "decoder" else bidirectional)(len(ids))
    patterns = attention_weights(scores, may_see.to(scores.device))
    return Cut(
        torch.cat(side_by_side, dim=1).cpu().numpy(),
        (side_by_side[0].shape[1], side_by_side[1].shape[1], side_by_side[2].shape[1]),
        patterns.cpu().numpy(),
    )


@dataclass(frozen=True, slots=True)
class Shared:
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


@torch.no_grad()
def sharing(model: Transformer, ids: Sequence[int]) -> list[Shared]:
    """The model with its own key/value heads, then with ever fewer, each the mean of those it stands for
    (arXiv:2305.13245, section 2.1); none is trained further, which is what the loss shows."""
    found, tokens = [], one_text(model, ids)
    for kv_heads in divisors(model.config.kv_heads)[::-1]:
        shared = with_kv_heads(model, kv_heads)
        output = shared(tokens, capture=("blocks.*.attn.pattern",))
        patterns = torch.cat(list(output.activations.values())).float().cpu().numpy()
        loss = float(F.cross_entropy(output.logits[0, :-1].float(), tokens[0, 1:]))  # nan where nothing follows
        cache = cache_bytes(cache_shape(shared.config), 1)
        found.append(Shared(kv_heads, patterns, loss, parameters(shared.config).total, cache))
    return found


def with_kv_heads(model: Transformer, kv_heads: int) -> Transformer:
    """A copy of a decoder in which every group of key/value heads became one, the mean of their projections.

    Raises:
        ValueError: kv_heads does not divide the model's own number.
    """
    config = model.config
    if config.kv_heads % kv_heads:
        raise ValueError(
            f"{config.kv_heads} KV heads do not fall into {kv_heads} groups; try {divisors(config.kv_heads)}"
        )
    state = model.state_dict()
    for name in [name for name in state if ".attn.qkv." in name]:
        q, k, v = state[name].split([n * config.head_size for n in (config.n_heads, config.kv_heads, config.kv_heads)])
        state[name] = torch.cat([q, *(_grouped(part, kv_heads, config.head_size) for part in (k, v))])
    shared = Transformer(replace(config, n_kv_heads=kv_heads)).to(model.embed.weight.device)
    shared.load_state_dict(state)
    return shared.eval().requires_grad_(False)


def _grouped(rows: Tensor, groups: int, d_head: int) -> Tensor:
    """Rows of a projection, (kv_head * d_head, ...), averaged over the heads of each group."""
    return rows.unflatten(0, (groups, -1, d_head)).mean(1).flatten(0, 1)
