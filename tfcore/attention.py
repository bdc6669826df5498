"""Scaled dot-product attention: the maths as pure functions, the weights in one module."""

import math
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from tfcore.config import ModelConfig
from tfcore.generation.kv_cache import KVCache
from tfcore.inspection.capture import Tape
from tfcore.linear import Linear
from tfcore.norms import Norm
from tfcore.positions import rotate


def attention_scores(
    q: Float[Tensor, "*batch query d_head"], k: Float[Tensor, "*batch key d_head"], scale: float | None = None
) -> Float[Tensor, "*batch query key"]:
    """How well each query fits each key: q . k / sqrt(d_head), or q . k * scale.

    Dividing by sqrt(d_head) keeps the variance of the scores at 1 when those of q and k are 1
    (arXiv:1706.03762, eq. 1 and footnote 4).
    """
    return (q * (q.shape[-1] ** -0.5 if scale is None else scale)) @ k.mT


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


def attention_weights_(scores: Float[Tensor, "*batch query key"], minus: Tensor | None = None) -> Tensor:
    """attention_weights, written over the scores: two matrices fewer to make, which takes more time than the maths.

    Only where no gradient is needed and nobody else holds the scores.

    Args:
        minus: 0 where the query may see the key, -inf elsewhere; adding takes a quarter of the time of setting.
    """
    if minus is not None:
        scores += minus
    return torch.softmax(scores, dim=-1, out=scores)


def weighted_values(
    pattern: Float[Tensor, "*batch query key"], v: Float[Tensor, "*batch key d_head"]
) -> Float[Tensor, "*batch query d_head"]:
    """What each query receives: the values, averaged with its attention weights (arXiv:1706.03762, eq. 1)."""
    return pattern @ v


@dataclass(frozen=True, kw_only=True)
class Visibility:
    """What all layers share in one forward pass: who sees whom, and where the tokens are.

    Args:
        mask: True where a query may see a key, broadcastable to (batch, head, query, key); None when is_causal
            says it all or every key is visible.
        is_causal: queries and keys are the same tokens, and each sees itself and those before it.
        bias: added to the scores (ALiBi, relative positions), (head, query, key), or None.
        angles: RoPE angles of the new tokens, (seq, d_head/2), or None.
        n_query, device: of the queries.
    """

    mask: Tensor | None
    is_causal: bool
    bias: Tensor | None
    angles: Tensor | None
    n_query: int
    device: torch.device

    @cached_property
    def explicit_mask(self) -> Tensor | None:
        """The mask written out even when is_causal alone would do."""
        if self.mask is None and self.is_causal:
            return torch.ones(self.n_query, self.n_query, dtype=torch.bool, device=self.device).tril()
        return self.mask

    @cached_property
    def minus(self) -> Tensor | None:
        """0 where the explicit mask is True, -inf elsewhere."""
        if (mask := self.explicit_mask) is None:
            return None
        return torch.zeros(mask.shape, device=mask.device).masked_fill_(~mask, -math.inf)


