"""The feed-forward layer: two matrices with a non-linearity between, or three when gated."""

import math
from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from tfcore.config import GATED, Activation, ModelConfig
from tfcore.inspection.capture import Tape
from tfcore.linear import Linear

ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,  # x * Phi(x), arXiv:1606.08415
    "gelu_tanh": partial(F.gelu, approximate="tanh"),  # its approximation in the original GPT-2
    "silu": F.silu,  # x * sigmoid(x)
    "swiglu": F.silu,  # arXiv:2002.05202, eq. 6: the gate's activation
    "geglu": F.gelu,
    "geglu_tanh": partial(F.gelu, approximate="tanh"),
    "reglu": F.relu,
}

LARGE = 50_000  # numbers from which on gelu_tanh_ is faster than torch's own


def gelu_tanh_(x: Float[Tensor, "*batch d_ff"]) -> Float[Tensor, "*batch d_ff"]:
    """gelu_tanh, written over x: x * sigmoid(2u), which is x * (1 + tanh u) / 2, u = sqrt(2 / pi) (x + 0.044715 x^3).

    Only where no gradient is needed and nobody else holds x. On a CPU it takes 0.6 of the time of torch's own.
    """
    slope = 2 * math.sqrt(2 / math.pi)
    return x.mul_((x * x).mul_(0.044715 * slope).add_(slope).mul_(x).sigmoid_())


class FeedForward(nn.Module):
    """down(act(up x)), or down(act(gate x) * up x) when gated (arXiv:1706.03762, eq. 2; arXiv:2002.05202, eq. 6)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.gated = config.activation in GATED
        self.kind, self.activation = config.activation, ACTIVATIONS[config.activation]
        d_up = config.ff_size * (2 if self.gated else 1)  # gate and up in one matrix: one product instead of two
        self.up = Linear(config.d_model, d_up, bias=config.bias)
        self.down = Linear(config.ff_size, config.d_model, bias=config.bias)

    def forward(self, x: Float[Tensor, "batch seq d_model"], tape: Tape) -> Float[Tensor, "batch seq d_model"]:
        h = self.up(x)
        if self.gated:
            gate, linear = h.chunk(2, dim=-1)  # each (batch, seq, d_ff)
            gate, linear = tape("mlp.pre", gate), tape("mlp.pre_linear", linear)
            h = self.activation(gate) * linear
        elif self._may_overwrite(h, tape):
            h = gelu_tanh_(h)
        else:
            h = self.activation(tape("mlp.pre", h))
        return self.down(tape("mlp.post", h))

    def _may_overwrite(self, h: Tensor, tape: Tape) -> bool:
        """Whether gelu_tanh_ will do, and is the faster way."""
        large = self.kind == "gelu_tanh" and h.numel() > LARGE and h.device.type == "cpu"
        return large and not (tape.wants("mlp.pre") or h.requires_grad)
