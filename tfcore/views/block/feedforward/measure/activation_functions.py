"""Activation functions of feed-forward layers, their slopes in closed form, and the inputs of trained layers."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.feedforward import ACTIVATIONS
from tfcore.measures.one_text import one_text
from tfcore.model import Transformer
from tfcore.part_configs import Activation

ACTIVATION_NAMES: dict[Activation, str] = {
    "relu": "ReLU",
    "gelu": "GELU",
    "gelu_tanh": "GELU (tanh)",
    "silu": "SiLU",
    "relu2": "ReLU²",
}
PLAIN_ACTIVATIONS: tuple[Activation, ...] = tuple(ACTIVATION_NAMES)
CURVE_LIMIT = 5.0  # curves are drawn from -CURVE_LIMIT to CURVE_LIMIT
CURVE_POINTS = 401
INPUT_BINS = 80  # of a histogram over the same range
FLAT_SLOPE = 0.01  # below it hardly any gradient passes


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


def relu2_slope(x: Float[Tensor, "*any"]) -> Float[Tensor, "*any"]:
    """d max(0, x)^2 / dx = 2 max(0, x): 0 at 0 from both sides (squared ReLU: arXiv:2109.08668, section 3.1)."""
    return 2 * x.clamp(min=0)


SLOPES: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": relu_slope,
    "gelu": gelu_slope,
    "gelu_tanh": gelu_tanh_slope,
    "silu": silu_slope,
    "relu2": relu2_slope,
}


@dataclass(frozen=True, slots=True)
class ActivationCurves:
    """The plain activation functions on one axis.

    Args:
        x: inputs.
        value, slope: f(x) and f'(x), in the order of PLAIN_ACTIVATIONS.
        difference: the largest |GELU - its approximation by tanh|.
    """

    x: Float[ndarray, " x"]
    value: Float[ndarray, "kind x"]
    slope: Float[ndarray, "kind x"]
    difference: float


def activation_curves() -> ActivationCurves:
    """The plain activation functions as the models use them, and their slopes."""
    x = torch.linspace(-CURVE_LIMIT, CURVE_LIMIT, CURVE_POINTS, dtype=torch.float64)
    value = torch.stack([ACTIVATIONS[kind](x) for kind in PLAIN_ACTIVATIONS])
    slope = torch.stack([SLOPES[kind](x) for kind in PLAIN_ACTIVATIONS])
    exact, by_tanh = (value[PLAIN_ACTIVATIONS.index(kind)] for kind in ("gelu", "gelu_tanh"))
    return ActivationCurves(x.numpy(), value.numpy(), slope.numpy(), float((exact - by_tanh).abs().max()))


def value_and_slope(kind: Activation, x: float) -> tuple[float, float]:
    """f(x) and f'(x) of an activation function at one input."""
    point = torch.tensor(x, dtype=torch.float64)
    return float(ACTIVATIONS[kind](point)), float(SLOPES[kind](point))


@dataclass(frozen=True, slots=True)
class LayerInputs:
    """The inputs of the activation function in one layer of a trained model.

    Args:
        edges: of the bins of a histogram; inputs beyond CURVE_LIMIT count in the outermost.
        share: of all inputs that lie in each bin.
        negative: share of inputs below 0.
        flat: kind -> share of inputs at which that function's slope is below FLAT_SLOPE.
        count: number of inputs.
    """

    edges: Float[ndarray, " edge"]
    share: Float[ndarray, " bin"]
    negative: float
    flat: dict[Activation, float]
    count: int


@torch.no_grad()
def pre_activations(model: Transformer, ids: Sequence[int], layers: Sequence[int]) -> list[Float[Tensor, " input"]]:
    """All inputs of the activation function in each of some layers, from one pass over a text."""
    names = [f"blocks.{layer}.mlp.pre" for layer in layers]
    activations = model.activations(one_text(model, ids), names)
    return [activations[name].flatten().float().cpu() for name in names]


def inputs_among(values: Float[Tensor, " input"]) -> LayerInputs:
    """The shares of some inputs."""
    edges = np.linspace(-CURVE_LIMIT, CURVE_LIMIT, INPUT_BINS + 1)
    counts, _ = np.histogram(values.clamp(-CURVE_LIMIT, CURVE_LIMIT).numpy(), edges)
    flat = {kind: float((SLOPES[kind](values).abs() < FLAT_SLOPE).float().mean()) for kind in PLAIN_ACTIVATIONS}
    return LayerInputs(edges, counts / len(values), float((values < 0).float().mean()), flat, len(values))
