"""The page on parameters: which model is counted - a published one, or one's own by sliders."""

from typing import Any

import streamlit as st

from pages.ui import controls
from tfcore.config import ModelConfig
from tfcore.measures.kv_bytes import even_parts
from tfcore.part_configs import Activation, AttentionConfig, ExpertsConfig, FeedForwardConfig

OWN = "own"
KINDS: dict[Activation, str] = {"gelu": "GELU, two matrices", "swiglu": "SwiGLU, three matrices"}


def by_sliders(more: Any) -> ModelConfig | None:
    """A decoder of one's own; None, with a sentence that says why, where the numbers do not go together.

    Args:
        more: the container of More settings, where most of them stand.
    """
    d_model = controls.slider("Width d_model", "d_model", 64, 16_384, 768, 64)
    n_layers = controls.slider("Layers", "n_layers", 1, 128, 12)
    with more:
        n_heads = controls.slider("Heads", "n_heads", 1, 128, 12)
        group = controls.slider("Query heads per KV head (1: MHA)", "group", 1, n_heads, 1)
        activation = controls.segmented("Feed-forward", "activation", list(KINDS), "gelu", KINDS)
        d_ff = controls.slider("Its width d_ff", "d_ff", 64, 65_536, 3_072, 64)
        vocab = controls.slider("Vocabulary", "vocab", 256, 262_144, 50_257, 1)
        tied = controls.toggle("Unembedding tied to the embedding", "tied", True)
        n_experts = controls.slider("Experts per layer (1: none)", "n_experts", 1, 64, 1)
        top_k = (
            controls.slider("Experts per token (top-k)", "top_k", 1, n_experts, min(2, n_experts))
            if n_experts > 1
            else 1
        )
    parts: dict[str, Any] = {}
    if n_experts > 1:
        parts["experts"] = ExpertsConfig(n_experts=n_experts, top_k=top_k)
    if n_heads % group:
        st.warning(
            f"{n_heads} heads do not fall into groups of {group}; {', '.join(map(str, even_parts(n_heads)))} would do."
        )
        return None
    try:
        return ModelConfig(
            vocab_size=vocab,
            d_model=d_model,
            n_layers=n_layers,
            attention=AttentionConfig(n_heads=n_heads, n_kv_heads=n_heads // group),
            feed_forward=FeedForwardConfig(d_ff=d_ff, activation=activation),
            tie_embeddings=tied,
            max_seq_len=131_072,
            **parts,
        )
    except ValueError as problem:
        st.warning(f"This cannot be built: {problem}.")
        return None
