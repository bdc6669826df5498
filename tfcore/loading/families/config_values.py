"""Published settings - the config.json of a Hugging Face checkpoint - with every value checked before it is used."""

import math
import reprlib
from collections.abc import Callable, Mapping
from typing import Protocol

from torch import Tensor

from tfcore.config import Head
from tfcore.part_configs import Activation, PositionsConfig, RopeScaling

PLAIN: dict[str, Activation] = {
    "relu": "relu",
    "relu2": "relu2",
    "silu": "silu",
    "swish": "silu",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_tanh",  # one formula, five names
    "gelu_fast": "gelu_tanh",
    "gelu_accurate": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "gelu_python_tanh": "gelu_tanh",
}
GATES: dict[Activation, Activation] = {"gelu": "geglu", "gelu_tanh": "geglu_tanh", "silu": "swiglu", "relu": "reglu"}
# What may stand in rope_parameters or rope_scaling: all of it is read, or says nothing to the kind that is stated.
ROPE = {
    *("rope_type", "type", "rope_theta", "factor", "original_max_position_embeddings", "partial_rotary_factor"),
    *("low_freq_factor", "high_freq_factor", "attention_factor", "beta_fast", "beta_slow", "truncate"),
    *("mscale", "mscale_all_dim", "finetuned", "short_factor", "long_factor"),
}
FULL, SLIDING = "full_attention", "sliding_attention"  # kinds of layer
LARGEST = 2**40  # of any whole number; what a model may have is for its own config to say


class Tensors(Protocol):
    """The tensors of a checkpoint."""

    def __contains__(self, name: str) -> bool: ...

    def same(self, one: str, other: str) -> bool:
        """Whether two tensors are equal."""
        ...

    def read(self, name: str) -> Tensor:
        """A tensor that is there."""
        ...


class NoTensors:
    """Stands for a checkpoint whose settings are there and whose weights are not, as before a download."""

    def __contains__(self, name: str) -> bool:
        return False

    def same(self, one: str, other: str) -> bool:  # noqa: ARG002
        return False

    def read(self, name: str) -> Tensor:
        raise KeyError(name)


