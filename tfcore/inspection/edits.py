"""Changes to activations during one forward pass: zero, mean, scale, replace, add, or any function."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

HEADS = ("head", "kv_head")
POSITIONS = ("seq", "query", "key")  # the first of these among an activation's axes


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to the activations that match `name`, for one forward pass; the model itself is untouched.

    With a KV cache, keys and values are edited before they are stored, and positions count from the first token of
    the whole text; those outside the tokens of the pass are left alone.

    Args:
        name: an activation name or pattern.
        function: receives a copy of the activation (or of the part named below) and returns its replacement, of the
            same shape; it may change the copy in place. None is the mean over the rows and positions of the pass.
        heads, positions, rows: only these heads, tokens (queries, where there are queries and keys) and batch rows;
            None means all.

    Raises:
        ValueError: when used, if the activation has no such head, position or row, or the replacement another shape.
    """

    name: str
    function: Callable[[Tensor], Tensor] | None
    heads: Sequence[int] | None = None
    positions: Sequence[int] | None = None
    rows: Sequence[int] | None = None

    @classmethod
    def zero(cls, name: str, **where: Sequence[int]) -> "Edit":
        """Set to 0 (zero ablation)."""
        return cls(name, torch.zeros_like, **where)

    @classmethod
    def mean(cls, name: str, **where: Sequence[int]) -> "Edit":
        """Set to its mean over the rows and positions of the pass (mean ablation)."""
        return cls(name, None, **where)

    @classmethod
    def scale(cls, name: str, factor: float | Tensor, **where: Sequence[int]) -> "Edit":
        """Multiply by a factor."""
        return cls(name, lambda value: value * factor, **where)

    @classmethod
    def replace(cls, name: str, new: float | Tensor, **where: Sequence[int]) -> "Edit":
        """Set to `new`, a number or a tensor that broadcasts to the part; for patching in values of another pass."""
        return cls(name, lambda value: torch.as_tensor(new).to(value).expand_as(value), **where)

    @classmethod
    def add(cls, name: str, new: float | Tensor, **where: Sequence[int]) -> "Edit":
        """Add `new`, a number or a tensor that broadcasts to the part; for steering."""
        return cls(name, lambda value: value + torch.as_tensor(new).to(value), **where)

    def check(self, shapes: Mapping[str, str]) -> None:
        """Refuse an edit of heads, positions or rows where one of the activations has none.

        Raises:
            ValueError: naming the activation and its shape.
        """
        for name, shape in shapes.items():
            for what, chosen in (("heads", self.heads), ("positions", self.positions), ("rows", self.rows)):
                if chosen is not None and _axis(what, tuple(shape.split())) is None:
                    raise ValueError(f"{name} has no {what} ({shape}); leave {what}={tuple(chosen)} out of its edit")

    def apply(self, name: str, value: Tensor, axes: tuple[str, ...], start: int | None = None) -> Tensor:
        """The activation with the change; `start` is the position of its first token when a cache holds others."""
        chosen = self._chosen(name, value, axes, start)
        if not chosen:
            return self._change(name, value.clone(), axes)
        if any(len(indices) == 0 for indices in chosen.values()):
            return value
        value = value.clone()
        grid = []  # one index for each axis, shaped so that together they broadcast to the part
        for axis, size in enumerate(value.shape):
            indices = torch.tensor(chosen.get(axis, range(size)), device=value.device)
            grid.append(indices.view([-1 if other == axis else 1 for other in range(value.ndim)]))
        value[tuple(grid)] = self._change(name, value[tuple(grid)], axes)
        return value

    def _change(self, name: str, part: Tensor, axes: tuple[str, ...]) -> Tensor:
        shape = part.shape
        new = _mean(part, axes) if self.function is None else self.function(part)
        if new.shape != shape:
            raise ValueError(f"the edit of {name!r} made {tuple(shape)} into {tuple(new.shape)}; keep the shape")
        return new

    def _chosen(self, name: str, value: Tensor, axes: tuple[str, ...], start: int | None) -> dict[int, list[int]]:
        """axis -> indices, for the axes that are restricted."""
        chosen: dict[int, list[int]] = {}
        for what, given in (("heads", self.heads), ("positions", self.positions), ("rows", self.rows)):
            axis = _axis(what, axes)
            if given is None or axis is None:
                continue
            indices, size = list(given), value.shape[axis]
            if what == "positions" and start is not None:
                indices = [i - start for i in indices if 0 <= i - start < size]
            if not all(0 <= i < size for i in indices):
                raise ValueError(f"{what}={tuple(given)} of {name!r} must be between 0 and {size - 1}")
            chosen[axis] = indices
        return chosen


def _mean(part: Tensor, axes: tuple[str, ...]) -> Tensor:
    """The mean over rows and positions, in the shape of the part."""
    over = [i for i, axis in enumerate(axes) if axis in ("batch", _position(axes))]
    return part.mean(over, keepdim=True).expand_as(part)


def _axis(what: str, axes: tuple[str, ...]) -> int | None:
    """Which axis heads, positions or rows are."""
    names = {"heads": HEADS, "positions": (_position(axes),), "rows": ("batch",)}[what]
    return next((i for i, axis in enumerate(axes) if axis in names), None)


def _position(axes: tuple[str, ...]) -> str:
    return next((axis for axis in POSITIONS if axis in axes), "")


LEAF = Edit("embed", lambda x: x.requires_grad_())  # the edit gets a copy, so the graph of a pass begins there
LEAVES = Edit("*coder.embed", LEAF.function)  # the same of both stacks of an encoder-decoder
