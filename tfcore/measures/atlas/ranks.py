"""Effective ranks of the two matrices of a head: how many directions it compares (W_QK) and carries (W_OV)."""

import math

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.measures.heads.compositions import head_weights
from tfcore.measures.heads.matrices_of_heads import why_no_head_matrices
from tfcore.model import Transformer


def effective_rank(a: Float[Tensor, "*head out rank"], b: Float[Tensor, "*head rank in"]) -> Float[Tensor, "*head"]:
    """exp(H(s / sum s)) of the singular values s of a b, from 1 to rank (Roy and Vetterli, EUSIPCO 2007, definition 1).

    a b = Q_a (R_a R_b^T) Q_b^T, so the singular values are those of the small matrix in the middle.
    """
    _, first = torch.linalg.qr(a.double())
    _, second = torch.linalg.qr(b.double().mT)
    values = torch.linalg.svdvals(first @ second.mT)
    shares = values / values.sum(-1, keepdim=True).clamp(min=1e-300)
    return torch.special.entr(shares).sum(-1).exp()


@torch.no_grad()
def head_ranks(model: Transformer) -> dict[str, Float[ndarray, "layer head"]]:
    """The effective ranks of W_OV = W_O W_V and W_QK = W_Q^T W_K of every head, the norm's scale multiplied in and
    rotations (RoPE) left out; NaN where heads have no such matrices."""
    config = model.config
    shape = config.n_layers, config.attention.n_heads
    if why_no_head_matrices(config):
        return {name: np.full(shape, math.nan) for name in ("ov_rank", "qk_rank")}
    layers = [head_weights(model, layer) for layer in range(config.n_layers)]
    ranks = {
        "ov_rank": [effective_rank(one.o, one.v) for one in layers],
        "qk_rank": [effective_rank(one.q.mT, one.k) for one in layers],
    }
    return {name: torch.stack(rows).cpu().numpy() for name, rows in ranks.items()}
