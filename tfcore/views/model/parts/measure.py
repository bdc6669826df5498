"""The parts of a model as boxes, from its text to its prediction, each with the page that is about it."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

from tfcore.config import ModelConfig
from tfcore.part_configs import Mixer

POSITIONS = {
    "sinusoidal": "sinusoidal, added",
    "learned": "learned, added",
    "rope": "RoPE, inside attention",
    "alibi": "ALiBi, inside attention",
    "relative": "relative, inside attention",
    "disentangled": "disentangled, inside attention",
    "none": "none",
}
NORMS = {"layernorm": "LayerNorm", "rmsnorm": "RMSNorm"}
MIXERS: dict[Mixer, str] = {
    "linear": "Linear attention",
    "delta": "Delta rule",
    "ssm": "State space model",
    "attention+ssm": "State space model",
    "conv": "Short convolution",
}
ENDS = {"encoder": "Masked tokens", "decoder": "Next token", "encoder-decoder": "Next target token"}


@dataclass(frozen=True, slots=True)
class PartBox:
    """One box.

    Args:
        label: what the part is called.
        note: a few words under it, such as its shape.
        role: its colour role.
        about: which page is about it, for who has pages.
        marked: stands out.
        across: "gives" or "takes", of the two boxes between which an arrow leads from one stack to the other.
    """

    label: str
    note: str
    role: str
    about: str
    marked: bool = False
    across: Literal["", "gives", "takes"] = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rows of boxes from top to bottom, in a frame where they have a title; boxes of one row stand side by side."""

    rows: tuple[tuple[PartBox, ...], ...]
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnStack:
    """Groups from top to bottom: what one text runs through."""

    title: str
    groups: tuple[Group, ...]


def stacks(config: ModelConfig) -> list[DrawnStack]:
    """One stack of boxes for a decoder or an encoder; two, the reader first, for both."""
    if config.architecture != "encoder-decoder":
        return [DrawnStack(title="", groups=(start(config), block(config, False, False), end(config)))]
    note = f"{config.d_model} values per token"
    state = Group(rows=((PartBox("Encoder states", note, "residual", "encoder states", across="gives"),),))
    return [
        DrawnStack(title="Encoder", groups=(start(config), block(config, True, False), state)),
        DrawnStack(title="Decoder", groups=(start(config), block(config, False, True), end(config))),
    ]


def marked(stack: DrawnStack, before: DrawnStack) -> DrawnStack:
    """The stack with every part that is not in the one before standing out."""
    known = {part for group in before.groups for row in group.rows for part in row}
    groups = tuple(
        replace(group, rows=tuple(tuple(replace(part, marked=part not in known) for part in row) for row in group.rows))
        for group in stack.groups
    )
    return replace(stack, groups=groups)


def start(config: ModelConfig) -> Group:
    """The boxes from the text to the first vectors."""
    convolved = config.input_convolution
    beside = f"of {convolved.width} tokens, added after block 0" if convolved is not None else ""
    return Group(
        rows=(
            (PartBox("Tokens", f"vocabulary of {config.vocab_size:,}", "embedding", "tokens"),),
            (
                PartBox("Embedding", f"{config.vocab_size:,} × {config.d_model}", "embedding", "embedding"),
                PartBox("Positions", _positions_note(config), "position", "positions"),
            ),
            *([(PartBox("Convolution", beside, "feedforward", "embedding"),)] if beside else []),
        )
    )


def _positions_note(config: ModelConfig) -> str:
    without = sum(one.positions is not None and one.positions.kind == "none" for one in config.layers)
    own = POSITIONS.get(config.positions.kind, config.positions.kind)
    return f"{own} of {config.n_layers - without} of {config.n_layers} layers" if without else own


def block(config: ModelConfig, reads: bool, looks_across: bool) -> Group:
    """One block, in the order its norms have; of a hybrid, whose blocks differ, what stands in the place of something
    else is beside it."""
    bidirectional = reads or config.architecture == "encoder"
    halves: list[tuple[PartBox, ...]] = [(*_attention(config, bidirectional), *_mixers(config))]
    if looks_across:
        halves.append((PartBox("Cross-attention", "to the encoder states", "key", "cross-attention", across="takes"),))
    if feeding := _feed_forward(config):
        halves.append(feeding)
    if config.parallel or all(one.alone or one.mixer == "none" for one in map(config.layer, range(config.n_layers))):
        halves = [tuple(one for half in halves for one in half)]
    rows = [row for half in halves for row in _sublayer(config, half)]
    count = config.encoder_layers if bidirectional else config.decoder_layers
    return Group(rows=tuple(rows), title=f"block, {count} times")


