"""Tests on another device than the CPU: a GPU where there is one, or what TFCORE_DEVICE names.

A test is written as for the CPU. What it makes itself (tensors, modules) lies on the device, with the numbers that the
CPU draws; what it compares or reads may lie on either. Only what a file of tests calls is treated so: a tensor that
tfcore makes stays where it is made, and meets no tensor of another device without an error."""

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree
from torch.utils._device import _device_constructors

from tfcore.device import device
from tfcore.model import Transformer

TESTS = Path(__file__).resolve().parent
PASSED_OVER = (__file__, str(TESTS / "pretend_device.py"))
MAKING = {*_device_constructors(), torch.from_numpy, torch.frombuffer, torch.normal}
READING = {"numpy", "__array__"}
MOVING = {torch._has_compatible_shallow_copy_type, Tensor.data.__set__}  # type: ignore[attr-defined]  # as a module moves

needs_the_cpu = pytest.mark.skipif(device().type != "cpu", reason="needs the CPU")


def make_tests_use_the_device() -> None:
    """From now on tests make tensors and modules on the device, and may compare them with others."""
    AsOnOneDevice().__enter__()
    Transformer.__init__ = _on_the_device(Transformer.__init__)  # type: ignore[method-assign]
    for name in ("__call__", "activations"):
        setattr(Transformer, name, _with_ids_brought(getattr(Transformer, name)))
    torch.testing.assert_close = functools.partial(torch.testing.assert_close, check_device=False)


class AsOnOneDevice(TorchFunctionMode):
    """What a file of tests asks torch for is made on the device, and computed where its first tensor is."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if func in MOVING or not _called_by_a_test(sys._getframe(1)):
            return func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        if name in READING:
            return getattr(args[0].cpu(), name)(*args[1:], **kwargs)
        given = [x for x in pytree.tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
        draws = kwargs.get("generator") is not None
        if draws and name.endswith("_") and given[0].device.type == "cpu":
            return func(*args, **kwargs)
        if draws or (func in MAKING and kwargs.get("device") is None):
            on_cpu, values = pytree.tree_map_only(Tensor, Tensor.cpu, (args, kwargs))
            made = func(*on_cpu, **values)
            if not name.endswith("_"):
                return _moved(made)
            with torch.no_grad():
                return given[0].copy_(made)
        args, kwargs = _together(args, kwargs)
        return func(*args, **kwargs)


def _called_by_a_test(frame: FrameType | None) -> bool:
    """Whether the innermost function of this project is one of tests, or makes a part of a module that a test makes."""
    inner: FrameType | None = None
    while frame is not None:
        if (whose := _whose(frame.f_code.co_filename)) == "tests":
            return inner is None or _makes_a_module(inner)
        if whose == "ours":
            inner = frame
        frame = frame.f_back
    return False


def _makes_a_module(frame: FrameType) -> bool:
    return frame.f_code.co_name == "__init__" and isinstance(frame.f_locals.get("self"), nn.Module)


@functools.cache
def _whose(file: str) -> str:
    if file in PASSED_OVER or "site-packages" in file:
        return ""
    path = Path(file)
    return "tests" if path.is_relative_to(TESTS) else "ours" if path.is_relative_to(TESTS.parent) else ""


def _moved(made: Tensor) -> Tensor:
    return made.detach().to(device()).requires_grad_(made.requires_grad)


def _together(args: Any, kwargs: Any) -> tuple[Any, Any]:
    """The same arguments, all tensors where the first is that has dimensions."""
    leaves = pytree.tree_leaves((args, kwargs))
    places = [x.device for x in leaves if isinstance(x, Tensor) and x.ndim]
    if len({place.type for place in places} - {"meta"}) < 2:
        return args, kwargs
    return pytree.tree_map_only(Tensor, lambda x: x.to(places[0]) if x.ndim else x, (args, kwargs))


def _on_the_device(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def made(self: Transformer, *args: Any, **values: Any) -> None:
        if torch.get_default_device().type != "cpu" or not _called_by_a_test(sys._getframe(1)):
            return method(self, *args, **values)
        with device():
            return method(self, *args, **values)

    return made


def _with_ids_brought(method: Callable[..., Any]) -> Callable[..., Any]:
    """For models that a test wants on the CPU."""

    @functools.wraps(method)
    def brought(self: Transformer, *args: Any, **values: Any) -> Any:
        if _called_by_a_test(sys._getframe(1)):
            args, values = pytree.tree_map_only(Tensor, lambda x: x.to(self.device), (args, values))
        return method(self, *args, **values)

    return brought
