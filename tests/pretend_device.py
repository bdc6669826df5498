"""A device that pretends: its tensors lie in main memory, and are refused where a GPU's would be.

`import tests.pretend_device` makes the device `"pretend"` known to torch; `TFCORE_DEVICE=pretend` makes it the one that
models are loaded on (tests/conftest.py). Its numbers are the CPU's. As with CUDA,

- a tensor of the device meets none of the CPU, except one without dimensions in elementwise functions;
- places in a CPU tensor are not named by tensors of the device (the other way round is allowed);
- numbers are not drawn on the device with a generator of the CPU;
- whole numbers are not multiplied as matrices, and there is no torch.histogram;
- nothing becomes a numpy array before `.cpu()`.

torch lets a backend be written in Python (torch.utils.backend_registration, experimental): tensors are wrappers around
others, and each function comes to `_call` with the wrappers as arguments.
"""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.overrides import handle_torch_function, has_torch_function_unary
from torch.utils import _pytree as pytree
from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

NAME = "pretend"
_setup_privateuseone_for_python_backend(NAME)
torch.pretend.get_amp_supported_dtype = lambda: [torch.bfloat16, torch.float16]  # type: ignore[attr-defined]
_AUTOCAST = torch.library.Library("_", "IMPL")  # allowed, and rounds nothing
_AUTOCAST.fallback(torch.library.fallthrough_kernel, "AutocastPrivateUse1")
DEVICE, CPU = torch.device(NAME, 0), torch.device("cpu")

# What a GPU does with a CPU tensor without dimensions, besides elementwise functions
_TAKES_A_NUMBER = {"fill_", "masked_fill", "masked_fill_", "index_put", "index_put_", "_index_put_impl_"}
_INDEXES = {"index", "index_put", "index_put_", "_index_put_impl_", "_unsafe_index", "_unsafe_index_put"}
_MOVES = {"_to_copy", "copy_", "_copy_from", "_copy_from_and_resize"}
_OF_FRACTIONS = {"mm", "bmm", "addmm", "addmv", "mv", "dot", "baddbmm", "addbmm", "vdot"}
_MISSING = {"histogram"}


class PretendTensor(Tensor):
    """A tensor that says it is on the pretended device.

    Args:
        data: its numbers, a tensor of the CPU.
    """

    data_on_cpu: Tensor

    @staticmethod
    def __new__(cls, data: Tensor) -> "PretendTensor":
        found = Tensor._make_wrapper_subclass(
            cls,
            data.size(),
            strides=data.stride(),
            storage_offset=data.storage_offset(),
            dtype=data.dtype,
            device=DEVICE,
            requires_grad=False,
        )
        found.data_on_cpu = data
        return found

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return _call(func, args, kwargs or {})

    # torch does the following for its own tensors, or for those of a GPU, without asking __torch_dispatch__

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"{self.data_on_cpu!r} on {DEVICE}"

    def __format__(self, spec: str) -> str:
        return format(self.item() if self.ndim == 0 else self, "" if self.ndim else spec)

    @property
    def data(self) -> Tensor:
        return Tensor.data.__get__(self)  # type: ignore[attr-defined]

    @data.setter
    def data(self, other: "PretendTensor") -> None:  # as a module does that changes its type
        Tensor.data.__set__(self, other)  # type: ignore[attr-defined]
        self.data_on_cpu = other.data_on_cpu

    def tolist(self) -> Any:
        return self.data_on_cpu.tolist()

    def untyped_storage(self) -> torch.UntypedStorage:
        return self.data_on_cpu.untyped_storage()

    def numpy(self, *, force: bool = False) -> Any:
        if has_torch_function_unary(self):
            return handle_torch_function(PretendTensor.numpy, (self,), self, force=force)
        if not force:
            raise TypeError(f"can't convert {DEVICE} device type tensor to numpy; use Tensor.cpu() first")
        return self.data_on_cpu.numpy(force=True)


