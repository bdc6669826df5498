"""Configs of the parts of a model: attention, positions, norms, feed-forward layers, experts, and what one layer has
otherwise than the others."""

import math
from dataclasses import dataclass, fields
from typing import Literal, TypeAlias

from tfcore.checks import check_choice, check_flag, check_number, check_part, check_whole

Part: TypeAlias = Literal["encoder", "decoder", "cross"]  # of a model: whose attention is meant

Positions = Literal["sinusoidal", "learned", "rope", "alibi", "relative", "disentangled", "none"]
Products = Literal["c2p", "p2c", "both"]
Norm = Literal["layernorm", "rmsnorm"]
NormPlacement = Literal["pre", "post", "sandwich", "after"]
QKNorm = Literal["head", "each", "width"]
Activation = Literal["relu", "relu2", "gelu", "gelu_tanh", "silu", "xielu", "swiglu", "geglu", "geglu_tanh", "reglu"]
Routing = Literal["tokens", "experts"]
SoftmaxPlace = Literal["before", "after"]
RouterScores = Literal["softmax", "sigmoid"]
SentencePooling = Literal["mean", "first", "last", "unread"]
Scaling = Literal["linear", "llama3", "yarn", "longrope"]
Mixer = Literal["attention", "linear", "delta", "ssm", "conv", "attention+ssm", "none"]
MixerNorm = Literal["head", "group"]
Decay = Literal["constant", "token", "channel"]
ClassPlace = Literal["first", "last", "each", "mean"]
ClassMeaning = Literal["one", "several", "number", "span"]
ClassActivation = Literal["tanh", "relu", "gelu", "gelu_tanh", "silu"]
Resampling = Literal["nearest", "lanczos", "bilinear", "bicubic", "box", "hamming"]  # of Pillow, in its order

_KIND_OF: dict[str, tuple[Positions, ...]] = {  # settings of positions of some kinds alone
    "halves": ("sinusoidal",),
    "first": ("sinusoidal",),
    "by_layer": ("relative",),
    "absolute": ("relative", "disentangled"),
    "linear": ("disentangled",),
    "shared": ("disentangled",),
    "products": ("disentangled",),
    "normed": ("disentangled",),
    "steepness": ("alibi",),
    "by_key": ("alibi",),
}
GATED: tuple[Activation, ...] = ("swiglu", "geglu", "geglu_tanh", "reglu")
MOST_CLASSES = 10_000
LARGEST_SIDE = 4_096  # pixels of a picture that a model reads
LONGEST_SOUND = 60_000  # frames of a sound: ten minutes


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionConfig:
    """An attention layer.

    Args:
        n_heads: query heads.
        n_kv_heads: key/value heads; None means n_heads (multi-head), 1 is multi-query, between is grouped-query.
        d_head: width of one head; None means d_model / n_heads.
        scale: factor of the scores; None means 1 / sqrt(d_head), of disentangled positions 1 / sqrt(d_head * (1 + their
            products)) (arXiv:2006.03654, eq. 4).
        scale_by_layer: divide the scores of layer i by i + 1 too, counting from 0.
        softcap: bends the scores s to softcap * tanh(s / softcap), which is never larger (arXiv:2408.00118); None
            leaves them.
        qk_norm: normalise queries and keys: those of each head by themselves ("head", arXiv:2010.04245, with RMSNorm
            as in Qwen3), the same with LayerNorm and a scale of each head's own ("each", as in StableLM 2 12B and
            Command R+, their published code), or of all heads together ("width", as in OLMo 2, arXiv:2501.00656,
            section 3.2).
        qkv_bias, out_bias: whether its matrices have a bias; None means as the model's other linear layers.
        sinks: each head has a learned score besides those of the keys, which takes its part of the softmax and belongs
            to no token (arXiv:2508.10925, section 2.2).
        gate: what the heads put out is multiplied, number by number, with the sigmoid of a linear layer of the token
            (arXiv:2505.06708, section 2.2; Qwen3-Next).
        clip: queries, keys and values are cut off at it to both sides, before anything else is done to them (OLMo and
            MPT, their published code); None cuts nothing.
        kv_latent: multi-head latent attention (arXiv:2405.04434, section 2.1): width of the vector of each token from
            which the keys and values of all heads are made, and which the cache keeps; None means W_K and W_V.
        q_latent: of latent attention: width of the same for the queries; None means W_Q.
        d_value: of latent attention: width of one head's values; None means d_head.

    Raises:
        ValueError: naming the values that do not fit and what would.
    """

    n_heads: int = 4
    n_kv_heads: int | None = None
    d_head: int | None = None
    scale: float | None = None
    scale_by_layer: bool = False
    softcap: float | None = None
    qk_norm: QKNorm | None = None
    qkv_bias: bool | None = None
    out_bias: bool | None = None
    sinks: bool = False
    gate: bool = False
    clip: float | None = None
    kv_latent: int | None = None
    q_latent: int | None = None
    d_value: int | None = None

    def __post_init__(self) -> None:
        check_whole(self, n_heads=(1, 1_024))
        check_whole(self, optional=True, n_kv_heads=(1, 1_024), d_head=(1, 65_536))
        check_whole(self, optional=True, kv_latent=(1, 65_536), q_latent=(1, 65_536), d_value=(1, 65_536))
        check_number(self, optional=True, scale=(1e-6, 1e6), softcap=(1e-3, 1e6), clip=(1e-3, 1e6))
        check_flag(self, "scale_by_layer", "sinks", "gate")
        check_choice(self, optional=True, qk_norm=QKNorm)
        check_flag(self, "qkv_bias", "out_bias", optional=True)
        if self.n_heads % self.kv_heads:
            divisors = ", ".join(str(d) for d in range(1, self.n_heads + 1) if self.n_heads % d == 0)
            raise ValueError(
                f"n_heads={self.n_heads} is not divisible by n_kv_heads={self.kv_heads}; possible: {divisors}"
            )
        for name in ("q_latent", "d_value"):
            if self.kv_latent is None and (value := getattr(self, name)) is not None:
                raise ValueError(f"{name}={value} goes with latent attention; give kv_latent, or leave it None")
        if self.kv_latent is not None and (self.kv_heads, self.qk_norm) != (self.n_heads, None):
            raise ValueError("kv_latent makes keys and values for every head; leave n_kv_heads and qk_norm None")
        for name, nothing in (("gate", False), ("clip", None)):
            if (value := getattr(self, name)) != nothing and self.kv_latent is not None:
                raise ValueError(
                    f"{name}={value} goes with keys and values of their own, not with kv_latent; leave one of them out"
                )

    @property
    def kv_heads(self) -> int:
        """Key/value heads actually built."""
        return self.n_kv_heads or self.n_heads


