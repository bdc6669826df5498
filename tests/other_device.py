"""Tests with their models on another device than the CPU: a GPU where there is one, or what TFCORE_DEVICE names.

What tfcore computes stays on the device. What a test itself asks of a model, to compare with, goes there and comes
back: tests give ids as they write them, and compare with numbers as they are read."""

import sys
from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.utils import _pytree as pytree

from tfcore.model import Output, Transformer

TESTS = str(Path(__file__).parent)


def bring_to_and_fro() -> None:
    """From now on tests give models tensors of the CPU, and get such tensors."""
    Transformer.__call__ = _carried(Transformer.__call__)  # type: ignore[method-assign]
    Transformer.activations = _carried(Transformer.activations)  # type: ignore[method-assign]


def _carried(method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def carried(self: Transformer, *args: Any, **values: Any) -> Any:
        if not sys._getframe(1).f_code.co_filename.startswith(TESTS):
            return method(self, *args, **values)
        args, values = pytree.tree_map_only(Tensor, lambda x: x.to(self.device), (args, values))
        return _on_cpu(method(self, *args, **values))

    return carried


def _on_cpu(found: Any) -> Any:
    if isinstance(found, Output):
        return replace(
            found,
            hidden=found.hidden.cpu(),
            _logits=None if found._logits is None else found._logits.cpu(),
            activations=_on_cpu(found.activations),
            pooled=None if found.pooled is None else found.pooled.cpu(),
            losses=_on_cpu(found.losses),
        )
    return pytree.tree_map_only(Tensor, torch.Tensor.cpu, found)
