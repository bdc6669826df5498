"""The feed-forward layer: two matrices with a non-linearity between, or three when gated."""

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from tfcore.config import ModelConfig
from tfcore.inspection.capture import ActivationRecorder
from tfcore.linear import Linear
from tfcore.part_configs import Activation, ClassActivation, FeedForwardConfig

CURVE = (math.log(math.expm1(0.8)), math.log(math.expm1(0.3)))  # the two learned numbers of xIELU, to begin with


def xielu(x: Float[Tensor, "*any"], curve: Float[Tensor, " 2"] | None = None) -> Float[Tensor, "*any"]:
    """a x^2 + x / 2 above 0, and b (e^x - 1 - x) + x / 2 below (xIELU, arXiv:2411.13010).

    Args:
        curve: of which a is the softplus of the first number, and b that of the second, and 1/2; None means CURVE.
    """
    above, below = F.softplus(x.new_tensor(CURVE) if curve is None else curve)
    negative = x.clamp(max=0)
    return above * F.relu(x).square() + (below + 0.5) * (torch.expm1(negative) - negative) + x / 2


ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "relu2": lambda x: F.relu(x).square(),  # arXiv:2109.08668, section 3.1
    "gelu": F.gelu,  # x * Phi(x), arXiv:1606.08415
    "gelu_tanh": partial(F.gelu, approximate="tanh"),  # its approximation in the original GPT-2
    "silu": F.silu,  # x * sigmoid(x)
    "xielu": xielu,
    "swiglu": F.silu,  # arXiv:2002.05202, eq. 6: the gate's activation
    "geglu": F.gelu,
    "geglu_tanh": partial(F.gelu, approximate="tanh"),
    "reglu": F.relu,
}

PLAIN_ACTIVATIONS: dict[ClassActivation, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    **{name: ACTIVATIONS[name] for name in ("relu", "gelu", "gelu_tanh", "silu")},
}


def activated(
    layer: FeedForwardConfig, gate: Float[Tensor, "*batch d_ff"], linear: Float[Tensor, "*batch d_ff"] | None = None
) -> Float[Tensor, "*batch d_ff"]:
    """act(gate), times the ungated half where there is one (arXiv:2002.05202, eq. 6).

    With a limit both are cut off at it, with a gain the activation is gate * sigmoid(gain * gate), and with a shift the
    product is that with linear + shift (arXiv:2508.10925, section 2.2 and its published code).
    """
    if layer.limit is not None:
        gate = gate.clamp(max=layer.limit)
        linear = None if linear is None else linear.clamp(-layer.limit, layer.limit)
    act = ACTIVATIONS[layer.activation]
    h = act(gate) if layer.gain == 1 else act(layer.gain * gate) / layer.gain
    if linear is None:
        return h
    return h * (linear if layer.shift == 0 else linear + layer.shift)


class FeedForward(nn.Module):
    """down(act(up x)), or down(act(gate x) * up x) when gated (arXiv:1706.03762, eq. 2; arXiv:2002.05202, eq. 6)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config.feed_forward
        halves = 2 if self.config.is_gated else 1  # gate and up in one matrix: one product instead of two
        self.up = Linear(config.d_model, halves * config.ff_size, bias=config.bias)
        self.down = Linear(config.ff_size, config.d_model, bias=config.bias)
        self.curve = nn.Parameter(torch.tensor(CURVE)) if self.config.activation == "xielu" else None

    def forward(
        self,
        x: Float[Tensor, "batch seq d_model"],
        recorder: ActivationRecorder,
        padding_mask: Bool[Tensor, "batch seq"] | None = None,  # noqa: ARG002 - as a mixture of experts takes it
    ) -> Float[Tensor, "batch seq d_model"]:
        """The update that the layer adds to the residual stream."""
        h = self.up(x)
        if self.config.is_gated:
            gate, linear = h.chunk(2, dim=-1)  # each (batch, seq, d_ff)
            h = activated(self.config, recorder("mlp.pre", gate), recorder("mlp.pre_linear", linear))
        else:
            h = recorder("mlp.pre", h)
            h = activated(self.config, h) if self.curve is None else xielu(h, self.curve)
        return self.down(recorder("mlp.post", h))
