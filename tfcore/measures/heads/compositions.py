"""How much of what one head writes another reads (A Mathematical Framework for Transformer Circuits, 2021)."""

import math
from dataclasses import dataclass
from typing import cast

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.block import Block
from tfcore.measures.heads.matrices_of_heads import why_no_head_matrices
from tfcore.model import Transformer

INPUTS = {"query": "q", "key": "k", "value": "v"}  # of a head, with the ends of their activations' names
DRAWS = 64  # pairs of random circuits; of wide models fewer
NUMBERS = 2**22  # of one matrix in all draws


@dataclass(frozen=True, slots=True)
class Composition:
    """Composition scores of the heads of one layer with all heads below it.

    Args:
        scores: "query", "key" or "value" -> score of each pair.
        random, spread: mean and standard deviation of the score of random matrices of the same shapes.
    """

    scores: dict[str, Float[ndarray, "head earlier_layer earlier_head"]]
    random: float
    spread: float


@dataclass(frozen=True, slots=True)
class HeadWeights:
    """W_Q, W_K, W_V and W_O of the heads of a layer; the norm's scale is multiplied into the first three."""

    q: Float[Tensor, "head d_head d_model"]
    k: Float[Tensor, "head d_head d_model"]
    v: Float[Tensor, "head d_head d_model"]
    o: Float[Tensor, "head d_model d_head"]


def frobenius(a: Float[Tensor, "*#head out rank"], b: Float[Tensor, "*#head rank in"]) -> Float[Tensor, "*pair"]:
    """||a b||, the Frobenius norm of a product of two thin matrices, without the large product.

    ||a b||^2 = trace(b^T a^T a b) = sum of (a^T a) * (b b^T), entry by entry.
    """
    return ((a.mT @ a) * (b @ b.mT)).sum((-1, -2)).clamp(min=0).sqrt()


def compose(
    later: tuple[Float[Tensor, "*#head out rank"], Float[Tensor, "*#head rank d_model"]],
    earlier: tuple[Float[Tensor, "*#head d_model rank"], Float[Tensor, "*#head rank in"]],
) -> Float[Tensor, "*pair"]:
    """||A B|| / (||A|| ||B||) of two circuits, each given by its two thin factors: A = a1 a2, B = b1 b2.

    0: A reads nothing of what B writes. Source: A Mathematical Framework for Transformer Circuits (2021), "two-layer
    attention-only transformers"; there W_QK = W_Q^T W_K and W_OV = W_O W_V, and A is W_QK^T for Q-, W_QK for K-,
    W_OV for V-composition, B the earlier head's W_OV.
    """
    (a1, a2), (b1, b2) = later, earlier
    between = a2 @ b1  # (..., rank, rank): the only product as wide as the model; what follows is small
    product = ((a1.mT @ a1) * (between @ (b2 @ b2.mT) @ between.mT)).sum((-1, -2)).clamp(min=0).sqrt()  # ||A B||
    return product / (frobenius(a1, a2) * frobenius(b1, b2)).clamp(min=1e-30)


def head_weights(model: Transformer, layer: int) -> HeadWeights:
    """The matrices of one layer; heads that share keys and values each get them. RoPE's rotation is left out.

    Raises:
        ValueError: its heads have none; see why_no_head_matrices.
    """
    config, block = model.config, cast("Block", model.stack.blocks[layer])
    if reason := why_no_head_matrices(config):
        raise ValueError(reason)
    reading = block.attn.qkv.weight.detach()
    if config.has_first_norm(layer):
        reading = reading * block.ln1.weight.detach()
        if config.norm.kind == "layernorm":  # which takes the mean away first
            reading = reading - reading.mean(1, keepdim=True)
    heads, shared, d_head = config.attention.n_heads, config.attention.kv_heads, config.head_size
    q, k, v = reading.unflatten(0, (-1, d_head)).split((heads, shared, shared))
    k, v = (part.repeat_interleave(heads // shared, dim=0) for part in (k, v))
    o = block.attn.out.weight.detach().unflatten(1, (heads, d_head)).movedim(1, 0)
    return HeadWeights(q, k, v, o)


def compositions(later: HeadWeights, earlier: HeadWeights) -> dict[str, Float[Tensor, "head earlier_head"]]:
    """Q-, K- and V-composition of every pair of a later and an earlier head."""
    q, k, v, o = (part[:, None] for part in (later.q, later.k, later.v, later.o))
    circuits = {"query": (k.mT, q), "key": (q.mT, k), "value": (o, v)}  # W_QK^T, W_QK, W_OV
    return {kind: compose(circuit, (earlier.o[None], earlier.v[None])) for kind, circuit in circuits.items()}


def composition(model: Transformer, layer: int) -> Composition:
    """Composition scores of the heads of `layer` with each head of every layer below.

    Raises:
        ValueError: a layer with none below it, or a model that is no decoder.
    """
    config = model.config
    if config.architecture != "decoder" or not 1 <= layer < config.n_layers:
        raise ValueError(f"layer={layer} must be between 1 and {config.n_layers - 1}, of a decoder")
    own = head_weights(model, layer)
    layers = [compositions(own, head_weights(model, below)) for below in range(layer)]
    scores = {kind: torch.stack([one[kind] for one in layers], dim=1).float().cpu().numpy() for kind in INPUTS}
    return Composition(scores, *random_composition(config.d_model, config.head_size))


def random_draws(d_model: int, d_head: int) -> int:
    """How many pairs of random circuits stand for all."""
    return min(DRAWS, max(4, NUMBERS // (d_model * d_head)))


def random_composition(d_model: int, d_head: int) -> tuple[float, float]:
    """Mean and standard deviation of the score of two circuits with random weights.

    In the mean of squares it is 1 / d_model, whatever d_head: one random direction in another's space.
    """
    generator = torch.Generator().manual_seed(0)
    shape = (2, random_draws(d_model, d_head), d_model, d_head)
    (a1, a2), (b1, b2) = (torch.randn(shape, generator=generator) for _ in range(2))
    scores = compose((a1, a2.mT), (b1, b2.mT))
    return float(scores.mean()), float(scores.std())


def theory(d_model: int) -> float:
    """The root mean square of the score of random circuits: 1 / sqrt(d_model)."""
    return 1 / math.sqrt(d_model)