class Attention(nn.Module):
    """Multi-head attention, grouped-query (arXiv:2305.13245) or multi-query (arXiv:1911.02150) when kv_heads is less.

    The fused kernel runs unless scores or patterns are asked for; then the same maths runs step by step.

    Args:
        layer: its place in the stack.
        cross: queries come from this stack, keys and values from the encoder's output (arXiv:1706.03762, sec. 3.2.3).
    """

    def __init__(self, config: ModelConfig, layer: int = 0, cross: bool = False) -> None:
        super().__init__()
        self.n_heads, self.kv_heads, self.d_head = config.n_heads, config.kv_heads, config.head_size
        self.scale = config.scale_of(layer)
        self.cross = cross
        d_q, d_kv = self.n_heads * self.d_head, 2 * self.kv_heads * self.d_head
        if cross:
            self.q = Linear(config.d_model, d_q, bias=config.has_qkv_bias)
            self.kv = Linear(config.d_model, d_kv, bias=config.has_qkv_bias)
        else:  # W_Q, W_K, W_V side by side: one product
            self.qkv = Linear(config.d_model, d_q + d_kv, bias=config.has_qkv_bias)
        if config.qk_norm:
            self.q_norm = Norm(config, self.d_head, "rmsnorm")
            self.k_norm = Norm(config, self.d_head, "rmsnorm")
        self.has_norm = config.qk_norm
        self.out = Linear(d_q, config.d_model, bias=config.has_out_bias)

    def forward(
        self,
        x: Float[Tensor, "batch seq d_model"],
        see: Visibility,
        tape: Tape,
        cache: KVCache | None = None,
        layer: int = 0,
        memory: Float[Tensor, "batch key d_model"] | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        """What each token takes in.

        Args:
            tape: its names under this layer's attn. or cross_attn.
            memory: the encoder's output, of cross-attention; not needed once the cache holds its keys and values.
        """
        if self.cross:
            q, k, v = self._across(x, memory, tape, cache, layer)
        else:
            q, k, v = self._within(x, see, tape, cache, layer)
        if tape.wants("scores") or tape.wants("pattern"):
            z = self.step_by_step(q, k, v, see, tape)
        else:
            z = self.fused(q, k, v, see)
        z = tape("z", z)
        if tape.wants("result"):
            return self._summed(tape("result", self.results(z)))
        return self.out(z.transpose(1, 2).flatten(2))  # heads side by side again, then W_O

    def _within(
        self, x: Tensor, see: Visibility, tape: Tape, cache: KVCache | None, layer: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = self.heads(self.qkv(x), self.n_heads, self.kv_heads, self.kv_heads)
        q, k, v = tape("q", self._norm_q(q)), tape("k", self._norm_k(k)), tape("v", v)
        if see.angles is not None:
            q, k = tape("rot_q", rotate(q, see.angles)), tape("rot_k", rotate(k, see.angles))
        if cache is not None:
            k, v = cache.extend(layer, k, v)
        return q, k, v

    def _across(
        self, x: Tensor, memory: Tensor | None, tape: Tape, cache: KVCache | None, layer: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        (q,) = self.heads(self.q(x), self.n_heads)
        q = tape("q", self._norm_q(q))
        if cache is not None and (held := cache.memory[layer]) is not None:
            return q, *held
        if memory is None:
            raise ValueError("cross-attention needs the encoder's output, or a cache that holds its keys and values")
        k, v = self.heads(self.kv(memory), self.kv_heads, self.kv_heads)
        k, v = tape("k", self._norm_k(k)), tape("v", v)
        if cache is not None:
            cache.memory[layer] = k, v
        return q, k, v

    def heads(self, product: Float[Tensor, "batch seq d_out"], *counts: int) -> tuple[Tensor, ...]:
        """A product cut into heads, (batch, head, seq, d_head), and those into groups of these sizes."""
        return product.unflatten(-1, (-1, self.d_head)).transpose(1, 2).split(counts, dim=1)

    def _norm_q(self, q: Tensor) -> Tensor:
        return self.q_norm(q) if self.has_norm else q

    def _norm_k(self, k: Tensor) -> Tensor:
        return self.k_norm(k) if self.has_norm else k

    def fused(self, q: Tensor, k: Tensor, v: Tensor, see: Visibility) -> Float[Tensor, "batch head query d_head"]:
        """torch's fused attention: no (query, key) matrix is kept."""
        mask = see.mask
        if see.bias is not None:
            mask = see.explicit_mask
            bias = see.bias.to(q.dtype)[None]  # with all four axes, or torch leaves its fast kernel
            mask = bias if mask is None else bias.masked_fill(~mask, -math.inf)
        causal = mask is None and see.is_causal
        return F.scaled_dot_product_attention(
            q, k, v, mask, is_causal=causal, scale=self.scale, enable_gqa=self.kv_heads < self.n_heads
        )

    def step_by_step(
        self, q: Tensor, k: Tensor, v: Tensor, see: Visibility, tape: Tape
    ) -> Float[Tensor, "batch head query d_head"]:
        """The same, with scores and pattern in sight."""
        if (group := self.n_heads // self.kv_heads) > 1:  # every group of query heads shares one key/value head
            k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        scores = attention_scores(q, k, self.scale)  # (batch, head, query, key)
        if see.bias is not None:
            scores = scores + see.bias.to(scores.dtype)
        ours_alone = not (tape.wants("scores") or scores.requires_grad) and scores.device.type == "cpu"
        scores = tape("scores", scores)
        if ours_alone:
            pattern = attention_weights_(scores, see.minus)
        else:
            pattern = attention_weights(scores, see.explicit_mask)
        return weighted_values(tape("pattern", pattern), v)

    def results(self, z: Float[Tensor, "batch head query d_head"]) -> Float[Tensor, "batch query head d_model"]:
        """What each head alone writes to the residual stream: z W_O, head by head."""
        w_out = self.out.weight.unflatten(1, (self.n_heads, self.d_head))  # (d_model, head, d_head)
        return torch.einsum("bhqe,dhe->bqhd", z, w_out)

    def _summed(self, results: Tensor) -> Tensor:
        summed = results.sum(2)
        return summed if self.out.bias is None else summed + self.out.bias
