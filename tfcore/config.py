"""The one description of a model: a frozen, validated set of scalars from which everything else follows."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from tfcore.checks import check_choice, check_flag, check_number, check_part, check_whole
from tfcore.part_configs import ExpertsConfig, RopeScaling

Architecture = Literal["decoder", "encoder", "encoder-decoder"]
Head = Literal["lm", "mlm", "none"]
Positions = Literal["sinusoidal", "learned", "rope", "alibi", "relative", "none"]
Norm = Literal["layernorm", "rmsnorm"]
NormPlacement = Literal["pre", "post", "sandwich"]
Activation = Literal["relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu", "geglu_tanh", "reglu"]
Init = Literal["gpt2", "normal", "xavier"]

GATED: tuple[Activation, ...] = ("swiglu", "geglu", "geglu_tanh", "reglu")
LIMITS = {
    "vocab_size": (1, 1_000_000),
    "d_model": (1, 65_536),
    "n_layers": (1, 512),
    "n_encoder_layers": (1, 512),
    "n_heads": (1, 1_024),
    "max_seq_len": (1, 1_048_576),
    "n_kv_heads": (1, 1_024),
    "d_head": (1, 65_536),
    "d_ff": (0, 1_048_576),
    "window": (1, 1_048_576),
    "window_from": (0, 512),
    "n_segments": (0, 1_024),
    "relative_buckets": (4, 4_096),
    "relative_distance": (2, 1_048_576),
    "start_id": (0, 1_000_000),
    "bos_id": (0, 1_000_000),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """A Transformer: decoder-only, encoder-only or both.

    Args:
        vocab_size: number of token ids.
        architecture: "decoder" (causal), "encoder" (each token sees all), or both with cross-attention between.
        d_model: width of the residual stream.
        n_layers: number of blocks; of the decoder where there are two stacks.
        n_encoder_layers: blocks of the encoder in an encoder-decoder; None means n_layers.
        n_heads: query heads per attention layer.
        n_kv_heads: key/value heads; None means n_heads (multi-head), 1 is multi-query, between is grouped-query.
        d_head: width of one head; None means d_model / n_heads.
        d_ff: hidden width of the feed-forward layer; None means 4 d_model (8/3 d_model when gated,
            rounded up to a multiple of 8); 0 leaves the feed-forward layers out (attention-only model).
        experts: a mixture of experts in place of the feed-forward layers; None means none.
        max_seq_len: longest sequence in tokens.
        positions: how the order of tokens gets in.
        rope_base: base of the RoPE and sinusoidal wavelengths.
        rope_scaling: slower RoPE for longer texts; None leaves it as it is.
        relative_buckets, relative_distance: of positions="relative" (arXiv:1910.10683, section 2.1): how many learned
            biases a head has, and the distance from which on all share the last.
        norm, norm_placement, norm_eps: which normalisation; before each sublayer (pre), after the sum (post), or
            before it and on what it adds (sandwich, arXiv:2105.13290).
        embed_norm: normalise the embeddings too.
        qk_norm: normalise each head's queries and keys (arXiv:2010.04245, with RMSNorm as in Qwen3).
        parallel: attention and feed-forward read the same normalised input and are added at once (PaLM,
            arXiv:2204.02311, section 2).
        activation: of the feed-forward layer; those that end in "glu" are gated and have a third matrix.
        window: each token sees at most this many tokens, itself included; None means all before it. In an encoder it
            sees less than that many to either side.
        window_from: the first layer with that window; those before see everything.
        attn_scale: factor of the scores; None means 1 / sqrt(d_head).
        attn_scale_by_layer: divide the scores of layer i by i + 1 too, counting from 0.
        bias: biases in the linear layers and LayerNorm.
        qkv_bias, out_bias: of the attention's own matrices; None means as bias.
        head: what comes last: "lm", scores for each token id; "mlm", the same after BERT's dense layer and
            LayerNorm; "none", the hidden states.
        tie_embeddings: the unembedding is the embedding table.
        scale_embeddings: multiply token embeddings by sqrt(d_model), as in arXiv:1706.03762, section 3.4.
        logit_scale: factor of the scores of the token ids.
        n_segments: how many kinds of segment there are embeddings for, as in BERT.
        pooler: tanh of a linear layer of the first token, as in BERT.
        start_id: what an encoder-decoder's decoder starts with.
        bos_id: the id that may stand before a text (beginning of sequence, BOS); None where the checkpoint names none.
        dropout: on embeddings and on what each sublayer adds (arXiv:1706.03762, section 5.4).
        init, init_std: how weights start; see tfcore.model.initialise.

    Raises:
        ValueError: naming the values that do not fit and what would.
    """

    vocab_size: int
    architecture: Architecture = "decoder"
    d_model: int = 128
    n_layers: int = 2
    n_encoder_layers: int | None = None
    n_heads: int = 4
    n_kv_heads: int | None = None
    d_head: int | None = None
    d_ff: int | None = None
    experts: ExpertsConfig | None = None
    max_seq_len: int = 256
    positions: Positions = "rope"
    rope_base: float = 10_000.0
    rope_scaling: RopeScaling | None = None
    relative_buckets: int = 32
    relative_distance: int = 128
    norm: Norm = "rmsnorm"
    norm_placement: NormPlacement = "pre"
    norm_eps: float = 1e-5
    embed_norm: bool = False
    qk_norm: bool = False
    parallel: bool = False
    activation: Activation = "swiglu"
    window: int | None = None
    window_from: int = 0
    attn_scale: float | None = None
    attn_scale_by_layer: bool = False
    bias: bool = False
    qkv_bias: bool | None = None
    out_bias: bool | None = None
    head: Head = "lm"
    tie_embeddings: bool = True
    scale_embeddings: bool = False
    logit_scale: float = 1.0
    n_segments: int = 0
    pooler: bool = False
    start_id: int = 0
    bos_id: int | None = None
    dropout: float = 0.0
    init: Init = "gpt2"
    init_std: float = 0.02

    def __post_init__(self) -> None:
        for name, limits in LIMITS.items():
            check_whole(self, optional=name in _OPTIONAL, **{name: limits})
        check_number(self, dropout=(0.0, 0.99), norm_eps=(0.0, 1.0), init_std=(0.0, 10.0), logit_scale=(-1e4, 1e4))
        check_number(self, optional=True, attn_scale=(1e-6, 1e6))
        check_number(self, rope_base=(1.001, 1e9))
        check_flag(self, *_FLAGS)
        check_flag(self, "qkv_bias", "out_bias", optional=True)
        check_choice(self, architecture=Architecture, positions=Positions, norm=Norm, norm_placement=NormPlacement)
        check_choice(self, activation=Activation, head=Head, init=Init)
        check_part(self, experts=ExpertsConfig, rope_scaling=RopeScaling)
        _check_heads(self)
        _check_together(self)

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

    @property
    def expert_size(self) -> int:
        """Hidden width of one expert; 0 where there are none."""
        return (self.experts.d_expert or self.ff_size) if self.experts is not None else 0

    @property
    def has_qkv_bias(self) -> bool:
        """Whether queries, keys and values have a bias."""
        return self.bias if self.qkv_bias is None else self.qkv_bias

    @property
    def has_out_bias(self) -> bool:
        """Whether what attention adds has a bias."""
        return self.bias if self.out_bias is None else self.out_bias

    def is_routed(self, layer: int) -> bool:
        """Whether a layer has experts in place of one feed-forward layer."""
        return self.experts is not None and layer >= self.experts.dense_layers

    @property
    def routed_layers(self) -> tuple[int, ...]:
        """The layers that have experts."""
        return tuple(i for i in range(self.n_layers) if self.is_routed(i))

    def window_of(self, layer: int) -> int | None:
        """How many tokens a layer sees, itself included; None means all."""
        return self.window if layer >= self.window_from else None

    def scale_of(self, layer: int) -> float:
        """Factor of the scores of a layer."""
        scale = self.head_size**-0.5 if self.attn_scale is None else self.attn_scale
        scale *= 1.0 if self.rope_scaling is None else self.rope_scaling.of_scores
        return scale / (layer + 1) if self.attn_scale_by_layer else scale

    @property
    def encoder_layers(self) -> int:
        """Blocks of the encoder: all of them, some, or none."""
        counts = {"decoder": 0, "encoder": self.n_layers, "encoder-decoder": self.n_encoder_layers or self.n_layers}
        return counts[self.architecture]

    @property
    def decoder_layers(self) -> int:
        """Blocks of the decoder."""
        return 0 if self.architecture == "encoder" else self.n_layers

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ModelConfig":
        """The inverse of to_dict.

        Raises:
            ValueError: on unknown or missing fields, or values that do not fit.
        """
        values = dict(values)
        _check_known(cls, values, "model")
        if "vocab_size" not in values:
            raise ValueError("the model settings lack vocab_size")
        for name, part in (("experts", ExpertsConfig), ("rope_scaling", RopeScaling)):
            if isinstance(inner := values.get(name), dict):
                _check_known(part, inner, name)
                values[name] = part(**inner)
        return cls(**values)


_OPTIONAL = ("n_encoder_layers", "n_kv_heads", "d_head", "d_ff", "window", "bos_id")
_FLAGS = (
    "attn_scale_by_layer",
    "bias",
    "tie_embeddings",
    "scale_embeddings",
    "embed_norm",
    "qk_norm",
    "parallel",
    "pooler",
)


def _check_known(cls: type, values: dict[str, Any], what: str) -> None:
    known = {f.name for f in fields(cls)}
    if unknown := sorted(str(name) for name in set(values) - known):
        raise ValueError(f"unknown {what} setting {', '.join(unknown)}; known are {', '.join(sorted(known))}")


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


def _check_together(c: ModelConfig) -> None:
    """Refuse parts that do not go together."""
    if c.architecture != "encoder-decoder" and c.n_encoder_layers is not None:
        raise ValueError(
            f"n_encoder_layers={c.n_encoder_layers} goes with architecture='encoder-decoder', not {c.architecture!r}; "
            "leave it None, n_layers says it all"
        )
    if c.architecture != "encoder":
        for name, nothing in (("n_segments", 0), ("pooler", False)):
            if (value := getattr(c, name)) != nothing:
                raise ValueError(f"{name}={value} goes with architecture='encoder', not {c.architecture!r}")
    if c.head == "mlm" and c.architecture != "encoder":
        raise ValueError(f"head='mlm' goes with architecture='encoder', not {c.architecture!r}; take head='lm'")
    if c.architecture == "encoder-decoder" and c.start_id >= c.vocab_size:
        raise ValueError(f"start_id={c.start_id} must be below vocab_size={c.vocab_size}")
    if c.parallel and (c.norm_placement != "pre" or c.architecture == "encoder-decoder"):
        raise ValueError(
            f"parallel=True goes with norm_placement='pre' and one stack, not with {c.norm_placement!r} and "
            f"{c.architecture!r}"
        )
    if c.parallel and c.ff_size == 0:
        raise ValueError("parallel=True needs a feed-forward layer beside attention, d_ff=0 leaves none")
    if c.experts is not None and c.ff_size == 0 and c.experts.d_expert is None:
        raise ValueError(f"experts of width d_ff={c.d_ff} would be empty; give d_expert or a larger d_ff")
    if c.rope_scaling is not None and c.positions != "rope":
        raise ValueError(f"rope_scaling goes with positions='rope', not {c.positions!r}; leave it None")
    if c.positions == "relative" and c.relative_distance <= c.relative_buckets // 2:
        raise ValueError(
            f"relative_distance={c.relative_distance} must be above half of relative_buckets={c.relative_buckets}"
        )