def _call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The function's result on the CPU, wrapped where a GPU's result would be on the GPU.

    Raises:
        RuntimeError: what a GPU would refuse.
    """
    name, given = func.overloadpacket.__name__, pytree.tree_leaves((args, kwargs))
    if name in _MOVES:
        return _move(func, name, args, kwargs)
    mine = [x for x in given if isinstance(x, PretendTensor)]
    asked = any(isinstance(x, torch.device) and x.type == NAME for x in given)
    _refuse(func, name, args, given, bool(mine) or asked)
    result = func(*pytree.tree_map(_on_cpu, args), **pytree.tree_map(_on_cpu, kwargs))
    if name == "_local_scalar_dense" or not (mine or asked) or (kwargs.get("device") or DEVICE).type == "cpu":
        return result
    return _wrapped(func, result, mine)


def _move(func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """A copy from device to device."""
    plain = [_on_cpu(x) for x in args]
    if name == "copy_":
        plain[0].copy_(plain[1])
        return args[0]
    if name.startswith("_copy_from"):
        plain[1].copy_(plain[0])
        return args[1]
    to = kwargs.get("device") or args[0].device
    result = func(*plain, **{key: value for key, value in kwargs.items() if key not in ("device", "non_blocking")})
    return PretendTensor(result) if to.type == NAME else result


def _refuse(func: Any, name: str, args: tuple[Any, ...], given: list[Any], on_device: bool) -> None:
    if not on_device:
        return
    if name in _MISSING:
        raise RuntimeError(f"{name} is not implemented for {DEVICE}")
    allowed: list[Any] = []
    if name in _INDEXES and isinstance(args[0], PretendTensor):
        allowed = [x for x in args[1] if x is not None]
    takes_numbers = torch.Tag.pointwise in func.tags or name in _TAKES_A_NUMBER
    for x in given:
        if isinstance(x, torch.Generator) and x.device.type != NAME:
            raise RuntimeError(f"{name}: expected a {NAME!r} device type for generator but found {x.device}")
        if not isinstance(x, Tensor):
            continue
        elsewhere = x.device.type == "cpu" and not (x.ndim == 0 and takes_numbers)
        if elsewhere and all(x is not y for y in allowed):
            raise RuntimeError(f"{name}: tensors on two devices, {DEVICE} and {x.device} {tuple(x.shape)} of {x.dtype}")
        if name in _OF_FRACTIONS and not (x.is_floating_point() or x.is_complex()):
            raise RuntimeError(f"{name} is not implemented for {x.dtype} on {DEVICE}")


def _on_cpu(x: Any) -> Any:
    if isinstance(x, PretendTensor):
        return x.data_on_cpu
    return CPU if isinstance(x, torch.device) and x.type == NAME else x


def _wrapped(func: Any, result: Any, mine: Iterable[PretendTensor]) -> Any:
    """The tensors of a result on the device: the one that was given where a function changes it in place."""
    known = {id(x.data_on_cpu): x for x in mine}
    looks_at = any(r.alias_info is not None and not r.alias_info.is_write for r in func._schema.returns)
    # What looks at another tensor shares its count of changes, which a tensor of the inference mode has none of.
    as_it_is = looks_at and not all(x.is_inference() for x in known.values())
    with torch.inference_mode(torch.is_inference_mode_enabled() and not as_it_is):
        return pytree.tree_map_only(Tensor, lambda x: known[id(x)] if id(x) in known else PretendTensor(x), result)


def _registered(op: Any) -> Callable[..., Any]:
    return lambda *args, **kwargs: _call(op, args, kwargs)


# What is called without a tensor of the device among its arguments
_LIBRARY = torch.library.Library("aten", "IMPL")
for _name in (
    *("arange", "arange.start", "arange.start_step", "eye", "eye.m", "linspace", "logspace"),
    *("randperm", "randperm.generator", "tril_indices", "triu_indices"),
    *("empty.memory_format", "empty_strided", "_copy_from", "_local_scalar_dense", "resize_"),
):
    _packet, _, _overload = _name.partition(".")
    _LIBRARY.impl(_name, _registered(getattr(getattr(torch.ops.aten, _packet), _overload or "default")), "PrivateUse1")
