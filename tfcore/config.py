"""The one description of a model, frozen and validated, from which everything else follows."""

from dataclasses import asdict, dataclass, field, fields
from functools import wraps
from typing import Any, Literal

from tfcore.checks import check_choice, check_flag, check_number, check_part, check_whole
from tfcore.part_configs import (
    DECAYS,
    GATED,
    Activation,
    AttentionConfig,
    ClassesConfig,
    ExpertsConfig,
    FeedForwardConfig,
    InputConvolutionConfig,
    LayerConfig,
    Mixer,
    MixerConfig,
    NormConfig,
    PatchesConfig,
    PositionsConfig,
    RopeScaling,
    SentencePooling,
    SoundConfig,
    WritingConfig,
)

Architecture = Literal["decoder", "encoder", "encoder-decoder"]
Head = Literal["lm", "mlm", "classes", "none"]
Input = Literal["texts", "pictures", "sound"]
Init = Literal["gpt2", "normal", "xavier"]

LIMITS = {
    "vocab_size": (1, 1_000_000),
    "d_model": (1, 65_536),
    "d_embed": (1, 65_536),
    "n_layers": (1, 512),
    "n_encoder_layers": (1, 512),
    "max_seq_len": (1, 1_048_576),
    "n_segments": (0, 1_024),
    "start_id": (0, 1_000_000),
    "bos_id": (0, 1_000_000),
}
PARTS: dict[str, type] = {
    "attention": AttentionConfig,
    "positions": PositionsConfig,
    "norm": NormConfig,
    "feed_forward": FeedForwardConfig,
    "experts": ExpertsConfig,
    "writing": WritingConfig,
    "classes": ClassesConfig,
    "mixer": MixerConfig,
    "input_convolution": InputConvolutionConfig,
    "patches": PatchesConfig,
    "sound": SoundConfig,
}
# parts that a model may be without
OPTIONAL = {"experts", "classes", "mixer", "input_convolution", "patches", "sound"}
# Names of settings that stand in a part: those by which `changed` knows them, and of configs saved before there were
# parts, which were flat.
SHORT = {
    **{name: ("attention", name) for name in ("n_heads", "n_kv_heads", "d_head", "qk_norm", "qkv_bias", "out_bias")},
    **{name: ("attention", name) for name in ("kv_latent", "q_latent", "d_value")},
    "attn_scale": ("attention", "scale"),
    "attn_scale_by_layer": ("attention", "scale_by_layer"),
    "attn_softcap": ("attention", "softcap"),
    "attn_sinks": ("attention", "sinks"),
    "attn_gate": ("attention", "gate"),
    "attn_clip": ("attention", "clip"),
    "positions": ("positions", "kind"),
    "rope_base": ("positions", "base"),
    "sines_first": ("positions", "halves"),
    "first_place": ("positions", "first"),
    "rope_scaling": ("positions", "scaling"),
    "rotated": ("positions", "rotated"),
    "alibi_steepness": ("positions", "steepness"),
    "alibi_by_key": ("positions", "by_key"),
    "relative_buckets": ("positions", "buckets"),
    "relative_distance": ("positions", "distance"),
    "relative_by_layer": ("positions", "by_layer"),
    "relative_absolute": ("positions", "absolute"),
    "relative_linear": ("positions", "linear"),
    "relative_products": ("positions", "products"),
    "relative_shared": ("positions", "shared"),
    "relative_normed": ("positions", "normed"),
    "norm": ("norm", "kind"),
    "norm_placement": ("norm", "placement"),
    "norm_eps": ("norm", "eps"),
    "norm_bias": ("norm", "bias"),
    "embed_norm": ("norm", "of_embeddings"),
    "first_norm": ("norm", "first"),
    "forced_first": ("writing", "first"),
    "forced_last": ("writing", "last"),
    "never_written": ("writing", "never"),
    "never_first": ("writing", "not_first"),
    "d_ff": ("feed_forward", "d_ff"),
    "activation": ("feed_forward", "activation"),
    "ff_gain": ("feed_forward", "gain"),
    "ff_limit": ("feed_forward", "limit"),
    "ff_shift": ("feed_forward", "shift"),
}
_LIKE_ALL = LayerConfig()  # a layer with nothing of its own
OF_LAYERS = {"window", "window_from", "dense_layers"}  # short for settings of each layer: of those from one on


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelConfig:
    """A Transformer: decoder-only, encoder-only or both.

    Args:
        vocab_size: number of token ids.
        architecture: "decoder" (causal), "encoder" (each token sees all), or both with cross-attention between.
        d_model: width of the residual stream.
        d_embed: width of an encoder's embeddings, of which a matrix makes the stream, and of those that its head for
            masked tokens reads (ALBERT, arXiv:1909.11942, section 3.1; ELECTRA); None means d_model, and no matrix.
        n_layers: number of blocks; of the decoder where there are two stacks.
        n_encoder_layers: blocks of the encoder in an encoder-decoder; None means n_layers.
        max_seq_len: longest sequence in tokens.
        attention, positions, norm, feed_forward: of every layer.
        experts: a mixture of experts in place of the feed-forward layers; None means none.
        mixer: what layers have in place of attention whose kind says so; None means that none has.
        input_convolution: of an encoder with norms after its sums; None means none.
        patches: of an encoder that reads pictures: how they are cut; None means that it reads ids.
        sound: of an encoder-decoder whose encoder reads sound: how that is made tokens; None means that it reads ids.
        layers: what single layers have otherwise, for each layer, in both stacks where there are two; empty where all
            are alike.
        parallel: attention and feed-forward read the same stream and are added at once (PaLM, arXiv:2204.02311,
            section 2).
        shared_norm: where they are parallel, one norm serves both; otherwise each has its own (GPT-NeoX,
            arXiv:2204.06745, section 2.1 and its published code).
        bias: biases in the linear layers and LayerNorm.
        head: what comes last: "lm", scores for each token id; "mlm", the same after BERT's dense layer and
            LayerNorm; "classes", scores for each class; "none", the hidden states.
        classes: of head "classes", which needs them.
        mlm_activation, mlm_bias: of that dense layer: its activation (None means the feed-forward layers', without
            their gate), and whether it has a bias.
        logit_bias: a bias for each token id, added to the scores; None means with head "mlm" alone.
        tie_embeddings: the unembedding is the embedding table.
        embed_scale: factor of the token embeddings; sqrt(d_model) in arXiv:1706.03762, section 3.4.
        logit_scale: factor of the scores of the token ids.
        logit_softcap: bends these scores s to logit_softcap * tanh(s / logit_softcap) (arXiv:2408.00118); None
            leaves them.
        n_segments: how many kinds of segment there are embeddings for, as in BERT.
        pooler: tanh of a linear layer of the first token, as in BERT.
        sentences: over which tokens a sentence vector is taken: their "mean", the "first" or the "last"; "unread" where
            the checkpoint has a rule that is not read here. No state depends on it (arXiv:1908.10084, section 3).
        start_id: what an encoder-decoder's decoder starts with.
        writing: what is asked of the texts that it writes.
        bos_id: the id that may stand before a text (beginning of sequence, BOS); None where the checkpoint names none.
        dropout: on embeddings and on what each sublayer adds (arXiv:1706.03762, section 5.4).
        init, init_std: how weights start; see tfcore.initialise.

    Raises:
        ValueError: naming the values that do not fit and what would.
    """

    vocab_size: int
    architecture: Architecture = "decoder"
    d_model: int = 128
    d_embed: int | None = None
    n_layers: int = 2
    n_encoder_layers: int | None = None
    max_seq_len: int = 256
    attention: AttentionConfig = field(default_factory=AttentionConfig)
    positions: PositionsConfig = field(default_factory=PositionsConfig)
    norm: NormConfig = field(default_factory=NormConfig)
    feed_forward: FeedForwardConfig = field(default_factory=FeedForwardConfig)
    experts: ExpertsConfig | None = None
    mixer: MixerConfig | None = None
    input_convolution: InputConvolutionConfig | None = None
    patches: PatchesConfig | None = None
    sound: SoundConfig | None = None
    layers: tuple[LayerConfig, ...] = ()
    parallel: bool = False
    shared_norm: bool = True
    bias: bool = False
    head: Head = "lm"
    classes: ClassesConfig | None = None
    mlm_activation: Activation | None = None
    mlm_bias: bool = True
    logit_bias: bool | None = None
    tie_embeddings: bool = True
    embed_scale: float = 1.0
    logit_scale: float = 1.0
    logit_softcap: float | None = None
    n_segments: int = 0
    pooler: bool = False
    sentences: SentencePooling = "mean"
    start_id: int = 0
    writing: WritingConfig = field(default_factory=WritingConfig)
    bos_id: int | None = None
    dropout: float = 0.0
    init: Init = "gpt2"
    init_std: float = 0.02

    def __post_init__(self) -> None:
        for name, limits in LIMITS.items():
            check_whole(self, optional=name in ("d_embed", "n_encoder_layers", "bos_id"), **{name: limits})
        check_number(self, dropout=(0.0, 0.99), init_std=(0.0, 10.0), logit_scale=(-1e4, 1e4), embed_scale=(1e-4, 1e4))
        check_number(self, optional=True, logit_softcap=(1e-3, 1e6))
        check_flag(self, "parallel", "shared_norm", "bias", "mlm_bias", "tie_embeddings", "pooler")
        check_flag(self, "logit_bias", optional=True)
        check_choice(self, architecture=Architecture, head=Head, init=Init, sentences=SentencePooling)
        check_choice(self, optional=True, mlm_activation=Activation)
        check_part(self, **PARTS)
        if missing := [name for name in PARTS if name not in OPTIONAL and getattr(self, name) is None]:
            raise ValueError(f"{missing[0]}=None must be {PARTS[missing[0]].__name__}")
        _check_layers(self)
        _check_mixers(self)
        _check_heads(self)
        _check_together(self)
        _check_patches(self)
        _check_sound(self)

    @property
    def reads(self) -> Input:
        """What goes into the model: texts, pictures or sound."""
        return "pictures" if self.patches is not None else "texts" if self.sound is None else "sound"

    @property
    def input_shape(self) -> tuple[int, ...] | None:
        """The shape of one picture, (channel, height, width), or of one spectrogram, (mel, frame); None of texts."""
        if self.patches is not None:
            return self.patches.channels, self.patches.side, self.patches.side
        return None if self.sound is None else (self.sound.mels, self.sound.frames)

    @property
    def encoder_places(self) -> int:
        """Positions that an encoder reads at most."""
        return self.max_seq_len if self.sound is None else self.sound.places

    @property
    def head_size(self) -> int:
        """d_head actually built."""
        return self.attention.d_head or self.d_model // self.attention.n_heads

    @property
    def value_size(self) -> int:
        """Width of one head's values."""
        return self.attention.d_value or self.head_size

    @property
    def embed_size(self) -> int:
        """d_embed actually built."""
        return self.d_embed or self.d_model

    @property
    def ff_size(self) -> int:
        """d_ff actually built."""
        layer = self.feed_forward
        if layer.d_ff is not None:
            return layer.d_ff
        return -(-8 * self.d_model // 3 // 8) * 8 if layer.is_gated else 4 * self.d_model

    @property
    def expert_size(self) -> int:
        """Hidden width of one expert; 0 where there are none."""
        return (self.experts.d_expert or self.ff_size) if self.experts is not None else 0

    @property
    def has_qkv_bias(self) -> bool:
        """Whether queries, keys and values have a bias."""
        return self.bias if self.attention.qkv_bias is None else self.attention.qkv_bias

    @property
    def has_out_bias(self) -> bool:
        """Whether what attention adds has a bias."""
        return self.bias if self.attention.out_bias is None else self.attention.out_bias

    @property
    def has_norm_bias(self) -> bool:
        """Whether LayerNorm has a bias."""
        return self.bias if self.norm.bias is None else self.norm.bias

    @property
    def scores_tokens(self) -> bool:
        """Whether what comes last is a score for each token id."""
        return self.head in ("lm", "mlm")

    @property
    def reads_twice(self) -> bool:
        """Whether the decoder reads the same text as the encoder, one place further on: of an encoder-decoder that
        tells classes apart."""
        return self.architecture == "encoder-decoder" and self.classes is not None

    @property
    def read_at(self) -> int:
        """Place at which the answer to a text is read: the last, or the first where its head says so (or reads the mean
        of all, of which each place has the same scores)."""
        return 0 if self.classes is not None and self.classes.place in ("first", "mean") else -1

    @property
    def has_logit_bias(self) -> bool:
        """Whether the scores of token ids have a bias."""
        return self.head == "mlm" if self.logit_bias is None else self.logit_bias and self.scores_tokens

    def has_first_norm(self, layer: int) -> bool:
        """Whether the attention of a layer reads a normalised stream."""
        return self.norm.before and (self.norm.first or layer > 0)

    def layer(self, index: int) -> LayerConfig:
        """The settings of one layer that differ from the model's."""
        return self.layers[index] if index < len(self.layers) else _LIKE_ALL

    def is_routed(self, layer: int) -> bool:
        """Whether a layer has experts in place of one feed-forward layer."""
        own = self.layer(layer)
        return self.experts is not None and not own.dense and not own.alone

    def is_plain(self, layer: int) -> bool:
        """Whether a layer has one feed-forward layer."""
        return self.ff_size > 0 and not self.layer(layer).alone and not self.is_routed(layer)

    @property
    def routed_layers(self) -> tuple[int, ...]:
        """The layers that have experts."""
        return tuple(i for i in range(self.n_layers) if self.is_routed(i))

    def mixer_of(self, layer: int) -> Mixer:
        """What mixes the tokens in a layer."""
        return self.layer(layer).mixer

    def attends(self, layer: int) -> bool:
        """Whether a layer has attention, alone or beside a state."""
        return self.mixer_of(layer) in ("attention", "attention+ssm")

    def convolves_input(self, layer: int) -> bool:
        """Whether a layer has a convolution over the embeddings beside it."""
        return self.input_convolution is not None and layer == 0

    def carried_by(self, layer: int) -> Mixer | None:
        """What a layer carries from token to token besides keys and values, as the kind of mixer; None for nothing."""
        kind = self.mixer_of(layer)
        return {"attention": None, "none": None, "attention+ssm": "ssm"}.get(kind, kind)

    @property
    def mixer_sizes(self) -> tuple[int, int]:
        """d_key and d_value of a mixer's heads; 0 where there is none."""
        if self.mixer is None:
            return 0, 0
        each = self.d_model // self.mixer.n_heads
        return self.mixer.d_key or each, self.mixer.d_value or each

    @property
    def attention_layers(self) -> tuple[int, ...]:
        """The layers that have attention."""
        return tuple(i for i in range(self.n_layers) if self.attends(i))

    def window_of(self, layer: int) -> int | None:
        """How many tokens a layer sees, itself included; None means all."""
        return self.layer(layer).window

    @property
    def window(self) -> int | None:
        """The longest window of a layer; None where none has one."""
        return max((layer.window for layer in self.layers if layer.window is not None), default=None)

    def positions_of(self, layer: int) -> PositionsConfig:
        """The positions of a layer's queries and keys."""
        return self.layer(layer).positions or self.positions

    def longest(self, start: int) -> int:
        """How long a text that has so many tokens may become with a cache: at the length from which longrope rotates
        by other angles, the keys that are held would have to be rotated anew."""
        scalings = {self.positions_of(layer).scaling for layer in range(self.n_layers)}
        ends = [one.original_len for one in scalings if one is not None and one.kind == "longrope"]
        return min([self.max_seq_len, *(end for end in ends if start <= end)])

    def scale_of(self, layer: int) -> float:
        """Factor of the scores of a layer."""
        products = 1 + self.positions.has_c2p + self.positions.has_p2c
        scale = (self.head_size * products) ** -0.5 if self.attention.scale is None else self.attention.scale
        return scale / (layer + 1) if self.attention.scale_by_layer else scale

    @property
    def encoder_layers(self) -> int:
        """Blocks of the encoder: all of them, some, or none."""
        counts = {"decoder": 0, "encoder": self.n_layers, "encoder-decoder": self.n_encoder_layers or self.n_layers}
        return counts[self.architecture]

    @property
    def decoder_layers(self) -> int:
        """Blocks of the decoder."""
        return 0 if self.architecture == "encoder" else self.n_layers

    def setting(self, name: str) -> Any:
        """The value of a field, or of a setting of a part by its short name."""
        part, inner = SHORT.get(name, (name, ""))
        return getattr(getattr(self, part), inner) if inner else getattr(self, part)

    def changed(self, **values: Any) -> "ModelConfig":
        """The same with other values, those of its parts by their short names: `changed(n_layers=4, n_heads=8)`.

        Raises:
            ValueError: on unknown names, or values that do not fit.
        """
        now = {f.name: getattr(self, f.name) for f in fields(self)}
        if "n_layers" in values and self.layers and not {"layers", "window"} & set(values):
            n = values["n_layers"]
            now["layers"] = (self.layers + self.layers[-1:] * max(0, n - len(self.layers)))[:n]
        return _config(now, values)

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON-ready values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "ModelConfig":
        """The inverse of to_dict; it takes settings of parts by their short names, too, as they were saved before.

        Raises:
            ValueError: on unknown or missing fields, or values that do not fit.
        """
        if "vocab_size" not in values:
            raise ValueError("the model settings lack vocab_size")
        return _config({}, values)


_OF_FIELDS = ModelConfig.__init__


@wraps(_OF_FIELDS)
def _of_fields(config: ModelConfig, *given: Any, **values: Any) -> None:
    """Refuses short names in one sentence that says who takes them: programs that were saved earlier have them."""
    if short := sorted(({*SHORT} - {*PARTS} | OF_LAYERS | {"scale_embeddings"}) & values.keys()):
        raise TypeError(f"{short[0]} is a setting of a part now; ModelConfig.from_dict(dict(...)) still takes it")
    _OF_FIELDS(config, *given, **values)


ModelConfig.__init__ = _of_fields  # type: ignore[assignment, method-assign]


def _config(now: dict[str, Any], values: dict[str, Any]) -> ModelConfig:
    """The config of some fields, and of values that replace them, under names of fields or short ones."""
    _check_known({f.name for f in fields(ModelConfig)} | {*SHORT, *OF_LAYERS, "scale_embeddings"}, values, "model")
    given = dict(values)
    if given.pop("scale_embeddings", False):  # so it was saved before
        given["embed_scale"] = (
            _whole(given | {"d_model": given.get("d_model", now.get("d_model", 128))}, "d_model") ** 0.5
        )
    for name, part in PARTS.items():
        short = {
            setting: given.pop(key)
            for key, (of, setting) in SHORT.items()
            if of == name and not isinstance(given.get(key, {}), dict | part)
        }
        base = given.get(name, now.get(name))
        if isinstance(base, dict) or (short and isinstance(base, part | None)):
            given[name] = _settings(base) | short
    if isinstance(given.get("experts"), dict) and "dense_layers" in given["experts"]:
        given["dense_layers"] = given["experts"].pop("dense_layers")
    if OF_LAYERS & given.keys():
        given["layers"] = _layers(given, now.get("n_layers", 2), now.get("layers", ()))
    for name in OF_LAYERS:
        given.pop(name, None)
    for name, part in PARTS.items():
        if isinstance(given.get(name), dict):
            given[name] = _part(part, _of_today(given[name]), name)
    if isinstance(layers := given.get("layers"), list | tuple):
        given["layers"] = tuple(_part(LayerConfig, one, "layers") if isinstance(one, dict) else one for one in layers)
    return ModelConfig(**(now | given))


def _of_today(values: dict[str, Any]) -> dict[str, Any]:
    """Settings as they are said now: whether queries and keys are normalised was true or false."""
    qk_norm = {True: "head", False: None}
    return {
        name: qk_norm[value] if name == "qk_norm" and isinstance(value, bool) else value
        for name, value in values.items()
    }


def _layers(given: dict[str, Any], n_layers: int, now: tuple[LayerConfig, ...]) -> tuple[LayerConfig, ...]:
    """The settings of each layer, with a window of those from one on, and with so many first ones dense."""
    n, first = _whole({"n_layers": n_layers} | given, "n_layers"), _whole(given, "window_from")
    layers = []
    for i in range(min(n, LIMITS["n_layers"][1])):
        own = _settings(now[i] if i < len(now) else None)
        if "window" in given:
            own["window"] = given["window"] if i >= first else None
        if "dense_layers" in given:
            own["dense"] = i < _whole(given, "dense_layers")
        layers.append(_part(LayerConfig, own, "layers"))
    return tuple(layers) if any(layer != _LIKE_ALL for layer in layers) else ()


def _whole(given: dict[str, Any], name: str) -> int:
    value = given.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{name}={value!r} must be a whole number")
    return value


def _settings(part: Any) -> dict[str, Any]:
    """The fields of a part, or of none."""
    if part is None or isinstance(part, dict):
        return dict(part or {})
    return {f.name: getattr(part, f.name) for f in fields(part)}


def _part(kind: Any, values: dict[str, Any], what: str) -> Any:
    """A part of some settings.

    Raises:
        ValueError: on unknown settings, or values that do not fit, with the part named.
    """
    _check_known({f.name for f in fields(kind)}, values, what)
    inner = {"scaling": RopeScaling, "positions": PositionsConfig}
    made = {
        name: _part(inner[name], value, name) if name in inner and isinstance(value, dict) else value
        for name, value in values.items()
    }
    made |= {
        name: tuple(made[name])
        for name in ("short", "long", "never", "not_first", "labels", "tokens", "mean", "std")
        if isinstance(made.get(name), list)
    }
    try:
        return kind(**made)
    except ValueError as error:
        raise ValueError(f"{what}: {error}") from None


def _check_known(known: set[str], values: dict[str, Any], what: str) -> None:
    if unknown := sorted(str(name) for name in set(values) - known):
        raise ValueError(f"unknown {what} setting {', '.join(unknown)}; known are {', '.join(sorted(known))}")


def _check_layers(c: ModelConfig) -> None:
    if not isinstance(c.layers, tuple) or not all(isinstance(one, LayerConfig) for one in c.layers):
        raise ValueError(f"layers={c.layers!r} must be a tuple of LayerConfig")
    if len(c.layers) not in (0, c.n_layers):
        raise ValueError(f"layers has {len(c.layers)} entries for n_layers={c.n_layers}; give one for each, or none")
    if c.positions.kind != "rope" and any(one.positions is not None for one in c.layers):
        raise ValueError(
            f"positions of single layers go with positions of kind 'rope', not {c.positions.kind!r}; leave them None"
        )


def _check_mixers(c: ModelConfig) -> None:
    """Refuse layers of a kind that the rest of the model does not go with."""
    _check_lone(c)
    kinds = {one.mixer for one in c.layers} - {"attention", "none"}
    if bool(kinds) != (c.mixer is not None):
        raise ValueError("mixer goes with layers of another kind than 'attention', which need it")
    if c.mixer is None:
        return
    if c.architecture != "decoder":
        raise ValueError(
            f"layers of kind {min(kinds)!r} read from left to right: architecture='decoder' alone has them"
        )
    for kind in sorted(kinds - {"conv"}):
        if c.mixer.decay not in (possible := DECAYS[kind]):
            words = ", ".join(repr(one) for one in possible)
            raise ValueError(f"decay={c.mixer.decay!r} does not go with layers of kind {kind!r}; possible: {words}")
    if c.d_model % c.mixer.n_heads and None in (c.mixer.d_key, c.mixer.d_value):
        raise ValueError(
            f"d_model={c.d_model} is not divisible by n_heads={c.mixer.n_heads} of the mixer; give d_key and d_value"
        )


def _check_lone(c: ModelConfig) -> None:
    """Refuse layers of one part where the rest of the model needs both, and layers that have none."""
    lone = [i for i, one in enumerate(c.layers) if one.alone or one.mixer == "none"]
    if lone and (c.architecture != "decoder" or c.parallel):
        raise ValueError(
            f"layer {lone[0]} has attention or a feed-forward layer alone, which goes with architecture='decoder' and "
            "parallel=False"
        )
    for i in lone:
        if not c.layers[i].alone and not (c.is_routed(i) or c.is_plain(i)):
            raise ValueError(
                f"layer {i} of kind 'none' needs a feed-forward layer, d_ff={c.feed_forward.d_ff} leaves none"
            )


def _check_heads(c: ModelConfig) -> None:
    n_heads = c.attention.n_heads
    if c.attention.kv_latent is not None:
        _check_latent(c)
    if c.positions.kind == "disentangled":
        _check_disentangled(c)
    if c.attention.d_head is None and c.d_model % n_heads:
        below = c.d_model // n_heads * n_heads
        nearest = " or ".join(str(d) for d in (below, below + n_heads) if d)
        raise ValueError(f"d_model={c.d_model} is not divisible by n_heads={n_heads}; nearest: {nearest}")
    for one in (c.positions, *(layer.positions for layer in c.layers)):
        if one is not None and one.rotated is not None and one.rotated > c.head_size:
            raise ValueError(f"rotated={one.rotated} must be at most d_head={c.head_size}")
        pairs = 0 if one is None or one.scaling is None else len(one.scaling.short)
        if one is not None and pairs and pairs != (one.rotated or c.head_size) // 2:
            raise ValueError(f"short has {pairs} numbers for {(one.rotated or c.head_size) // 2} rotated pairs")
    if c.positions.kind == "rope" and c.positions.rotated is None and c.head_size % 2:
        raise ValueError(f"d_head={c.head_size} must be even for rope, which rotates pairs; nearest: {c.head_size + 1}")
    if c.positions.kind == "sinusoidal" and (width := c.embed_size) % 2:
        name = "d_model" if c.d_embed is None else "d_embed"
        raise ValueError(f"{name}={width} must be even for sinusoidal positions; nearest: {width + 1}")


def _check_latent(c: ModelConfig) -> None:
    """Refuse what latent attention does not go with: its heads share one rotated key, and have keys of their own."""
    if c.architecture == "encoder-decoder":
        raise ValueError("kv_latent goes with one stack, not with architecture='encoder-decoder'; leave it None")
    own = {one.positions for one in c.layers} - {None, c.positions}
    if c.positions.kind != "rope" or own:
        raise ValueError("kv_latent goes with positions of kind 'rope', the same in every layer")
    if c.positions.rotated is None or c.positions.rotated >= c.head_size:
        raise ValueError(
            f"kv_latent rotates a part of each head, which all share: rotated={c.positions.rotated} must be a number "
            f"below d_head={c.head_size}"
        )


def _check_disentangled(c: ModelConfig) -> None:
    """Refuse what keys and queries of relative positions do not go with: they are of each head, and not normalised."""
    if c.architecture != "encoder":
        raise ValueError(f"positions='disentangled' goes with architecture='encoder', not {c.architecture!r}")
    if (c.attention.kv_heads, c.attention.qk_norm) != (c.attention.n_heads, None):
        raise ValueError("positions='disentangled' has keys for every head; leave n_kv_heads and qk_norm None")


def _check_patches(c: ModelConfig) -> None:
    """Refuse pictures in a model whose other parts are made for ids."""
    if (patches := c.patches) is None:
        return
    if c.architecture != "encoder" or c.scores_tokens or c.n_segments or c.d_embed is not None:
        raise ValueError(
            "patches goes with architecture='encoder', with head 'classes' or 'none', and without segments and d_embed"
        )
    if c.vocab_size != (n := len(patches.tokens)):
        raise ValueError(f"vocab_size={c.vocab_size} must be {n}, the learned tokens before the patches")
    if c.max_seq_len != (n := n + patches.rows**2):
        raise ValueError(f"max_seq_len={c.max_seq_len} must be {n}, the learned tokens and the patches of a picture")


def _check_sound(c: ModelConfig) -> None:
    """Refuse sound in a model whose other parts are made for ids."""
    if c.sound is not None and (
        c.architecture != "encoder-decoder" or c.positions.kind != "learned" or c.classes is not None
    ):
        raise ValueError(
            "sound goes with architecture='encoder-decoder', with head 'lm' or 'none', and with learned positions"
        )


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
    without: dict[str, object] = {"gate": False, "clip": None}
    for name, none in without.items():
        value = getattr(c.attention, name)
        if value != none and (c.architecture == "encoder-decoder" or c.positions.kind == "disentangled"):
            raise ValueError(
                f"{name}={value} goes with one stack, and not with disentangled positions; leave it {none}"
            )
    if c.head == "mlm" and c.architecture != "encoder":
        raise ValueError(f"head='mlm' goes with architecture='encoder', not {c.architecture!r}; take head='lm'")
    if c.d_embed is not None and (c.architecture != "encoder" or c.head == "lm"):
        raise ValueError(
            f"d_embed={c.d_embed} goes with architecture='encoder' and head 'mlm' or 'none', not {c.architecture!r} "
            f"and {c.head!r}; leave it None"
        )
    if (c.head == "classes") != (c.classes is not None):
        raise ValueError(f"classes goes with head='classes', which needs it, and not with {c.head!r}")
    if c.classes is not None and c.classes.place in ("first", "mean") and c.architecture != "encoder":
        raise ValueError(
            f"a decoder's first tokens have not seen the others: its classes are read at 'last' or at 'each', "
            f"not {c.classes.place!r}"
        )
    if c.mlm_activation in GATED:
        raise ValueError(f"mlm_activation={c.mlm_activation!r} has a gate, the dense layer none; take 'gelu' or 'silu'")
    if c.architecture == "encoder-decoder" and c.start_id >= c.vocab_size:
        raise ValueError(f"start_id={c.start_id} must be below vocab_size={c.vocab_size}")
    if c.writing != WritingConfig() and c.architecture != "encoder-decoder":
        raise ValueError(f"writing goes with architecture='encoder-decoder', not {c.architecture!r}; leave it out")
    if c.writing.largest >= c.vocab_size:
        raise ValueError(f"writing has id {c.writing.largest}, which must be below vocab_size={c.vocab_size}")
    if c.input_convolution is not None and (c.architecture, c.norm.placement) != ("encoder", "post"):
        raise ValueError(
            f"input_convolution goes with architecture='encoder' and norm_placement='post', not {c.architecture!r} and "
            f"{c.norm.placement!r}; leave it None"
        )
    if c.parallel and (c.norm.placement != "pre" or c.architecture == "encoder-decoder"):
        raise ValueError(
            f"parallel=True goes with norm_placement='pre' and one stack, not with {c.norm.placement!r} and "
            f"{c.architecture!r}"
        )
    if c.parallel and not c.norm.first:
        raise ValueError("parallel=True needs a norm in the first block, too: first_norm=False takes it away")
    if not c.shared_norm and not c.parallel:
        raise ValueError("shared_norm=False goes with parallel=True: otherwise each sublayer has a norm of its own")
    if c.parallel and c.ff_size == 0:
        raise ValueError("parallel=True needs a feed-forward layer beside attention, d_ff=0 leaves none")
    if c.experts is not None and c.feed_forward.activation == "xielu":
        raise ValueError("activation='xielu' has learned numbers, which experts have not; take another for them")
    if c.experts is not None and c.ff_size == 0 and c.experts.d_expert is None:
        raise ValueError(f"experts of width d_ff={c.feed_forward.d_ff} would be empty; give d_expert or a larger d_ff")
