"""How weights start: drawn from one seeded generator, never from torch's global one."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from tfcore.config import ModelConfig

WRITERS = ("attn.out.weight", "mlp.down.weight", "mlp.down", "mlp.shared_down.weight")  # to the residual stream


class Blank(TorchFunctionMode):
    """While on, torch's layers draw no weights of their own: that would take time, and torch's global generator."""

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if getattr(function, "__module__", None) == nn.init.__name__:
            return args[0] if args else (kwargs or {})["tensor"]
        return function(*args, **(kwargs or {}))


def initialise(model: nn.Module, config: ModelConfig, seed: int) -> None:
    """Draw the initial weights from one seeded generator.

    normal: every matrix from N(0, init_std^2). gpt2: the same, and the matrices that write to the residual stream
    divided by sqrt(2 n_layers) (GPT-2 report, section 2.3). xavier: uniform in +-sqrt(6 / (fan_in + fan_out))
    (Glorot and Bengio 2010, eq. 16), embeddings normal. Biases 0, norm scales 1.
    """
    generator = torch.Generator().manual_seed(seed)
    for name, parameter in model.named_parameters():
        if parameter.is_meta:
            return
        if name.endswith("bias"):
            nn.init.zeros_(parameter)
        elif parameter.ndim < 2:
            continue
        elif config.init == "xavier" and "embed" not in name:
            fan = parameter.shape[-1] + parameter.shape[-2]  # of each expert's own matrix
            bound = math.sqrt(6 / fan)
            nn.init.uniform_(parameter, -bound, bound, generator=generator)
        else:
            writes = config.init == "gpt2" and name.endswith(WRITERS)
            std = config.init_std / math.sqrt(2 * config.n_layers) if writes else config.init_std
            nn.init.normal_(parameter, std=std, generator=generator)
