"""A model of `transformers` that is in memory, as a checkpoint: its settings, its tensors, its tokenizer. Nothing of it
is changed, and `transformers` is imported by whoever made it, never here."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from tfcore.files import CheckpointError
from tfcore.half_weights import HALF
from tfcore.loading.families.mapping import Piece, Shape
from tfcore.tokenizers.foreign import tokenizer_of
from tfcore.tokenizers.tokenizer import Tokenizer

NUMBERS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


class StateWeights:
    """The tensors of a model in memory.

    Args:
        state: its state dict.
        canonical: the name that a tensor is to have; None leaves it out.
        path: what messages call the model.

    Raises:
        CheckpointError: a tensor that is elsewhere, or another on another device.
    """

    def __init__(self, state: Mapping[str, Tensor], canonical: Callable[[str], str | None], path: str) -> None:
        named = {name: tensor for known, tensor in state.items() if (name := canonical(known)) is not None}
        self._tensors, self.path = named, path
        devices = sorted({str(tensor.device) for tensor in named.values()})
        if "meta" in devices:
            raise CheckpointError(f"{path} has weights that are not in memory; load it without offloading them")
        if len(devices) != 1:
            raise CheckpointError(f"{path} is on {', '.join(devices) or 'no device'}; put all of it on one")
        self.device = torch.device(devices[0])

    def __contains__(self, name: str) -> bool:
        return name in self._tensors

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Name -> shape of every tensor."""
        return {name: tuple(tensor.shape) for name, tensor in self._tensors.items()}

    def check_numbers(self, names: list[str]) -> None:
        """Refuse tensors that are no floating-point numbers."""
        for name in names:
            if (kind := self.dtype(name)) not in NUMBERS:
                raise CheckpointError(f"{self.path}: {name} is {kind}, not one of {', '.join(map(str, NUMBERS))}")

    def dtype(self, name: str) -> torch.dtype:
        """The type of a tensor."""
        return self._tensors[name].dtype

    def is_float16(self, name: str) -> bool:
        """Whether the numbers of a tensor are in float16."""
        return self.dtype(name) == torch.float16

    def common_type(self, pieces: Sequence[Piece]) -> torch.dtype:
        """The type that all pieces of one of our tensors have where that is one of 16 bits; else float32."""
        kinds = {self.dtype(piece.source) for piece in pieces}
        return kinds.pop() if len(kinds) == 1 and kinds <= {*HALF} else torch.float32

    def whole(self, pieces: Sequence[Piece], shape: Shape, dtype: torch.dtype) -> Tensor | None:
        """One of our tensors where a single piece is all of it, in the type it has. None where it has to be made, as of
        a model made in torch.inference_mode, whose tensors no other model can have."""
        if len(pieces) != 1 or pieces[0].expert is not None or not pieces[0].source or pieces[0].scaled_by:
            return None
        tensor = pieces[0].ours(self.read(pieces[0].source))
        alike = tensor.dtype == dtype and tuple(tensor.shape) == shape
        return tensor if alike and not tensor.is_inference() else None

    def read(self, name: str) -> Tensor:
        """A tensor itself, which is the model's."""
        return self._tensors[name]

    def same(self, one: str, other: str) -> bool:
        """Whether two tensors are equal."""
        return torch.equal(self.read(one), self.read(other))


def settings_of(model: Any) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """The contents of config.json and generation_config.json, were a model saved; None where it writes no text.

    Raises:
        CheckpointError: it is no model of `transformers`.
    """
    if not hasattr(model, "state_dict") or not hasattr(getattr(model, "config", None), "to_json_string"):
        raise CheckpointError(
            f"a {type(model).__name__} is no model of transformers, whose config would say what it is; tfcore.load "
            "opens a model by its name or its folder"
        )
    values = json.loads(model.config.to_json_string()) | {"architectures": [type(model).__name__]}
    writes = hasattr(model, "can_generate") and model.can_generate()
    return values, json.loads(model.generation_config.to_json_string()) if writes else None


def tokenizer_in_memory(tokenizer: Any) -> Tokenizer:
    """The tokenizer of a model in memory; it runs in this process, as it does already.

    Raises:
        CheckpointError: it is one that `transformers` runs in Python, or of an unknown kind.
    """
    inner, name = getattr(tokenizer, "backend_tokenizer", None), type(tokenizer).__name__
    if inner is None:
        raise CheckpointError(
            f"the tokenizer {name} is a slow one, and only fast ones are read; take one that AutoTokenizer returns, or "
            "None"
        )
    try:
        return tokenizer_of(inner.to_str())
    except Exception as error:  # the library raises bare Exception
        raise CheckpointError(f"the tokenizer {name} cannot be used: {error}") from error
