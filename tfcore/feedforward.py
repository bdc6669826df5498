"""The feed-forward layer: two matrices with a non-linearity between, or three when gated."""

from collections.abc import Callable
from functools import partial

import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from tfcore.config import ModelConfig
from tfcore.inspection.capture import ActivationRecorder
from tfcore.linear import Linear
from tfcore.part_configs import Activation

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


class FeedForward(nn.Module):
    """down(act(up x)), or down(act(gate x) * up x) when gated (arXiv:1706.03762, eq. 2; arXiv:2002.05202, eq. 6)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.gated = config.feed_forward.is_gated
        self.activation = ACTIVATIONS[config.feed_forward.activation]
        d_up = config.ff_size * (2 if self.gated else 1)  # gate and up in one matrix: one product instead of two
        self.up = Linear(config.d_model, d_up, bias=config.bias)
        self.down = Linear(config.ff_size, config.d_model, bias=config.bias)

    def forward(
        self,
        x: Float[Tensor, "batch seq d_model"],
        recorder: ActivationRecorder,
        padding_mask: Bool[Tensor, "batch seq"] | None = None,  # noqa: ARG002 - as a mixture of experts takes it
    ) -> Float[Tensor, "batch seq d_model"]:
        """The update that the layer adds to the residual stream."""
        h = self.up(x)
        if self.gated:
            gate, linear = h.chunk(2, dim=-1)  # each (batch, seq, d_ff)
            gate, linear = recorder("mlp.pre", gate), recorder("mlp.pre_linear", linear)
            h = self.activation(gate) * linear
        else:
            h = self.activation(recorder("mlp.pre", h))
        return self.down(recorder("mlp.post", h))
