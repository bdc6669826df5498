"""Names of all activations, what to record of them and what to change: nothing else in tfcore invents names.

The vocabulary is that of TransformerLens (without "hook_"): `blocks.3.attn.pattern`, `blocks.3.resid_post`.
Names may be given as shell-style patterns: `blocks.*.attn.pattern`, `blocks.[01].mlp.*`.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache

from torch import Tensor

# Shape of each activation; names under blocks.* exist once a layer.
SHAPES: dict[str, str] = {
    "embed": "batch seq d_model",
    "pos_embed": "seq d_model",
    "blocks.*.resid_pre": "batch seq d_model",
    "blocks.*.ln1.normalized": "batch seq d_model",
    "blocks.*.attn.q": "batch head seq d_head",  # after the rotation, where positions are RoPE
    "blocks.*.attn.k": "batch kv_head seq d_head",
    "blocks.*.attn.v": "batch kv_head seq d_head",
    "blocks.*.attn.scores": "batch head query key",  # q.k / sqrt(d_head) + position bias, before the mask: all finite
    "blocks.*.attn.pattern": "batch head query key",  # softmax of the masked scores: each row sums to 1
    "blocks.*.attn.z": "batch head seq d_head",
    "blocks.*.attn_out": "batch seq d_model",
    "blocks.*.resid_mid": "batch seq d_model",
    "blocks.*.ln2.normalized": "batch seq d_model",
    "blocks.*.mlp.pre": "batch seq d_ff",
    "blocks.*.mlp.pre_linear": "batch seq d_ff",  # the ungated half of SwiGLU and GEGLU
    "blocks.*.mlp.post": "batch seq d_ff",
    "blocks.*.mlp_out": "batch seq d_model",
    "blocks.*.resid_post": "batch seq d_model",
    "ln_final.normalized": "batch seq d_model",
}

Capture = Iterable[str]
_LAYER = re.compile(r"^blocks\.\d+\.")


@dataclass(frozen=True, slots=True)
class Edit:
    """A change to the activations that match `name`, for one forward pass; the model itself is untouched.

    Args:
        name: an activation name or pattern.
        function: receives a copy of the activation (or of the heads named) and returns its replacement, of the same
            shape; it may change the copy in place.
        heads: only these heads, for activations with a head axis; None means all.

    Raises:
        ValueError: when used, if the activation has no such head or the replacement another shape.
    """

    name: str
    function: Callable[[Tensor], Tensor]
    heads: tuple[int, ...] | None = None

    def __call__(self, value: Tensor) -> Tensor:
        if self.heads is None:
            return self._replace(value.clone())
        heads = list(self.heads)
        if not all(0 <= head < value.shape[1] for head in heads):
            raise ValueError(f"heads={self.heads} of {self.name!r} must be between 0 and {value.shape[1] - 1}")
        value = value.clone()
        value[:, heads] = self._replace(value[:, heads])
        return value

    def _replace(self, value: Tensor) -> Tensor:
        shape, new = value.shape, self.function(value)
        if new.shape != shape:
            raise ValueError(f"the edit of {self.name!r} made {tuple(shape)} into {tuple(new.shape)}; keep the shape")
        return new


@lru_cache(maxsize=4096)
def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def known_names(n_layers: int) -> list[str]:
    """Every activation name of a model with n_layers blocks."""
    per_layer = [name for name in SHAPES if name.startswith("blocks.")]
    names = [name.replace("*", str(i), 1) for i in range(n_layers) for name in per_layer]
    return [name for name in SHAPES if name not in per_layer] + names


@lru_cache(maxsize=256)
def check_patterns(patterns: tuple[str, ...], n_layers: int) -> None:
    """Refuse patterns that no activation matches.

    Raises:
        ValueError: naming the pattern and some names that exist.
    """
    names = known_names(n_layers)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ValueError(
                f"no activation is called {pattern!r} in a model of {n_layers} layers; "
                f"there are, for example, blocks.0.attn.pattern and blocks.{n_layers - 1}.resid_post"
            )


def check_heads(edits: Iterable[Edit], n_layers: int) -> None:
    """Refuse edits of single heads where an activation has none: they would hit positions instead.

    Raises:
        ValueError: naming the activation and its shape.
    """
    for edit in edits:
        for name in known_names(n_layers) if edit.heads is not None else ():
            shape = SHAPES[_LAYER.sub("blocks.*.", name)]
            if fnmatchcase(name, edit.name) and "head" not in shape.split()[1]:
                raise ValueError(f"{name} has no heads ({shape}); leave heads={edit.heads} out of its edit")


@dataclass(slots=True)
class Tape:
    """What one forward pass records and edits. Called with a name and a value at each named place of the model."""

    capture: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    prefix: str = ""
    record: dict[str, Tensor] = field(default_factory=dict)

    @classmethod
    def of(cls, capture: Capture, edits: Iterable[Edit], n_layers: int) -> "Tape":
        """A tape for a model of n_layers, its patterns checked."""
        capture, edits = (capture,) if isinstance(capture, str) else tuple(capture), tuple(edits)
        check_patterns(capture + tuple(edit.name for edit in edits), n_layers)
        check_heads(edits, n_layers)
        return cls(capture, edits)

    def layer(self, i: int) -> "Tape":
        """The same tape, its names under blocks.i."""
        return Tape(self.capture, self.edits, f"blocks.{i}.", self.record)

    def wants(self, name: str) -> bool:
        """Whether this activation is recorded or edited at all, so that it need not be computed otherwise."""
        if not self.capture and not self.edits:
            return False
        name = self.prefix + name
        return _matches(name, self.capture) or any(fnmatchcase(name, edit.name) for edit in self.edits)

    def __call__(self, name: str, value: Tensor) -> Tensor:
        if not self.wants(name):
            return value
        name = self.prefix + name
        for edit in self.edits:
            if fnmatchcase(name, edit.name):
                value = edit(value)
        if _matches(name, self.capture):
            self.record[name] = value
        return value