@dataclass(frozen=True, slots=True, kw_only=True)
class RopeScaling:
    """Slower rotations for longer texts than a model was trained on.

    Args:
        kind: "linear" divides every frequency by the factor (arXiv:2306.15595, eq. 4); "llama3" leaves wavelengths
            below original_len / high_freq alone, divides those above original_len / low_freq, and blends between;
            "yarn" (arXiv:2309.00071) does the same with another blend, and sharpens attention; "longrope"
            (arXiv:2402.13753, section 3) divides each frequency by a number of its own, and sharpens attention.
        factor: how many times slower; of "longrope", how many times longer the texts are.
        original_len, low_freq, high_freq: of "llama3" and "yarn", whose paper writes L, alpha and beta.
        whole_pairs: of "yarn": the blend begins and ends at a whole pair, as in its published code.
        sharpness: of "yarn" and "longrope": what rotated features are multiplied with; None means 0.1 ln(factor) + 1
            (eq. 15 of "yarn").
        short, long: of "longrope": the divisors of each pair in texts up to original_len, and in longer ones.
    """

    kind: Scaling = "linear"
    factor: float = 1.0
    original_len: int = 8192
    low_freq: float = 1.0
    high_freq: float = 4.0
    whole_pairs: bool = True
    sharpness: float | None = None
    short: tuple[float, ...] = ()
    long: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check_choice(self, kind=Scaling)
        check_flag(self, "whole_pairs")
        check_number(self, optional=True, sharpness=(1e-3, 1e3))
        check_number(self, factor=(1, 1_000_000), low_freq=(1e-6, 1e6), high_freq=(1e-6, 1e6))
        check_whole(self, original_len=(1, 1_048_576))
        if self.kind != "linear" and self.low_freq >= self.high_freq:
            raise ValueError(f"low_freq={self.low_freq} must be below high_freq={self.high_freq}")
        for name in ("short", "long"):
            divisors = getattr(self, name)
            if not all(isinstance(d, int | float) and 1e-3 <= d <= 1e6 for d in divisors):
                raise ValueError(f"{name}={divisors} must be numbers between 0.001 and 1,000,000, one for each pair")
            if (self.kind == "longrope") != bool(divisors):
                raise ValueError(f"{name} goes with kind='longrope', which needs it")

    @property
    def stretch(self) -> float:
        """The factor of rotated queries and keys; that of their scores is its square."""
        if self.kind not in ("yarn", "longrope"):
            return 1.0
        return 0.1 * math.log(self.factor) + 1 if self.sharpness is None else self.sharpness


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionsConfig:
    """How the order of tokens gets in.

    Args:
        kind: see tfcore.positions.
        base: of the wavelengths of RoPE and of sinusoidal positions.
        halves: of sinusoidal positions: all sines, then all cosines, as in Marian, not a sine and a cosine in turn.
        first: of sinusoidal positions: the number of the first place (M2M100, arXiv:2010.11125, its published code).
        scaling: slower RoPE for longer texts; None leaves it as it is.
        rotated: how many of the first features of a head RoPE rotates (arXiv:2204.06745, section 2.1); None means all.
        steepness: of ALiBi: the slopes of n heads are 2^(-steepness/n), 2^(-2 steepness/n), ... (MPT's published code);
            8 in arXiv:2108.12409, section 3.
        by_key: of ALiBi: the bias is the slope times the place of the key alone, whatever the query, which is the same
            to a softmax, rounded to bfloat16, and scaled as the scores are (Falcon-RW, its published code).
        buckets, distance: of relative positions (arXiv:1910.10683, section 2.1): how many learned biases a head has,
            and the distance from which on all share the last; of disentangled ones (arXiv:2006.03654, section 3.1): how
            many learned vectors the layers share, half of them for each direction.
        by_layer: of relative positions: each layer has biases of its own (umT5, arXiv:2304.09151, its published code);
            otherwise those of a stack share them.
        absolute: of relative and disentangled positions: a learned vector of each place is added to the embeddings, too
            (MPNet, arXiv:2004.09297, its published code).
        linear: of disentangled positions: each distance has its own vector, and those beyond the last share it
            (arXiv:2006.03654, eq. 3); otherwise long ones share on a logarithmic scale (DeBERTa v2's published code).
        products: of disentangled positions: what is added to a score: the product of the query and the key of its
            relative position ("c2p", content to position), of the key and its query ("p2c"), or both (eq. 4).
        shared: of disentangled positions: their keys and queries are made by W_K and W_Q; otherwise by matrices of
            their own (`share_att_key` in the same place).
        normed: of disentangled positions: the vectors are normalised (`norm_rel_ebd` in the same place).

    Raises:
        ValueError: naming the values that do not fit and what would.
    """

    kind: Positions = "rope"
    base: float = 10_000.0
    halves: bool = False
    first: int = 0
    scaling: RopeScaling | None = None
    rotated: int | None = None
    steepness: float = 8.0
    by_key: bool = False
    buckets: int = 32
    distance: int = 128
    by_layer: bool = False
    absolute: bool = False
    linear: bool = False
    products: Products = "both"
    shared: bool = False
    normed: bool = False

    def __post_init__(self) -> None:
        check_choice(self, kind=Positions, products=Products)
        check_number(self, base=(1.001, 1e9), steepness=(1e-3, 1e3))
        check_whole(self, buckets=(4, 4_096), distance=(2, 1_048_576))
        check_part(self, scaling=RopeScaling)
        check_whole(self, first=(0, 1_000_000))
        check_flag(self, "halves", "by_key", "by_layer", "absolute", "linear", "shared", "normed")
        for one in fields(self):
            kinds, value = _KIND_OF.get(one.name, (self.kind,)), getattr(self, one.name)
            if self.kind not in kinds and value != one.default:
                kind = " or ".join(map(repr, kinds))
                raise ValueError(
                    f"{one.name}={value} goes with positions of kind {kind}, not {self.kind!r}; leave it {one.default}"
                )
        check_whole(self, optional=True, rotated=(2, 65_536))
        for name in ("scaling", "rotated"):
            if getattr(self, name) is not None and self.kind != "rope":
                raise ValueError(f"{name} goes with positions of kind 'rope', not {self.kind!r}; leave it None")
        if self.scaling is not None and len({len(self.scaling.short), len(self.scaling.long)}) > 1:
            raise ValueError(f"short and long have {len(self.scaling.short)} and {len(self.scaling.long)} numbers")
        if self.rotated is not None and self.rotated % 2:
            raise ValueError(f"rotated={self.rotated} must be even, rope rotates pairs; nearest: {self.rotated + 1}")
        if self.kind == "relative" and self.distance <= self.buckets // 2:
            raise ValueError(f"distance={self.distance} must be above half of buckets={self.buckets}")
        if self.kind == "disentangled" and self.buckets % 2:
            raise ValueError(f"buckets={self.buckets} must be even, half are for each direction")
        if self.kind == "disentangled" and not self.linear and self.distance <= self.buckets // 4 + 1:
            raise ValueError(
                f"distance={self.distance} must be at least {self.buckets // 4 + 2}: with buckets={self.buckets}, "
                "shorter distances have a vector each"
            )

    @property
    def learned(self) -> bool:
        """Whether there is a table of vectors, one for each place, that are added to the embeddings."""
        return self.kind == "learned" or self.absolute

    @property
    def has_c2p(self) -> bool:
        """Whether queries are multiplied with keys of relative positions."""
        return self.kind == "disentangled" and self.products != "p2c"

    @property
    def has_p2c(self) -> bool:
        """Whether keys are multiplied with queries of relative positions."""
        return self.kind == "disentangled" and self.products != "c2p"

    @property
    def added(self) -> bool:
        """Whether vectors are added to the embeddings, learned or not."""
        return self.learned or self.kind == "sinusoidal"


