"""The non-linearities of feed-forward layers, their slopes in closed form, and where a trained model uses them."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.analysis.one_text import one_text
from tfcore.config import Activation
from tfcore.feedforward import ACTIVATIONS
from tfcore.model import Transformer

KINDS: tuple[Activation, ...] = ("relu", "gelu", "gelu_tanh", "silu")
LIMIT, POINTS = 5.0, 401  # curves are drawn from -LIMIT to LIMIT
FLAT = 0.01  # a slope below this passes hardly any gradient


def relu_slope(x: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """d max(0, x) / dx: 1 above 0 and 0 below; at 0 itself torch takes 0, and so does this."""
    return (x > 0).to(x.dtype)


def gelu_slope(x: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """d x Phi(x) / dx = Phi(x) + x phi(x), with the normal distribution's Phi and its density phi (arXiv:1606.08415).

    Its minimum is below 0, and around x = 1.4 it is above 1.
    """
    density = torch.exp(-x * x / 2) / math.sqrt(2 * math.pi)
    return 0.5 * (1 + torch.erf(x / math.sqrt(2))) + x * density


def gelu_tanh_slope(x: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """d x (1 + tanh u) / 2 / dx with u = sqrt(2 / pi) (x + 0.044715 x^3) (arXiv:1606.08415, section 2)."""
    factor = math.sqrt(2 / math.pi)
    tanh = torch.tanh(factor * (x + 0.044715 * x**3))
    return 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh**2) * factor * (1 + 3 * 0.044715 * x**2)


def silu_slope(x: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """d x s(x) / dx = s(x) (1 + x (1 - s(x))), with the logistic function s (SiLU: arXiv:1702.03118)."""
    sigmoid = torch.sigmoid(x)
    return sigmoid * (1 + x * (1 - sigmoid))


SLOPES: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": relu_slope,
    "gelu": gelu_slope,
    "gelu_tanh": gelu_tanh_slope,
    "silu": silu_slope,
}


@dataclass(frozen=True, slots=True)
class Curves:
    """All four functions on one axis.

    Args:
        x: inputs.
        value, slope: f(x) and f'(x), in the order of KINDS.
        difference: of exact GELU and its approximation by tanh, the largest.
    """

    x: Float[ndarray, " x"]
    value: Float[ndarray, "kind x"]
    slope: Float[ndarray, "kind x"]
    difference: float


def curves() -> Curves:
    """The functions as the models use them, and their slopes."""
    x = torch.linspace(-LIMIT, LIMIT, POINTS, dtype=torch.float64)
    value = torch.stack([ACTIVATIONS[kind](x) for kind in KINDS])
    slope = torch.stack([SLOPES[kind](x) for kind in KINDS])
    difference = float((value[KINDS.index("gelu")] - value[KINDS.index("gelu_tanh")]).abs().max())
    return Curves(x.numpy(), value.numpy(), slope.numpy(), difference)


def at(kind: Activation, x: float) -> tuple[float, float]:
    """f(x) and f'(x) at one place."""
    point = torch.tensor(x, dtype=torch.float64)
    return float(ACTIVATIONS[kind](point)), float(SLOPES[kind](point))


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a layer of a trained model feeds into its non-linearity.

    Args:
        edges: of the bins, POINTS - 1 wide apart in pairs.
        share: of all inputs that lie in each bin.
        negative: share of inputs below 0.
        flat: kind -> share of inputs at which that function's slope is below FLAT.
        count: how many inputs.
    """

    edges: Float[ndarray, " edge"]
    share: Float[ndarray, " bin"]
    negative: float
    flat: dict[Activation, float]
    count: int


@torch.no_grad()
def layer_inputs(model: Transformer, ids: Sequence[int], layer: int) -> Inputs:
    """The inputs of a layer's non-linearity at every token of a text: a gate's, in a gated layer."""
    name = f"blocks.{layer}.mlp.pre"
    found = model(one_text(model, ids), capture=(name,)).activations[name].flatten().float().cpu()
    edges = np.linspace(-LIMIT, LIMIT, 81)
    counts, _ = np.histogram(found.clamp(-LIMIT, LIMIT).numpy(), edges)
    flat = {kind: float((SLOPES[kind](found).abs() < FLAT).float().mean()) for kind in KINDS}
    return Inputs(edges, counts / len(found), float((found < 0).float().mean()), flat, len(found))
