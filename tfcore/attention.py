"""Scaled dot-product attention: the maths as pure functions, the weights in one module."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from tfcore.config import ModelConfig
from tfcore.inspection.capture import ActivationRecorder
from tfcore.kv_cache import KVCache
from tfcore.linear import Linear
from tfcore.norms import Norm
from tfcore.positions import apply_rope

Queries = Float[Tensor, "batch head query d_head"]
Keys = Float[Tensor, "batch kv_head key d_head"]
Values = Float[Tensor, "batch kv_head key d_value"]
Outputs = Float[Tensor, "batch head query d_value"]


def attention_scores(
    q: Float[Tensor, "*batch query d_head"], k: Float[Tensor, "*batch key d_head"], scale: float | None = None
) -> Float[Tensor, "*batch query key"]:
    """How well each query fits each key: q . k / sqrt(d_head), or q . k * scale.

    Dividing by sqrt(d_head) keeps the variance of the scores at 1 when those of q and k are 1
    (arXiv:1706.03762, eq. 1 and footnote 4).
    """
    return (q * (q.shape[-1] ** -0.5 if scale is None else scale)) @ k.mT


def softcapped(scores: Float[Tensor, "*batch"], cap: float | None) -> Float[Tensor, "*batch"]:
    """cap * tanh(scores / cap): nearly the scores while they are small, and never above cap; None leaves them.

    Source: arXiv:2408.00118 ("logit soft-capping").
    """
    return scores if cap is None else cap * torch.tanh(scores / cap)


def clipped(x: Float[Tensor, "*batch"], limit: float | None) -> Float[Tensor, "*batch"]:
    """x, cut off at -limit and limit; None cuts nothing."""
    return x if limit is None else x.clamp(-limit, limit)


def attention_weights(
    scores: Float[Tensor, "*batch query key"],
    mask: Bool[Tensor, "*#batch #query key"] | None = None,
    sinks: Float[Tensor, "*#batch"] | None = None,
) -> Float[Tensor, "*batch query key"]:
    """softmax over the keys of the scores, with keys outside the mask at exactly 0; every row sums to 1, or with a sink
    to less: what is missing is the sink's weight, which belongs to no token.

    Args:
        scores: from attention_scores, plus a position bias where there is one.
        mask: True where the query may see the key; each query must see at least one key.
        sinks: learned scores, one of each head, which take part in the softmax of every query.

    Source: arXiv:1706.03762, eq. 1 and section 3.2.3 ("setting to -inf all values ... illegal connections"); sinks
    arXiv:2508.10925, section 2.2.
    """
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    if sinks is None:
        return scores.softmax(dim=-1)
    sink = sinks.to(scores.dtype)[..., None, None].expand(*scores.shape[:-1], 1)  # a column after those of the keys
    return torch.cat((scores, sink), dim=-1).softmax(dim=-1)[..., :-1]


def attention_weights_(
    scores: Float[Tensor, "*batch query key"], additive_mask: Float[Tensor, "*#batch #query key"] | None = None
) -> Float[Tensor, "*batch query key"]:
    """attention_weights, computed in place: no second and third (batch, head, query, key) matrix.

    Only where no gradient is needed and nobody else holds the scores. What it gains, from 128 tokens on, is in the
    benchmarks ("in place").

    Args:
        additive_mask: 0 where the query may see the key, -inf elsewhere; adding is faster than setting.
    """
    if additive_mask is not None:
        scores += additive_mask
    return torch.softmax(scores, dim=-1, out=scores)


def weighted_values(
    pattern: Float[Tensor, "*batch query key"], v: Float[Tensor, "*batch key d_head"]
) -> Float[Tensor, "*batch query d_head"]:
    """The values averaged with each query's attention weights (arXiv:1706.03762, eq. 1)."""
    return pattern @ v


