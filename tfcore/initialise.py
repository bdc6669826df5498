"""How weights start: drawn from one seeded generator, never from torch's global one."""

import math

import torch
from torch import nn

from tfcore.config import ModelConfig

WRITERS = ("attn.out.weight", "mlp.down.weight", "mlp.down", "mlp.shared_down.weight")  # to the residual stream


def initialise(model: nn.Module, config: ModelConfig, seed: int) -> None:
    """Draw the initial weights from one seeded generator.

    normal: every matrix from N(0, init_std^2). gpt2: the same, and the matrices that write to the residual stream
    divided by sqrt(2 n_layers) (GPT-2 report, section 2.3). xavier: uniform in +-sqrt(6 / (fan_in + fan_out))
    (Glorot and Bengio 2010, eq. 16), embeddings normal. Biases and sinks 0, norm scales 1.
    """
    generator = torch.Generator().manual_seed(seed)
    for buffer in model.buffers():
        nn.init.zeros_(buffer)
    for name, parameter in model.named_parameters():
        if name.endswith(("bias", "sinks")):
            nn.init.zeros_(parameter)
        elif parameter.ndim < 2:
            nn.init.ones_(parameter)
        elif config.init == "xavier" and "embed" not in name:
            fan = parameter.shape[-1] + parameter.shape[-2]  # of each expert's own matrix
            bound = math.sqrt(6 / fan)
            nn.init.uniform_(parameter, -bound, bound, generator=generator)
        else:
            writes = config.init == "gpt2" and name.endswith(WRITERS)
            std = config.init_std / math.sqrt(2 * config.n_layers) if writes else config.init_std
            nn.init.normal_(parameter, std=std, generator=generator)
