"""The state from which a training goes on where it was: weights and the optimiser's memory, as named tensors."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn


def tensors_of(model: nn.Module, optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """All tensors of a training, by name: "model/NAME", and "KIND/NAME" for what the optimiser keeps of a parameter."""
    tensors = {f"model/{name}": tensor for name, tensor in model.state_dict().items()}
    for name, parameter in model.named_parameters():
        kept = optimizer.state.get(parameter, {})
        tensors |= {f"{kind}/{name}": value for kind, value in kept.items() if isinstance(value, Tensor)}
    return {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}


@torch.no_grad()
def put_back(model: nn.Module, optimizer: torch.optim.Optimizer, tensors: Iterable[tuple[str, Tensor]]) -> None:
    """Load the tensors of `tensors_of` into a model and an optimiser of the same shape.

    Raises:
        KeyError: the model has nothing of that name.
    """
    weights, parameters = model.state_dict(), dict(model.named_parameters())
    for key, value in tensors:
        kind, _, name = key.partition("/")
        if kind == "model":
            weights[name].copy_(value)
        else:  # Adam's own step count stays on the CPU unless the kernel is fused there
            optimizer.state[parameters[name]][kind] = value.to(parameters[name].device)
