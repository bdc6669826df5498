"""A copy of a model in bfloat16 to write text with, on a GPU where that is faster. All analyses stay in float32."""

import copy
import threading
from weakref import WeakKeyDictionary

import torch

from tfcore.model import Transformer

# Parameters from which half precision is used. A token costs a GPU at least the time that its kernels take to begin, in
# which it reads the weights of some hundred million parameters. Measured on an H200, with steps as one graph: 2.9 ms a
# token in float32 and as much in bfloat16 with 335 M parameters, 4.1 and 3.2 with 754 M, 6.2 and 4.4 with 2,716 M.
HALF_FROM = 700_000_000
AMPERE = (8, 0)  # compute capability of the first NVIDIA GPUs that compute in bfloat16

_copies: WeakKeyDictionary[Transformer, Transformer] = WeakKeyDictionary()
_lock = threading.Lock()


def half_is_faster(place: torch.device, parameters: int) -> bool:
    """Whether a model of so many parameters writes text faster in bfloat16 on this device."""
    return place.type == "cuda" and parameters >= HALF_FROM and torch.cuda.get_device_capability(place) >= AMPERE


def copied_bytes(place: torch.device, parameters: int, halved: bool = False) -> int:
    """Memory of the copy that `for_writing` makes of a model of so many parameters; 0 where it makes none, or where the
    matrices are in bfloat16 already (halved)."""
    return parameters * torch.bfloat16.itemsize if half_is_faster(place, parameters) and not halved else 0


def for_writing(model: Transformer) -> Transformer:
    """The model to write text with: where that is faster, a copy of the weights in bfloat16, kept as long as the model
    is; else the model itself."""
    parameters = sum(one.numel() for one in model.parameters())
    if model.dtype != torch.float32 or not half_is_faster(model.device, parameters):
        return model
    with _lock:
        if model not in _copies:
            _copies[model] = copy.deepcopy(model, _in_bfloat16(model)).to(torch.bfloat16)
        return _copies[model]


def _in_bfloat16(model: Transformer) -> dict[int, object]:
    """The weights that are in bfloat16 already, as `copy.deepcopy` takes what is shared and not copied."""
    return {id(one): one for one in model.parameters() if one.dtype == torch.bfloat16}