@dataclass(frozen=True, kw_only=True)
class AttentionContext:
    """Shared by all layers in one forward pass: which query may see which key, and the tokens' positions.

    Args:
        mask: True where a query may see a key, broadcastable to (batch, head, query, key); None when is_causal
            says it all or every key is visible.
        is_causal: queries and keys are the same tokens, and each sees itself and those before it.
        bias: added to the scores (ALiBi, relative positions), (head, query, key), or None.
        rotation: cos and sin of the RoPE angles of the new tokens, as positions.turned takes them, or None.
        places: of disentangled positions: the vectors of relative positions, and which of them belongs to a query and a
            key; or None.
        n_query, device: of the queries.
        padding: True at real tokens, for layers that carry a state; None where all are.
    """

    mask: Bool[Tensor, "*batch #query key"] | None
    is_causal: bool
    bias: Float[Tensor, "head query key"] | None
    rotation: tuple[Float[Tensor, "query rotated"], Float[Tensor, "query rotated"]] | None
    n_query: int
    device: torch.device
    places: tuple[Float[Tensor, "bucket d_model"], Int[Tensor, "query key"]] | None = None
    padding: Bool[Tensor, "batch seq"] | None = None

    @cached_property
    def explicit_mask(self) -> Bool[Tensor, "*batch query key"] | None:
        """The mask written out even when is_causal alone would do."""
        if self.mask is None and self.is_causal:
            return torch.ones(self.n_query, self.n_query, dtype=torch.bool, device=self.device).tril()
        return self.mask

    @cached_property
    def additive_mask(self) -> Float[Tensor, "*batch query key"] | None:
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
        self.n_heads, self.kv_heads, self.d_head = config.attention.n_heads, config.attention.kv_heads, config.head_size
        self.d_value = config.value_size
        self.scale, self.softcap, self.clip = config.scale_of(layer), config.attention.softcap, config.attention.clip
        self.cross = cross
        self._add_projections(config)
        self.q_norm, self.k_norm = _norm_of(config, self.n_heads), _norm_of(config, self.kv_heads)
        if config.attention.gate:
            self.gate = Linear(config.d_model, self.n_heads * self.d_value, bias=config.has_qkv_bias)
        self.sinks = nn.Parameter(torch.zeros(self.n_heads)) if config.attention.sinks else None
        self.out = Linear(self.n_heads * self.d_value, config.d_model, bias=config.has_out_bias)

    def _add_projections(self, config: ModelConfig) -> None:
        """The matrices that queries, keys and values are made with."""
        d_q, d_kv = self.n_heads * self.d_head, 2 * self.kv_heads * self.d_head
        if self.cross:
            self.q = Linear(config.d_model, d_q, bias=config.has_qkv_bias)
            self.kv = Linear(config.d_model, d_kv, bias=config.has_qkv_bias)
        else:  # W_Q, W_K, W_V side by side: one product
            self.qkv = Linear(config.d_model, d_q + d_kv, bias=config.has_qkv_bias)

    def forward(
        self,
        x: Float[Tensor, "batch seq d_model"],
        context: AttentionContext,
        recorder: ActivationRecorder,
        *,
        cache: KVCache | None = None,
        layer: int = 0,
        memory: Float[Tensor, "batch key d_model"] | None = None,
    ) -> Float[Tensor, "batch seq d_model"]:
        """The update of each token: the heads' weighted values, times W_O.

        Args:
            recorder: its names under this layer's attn. or cross_attn.
            layer: whose keys and values they are in the cache.
            memory: the encoder's output, of cross-attention; not needed once the cache holds its keys and values.
        """
        if self.cross:
            q, k, v = self._across(x, memory, recorder, cache, layer)
        else:
            q, k, v = self._within(x, context, recorder, cache, layer)
        stepwise = self.softcap is not None or self.sinks is not None  # which the fused kernel does not have
        if stepwise or recorder.wants("scores") or recorder.wants("pattern"):
            z = self.step_by_step(q, k, v, context, recorder)
        else:
            z = self.fused(q, k, v, context)
        if hasattr(self, "gate"):
            gate = self.gate(x).sigmoid().unflatten(-1, (self.n_heads, self.d_value)).transpose(1, 2)
            z = z * recorder("gate", gate)
        z = recorder("z", z)
        if recorder.wants("result"):
            return self._summed(recorder("result", self.results(z)))
        return self.out(z.transpose(1, 2).flatten(2))  # heads side by side again, then W_O

    def _within(
        self,
        x: Float[Tensor, "batch seq d_model"],
        context: AttentionContext,
        recorder: ActivationRecorder,
        cache: KVCache | None,
        layer: int,
    ) -> tuple[Queries, Keys, Values]:
        q, k, v = self.heads(clipped(self.qkv(x), self.clip), self.n_heads, self.kv_heads, self.kv_heads)
        q, k, v = recorder("q", self.q_norm(q)), recorder("k", self.k_norm(k)), recorder("v", v)
        if context.rotation is not None:
            cos, sin = (table.to(q.dtype) for table in context.rotation)
            q, k = recorder("rot_q", apply_rope(q, cos, sin)), recorder("rot_k", apply_rope(k, cos, sin))
        if cache is not None:
            k, v = cache.extend(layer, k, v)
        return q, k, v

    def _across(
        self,
        x: Float[Tensor, "batch seq d_model"],
        memory: Float[Tensor, "batch key d_model"] | None,
        recorder: ActivationRecorder,
        cache: KVCache | None,
        layer: int,
    ) -> tuple[Queries, Keys, Values]:
        (q,) = self.heads(self.q(x), self.n_heads)
        q = recorder("q", self.q_norm(q))
        if cache is not None and (held := cache.memory[layer]) is not None:
            return q, *held
        if memory is None:
            raise ValueError("cross-attention needs the encoder's output, or a cache that holds its keys and values")
        k, v = self.heads(self.kv(memory), self.kv_heads, self.kv_heads)
        k, v = recorder("k", self.k_norm(k)), recorder("v", v)
        if cache is not None:
            cache.memory[layer] = k, v
        return q, k, v

    def heads(
        self, product: Float[Tensor, "batch seq d_out"], *counts: int
    ) -> tuple[Float[Tensor, "batch _ seq d_head"], ...]:
        """Split a projection into heads, (batch, head, seq, d_head), and these into groups of `counts` heads."""
        return product.unflatten(-1, (-1, self.d_head)).transpose(1, 2).split(counts, dim=1)

    def position_bias(
        self,
        q: Queries,
        k: Keys,  # noqa: ARG002 - of attention in which positions meet tokens
        context: AttentionContext,
    ) -> Float[Tensor, "#batch head query key"] | None:
        """What positions add to the scores, or None."""
        return None if context.bias is None else context.bias.to(q.dtype)[None]

    def fused(self, q: Queries, k: Keys, v: Values, context: AttentionContext) -> Outputs:
        """Attention by torch's fused kernel, which keeps no (query, key) matrix."""
        mask = context.mask
        bias = self.position_bias(q, k, context)  # with all four axes, or torch leaves its fast kernel
        if bias is not None:
            mask = context.explicit_mask
            mask = bias if mask is None else bias.masked_fill(~mask, -math.inf)
        causal = mask is None and context.is_causal
        return F.scaled_dot_product_attention(
            q, k, v, mask, is_causal=causal, scale=self.scale, enable_gqa=self.kv_heads < self.n_heads
        )

    def step_by_step(
        self, q: Queries, k: Keys, v: Values, context: AttentionContext, recorder: ActivationRecorder
    ) -> Outputs:
        """Attention computed step by step, so that `scores` and `pattern` can be recorded and edited.

        Equal to `fused` within 1e-5.
        """
        if (group := self.n_heads // self.kv_heads) > 1:  # every group of query heads shares one key/value head
            k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
        scores = softcapped(attention_scores(q, k, self.scale), self.softcap)  # (batch, head, query, key)
        bias = self.position_bias(q, k, context)
        if bias is not None:
            scores = scores + bias
        alone = not (recorder.wants("scores") or scores.requires_grad) and scores.device.type == "cpu"
        scores = recorder("scores", scores)
        if alone and self.sinks is None:
            pattern = attention_weights_(scores, context.additive_mask)
        else:
            pattern = attention_weights(scores, context.explicit_mask, self.sinks)
        return weighted_values(recorder("pattern", pattern), v)

    def results(self, z: Outputs) -> Float[Tensor, "batch query head d_model"]:
        """The output of each head alone to the residual stream: z W_O, head by head."""
        w_out = self.out.weight.unflatten(1, (self.n_heads, self.d_value))  # (d_model, head, d_value)
        return torch.einsum("bhqe,dhe->bqhd", z, w_out)

    def _summed(self, results: Float[Tensor, "batch query head d_model"]) -> Float[Tensor, "batch query d_model"]:
        summed = results.sum(2)
        return summed if self.out.bias is None else summed + self.out.bias


class WholeNorm(Norm):
    """A norm over all heads of a token at once (arXiv:2501.00656, section 3.2)."""

    def forward(
        self, x: Float[Tensor, "batch head seq d_head"], recorder: ActivationRecorder | None = None, name: str = ""
    ) -> Float[Tensor, "batch head seq d_head"]:
        heads = x.shape[1]
        return super().forward(x.transpose(1, 2).flatten(2), recorder, name).unflatten(2, (heads, -1)).transpose(1, 2)


class EachNorm(nn.Module):
    """LayerNorm of each head's queries or keys, with a scale of its own and no shift."""

    def __init__(self, config: ModelConfig, n_heads: int) -> None:
        super().__init__()
        self.eps = config.norm.eps
        self.weight = nn.Parameter(torch.ones(n_heads, config.head_size))

    def forward(
        self, x: Float[Tensor, "batch head seq d_head"], heads: Sequence[int] | None = None
    ) -> Float[Tensor, "batch head seq d_head"]:
        """The normalised vectors; `heads` are those of x, where it has not all of them in their order."""
        weight = self.weight if heads is None else self.weight[list(heads)]
        return F.layer_norm(x, x.shape[-1:], eps=self.eps) * weight[:, None]


def _norm_of(config: ModelConfig, n_heads: int) -> nn.Module:
    """The norm of the queries or keys of so many heads."""
    kind = config.attention.qk_norm
    if kind == "each":
        return EachNorm(config, n_heads)
    if kind == "width":
        return WholeNorm(config, n_heads * config.head_size, "rmsnorm")
    return nn.Identity() if kind is None else Norm(config, config.head_size, "rmsnorm")
