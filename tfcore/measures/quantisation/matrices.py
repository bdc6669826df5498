"""The weight matrices of a model by layer and kind, and a copy of the model with fewer bits in each of them."""

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tfcore.config import ModelConfig
from tfcore.linear import Linear
from tfcore.measures.heads.matrices_of_heads import why_no_head_matrices
from tfcore.measures.quantisation.formats import Scheme, bits_per_value, rounded
from tfcore.model import Transformer

KINDS = ("q", "k", "v", "out", "gate", "up", "down")


@dataclass(frozen=True, slots=True)
class Matrix:
    """One matrix of a block.

    Args:
        layer, kind: which one.
        linear: the layer of the model that has its rows, among others' where several are stored side by side.
        start, end: of its rows there.
    """

    layer: int
    kind: str
    linear: Linear
    start: int
    end: int

    @property
    def weight(self) -> Float[Tensor, "row column"]:
        return self.linear.weight[self.start : self.end]

    @property
    def shape(self) -> tuple[int, int]:
        return self.end - self.start, self.linear.in_features


def kinds_of(config: ModelConfig) -> tuple[str, ...]:
    """The kinds of matrices in each block: a feed-forward layer without a gate has two, attention alone four."""
    if config.feed_forward.d_ff == 0:
        return KINDS[:4]
    return tuple(kind for kind in KINDS if kind != "gate" or config.feed_forward.is_gated)


def no_matrices(config: ModelConfig) -> str | None:
    """Why a model's matrices, those of feed-forward layers among them, cannot be shown by layer and kind, or None."""
    if reason := not_told_apart(config):
        return reason
    return None if config.feed_forward.d_ff != 0 else "it is made of attention alone, without feed-forward layers."


def not_told_apart(config: ModelConfig) -> str | None:
    """Why a model's matrices cannot be told apart by layer and kind, or None."""
    if config.architecture == "encoder-decoder":
        return "it has two stacks, and one is shown."
    if config.experts is not None:
        return "it has a mixture of experts in place of one feed-forward layer."
    if reason := why_no_head_matrices(config):
        return reason
    if config.positions.kind == "disentangled" and not config.positions.shared:
        return "its relative positions have matrices of their own (disentangled attention)."
    return None


def matrices(model: Transformer) -> Iterator[Matrix]:
    """All weight matrices of the blocks, layer by layer in the order of `KINDS`.

    Raises:
        ValueError: a model of another build; see `not_told_apart`.
    """
    if (why := not_told_apart(model.config)) is not None:
        raise ValueError(f"these matrices cannot be told apart: {why}")
    config = model.config
    d_q, d_kv = config.attention.n_heads * config.head_size, config.attention.kv_heads * config.head_size
    gates = ("gate", "up") if config.feed_forward.is_gated else ("up",)
    for layer, block in enumerate(blocks_of(model)):
        parts = [(block.attn.qkv, {"q": d_q, "k": d_kv, "v": d_kv}), (block.attn.out, {"out": config.d_model})]
        if config.feed_forward.d_ff != 0:
            parts.append((block.mlp.up, dict.fromkeys(gates, config.ff_size)))
            parts.append((block.mlp.down, {"down": config.d_model}))
        for linear, rows in parts:
            end = 0
            for kind, count in rows.items():
                yield Matrix(layer, kind, linear, end, end := end + count)


def blocks_of(model: Transformer) -> list[Any]:
    """The blocks of a model's one stack."""
    stack = model.encoder if model.config.architecture == "encoder" else model.decoder
    return list(stack.blocks)


def matrix_of(model: Transformer, layer: int, kind: str) -> Float[Tensor, "row column"]:
    """One matrix, (d_out, d_in).

    Raises:
        ValueError: no such layer or kind.
    """
    for one in matrices(model):
        if (one.layer, one.kind) == (layer, kind):
            return one.weight.detach()
    raise ValueError(
        f"layer={layer}, kind={kind!r} is not in this model; kinds are {', '.join(kinds_of(model.config))}"
    )


@torch.no_grad()
def quantised_copy(model: Transformer, scheme: Scheme) -> Transformer:
    """The model with every matrix of its blocks rounded; embeddings, norms and biases are those of the original.

    Everything that is not rounded is shared with the original, which stays as it is.
    """
    shared: dict[int, object] = {id(one): one for one in (*model.parameters(), *model.buffers())}
    quantised = copy.deepcopy(model, shared)
    linears: dict[Any, None] = dict.fromkeys(one.linear for one in matrices(quantised))
    for linear in linears:
        linear.weight = nn.Parameter(linear.weight.detach().clone(), requires_grad=False)
    for one in matrices(quantised):
        one.linear.weight[one.start : one.end] = rounded(one.weight, scheme)
    return quantised


def model_bits(model: Transformer, scheme: Scheme) -> float:
    """Mean bits of a weight in the blocks' matrices, scales included."""
    sizes = [one.shape for one in matrices(model)]
    bits = sum(rows * columns * bits_per_value(scheme, rows, columns) for rows, columns in sizes)
    return bits / sum(rows * columns for rows, columns in sizes)
