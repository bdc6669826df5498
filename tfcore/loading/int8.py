"""Matrices as whole numbers of 8 bits with one scale a row, in files of weights."""

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from tfcore.files import CheckpointError

INT8 = 127  # the largest whole number that a weight is rounded to
SCALE = "scale"  # after the name of a matrix of int8: one factor for each of its rows


def rounded(name: str, value: Tensor) -> Iterator[tuple[str, Tensor]]:
    """A matrix as int8 and a scale for each row, which keeps its length; a bias as it is."""
    if value.dim() == 1:
        yield name, value.contiguous()
        return
    numbers = (value / value.abs().amax(dim=1, keepdim=True).clamp(min=1e-12) * INT8).round()
    yield name, numbers.to(torch.int8)
    yield f"{name}.{SCALE}", value.norm(dim=1) / numbers.norm(dim=1).clamp(min=1)


def whole(weights: dict[str, Tensor], path: Path) -> dict[str, Tensor]:
    """The weights of a file, of which those with a scale are multiplied by it.

    Raises:
        CheckpointError: a matrix has more or fewer scales than rows.
    """
    scales = {name: weights.pop(f"{name}.{SCALE}") for name in list(weights) if f"{name}.{SCALE}" in weights}
    for name, scale in scales.items():
        if scale.shape != weights[name].shape[:1]:
            raise CheckpointError(f"{path} has {len(scale.flatten())} scales for {len(weights[name])} rows of {name}")
        weights[name] = weights[name] * scale[:, None]
    return weights
