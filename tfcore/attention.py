"""Scaled dot-product attention: the maths as pure functions, the weights in one module."""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from tfcore.capture import Tape
from tfcore.config import ModelConfig
from tfcore.kv_cache import KVCache
from tfcore.linear import Linear
from tfcore.positions import rotate


def attention_scores(
    q: Float[Tensor, "*batch query d_head"], k: Float[Tensor, "*batch key d_head"]
) -> Float[Tensor, "*batch query key"]:
    """How well each query fits each key: q . k / sqrt(d_head).

    Dividing by sqrt(d_head) keeps the variance of the scores at 1 when those of q and k are 1
    (arXiv:1706.03762, eq. 1 and footnote 4).
    """
    return (q / math.sqrt(q.shape[-1])) @ k.mT


def attention_weights(
    scores: Float[Tensor, "*batch query key"], mask: Bool[Tensor, "*#batch query key"] | None = None
) -> Float[Tensor, "*batch query key"]:
    """softmax over the keys of the scores, with keys outside the mask at exactly 0; every row sums to 1.

    Args:
        scores: from attention_scores, plus a position bias where there is one.
        mask: True where the query may see the key; each query must see at least one key.

    Source: arXiv:1706.03762, eq. 1 and section 3.2.3 ("setting to -inf all values ... illegal connections").
    """
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return scores.softmax(dim=-1)


def attention_weights_(scores: Float[Tensor, "*batch query key"], mask: Tensor | None = None) -> Tensor:
    """attention_weights, written over the scores: two matrices fewer to make, which takes more time than the maths.

    Only where no gradient is needed and nobody else holds the scores. Adding -inf takes a quarter of the time of
    setting it.
    """
    if mask is not None:
        scores += torch.zeros(mask.shape, dtype=scores.dtype, device=mask.device).masked_fill_(~mask, -math.inf)
    return torch.softmax(scores, dim=-1, out=scores)


def weighted_values(
    pattern: Float[Tensor, "*batch query key"], v: Float[Tensor, "*batch key d_head"]
) -> Float[Tensor, "*batch query d_head"]:
    """What each query receives: the values, averaged with its attention weights (arXiv:1706.03762, eq. 1)."""
    return pattern @ v


@dataclass(frozen=True, slots=True, kw_only=True)
class Visibility:
    """What all layers share in one forward pass: who sees whom, and where the tokens are.

    Args:
        mask: True where a query may see a key, broadcastable to (batch, head, query, key); None when is_causal
            says it all or every key is visible.
        is_causal: queries and keys are the same tokens, and each sees itself and those before it.
        bias: added to the scores (ALiBi), (head, query, key), or None.
        angles: RoPE angles of the new tokens, (seq, d_head/2), or None.
    """

    mask: Tensor | None
    is_causal: bool
    bias: Tensor | None
    angles: Tensor | None

    def explicit_mask(self, n_query: int, device: torch.device) -> Tensor | None:
        """The mask written out even when is_causal alone would do."""
        if self.mask is None and self.is_causal:
            return torch.ones(n_query, n_query, dtype=torch.bool, device=device).tril()
        return self.mask


class Attention(nn.Module):
    """Multi-head attention, grouped-query (arXiv:2305.13245) or multi-query (arXiv:1911.02150) when kv_heads is less.

    The fused kernel runs unless scores or patterns are asked for; then the same maths runs step by step.
    """

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.n_heads, self.kv_heads, self.d_head = config.n_heads, config.kv_heads, config.head_size
        d_qkv = (config.n_heads + 2 * config.kv_heads) * config.head_size
        self.qkv = Linear(config.d_model, d_qkv, bias=config.bias)  # W_Q, W_K, W_V side by side: one product
        self.out = Linear(config.n_heads * config.head_size, config.d_model, bias=config.bias)

    def forward(
        self,
        x: Float[Tensor, "batch seq d_model"],
        see: Visibility,
        tape: Tape,
        cache: KVCache | None = None,
        layer: int = 0,
    ) -> Float[Tensor, "batch seq d_model"]:
        q, k, v = self.project(x)
        if see.angles is not None:
            q, k = rotate(q, see.angles), rotate(k, see.angles)
        q, k, v = tape("attn.q", q), tape("attn.k", k), tape("attn.v", v)
        if cache is not None:
            k, v = cache.extend(layer, k, v)
        if tape.wants("attn.scores") or tape.wants("attn.pattern"):
            z = self.step_by_step(q, k, v, see, tape)
        else:
            z = self.fused(q, k, v, see)
        z = tape("attn.z", z)
        return self.out(z.transpose(1, 2).flatten(2))  # heads side by side again, then W_O

    def project(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """One product, cut into heads: q (batch, head, seq, d_head), k and v (batch, kv_head, seq, d_head)."""
        heads = self.qkv(x).unflatten(-1, (-1, self.d_head)).transpose(1, 2)
        q, k, v = heads.split((self.n_heads, self.kv_heads, self.kv_heads), dim=1)
        return q, k, v

    def fused(self, q: Tensor, k: Tensor, v: Tensor, see: Visibility) -> Float[Tensor, "batch head query d_head"]:
        """torch's fused attention: no (query, key) matrix is kept."""
        mask = see.mask
        if see.bias is not None:
            mask = see.explicit_mask(q.shape[2], q.device)
            mask = see.bias.to(q.dtype) if mask is None else see.bias.to(q.dtype).masked_fill(~mask, -math.inf)
        causal = mask is None and see.is_causal
        return F.scaled_dot_product_attention(q, k, v, mask, is_causal=causal, enable_gqa=self.kv_heads < self.n_heads)

    def step_by_step(
        self, q: Tensor, k: Tensor, v: Tensor, see: Visibility, tape: Tape
    ) -> Float[Tensor, "batch head query d_head"]:
        """The same, with scores and pattern in sight."""
        if (group := self.n_heads // self.kv_heads) > 1:  # every group of query heads shares one key/value head
            k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        scores = attention_scores(q, k)  # (batch, head, query, key)
        if see.bias is not None:
            scores = scores + see.bias.to(scores.dtype)
        ours_alone = not (tape.wants("attn.scores") or scores.requires_grad) and scores.device.type == "cpu"
        scores = tape("attn.scores", scores)
        weights = attention_weights_ if ours_alone else attention_weights
        pattern = weights(scores, see.explicit_mask(q.shape[2], q.device))
        return weighted_values(tape("attn.pattern", pattern), v)
