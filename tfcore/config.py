"""The one description of a model: a frozen, validated set of scalars from which everything else follows."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

Positions = Literal["sinusoidal", "learned", "rope", "alibi", "none"]
Norm = Literal["layernorm", "rmsnorm"]
NormPlacement = Literal["pre", "post"]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu"]
Init = Literal["gpt2", "normal", "xavier"]

GATED: tuple[Activation, ...] = ("swiglu", "geglu")
LIMITS = {
    "vocab_size": (1, 1_000_000),
    "d_model": (1, 65_536),
    "n_layers": (1, 512),
    "n_heads": (1, 1_024),
    "max_seq_len": (1, 1_048_576),
    "n_kv_heads": (1, 1_024),
    "d_head": (1, 65_536),
    "d_ff": (0, 1_048_576),
    "window": (1, 1_048_576),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """A decoder-only Transformer.

    Args:
        vocab_size: number of token ids.
        d_model: width of the residual stream.
        n_layers: number of blocks.
        n_heads: query heads per attention layer.
        n_kv_heads: key/value heads; None means n_heads (multi-head), 1 is multi-query, between is grouped-query.
        d_head: width of one head; None means d_model / n_heads.
        d_ff: hidden width of the feed-forward layer; None means 4 d_model (8/3 d_model when gated,
            rounded up to a multiple of 8); 0 leaves the feed-forward layers out (attention-only model).
        max_seq_len: longest sequence in tokens.
        positions: how the order of tokens gets in.
        rope_base: base of the RoPE and sinusoidal wavelengths.
        norm, norm_placement, norm_eps: which normalisation, before (pre) or after (post) each sublayer.
        activation: of the feed-forward layer; swiglu and geglu are gated and have a third matrix.
        window: each token sees at most this many tokens, itself included; None means all before it.
        bias: biases in the linear layers and LayerNorm.
        tie_embeddings: the unembedding is the embedding table.
        scale_embeddings: multiply token embeddings by sqrt(d_model), as in arXiv:1706.03762, section 3.4.
        dropout: on embeddings and on what each sublayer adds (arXiv:1706.03762, section 5.4).
        init, init_std: how weights start; see tfcore.model.initialise.

    Raises:
        ValueError: naming the values that do not fit and what would.
    """

    vocab_size: int
    d_model: int = 128
    n_layers: int = 2
    n_heads: int = 4
    n_kv_heads: int | None = None
    d_head: int | None = None
    d_ff: int | None = None
    max_seq_len: int = 256
    positions: Positions = "rope"
    rope_base: float = 10_000.0
    norm: Norm = "rmsnorm"
    norm_placement: NormPlacement = "pre"
    norm_eps: float = 1e-5
    activation: Activation = "swiglu"
    window: int | None = None
    bias: bool = False
    tie_embeddings: bool = True
    scale_embeddings: bool = False
    dropout: float = 0.0
    init: Init = "gpt2"
    init_std: float = 0.02

    def __post_init__(self) -> None:
        _check_types(self)
        _check_sizes(self)
        _check_heads(self)
        _check_choices(self)

    @property
    def kv_heads(self) -> int:
        """Key/value heads actually built."""
        return self.n_kv_heads or self.n_heads

    @property
    def head_size(self) -> int:
        """d_head actually built."""
        return self.d_head or self.d_model // self.n_heads

    @property
    def ff_size(self) -> int:
        """d_ff actually built."""
        if self.d_ff is not None:
            return self.d_ff
        return -(-8 * self.d_model // 3 // 8) * 8 if self.activation in GATED else 4 * self.d_model

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ModelConfig":
        """The inverse of to_dict.

        Raises:
            ValueError: on unknown or missing fields, or values that do not fit.
        """
        known = {f.name for f in fields(cls)}
        if unknown := sorted(set(values) - known):
            raise ValueError(f"unknown model setting {', '.join(unknown)}; known are {', '.join(sorted(known))}")
        if "vocab_size" not in values:
            raise ValueError("the model settings lack vocab_size")
        return cls(**values)


_INTEGERS = ("vocab_size", "d_model", "n_layers", "n_heads", "n_kv_heads", "d_head", "d_ff", "max_seq_len", "window")
_OPTIONAL = ("n_kv_heads", "d_head", "d_ff", "window")
_FLOATS = ("rope_base", "norm_eps", "dropout", "init_std")
_BOOLEANS = ("bias", "tie_embeddings", "scale_embeddings")


def _check_types(c: ModelConfig) -> None:
    for names, kinds, word in (
        (_INTEGERS, (int,), "a whole number"),
        (_FLOATS, (int, float), "a number"),
        (_BOOLEANS, (bool,), "true or false"),
    ):
        for name in names:
            value = getattr(c, name)
            if value is None and name in _OPTIONAL:
                continue
            if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
                raise ValueError(f"{name}={value!r} must be {word}")


def _check_sizes(c: ModelConfig) -> None:
    for name, (low, high) in LIMITS.items():
        if (value := getattr(c, name)) is not None and not low <= value <= high:
            or_none = ", or None" if name in _OPTIONAL else ""
            raise ValueError(f"{name}={value} must be between {low} and {high:,}{or_none}")
    for name, least, most in (("dropout", 0.0, 0.99), ("norm_eps", 0.0, 1.0), ("init_std", 0.0, 10.0)):
        if not least <= (number := getattr(c, name)) <= most:
            raise ValueError(f"{name}={number} must be between {least} and {most}")
    if not 1.0 < c.rope_base <= 1e9:
        raise ValueError(f"rope_base={c.rope_base} must be above 1 and at most 1e9")


def _check_heads(c: ModelConfig) -> None:
    if c.d_head is None and c.d_model % c.n_heads:
        below = c.d_model // c.n_heads * c.n_heads
        nearest = " or ".join(str(d) for d in (below, below + c.n_heads) if d)
        raise ValueError(f"d_model={c.d_model} is not divisible by n_heads={c.n_heads}; nearest: {nearest}")
    if c.n_heads % c.kv_heads:
        divisors = ", ".join(str(d) for d in range(1, c.n_heads + 1) if c.n_heads % d == 0)
        raise ValueError(f"n_heads={c.n_heads} is not divisible by n_kv_heads={c.kv_heads}; possible: {divisors}")
    if c.positions == "rope" and c.head_size % 2:
        raise ValueError(f"d_head={c.head_size} must be even for rope, which rotates pairs; nearest: {c.head_size + 1}")
    if c.positions == "sinusoidal" and c.d_model % 2:
        raise ValueError(f"d_model={c.d_model} must be even for sinusoidal positions; nearest: {c.d_model + 1}")


def _check_choices(c: ModelConfig) -> None:
    for name, choices in (
        ("positions", Positions),
        ("norm", Norm),
        ("norm_placement", NormPlacement),
        ("activation", Activation),
        ("init", Init),
    ):
        if (value := getattr(c, name)) not in get_args(choices):
            raise ValueError(f"{name}={value!r} is not one of {', '.join(get_args(choices))}")
