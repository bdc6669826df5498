"""Queries, keys and values of the heads of a decoder on a text, and standard attention over them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from tfcore.attention import attention_scores, attention_weights, softcapped, weighted_values
from tfcore.block import Block
from tfcore.inspection.capture import scored
from tfcore.measures.one_text import one_text
from tfcore.model import Transformer


@dataclass(frozen=True, slots=True)
class HeadVectors:
    """One head's queries (times the factor of the scores already), keys and values, on the CPU, the soft cap of its
    scores, and its learned sink."""

    q: Float[Tensor, "seq d_head"]
    k: Float[Tensor, "seq d_head"]
    v: Float[Tensor, "seq d_value"]
    softcap: float | None = None
    sink: Float[Tensor, ""] | None = None

    def scores(
        self, queries: Int[Tensor, " query"], keys: Int[Tensor, " key"], causal: bool
    ) -> Float[Tensor, "query key"]:
        """Scores of some queries for some keys, both given by their positions; -inf where the key comes later."""
        scores = softcapped(attention_scores(self.q[queries], self.k[keys], 1.0), self.softcap)
        return scores.masked_fill(queries[:, None] < keys, -math.inf) if causal else scores

    def naive(self, causal: bool) -> tuple[Float[Tensor, "seq seq"], Float[Tensor, "seq d_value"]]:
        """Weights and output by standard attention: all scores, the softmax of every row, the weighted values."""
        every = torch.arange(len(self.q))
        weights = attention_weights(self.scores(every, every, causal), sinks=self.sink)
        return weights, weighted_values(weights, self.v)

    def double(self) -> "HeadVectors":
        """The vectors in float64."""
        sink = None if self.sink is None else self.sink.double()
        return replace(self, q=self.q.double(), k=self.k.double(), v=self.v.double(), sink=sink)


@dataclass(frozen=True, slots=True)
class TextVectors:
    """The vectors of all heads of some layers for one text, on the CPU; queries times the factor of the scores."""

    q: Float[Tensor, "layer head seq d_head"]
    k: Float[Tensor, "layer kv_head seq d_head"]
    v: Float[Tensor, "layer kv_head seq d_value"]
    softcap: float | None = None
    sinks: Float[Tensor, "layer head"] | None = None

    def head(self, layer: int, head: int) -> HeadVectors:
        """The vectors of a query head, with the key/value head that its group shares."""
        shared = head * self.k.shape[1] // self.q.shape[1]
        sink = None if self.sinks is None else self.sinks[layer, head]
        return HeadVectors(self.q[layer, head], self.k[layer, shared], self.v[layer, shared], self.softcap, sink)


@torch.no_grad()
def text_vectors(model: Transformer, ids: Sequence[int], layers: Sequence[int]) -> TextVectors:
    """Run a decoder on a text and take the vectors of all heads; after the rotation, where a layer has one."""
    config = model.config
    names = list(zip(*((*scored(config, layer), f"blocks.{layer}.attn.v") for layer in layers), strict=True))
    vectors = model.activations(one_text(model, ids), chain(*names))
    q, k, v = (torch.cat([vectors[name].float().cpu() for name in of_all]) for of_all in names)
    scales = torch.tensor([config.scale_of(layer) for layer in layers])
    sinks = learned_sinks(model, layers)
    return TextVectors(q * scales[:, None, None, None], k, v, config.attention.softcap, sinks)


def learned_sinks(model: Transformer, layers: Sequence[int]) -> Float[Tensor, "layer head"] | None:
    """The learned sinks of the heads of some layers of a model of one stack, on the CPU; None where heads have none."""
    if not model.config.attention.sinks:
        return None
    blocks = [cast("Block", model.stack.blocks[layer]) for layer in layers]
    return torch.stack([cast("Tensor", block.attn.sinks).detach().float().cpu() for block in blocks])


def head_vectors(model: Transformer, ids: Sequence[int], layer: int, head: int) -> HeadVectors:
    """One head's vectors for a text."""
    return text_vectors(model, ids, [layer]).head(0, head)
