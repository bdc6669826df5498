"""The parts of a model as boxes, from its text to its prediction, each with the page that is about it."""

from dataclasses import dataclass, replace
from typing import Literal

from tfcore.config import ModelConfig

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
    """One block, in the order its norms have."""
    bidirectional = reads or config.architecture == "encoder"
    attention = (
        PartBox("Attention", _attention_note(config), "query", "attention"),
        PartBox(f"{config.attention.n_heads} heads", _heads_note(config), "attention", "heads"),
        PartBox("Mask", "bidirectional" if bidirectional else "causal", "key", "mask"),
    )
    halves: list[tuple[PartBox, ...]] = [attention]
    if looks_across:
        halves.append((PartBox("Cross-attention", "to the encoder states", "key", "cross-attention", across="takes"),))
    if config.experts is not None:
        experts = f"{config.experts.n_experts} experts, top-{config.experts.top_k}"
        halves.append((PartBox("Mixture of experts", experts, "feedforward", "experts"),))
    elif config.ff_size:
        biases = ", biases" if config.bias else ""
        note = f"{config.d_model} → {config.ff_size} → {config.d_model}, {config.feed_forward.activation}{biases}"
        halves.append((PartBox("Feed-forward", note, "feedforward", "feed-forward"),))
    if config.parallel:
        halves = [tuple(one for half in halves for one in half)]
    rows = [row for half in halves for row in _sublayer(config, half)]
    count = config.encoder_layers if bidirectional else config.decoder_layers
    return Group(rows=tuple(rows), title=f"block, {count} times")


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