@dataclass(frozen=True, slots=True, kw_only=True)
class NormConfig:
    """The normalisation of the residual stream.

    Args:
        placement: before each sublayer (pre), after the sum (post), on what it adds (after, arXiv:2501.00656, section
            3.2), or before it and on what it adds (sandwich, arXiv:2105.13290).
        eps: what is added to the variance, or to the mean square.
        bias: whether a LayerNorm has one; None means as the model's linear layers.
        of_embeddings: normalise the embeddings too.
        first: whether the first attention of a stack reads a normalised stream, as the others do; ModernBERT's reads
            the embeddings as they are, normalised already (its published code, arXiv:2412.13663, section 2.1).

    Raises:
        ValueError: naming the values that do not fit and what would.
    """

    kind: Norm = "rmsnorm"
    placement: NormPlacement = "pre"
    eps: float = 1e-5
    bias: bool | None = None
    of_embeddings: bool = False
    first: bool = True

    def __post_init__(self) -> None:
        check_choice(self, kind=Norm, placement=NormPlacement)
        check_number(self, eps=(0.0, 1.0))
        check_flag(self, "of_embeddings", "first")
        check_flag(self, "bias", optional=True)
        if not self.first and not self.before:
            raise ValueError(
                f"first=False goes with norms before sublayers, not with {self.placement!r}; leave it True"
            )

    @property
    def before(self) -> bool:
        """Whether each sublayer reads a normalised stream."""
        return self.placement in ("pre", "sandwich")

    @property
    def of_outputs(self) -> bool:
        """Whether what a sublayer adds is normalised by itself."""
        return self.placement in ("sandwich", "after")

    @property
    def final(self) -> bool:
        """Whether the stream is normalised once more after the last block; post-norm has done it already."""
        return self.placement != "post"


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedForwardConfig:
    """A feed-forward layer, and each expert's.

    Args:
        d_ff: hidden width; None means 4 d_model (8/3 d_model when gated, rounded up to a multiple of 8); 0 leaves the
            feed-forward layers out (attention-only model).
        activation: those that end in "glu" are gated and have a third matrix; "xielu" has two learned numbers a layer.
        gain: of "swiglu" and "silu": x * sigmoid(gain * x), which with 1.702 is nearly GELU (arXiv:1606.08415, section
            2).
        limit: of gated ones: what the activation reads is cut off above it, and the ungated half at it to both sides
            (arXiv:2508.10925, section 2.2 and its published code); None cuts nothing.
        shift: of gated ones: added to the ungated half; 1 in the same place.

    Raises:
        ValueError: naming the values that do not fit and what would.
    """

    d_ff: int | None = None
    activation: Activation = "swiglu"
    gain: float = 1.0
    limit: float | None = None
    shift: float = 0.0

    def __post_init__(self) -> None:
        check_whole(self, optional=True, d_ff=(0, 1_048_576))
        check_choice(self, activation=Activation)
        check_number(self, gain=(1e-3, 1e3), shift=(-1e3, 1e3))
        check_number(self, optional=True, limit=(1e-3, 1e6))
        if self.gain != 1 and self.activation not in ("swiglu", "silu"):
            raise ValueError(f"gain={self.gain} goes with 'swiglu' or 'silu', not {self.activation!r}; leave it 1")
        for name, without in (("limit", None), ("shift", 0)):
            if (value := getattr(self, name)) != without and not self.is_gated:
                raise ValueError(
                    f"{name}={value} goes with a gated activation ({', '.join(GATED)}), not {self.activation!r}; "
                    f"leave it {without}"
                )

    @property
    def is_gated(self) -> bool:
        """Whether it has a third matrix, whose product is multiplied with the activation."""
        return self.activation in GATED


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertsConfig:
    """A mixture of experts in place of the feed-forward layer (arXiv:1701.06538, arXiv:2101.03961, arXiv:2401.04088).

    Args:
        n_experts: experts a router chooses from.
        top_k: how many of them a token goes to; with routing "experts", how many on average.
        d_expert: hidden width of one expert; None means the model's d_ff.
        n_shared: experts every token goes through besides, as one of n_shared * d_expert (arXiv:2401.06066, eq. 9).
        shared_gate: what the shared experts write is multiplied with the sigmoid of a linear layer of the token (Qwen's
            mixtures, arXiv:2407.10671, section 2.2.2 and their published code).
        bias: the router and the experts have biases, the shared experts none.
        routing: "tokens" choose experts, or "experts" choose tokens (arXiv:2202.09368).
        scores: what is made of the router's scores: probabilities by a softmax over the experts, or by the sigmoid of
            each alone (arXiv:2412.19437, eq. 15).
        softmax: of the router's scores, "before" or "after" the top_k are taken; after, the weights sum to 1.
        renormalize: with softmax before, divide the weights of the chosen by their sum (the same as after).
        n_groups, top_groups: experts stand in so many groups, as on devices, and a token goes to experts of its best
            top_groups alone (arXiv:2405.04434, section 2.2.2); None means all of them.
        group_best: how good a group is: the sum of so many of its best experts' probabilities (1 there, 2 in
            DeepSeek-V3, arXiv:2412.19437, section 2.1.2 and its published code).
        capacity_factor: an expert takes at most capacity_factor * top_k * tokens / n_experts tokens, the others are
            dropped, first come first served (arXiv:2101.03961, eq. 3); None drops nothing.
        noise: standard deviation of the noise on the router's scores in training (arXiv:1701.06538, eq. 4, with one
            fixed scale).
        balance_loss, z_loss: factors of the two auxiliary losses (arXiv:2101.03961, eq. 4; arXiv:2202.08906, eq. 5).
        bias_rate: step of the loss-free balancing bias (arXiv:2408.15664, algorithm 1); 0 leaves it out.

    Raises:
        ValueError: naming the values that do not fit and what would.
    """

    n_experts: int = 8
    top_k: int = 2
    d_expert: int | None = None
    n_shared: int = 0
    shared_gate: bool = False
    bias: bool = False
    routing: Routing = "tokens"
    scores: RouterScores = "softmax"
    softmax: SoftmaxPlace = "after"
    renormalize: bool = False
    n_groups: int = 1
    top_groups: int | None = None
    group_best: int = 1
    capacity_factor: float | None = None
    noise: float = 0.0
    balance_loss: float = 0.01
    z_loss: float = 0.0
    bias_rate: float = 0.0

    def __post_init__(self) -> None:
        check_whole(self, n_experts=(1, 4_096), top_k=(1, 4_096), n_shared=(0, 256))
        check_whole(self, n_groups=(1, 4_096), group_best=(1, 4_096))
        check_whole(self, optional=True, d_expert=(1, 1_048_576), top_groups=(1, self.n_groups))
        check_number(self, noise=(0, 100), balance_loss=(0, 100), z_loss=(0, 100), bias_rate=(0, 10))
        check_number(self, optional=True, capacity_factor=(0.01, 1_000))
        check_choice(self, routing=Routing, scores=RouterScores, softmax=SoftmaxPlace)
        check_flag(self, "renormalize", "shared_gate", "bias")
        if self.shared_gate and not self.n_shared:
            raise ValueError("shared_gate=True goes with shared experts; give n_shared, or leave it False")
        if self.top_k > self.n_experts:
            raise ValueError(f"top_k={self.top_k} is more than n_experts={self.n_experts}; possible: 1 to n_experts")
        if self.routing == "experts" and self.capacity_factor is not None:
            raise ValueError(
                f"capacity_factor={self.capacity_factor} goes with routing='tokens' alone: experts that choose are "
                "never too full; leave it None"
            )
        if self.scores == "sigmoid" and self.softmax == "after":
            raise ValueError("softmax='after' goes with scores='softmax'; take 'before', and renormalize=True")
        self._check_groups()

    @property
    def kept_groups(self) -> int:
        """Groups that a token's experts are taken from."""
        return self.top_groups or self.n_groups

    def _check_groups(self) -> None:
        if self.n_groups > 1 and self.routing == "experts":
            raise ValueError(f"n_groups={self.n_groups} goes with routing='tokens'; leave it 1")
        if self.n_experts % self.n_groups:
            raise ValueError(f"n_experts={self.n_experts} is not divisible by n_groups={self.n_groups}")
        each = self.n_experts // self.n_groups
        if self.group_best > each:
            raise ValueError(f"group_best={self.group_best} is more than the {each} experts of a group")
        if self.top_k > self.kept_groups * each:
            raise ValueError(
                f"top_k={self.top_k} is more than the {self.kept_groups * each} experts of "
                f"top_groups={self.kept_groups}; possible: 1 to {self.kept_groups * each}"
            )