def _in_some(config: ModelConfig, layers: Collection[int], words: str) -> str:
    """Words of a part, and how many layers have it where not all do."""
    n = config.n_layers
    return words if len(layers) == n else f"in {len(layers)} of {n} layers{', ' if words else ''}{words}"


def _attention(config: ModelConfig, bidirectional: bool) -> list[PartBox]:
    """The boxes of attention; none where no layer has it."""
    if not (layers := config.attention_layers):
        return []
    return [
        PartBox("Attention", _in_some(config, layers, _attention_note(config)), "query", "attention"),
        PartBox(f"{config.attention.n_heads} heads", _heads_note(config), "attention", "heads"),
        PartBox("Mask", "bidirectional" if bidirectional else "causal", "key", "mask"),
    ]


def _mixers(config: ModelConfig) -> list[PartBox]:
    """What layers have in the place of attention or beside it."""
    own, (d_key, d_value), boxes = config.mixer, config.mixer_sizes, []
    kinds = [config.mixer_of(layer) for layer in range(config.n_layers)]
    for kind in dict.fromkeys(kinds):
        if own is None or kind in ("attention", "none"):
            continue
        label = f"Gated {MIXERS[kind].lower()}" if kind == "delta" and own.decay else MIXERS[kind]
        note = f"of {own.width} tokens" if kind == "conv" else f"{own.n_heads} states of {d_key}\u00a0×\u00a0{d_value}"
        beside = "beside attention, " if kind == "attention+ssm" else ""
        layers = [i for i, one in enumerate(kinds) if one == kind]
        boxes.append(PartBox(label, _in_some(config, layers, beside + note), "value", "mixer"))
    return boxes


def _feed_forward(config: ModelConfig) -> tuple[PartBox, ...]:
    """The boxes of experts and of plain feed-forward layers, of those that there are."""
    boxes = []
    if (layers := config.routed_layers) and config.experts is not None:
        note = f"{config.experts.n_experts} experts, top-{config.experts.top_k}"
        boxes.append(PartBox("Mixture of experts", _in_some(config, layers, note), "feedforward", "experts"))
    if plain := [i for i in range(config.n_layers) if config.is_plain(i)]:
        biases = ", biases" if config.bias else ""
        note = f"{config.d_model} → {config.ff_size} → {config.d_model}, {config.feed_forward.activation}{biases}"
        boxes.append(PartBox("Feed-forward", _in_some(config, plain, note), "feedforward", "feed-forward"))
    return tuple(boxes)


def _attention_note(config: ModelConfig) -> str:
    own = config.attention
    norm = "queries and keys normalised" if own.qk_norm else "queries, keys, values"
    more = {
        "biases": config.has_qkv_bias,
        f"latents of {own.kv_latent}": own.kv_latent is not None,
        f"scores capped at {own.softcap:g}" if own.softcap else "": own.softcap is not None,
        "learned sinks": own.sinks,
        "gated": own.gate,
    }
    return ", ".join([norm, *(words for words, there in more.items() if there)])


def _heads_note(config: ModelConfig) -> str:
    shared = f"; {config.attention.kv_heads} KV heads" if config.attention.kv_heads < config.attention.n_heads else ""
    return f"of {config.head_size}{shared}"


def _sublayer(config: ModelConfig, parts: tuple[PartBox, ...]) -> list[tuple[PartBox, ...]]:
    """Attention or feed-forward with its norms and its addition."""

    def norm(where: str, there: bool) -> list[tuple[PartBox, ...]]:
        return [(PartBox(NORMS[config.norm.kind], where, "norm", "norm"),)] if there else []

    add = (PartBox("+ input", "residual connection", "residual", "residual connection"),)
    reads = "of the input" if config.norm.first or parts[0].about != "attention" else "of the input, but in block 0"
    first, inside = norm(reads, config.norm.before), norm("of the output", config.norm.of_outputs)
    return [*first, parts, *inside, add, *norm("of the sum", config.norm.placement == "post")]


def end(config: ModelConfig) -> Group:
    """The boxes from the last vectors to the prediction."""
    rows = []
    if config.norm.final:
        rows.append((PartBox(NORMS[config.norm.kind], "final norm", "norm", "norm"),))
    tied = "tied to the embedding" if config.tie_embeddings else "not tied"
    rows.append(
        (PartBox("Unembedding", f"{config.d_model} × {config.vocab_size:,}, {tied}", "embedding", "unembedding"),)
    )
    about = "masked tokens" if config.architecture == "encoder" else "next token"
    rows.append((PartBox(ENDS[config.architecture], f"softmax over {config.vocab_size:,}", "attention", about),))
    return Group(rows=tuple(rows))
