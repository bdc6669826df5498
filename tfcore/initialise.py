"""How weights start: drawn from one seeded generator, never from torch's global one."""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tfcore.config import ModelConfig
from tfcore.feedforward import CURVE

WRITERS = (
    "attn.out.weight",
    "attn.state.out.weight",
    "mlp.down.weight",
    "mlp.down",
    "mlp.shared_down.weight",
)  # to the residual stream


def initialise(model: nn.Module, config: ModelConfig, seed: int) -> None:
    """Draw the initial weights from one seeded generator.

    normal: every matrix from N(0, init_std^2). gpt2: the same, and the matrices that write to the residual stream
    divided by sqrt(2 n_layers) (GPT-2 report, section 2.3). xavier: uniform in +-sqrt(6 / (fan_in + fan_out))
    (Glorot and Bengio 2010, eq. 16), embeddings normal. Biases and sinks 0, norm scales 1. A state decays at first by
    rates from 1 to 16 in steps from 0.001 to 0.1, so that heads remember from less than one to a thousand tokens
    (arXiv:2312.00752, section 3.6; here evenly spread and not drawn).
    """
    generator = torch.Generator().manual_seed(seed)
    for buffer in model.buffers():
        nn.init.zeros_(buffer)
    for name, parameter in model.named_parameters():
        if name.endswith(("log_rate", "step_bias")):
            parameter.data.copy_(_rates(len(parameter)) if name.endswith("log_rate") else _steps(len(parameter)))
        elif name.endswith("conv_weight"):  # as torch draws those of a convolution with one channel a group
            bound = parameter.shape[-1] ** -0.5
            nn.init.uniform_(parameter, -bound, bound, generator=generator)
        elif name.endswith("mlp.curve"):
            parameter.data.copy_(torch.tensor(CURVE))
        elif name.endswith(("bias", "sinks")):
            nn.init.zeros_(parameter)
        elif parameter.ndim < 2 or name.endswith("_norm.weight"):
            nn.init.ones_(parameter)
        elif config.init == "xavier" and "embed" not in name:
            fan = parameter.shape[-1] + parameter.shape[-2]  # of each expert's own matrix
            bound = math.sqrt(6 / fan)
            nn.init.uniform_(parameter, -bound, bound, generator=generator)
        else:
            writes = config.init == "gpt2" and name.endswith(WRITERS)
            std = config.init_std / math.sqrt(2 * config.n_layers) if writes else config.init_std
            nn.init.normal_(parameter, std=std, generator=generator)


def _rates(n: int) -> Float[Tensor, " head"]:
    """Logs of the rates of decay, from 1 to 16, the steps of whose heads are longest where they are smallest."""
    return torch.linspace(1, 16, n).log()


def _steps(n: int) -> Float[Tensor, " head"]:
    """The biases that make steps of 0.001 to 0.1, smaller ones first: softplus of them gives the step."""
    steps = torch.logspace(-3, -1, n)
    return steps + (-torch.expm1(-steps)).log()