DECAYS: dict[Mixer, tuple[Decay | None, ...]] = {  # what each kind of mixer with a state may forget by
    "linear": (None, "constant", "channel"),
    "delta": (None, "token"),
    "ssm": ("token",),
    "attention+ssm": ("token",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class MixerConfig:
    """What stands in the place of attention in some layers: a state of fixed size that is carried from token to token
    (see tfcore.mixers), or a short convolution.

    Args:
        n_heads: heads, each with a state of d_key x d_value numbers.
        n_key_heads: heads of queries and keys, each for n_heads / n_key_heads heads in a row; None means n_heads.
        d_key, d_value: width of a head's keys and of its values; None means d_model / n_heads.
        decay: how the state fades: None not at all; "constant", each head at a rate of its own (arXiv:2307.08621, eq.
            8); "token", at a rate that each token decides, as in Mamba-2 and the gated delta rule; "channel", at such a
            rate for each key channel (arXiv:2312.06635, eq. 3).
        width: tokens of the convolution of a layer of kind "conv", and of that before the state in the other kinds,
            where it is followed by SiLU; 1 means none there.
        conv_bias: whether the convolution has a bias.
        bias: whether the projections have a bias.
        norm: outputs are normalised each "head" by itself, before the gate (arXiv:2307.08621, eq. 8; arXiv:2412.06464,
            figure 1), or all heads of a "group" of keys at once, after the gate, as in Mamba-2; None does neither, as
            in Falcon-H1.
        least_step: of decay "token": the step, by which a token fades the state and in Mamba-2 is written to it, is
            never below this (Nemotron-H, its published code).

    Raises:
        ValueError: naming the values that do not fit and what would.
    """

    n_heads: int = 4
    n_key_heads: int | None = None
    d_key: int | None = None
    d_value: int | None = None
    decay: Decay | None = None
    width: int = 4
    conv_bias: bool = False
    bias: bool = False
    norm: MixerNorm | None = "head"
    least_step: float = 0.0

    def __post_init__(self) -> None:
        check_whole(self, n_heads=(1, 1_024), width=(1, 64))
        check_whole(self, optional=True, n_key_heads=(1, 1_024), d_key=(1, 65_536), d_value=(1, 65_536))
        check_choice(self, optional=True, decay=Decay)
        check_choice(self, optional=True, norm=MixerNorm)
        check_flag(self, "conv_bias", "bias")
        check_number(self, least_step=(0, 100))
        if self.least_step and self.decay != "token":
            raise ValueError(f"least_step={self.least_step} goes with decay='token', not {self.decay!r}; leave it 0")
        if self.n_heads % self.key_heads:
            raise ValueError(f"n_heads={self.n_heads} of a mixer is not divisible by n_key_heads={self.key_heads}")

    @property
    def key_heads(self) -> int:
        """Heads of queries and keys actually built."""
        return self.n_key_heads or self.n_heads


@dataclass(frozen=True, slots=True, kw_only=True)
class LayerConfig:
    """The settings of one layer that differ from the model's.

    Args:
        window: each token sees at most this many tokens, itself included; None means all before it. In an encoder it
            sees less than that many to either side.
        positions: of queries and keys: rotations of its own, or none; None means the model's.
        dense: a plain feed-forward layer where others have experts (arXiv:2401.06066, section 5.1.2).
        mixer: what mixes the tokens: "attention"; or by the model's MixerConfig a state written to by sums ("linear"),
            by the delta rule ("delta") or as in Mamba-2 ("ssm"), or a short convolution ("conv"); attention and such a
            state beside each other, which read the same stream and are added ("attention+ssm", Falcon-H1,
            arXiv:2507.22448, section 2.1); or nothing ("none"), where the layer is a feed-forward layer alone.
        alone: no feed-forward layer follows what mixes the tokens (Nemotron-H, arXiv:2504.03624, section 2.1).

    Raises:
        ValueError: naming the values that do not fit and what would.
    """

    window: int | None = None
    positions: PositionsConfig | None = None
    dense: bool = False
    mixer: Mixer = "attention"
    alone: bool = False

    def __post_init__(self) -> None:
        check_whole(self, optional=True, window=(1, 1_048_576))
        check_part(self, positions=PositionsConfig)
        check_flag(self, "dense", "alone")
        check_choice(self, mixer=Mixer)
        if self.mixer == "none" and self.alone:
            raise ValueError("mixer='none' and alone=True leave nothing in a layer; give one of them")
        for name in ("window", "positions"):
            if "attention" not in self.mixer and (value := getattr(self, name)) is not None:
                raise ValueError(f"{name}={value} goes with layers of attention, not of {self.mixer!r}; leave it None")
        if self.positions is not None and self.positions.kind not in ("rope", "none"):
            raise ValueError(f"positions of one layer are of kind 'rope' or 'none', not {self.positions.kind!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassesConfig:
    """A head that tells classes apart: a linear layer that reads the last state of one token, or the mean of all, as it
    is or through a dense layer of the model's width (arXiv:1810.04805, section 4.1).

    Args:
        labels: the names of the classes.
        meaning: of the scores: "one" class of several is the text's, or the token's (softmax over classes); "several"
            may be, each judged by itself (sigmoid); each is a "number" (regression); or the two of a token say whether
            an answer starts and ends there, a "span" (softmax over tokens).
        place: whose state is read: that of a text's "first" token, as in BERT; of its "last", which in a decoder alone
            has seen all of it; "each" token's, which then has a class of its own; or the "mean" of all. An
            encoder-decoder reads the text with both stacks, and it is the decoder's state (arXiv:1910.13461, section
            3.1).
        end_id: the id that has to be a text's last one, where the published code reads the state at that id.
        dense: the activation of the dense layer; None means that there is none.
        dense_bias: whether the dense layer has a bias.
        normed: whether LayerNorm, or what the model has in its place, follows on the dense layer.
        bias: whether the linear layer has a bias.

    Raises:
        ValueError: naming the values that do not fit and what would.
    """

    labels: tuple[str, ...]
    meaning: ClassMeaning = "one"
    place: ClassPlace = "first"
    dense: ClassActivation | None = None
    dense_bias: bool = True
    normed: bool = False
    bias: bool = True
    end_id: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.labels, tuple) or not all(isinstance(one, str) for one in self.labels):
            raise ValueError(f"labels={self.labels!r} must be a tuple of names")
        check_choice(self, place=ClassPlace, meaning=ClassMeaning)
        least = 2 if self.meaning in ("one", "span") else 1
        if not least <= len(self.labels) <= (2 if self.meaning == "span" else MOST_CLASSES):
            raise ValueError(f"labels has {len(self.labels)} names; possible: {least} to {MOST_CLASSES:,}")
        if self.meaning == "span" and self.place != "each":
            raise ValueError(f"meaning='span' is of each token; take place='each' instead of {self.place!r}")
        check_choice(self, optional=True, dense=ClassActivation)
        check_flag(self, "dense_bias", "normed", "bias")
        check_whole(self, optional=True, end_id=(0, 1_000_000))
        if self.normed and self.dense is None:
            raise ValueError("normed=True goes with a dense layer; name its activation, or leave it False")


@dataclass(frozen=True, slots=True, kw_only=True)
class InputConvolutionConfig:
    """A convolution over the embeddings beside the first layer of an encoder, added to the stream after it (the
    published code of DeBERTa v2; arXiv:2006.03654 has no such layer).

    Args:
        width: tokens that it spans, an odd number: as many to either side of each.
        activation: of its output.

    Raises:
        ValueError: naming the values that do not fit and what would.
    """

    width: int = 3
    activation: ClassActivation = "gelu"

    def __post_init__(self) -> None:
        check_whole(self, width=(1, 63))
        check_choice(self, activation=ClassActivation)
        if self.width % 2 == 0:
            raise ValueError(
                f"width={self.width} must be odd, as many tokens to either side; nearest: {self.width + 1}"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchesConfig:
    """A picture read as tokens: squares of it, each made one vector by a linear layer, after some learned tokens
    (arXiv:2010.11929, equation 1).

    Args:
        side: of the square picture, in pixels.
        size: of a patch, its side in pixels; a rest at the right and at the bottom is left out.
        channels: of a pixel: 3 of a colour, 1 of a shade of grey.
        tokens: the names of the learned tokens before the patches, which are the model's vocabulary.
        mean, std: of each channel: what a number from 0 to 1 is read as is (x - mean) / std.
        resized: the side that a picture is scaled to, of which the middle is read; None means `side`.
        resampling: how it is scaled.

    Raises:
        ValueError: naming the values that do not fit and what would.
    """

    side: int
    size: int
    channels: int = 3
    tokens: tuple[str, ...] = ("CLS",)
    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.5, 0.5, 0.5)
    resized: int | None = None
    resampling: Resampling = "bilinear"

    def __post_init__(self) -> None:
        check_whole(self, side=(1, LARGEST_SIDE), size=(1, LARGEST_SIDE))
        check_whole(self, optional=True, resized=(1, 2 * LARGEST_SIDE))
        check_choice(self, resampling=Resampling)
        if self.channels not in (1, 3):
            raise ValueError(f"channels={self.channels!r} must be 1 or 3")
        if self.size > self.side:
            raise ValueError(f"size={self.size} of a patch must be at most side={self.side} of the picture")
        if (
            not isinstance(self.tokens, tuple)
            or not self.tokens
            or not all(isinstance(one, str) for one in self.tokens)
        ):
            raise ValueError(f"tokens={self.tokens!r} must be a tuple of names, at least one")
        for name, low in (("mean", -100.0), ("std", 1e-6)):
            numbers = getattr(self, name)
            if len(numbers) != self.channels or not all(
                isinstance(x, int | float) and low <= x <= 100 for x in numbers
            ):
                raise ValueError(
                    f"{name}={numbers} must be numbers from {low} to 100, one for each of {self.channels} channels"
                )
        if self.resized is not None and self.resized < self.side:
            raise ValueError(f"resized={self.resized} must be at least side={self.side}, which is cut out of it")

    @property
    def rows(self) -> int:
        """Patches from top to bottom, and from left to right."""
        return self.side // self.size

    @property
    def values(self) -> int:
        """Numbers of a patch."""
        return self.channels * self.size**2


@dataclass(frozen=True, slots=True, kw_only=True)
class SoundConfig:
    """A sound read as tokens: a log-mel spectrogram, and two convolutions of which the second has a stride of 2
    (arXiv:2212.04356, section 2.2).

    Args:
        mels: bands of the spectrogram.
        frames: of it that are read, one every 10 ms, with silence after a shorter sound; an even number.

    Raises:
        ValueError: naming the values that do not fit and what would.
    """

    mels: int = 80
    frames: int = 3_000

    def __post_init__(self) -> None:
        check_whole(self, mels=(1, 512), frames=(2, LONGEST_SOUND))
        if self.frames % 2:
            raise ValueError(f"frames={self.frames} must be even, two for each position; nearest: {self.frames + 1}")

    @property
    def places(self) -> int:
        """Positions that an encoder makes of it, one every 20 ms."""
        return self.frames // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class WritingConfig:
    """The ids that an encoder-decoder has to write, and those it may not, whatever its scores say.

    Args:
        first: the id that a text begins with, after the start; None leaves it open.
        last: the id at the last place that a text may have; None leaves it open.
        never: ids that are in no text.
        not_first: ids that no text begins with.

    Raises:
        ValueError: naming the values that do not fit and what would.
    """

    first: int | None = None
    last: int | None = None
    never: tuple[int, ...] = ()
    not_first: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_whole(self, optional=True, first=(0, 1_000_000), last=(0, 1_000_000))
        for name in ("never", "not_first"):
            ids = getattr(self, name)
            if not isinstance(ids, tuple) or not all(type(i) is int and i >= 0 for i in ids):
                raise ValueError(f"{name}={ids!r} must be a tuple of token ids")
        if forced := [one for one in (self.first, self.last) if one in self.never]:
            raise ValueError(f"never={self.never} must not have {forced[0]}, which is asked of a text")

    @property
    def largest(self) -> int:
        """The largest of these ids; -1 where there is none."""
        return max((*self.never, *self.not_first, *(i for i in (self.first, self.last) if i is not None)), default=-1)


def windowed(n_layers: int, window: int | None, first: int = 0) -> tuple[LayerConfig, ...]:
    """Layers of which those from `first` on have a window."""
    return tuple(LayerConfig(window=window if i >= first else None) for i in range(n_layers)) if window else ()