class ConfigValues:
    """The values of a config.json.

    Args:
        values: as read from the file.
        defaults: what a field that is absent means to `transformers`, which leaves such fields out.
        aliases: other names of fields.
    """

    def __init__(
        self,
        values: Mapping[str, object],
        defaults: Mapping[str, object] | None = None,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self._values, self._defaults = values, defaults or {}
        self._aliases = {own: other for other, own in (aliases or {}).items()}

    def get(self, name: str) -> object:
        """The value, or its default where the field is absent; None where it is null."""
        for known in (name, self._aliases.get(name, name)):
            if known in self._values:
                return self._values[known]
        return self._defaults.get(name)

    def whole(self, name: str, null: int | None = None, low: int = 1) -> int:
        """A whole number.

        Args:
            null: what null means; None means that it is like an absent field.
        """
        value = self._or_default(name) if null is None else self.get(name)
        value = null if value is None else value
        if not isinstance(value, int) or isinstance(value, bool):
            raise ValueError(f"{name}={short(value)} must be a whole number")
        if not low <= value <= LARGEST:
            raise ValueError(f"{name}={short(value)} must be between {low} and {LARGEST:,}")
        return value

    def number(self, name: str) -> float:
        """A finite number."""
        value = self._or_default(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not math.isfinite(value):
            raise ValueError(f"{name}={short(value)} must be a number")
        return float(value)

    def flag(self, name: str) -> bool:
        """True or false."""
        value = self._or_default(name)
        if not isinstance(value, bool):
            raise ValueError(f"{name}={short(value)} must be true or false")
        return value

    def only(self, name: str, *supported: object) -> None:
        """Refuse a field that is there with another value than those; null and absent will do."""
        value = self.get(name)
        if value is not None and value not in supported:
            known = ", ".join(map(short, supported)) or "no such field"
            raise ValueError(f"{name}={short(value)} is not supported; supported: {known}")

    def activation(self, name: str, gated: bool = False) -> Activation:
        """Our name of the activation, by their name."""
        return known_activation(name, self._or_default(name), gated)

    def rope(
        self,
        d_head: int,
        of: str | None = None,
        base: str = "rope_theta",
        share: str = "partial_rotary_factor",
        silent: tuple[str, ...] = (),
    ) -> PositionsConfig:
        """The rotations, from rope_parameters or from the older rope_theta and rope_scaling.

        Args:
            d_head: width of a head.
            of: the kind of layer whose rotations they are, FULL or SLIDING, in a family in which they differ by kind;
                older files state a scaling of the FULL ones alone.
            base, share: the older names of their base, and of the share of a head's features that is rotated.
            silent: further fields that may stand there, as they change nothing for texts.
        """
        field = "rope_scaling" if self.get("rope_scaling") else "rope_parameters"
        values = self.get(field) or {}
        if not isinstance(values, dict):
            raise ValueError(f"{field}={short(values)} must be an object")
        if of is not None and not (values and set(values) <= {FULL, SLIDING}):
            values = values if of == FULL else {}
        elif of is not None:
            field, values = f"{field}.{of}", values.get(of) or {}
            if not isinstance(values, dict):
                raise ValueError(f"{field}={short(values)} must be an object")
        if inner := next((key for key, value in values.items() if isinstance(value, dict)), None):
            raise ValueError(f"{field}.{inner}={short(values[inner])}, rotations by kind of layer, is not supported")
        if unread := next(
            (key for key, value in values.items() if key not in {*ROPE, *silent} and value is not None), None
        ):
            raise ValueError(f"{field}.{short(unread)} is not supported; supported: {', '.join(sorted(ROPE))}")
        rotated = 1 if self.get(share) is None else self.number(share)
        stated = ConfigValues(values, {"rope_theta": self.number(base), "partial_rotary_factor": rotated})
        if share not in self._defaults:  # a family that rotates whole heads
            stated.only("partial_rotary_factor", 1)
        rotated = int(d_head * stated.number("partial_rotary_factor"))
        return PositionsConfig(
            kind="rope",
            base=stated.number("rope_theta"),
            scaling=self._scaling(field, values),
            rotated=None if rotated == d_head else rotated,
        )

    def layer_types(self, usual: Callable[[int], bool], other: str = SLIDING) -> list[str]:
        """For each layer whether it is FULL attention or of the other kind.

        Args:
            usual: whether a layer is of the other kind where the settings do not say it.
        """
        n, kinds = self.whole("num_hidden_layers"), self.get("layer_types")
        if kinds is None:
            return [other if usual(layer) else FULL for layer in range(n)]
        if not isinstance(kinds, list) or len(kinds) != n or not all(kind in (FULL, other) for kind in kinds):
            raise ValueError(
                f"layer_types={short(kinds)} is not supported; supported: for each of the {n} layers '{FULL}' or "
                f"'{other}'"
            )
        return kinds

    def window(self) -> int | None:
        """How many tokens a layer with a window sees; None where the settings have none."""
        return None if self.get("sliding_window") is None else self.whole("sliding_window")

    def _scaling(self, field: str, values: dict[str, object]) -> RopeScaling | None:
        kind = values.get("rope_type") or values.get("type") or "default"
        if kind in ("su", "yarn") and "short_factor" in values:  # what Phi-3's first files call it
            kind = "longrope"
        inner = ConfigValues(values)
        if kind in ("default", "dynamic"):  # dynamic is slower in longer texts than the model takes, here not at all
            return None
        if kind == "linear":
            return RopeScaling(kind="linear", factor=inner.number("factor"))
        if kind not in ("llama3", "yarn", "longrope"):
            raise ValueError(
                f"{field}.rope_type={short(kind)} is not supported; "
                "supported: 'default', 'linear', 'dynamic', 'llama3', 'yarn', 'longrope'"
            )
        length = "original_max_position_embeddings"
        default = self.get(length) or values.get(length) or self.get("max_position_embeddings")
        original = ConfigValues({}, {length: default}).whole(length)
        if kind == "yarn":
            return self._yarn(values, original)
        if kind == "longrope":
            return self._longrope(field, values, original)
        return RopeScaling(
            kind="llama3",
            factor=inner.number("factor"),
            original_len=original,
            low_freq=inner.number("low_freq_factor"),
            high_freq=inner.number("high_freq_factor"),
        )

    def _yarn(self, values: dict[str, object], original: int) -> RopeScaling:
        """With the sharpness that `transformers` finds in the settings: its own, or that of two other factors."""
        implied = self.whole("max_position_embeddings") / original
        inner = ConfigValues(values, {"factor": implied, "beta_slow": 1, "beta_fast": 32, "truncate": True})
        factor = inner.number("factor")
        sharpness = None if inner.get("attention_factor") is None else inner.number("attention_factor")
        if sharpness is None and inner.get("mscale") and inner.get("mscale_all_dim"):
            log = math.log(max(factor, 1))
            above, below = (0.1 * inner.number(name) * log + 1 for name in ("mscale", "mscale_all_dim"))
            sharpness = above / below if below else math.inf  # which is refused
        return RopeScaling(
            kind="yarn",
            factor=factor,
            original_len=original,
            low_freq=inner.number("beta_slow"),
            high_freq=inner.number("beta_fast"),
            whole_pairs=inner.flag("truncate"),
            sharpness=sharpness,
        )

    def _longrope(self, field: str, values: dict[str, object], original: int) -> RopeScaling:
        inner = ConfigValues(values, {"factor": self.whole("max_position_embeddings") / original})
        factor = max(1.0, inner.number("factor"))
        sharpness = math.sqrt(1 + math.log(factor) / math.log(original)) if original > 1 else 1.0
        if inner.get("attention_factor") is not None:
            sharpness = inner.number("attention_factor")
        listed: dict[str, tuple[float, ...]] = {}
        for name in ("short_factor", "long_factor"):
            each = values.get(name)
            if not isinstance(each, list) or not all(isinstance(x, int | float) for x in each):
                raise ValueError(f"{field}.{name}={short(each)} must be a list of numbers, one for each pair")
            listed[name] = tuple(map(float, each))
        return RopeScaling(
            kind="longrope",
            factor=factor,
            original_len=original,
            sharpness=sharpness,
            short=listed["short_factor"],
            long=listed["long_factor"],
        )

    def head(self, tensors: Tensors, embedding: str, unembedding: str) -> tuple[Head, bool]:
        """Whether there is a language head, and whether it is the embedding table.

        As in `transformers`: weights of a head count if they are there, even where the settings call it tied, unless
        they are the table's.
        """
        tied = self.flag("tie_word_embeddings")
        if unembedding in tensors:
            return "lm", tied and (embedding not in tensors or tensors.same(embedding, unembedding))
        return ("lm" if tied or not self.is_base() else "none"), tied

    def bos(self) -> int | None:
        """The id that may stand before a text; None where the settings name none that is in the vocabulary."""
        value = self.get("bos_token_id")
        known = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < self.whole("vocab_size")
        return value if known else None  # type: ignore[return-value]

    def is_base(self) -> bool:
        """Whether the settings call the model one without a head."""
        return self.is_named("Model") and not self.is_named("HeadModel", "MTModel")

    def is_named(self, *ends: str) -> bool:
        """Whether the name of the model's class ends with one of these."""
        names = self.get("architectures")
        name = str(names[0]) if isinstance(names, list) and names else ""
        return name.endswith(ends)

    def _or_default(self, name: str) -> object:
        value = self.get(name)
        return self._defaults.get(name) if value is None else value


def known_activation(name: str, value: object, gated: bool = False, shown: object = None) -> Activation:
    """Our name of an activation.

    Args:
        shown: the value as the file has it; None means just `value`.

    Raises:
        ValueError: when we have none like it.
    """
    known = {n: GATES[kind] for n, kind in PLAIN.items() if kind in GATES} if gated else PLAIN
    if not isinstance(value, str) or value not in known:
        value = value if shown is None else shown
        raise ValueError(f"{name}={short(value)} is not supported; supported: {', '.join(sorted(known))}")
    return known[value]


def short(value: object) -> str:
    """A value as it may stand in a message, whatever a file says."""
    shown = reprlib.Repr()
    shown.maxstring = shown.maxother = shown.maxlong = 60
    return shown.repr(value)
