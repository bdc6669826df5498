"""Names of all activations, what to record of them and what to change: nothing else in tfcore invents names.

The vocabulary is that of TransformerLens (without "hook_"): `blocks.3.attn.pattern`, `blocks.3.resid_post`; but
`attn.scores` are those before the mask, where TransformerLens has them after it. In an encoder-decoder `encoder.` or
`decoder.` stands before a name. A model of one stack takes that prefix too, and answers under the names it was asked
with. Names may be given as shell-style patterns: `blocks.*.attn.pattern`, `*cross_attn.pattern`, `blocks.[01].mlp.*`.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache

from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.inspection.edits import Edit
from tfcore.part_configs import Decay, Mixer

# Shape of each activation; names under blocks.* exist once a layer.
_ATTENTION = {
    "q": "batch head query d_head",
    "k": "batch kv_head key d_head",
    "v": "batch kv_head key d_head",
    "scores": "batch head query key",  # q.k * scale + position bias, before the mask: all finite
    "pattern": "batch head query key",  # softmax of the masked scores: rows sum to 1, with learned sinks to less
    "z": "batch head query d_head",
    "result": "batch query head d_model",  # what each head writes; their sum (plus the bias) is attn_out
}
_STREAM = "batch seq d_model"
_STATE = {  # of a mixer with a state, in the place of attention or beside it
    "log_decay": "batch head seq channel",  # the log of what a token keeps of it
    "strength": "batch head seq",  # how much of a token is written to it
}
SHAPES: dict[str, str] = {
    "embed": _STREAM,
    "segment_embed": _STREAM,
    "pos_embed": "seq d_model",
    "embed_norm.scale": "batch seq 1",
    "embed_norm.normalized": _STREAM,
    "blocks.*.resid_pre": _STREAM,
    "blocks.*.ln1.scale": "batch seq 1",  # what the vector is divided by
    "blocks.*.ln1.normalized": _STREAM,
    "blocks.*.attn.latent": "batch key latent",  # what keys and values are made from, normalised
    **{f"blocks.*.attn.{name}": shape for name, shape in _ATTENTION.items()},
    "blocks.*.attn.gate": "batch head query d_head",  # what the weighted values are multiplied with, to make z
    **{f"blocks.*.attn.{name}": shape for name, shape in _STATE.items()},
    **{f"blocks.*.attn.state.{name}": shape for name, shape in (_ATTENTION | _STATE).items()},  # beside attention
    "blocks.*.attn.state_out": _STREAM,  # what the state beside attention writes
    "blocks.*.attn.conv": _STREAM,  # of a short convolution in the place of attention
    "blocks.*.attn.rot_q": "batch head query d_head",  # q and k after the rotation, where positions are RoPE
    "blocks.*.attn.rot_k": "batch kv_head key d_head",
    "blocks.*.ln1_post.scale": "batch seq 1",
    "blocks.*.ln1_post.normalized": _STREAM,
    "blocks.*.attn_out": _STREAM,
    "blocks.*.resid_mid": _STREAM,
    "blocks.*.ln_cross.scale": "batch seq 1",
    "blocks.*.ln_cross.normalized": _STREAM,
    **{f"blocks.*.cross_attn.{name}": shape for name, shape in _ATTENTION.items()},
    "blocks.*.ln_cross_post.scale": "batch seq 1",
    "blocks.*.ln_cross_post.normalized": _STREAM,
    "blocks.*.cross_attn_out": _STREAM,
    "blocks.*.resid_mid_cross": _STREAM,
    "blocks.*.ln2.scale": "batch seq 1",
    "blocks.*.ln2.normalized": _STREAM,
    "blocks.*.mlp.pre": "batch seq d_ff",
    "blocks.*.mlp.pre_linear": "batch seq d_ff",  # the ungated half of a gated layer
    "blocks.*.mlp.post": "batch seq d_ff",
    "blocks.*.mlp.router.logits": "batch seq expert",
    "blocks.*.mlp.router.probs": "batch seq expert",
    "blocks.*.mlp.router.indices": "batch seq choice",  # the chosen experts
    "blocks.*.mlp.router.weights": "batch seq choice",  # what their outputs are multiplied with; 0 where dropped
    "blocks.*.mlp.router.dropped": "batch seq choice",  # True where the expert had no room
    "blocks.*.mlp.routed_out": _STREAM,  # where there are shared experts: what the chosen ones write,
    "blocks.*.mlp.shared_out": _STREAM,  # and what the shared ones write
    "blocks.*.ln2_post.scale": "batch seq 1",
    "blocks.*.ln2_post.normalized": _STREAM,
    "blocks.*.mlp_out": _STREAM,
    "blocks.*.resid_mid_conv": _STREAM,
    "blocks.*.conv_out": _STREAM,  # of a convolution over the embeddings beside the first layer
    "blocks.*.ln_conv.scale": "batch seq 1",
    "blocks.*.ln_conv.normalized": _STREAM,
    "blocks.*.resid_post": _STREAM,
    "ln_final.scale": "batch seq 1",
    "ln_final.normalized": _STREAM,
}

Capture = Iterable[str]


@lru_cache(maxsize=64)
def known_names(config: ModelConfig, prefix: str = "") -> dict[str, str]:
    """Every activation of a model with this config, in the order of computation, and its shape in words.

    Args:
        prefix: put before the names of a model of one stack.
    """
    if config.architecture != "encoder-decoder":
        return dict(_of_stack(config, prefix, config.n_layers, cross=False))
    encoder = _of_stack(config, "encoder.", config.encoder_layers, cross=False)
    return dict(encoder) | dict(_of_stack(config, "decoder.", config.decoder_layers, cross=True))


def _of_stack(config: ModelConfig, prefix: str, n_layers: int, cross: bool) -> Iterator[tuple[str, str]]:
    inner = [name for name in SHAPES if name.startswith("blocks.")]
    outer = [name for name in SHAPES if name not in inner]
    for name in (name for name in outer if not name.startswith("ln_final")):
        if _exists(config, name, 0, cross):
            shape = SHAPES[name]
            yield prefix + name, shape if config.d_embed is None else shape.replace("d_model", "d_embed")
    for i in range(n_layers):
        for name in inner:
            if _exists(config, name, i, cross):
                yield prefix + name.replace("*", str(i), 1), _shape(config, name, i)
    if config.norm.final:
        for name in ("ln_final.scale", "ln_final.normalized"):
            yield prefix + name, SHAPES[name]


def _shape(config: ModelConfig, name: str, layer: int) -> str:
    """The shape of an activation in a layer, in words."""
    narrow = config.attention.d_value is not None and name.endswith((".v", ".z"))
    of_state = ".attn.state." in name or not config.attends(layer)
    if not of_state or ".attn." not in name:
        return SHAPES[name].replace("d_head", "d_value") if narrow else SHAPES[name]
    own = "d_value" if name.endswith((".v", ".z")) else "d_key"
    return SHAPES[name].replace("kv_head", "head").replace("d_head", own)


def _mixes(config: ModelConfig, name: str, layer: int) -> bool:
    """Whether what mixes the tokens in a layer has this activation, of those under attn."""
    kind, decay = config.carried_by(layer), None if config.mixer is None else config.mixer.decay
    if kind == "conv":
        return name == "conv"
    if name.startswith("state"):
        return config.mixer_of(layer) == "attention+ssm" and _of_state(name.removeprefix("state."), kind, decay)
    if config.attends(layer):
        return name not in (*_STATE, "conv")
    return kind is not None and _of_state(name, kind, decay)


def _of_state(name: str, kind: Mixer | None, decay: Decay | None) -> bool:
    """Whether a mixer with a state has this activation."""
    own = {"log_decay": decay is not None, "strength": kind in ("delta", "ssm")}
    return own.get(name, name not in ("scores", "latent", "gate", "conv", "rot_q", "rot_k"))


def _exists(config: ModelConfig, name: str, layer: int, cross: bool) -> bool:
    """Whether layer `layer` of a stack has this activation."""
    routed = config.is_routed(layer)
    shared = routed and config.experts is not None and config.experts.n_shared > 0
    plain = config.is_plain(layer)
    mixes = config.mixer_of(layer) != "none"
    last = name.removeprefix("blocks.*.")
    needs = {
        "segment_embed": config.n_segments > 0,
        "pos_embed": config.positions.added,
        "embed_norm.": config.norm.of_embeddings,
        "attn.rot_": config.positions_of(layer).kind == "rope",
        "attn.latent": config.attention.kv_latent is not None,
        "attn.gate": config.attention.gate,
        "attn_out": mixes,
        "mlp.router": routed,
        "mlp.routed_out": shared,
        "mlp.shared_out": shared,
        "mlp.pre_linear": plain and config.feed_forward.is_gated,
        "mlp.p": plain,
        "mlp_out": plain or routed,
        "ln1.": mixes and config.norm.placement != "after" and (config.norm.first or layer > 0),
        "ln_cross.": config.norm.placement != "after",
        "ln2.": (plain or routed) and config.norm.placement != "after" and not (config.parallel and config.shared_norm),
        "ln2_post": (plain or routed) and config.norm.of_outputs,
        "resid_mid": (plain or routed or cross) and not config.parallel,
        "resid_mid_cross": plain or routed,
        "ln1_post": mixes and config.norm.of_outputs,
        "ln_cross_post": cross and config.norm.of_outputs,
        "resid_mid_conv": config.convolves_input(layer),
        "conv_out": config.convolves_input(layer),
        "ln_conv.": config.convolves_input(layer),
    }
    if ("cross" in last) and not cross:
        return False
    if last.startswith("attn.") and not _mixes(config, last.removeprefix("attn."), layer):
        return False
    return all(there for start, there in needs.items() if last.startswith(start))


@lru_cache(maxsize=4096)
def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


@lru_cache(maxsize=256)
def prefix_of(patterns: tuple[str, ...], config: ModelConfig) -> str:
    """The prefix of a model's names in a pass: empty, unless a pattern calls its one stack by name.

    Raises:
        ValueError: a pattern that no activation matches, with some names that exist.
    """
    whole = f"{config.architecture}."
    prefix = whole if any(pattern.startswith(whole) for pattern in patterns) else ""
    names = list(known_names(config, prefix))
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            patterned = [name for name in names if name.endswith("attn.pattern")] or names
            raise ValueError(
                f"no activation is called {pattern!r} in this model of {config.n_layers} layers; "
                f"there are, for example, {patterned[0]} and {names[-1]}"
            )
    return prefix


def scored(config: ModelConfig, layer: int) -> tuple[str, str]:
    """Names of the queries and keys of a layer whose products are its scores: after the rotation, where it has one."""
    rotated = "rot_" if config.positions_of(layer).kind == "rope" else ""
    return f"blocks.{layer}.attn.{rotated}q", f"blocks.{layer}.attn.{rotated}k"


def of_mixer(config: ModelConfig, layer: int) -> str:
    """The name within its block of what a state or a convolution writes, in the place of attention or beside it."""
    return "attn.state_out" if config.attends(layer) else "attn_out"


def sublayer(config: ModelConfig, layer: int, short: bool = False) -> str:
    """The word for what writes `attn_out` in a layer: attention, what stands in its place, or both."""
    attention = "attn" if short else "attention"
    return {"attention": attention, "attention+ssm": f"{attention} + mixer"}.get(config.mixer_of(layer), "mixer")


def layer_of(name: str) -> int:
    """The layer that an activation is of: 3 for `blocks.3.attn.pattern`.

    Raises:
        ValueError: a name outside the blocks, such as `embed`.
    """
    parts = name.split(".")
    return int(parts[parts.index("blocks") + 1])


def block_of(name: str, config: ModelConfig) -> int:
    """The block that an activation is of, counted through both stacks of an encoder-decoder, the encoder's first.

    Raises:
        ValueError: as layer_of.
    """
    is_above = config.architecture == "encoder-decoder" and name.startswith("decoder.")
    return layer_of(name) + (config.encoder_layers if is_above else 0)


@lru_cache(maxsize=256)
def blocks_below(patterns: tuple[str, ...], config: ModelConfig) -> int | None:
    """How many blocks of a model of one stack must run for these activations; None: all, and the final norm.

    Raises:
        ValueError: as prefix_of.
    """
    names = [name for name in known_names(config, prefix_of(patterns, config)) if _matches(name, patterns)]
    if any("ln_final" in name for name in names):
        return None
    return max((layer_of(name) + 1 for name in names if "blocks." in name), default=0)


@dataclass(slots=True)
class ActivationRecorder:
    """Records and edits the activations of one forward pass: the model calls it at each named place.

    Called with a name and a value, it returns the value, edited where an edit asks for it.

    Args:
        start: position of the first token of the pass; None when no cache holds earlier ones.
        record: name -> recorded value.
        losses: name -> sum over the layers of an auxiliary loss.
    """

    capture: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    prefix: str = ""
    start: int | None = None
    shapes: dict[str, str] = field(default_factory=dict)
    record: dict[str, Tensor] = field(default_factory=dict)
    losses: dict[str, Tensor] = field(default_factory=dict)

    @classmethod
    def of(
        cls, capture: Capture, edits: Iterable[Edit], config: ModelConfig, start: int | None = None
    ) -> "ActivationRecorder":
        """A recorder for one pass of a model, its patterns checked."""
        capture, edits = (capture,) if isinstance(capture, str) else tuple(capture), tuple(edits)
        if not capture and not edits:
            return cls(start=start)
        prefix = prefix_of(capture + tuple(edit.name for edit in edits), config)
        shapes = known_names(config, prefix)
        for edit in edits:
            edit.check({name: shape for name, shape in shapes.items() if fnmatchcase(name, edit.name)})
        return cls(capture, edits, prefix, start, shapes)

    def under(self, prefix: str) -> "ActivationRecorder":
        """The same recorder, its names under one more prefix."""
        return ActivationRecorder(
            self.capture, self.edits, self.prefix + prefix, self.start, self.shapes, self.record, self.losses
        )

    def wants(self, name: str) -> bool:
        """Whether this activation is recorded or edited at all, so that it need not be computed otherwise."""
        if not self.capture and not self.edits:
            return False
        name = self.prefix + name
        return _matches(name, self.capture) or any(fnmatchcase(name, edit.name) for edit in self.edits)

    def loss(self, name: str, value: Tensor) -> None:
        """Add to an auxiliary loss of this pass."""
        self.losses[name] = self.losses[name] + value if name in self.losses else value

    def __call__(self, name: str, value: Tensor) -> Tensor:
        if not self.wants(name):
            return value
        name = self.prefix + name
        for edit in self.edits:
            if fnmatchcase(name, edit.name):
                value = edit.apply(name, value, tuple(self.shapes[name].split()), self.start)
        if _matches(name, self.capture):
            self.record[name] = value
        return value
