"""The front page's map: a model from its text to its prediction, every part a link to the page about it."""

import streamlit as st

from pages.ui import cache, models, parts_map, places
from pages.ui.parts_map import Group, Part, Stack
from tfcore.analysis.parameter_count import parameters
from tfcore.config import ModelConfig

POSITIONS = {
    "sinusoidal": "sinusoidal, added", "learned": "learned, added", "rope": "RoPE, inside attention",
    "alibi": "ALiBi, inside attention", "relative": "relative, inside attention", "none": "none",
}  # fmt: skip
NORMS = {"layernorm": "LayerNorm", "rmsnorm": "RMSNorm"}
ENDS = {"encoder": "What is in each blank?", "decoder": "What comes next?", "encoder-decoder": "What to write next?"}


def show() -> None:
    """The choice of a model, and its map."""
    name = models.choose(default=models.DEFAULT, label="Model on the map")
    config = cache.model(name)[0].config

    def go(url: str) -> None:
        st.switch_page(places.place(url).file, query_params={"model": name} if url == "heads" else None)

    count = parameters(config)
    parts_map.parts_map("map", stacks(config), label=f"{name}, part by part; every part leads to its page", on_open=go)
    st.caption(
        f"{name}: {config.architecture}, {count.total:,} parameters, width {config.d_model}, context "
        f"{config.max_seq_len:,} tokens. Every box leads to the page about it."
    )


def stacks(config: ModelConfig) -> list[Stack]:
    """One stack of boxes for a decoder or an encoder; two, the reader first, for both."""
    if config.architecture != "encoder-decoder":
        return [Stack(title="", groups=(start(config), block(config, False, False), end(config)))]
    read, written = "reads", "writes, looking at what was read"
    state = Group(
        rows=((Part("States of what was read", f"{config.d_model} numbers a token", "residual", "architectures"),),)
    )
    return [
        Stack(title=f"The encoder {read}", groups=(start(config), block(config, True, False), state)),
        Stack(title=f"The decoder {written}", groups=(start(config), block(config, False, True), end(config))),
    ]


def start(config: ModelConfig) -> Group:
    """From the text to the first vectors."""
    return Group(
        rows=(
            (Part("Text into tokens", f"{config.vocab_size:,} different ones", "embedding", "tokens"),),
            (
                Part("Embedding", f"{config.vocab_size:,} × {config.d_model}", "embedding", "tokens"),
                Part("Positions", POSITIONS.get(config.positions, config.positions), "position", "positions"),
            ),
        )
    )


def block(config: ModelConfig, reads: bool, looks_across: bool) -> Group:
    """One block, in the order its norms have."""
    both_ways = reads or config.architecture == "encoder"
    attention = (
        Part("Attention", "queries, keys, values", "query", "attention"),
        Part(f"{config.n_heads} heads", f"of {config.head_size}", "attention", "heads"),
        Part("Mask", "both ways" if both_ways else "causal", "key", "masks"),
    )
    halves: list[tuple[Part, ...]] = [attention]
    if looks_across:
        halves.append((Part("Cross-attention", "to what was read", "key", "architectures"),))
    if config.experts is not None:
        experts = f"{config.experts.n_experts} experts, {config.experts.top_k} a token"
        halves.append((Part("Mixture of experts", experts, "feedforward", "routing"),))
    elif config.ff_size:
        note = f"{config.d_model} → {config.ff_size} → {config.d_model}, {config.activation}"
        halves.append((Part("Feed-forward", note, "feedforward", "feedforward"),))
    if config.parallel:
        halves = [tuple(one for half in halves for one in half)]
    rows = [row for half in halves for row in _sublayer(config, half)]
    count = config.encoder_layers if both_ways else config.decoder_layers
    return Group(rows=tuple(rows), title=f"block, {count} times")


def _sublayer(config: ModelConfig, parts: tuple[Part, ...]) -> list[tuple[Part, ...]]:
    """Attention or feed-forward with its norms and its addition."""
    norm = (Part(NORMS[config.norm], "", "norm", "normalisation"),)
    add = (Part("+ what came in", "residual connection", "residual", "residuals"),)
    before = [norm] if config.norm_placement in ("pre", "sandwich") else []
    inside = [norm] if config.norm_placement == "sandwich" else []
    after = [norm] if config.norm_placement == "post" else []
    return [*before, parts, *inside, add, *after]


def end(config: ModelConfig) -> Group:
    """From the last vectors to the prediction."""
    rows = []
    if config.norm_placement != "post":
        rows.append((Part(NORMS[config.norm], "the last one", "norm", "normalisation"),))
    tied = "the embedding, turned" if config.tie_embeddings else "a matrix of its own"
    rows.append((Part("Unembedding", f"{config.d_model} × {config.vocab_size:,}, {tied}", "embedding", "stream"),))
    url = "architectures" if config.architecture == "encoder" else "generation"
    rows.append((Part(ENDS[config.architecture], f"softmax over {config.vocab_size:,}", "attention", url),))
    return Group(rows=tuple(rows))
