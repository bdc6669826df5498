"""From the block of 2017 to today's, one switch at a time: the configs."""

from typing import Any

from tfcore.config import ModelConfig
from tfcore.presets import transformer_base

# What is switched, in this order; each keeps what the ones before it did.
SWITCHES: dict[str, dict[str, Any]] = {
    "block of 2017": {},
    "pre-norm": {"norm_placement": "pre"},
    "RMSNorm": {"norm": "rmsnorm"},
    "RoPE": {"positions": "rope", "embed_scale": 1.0},
    "GQA": {"n_kv_heads": 2},
    "SwiGLU": {"activation": "swiglu"},
    "no biases": {"bias": False},
    "tied": {"tie_embeddings": True},
    "QK-norm": {"qk_norm": True},
}


def first_of(d_model: int, n_layers: int, n_heads: int, vocab_size: int, max_seq_len: int) -> ModelConfig:
    """The decoder of 2017 in this size (arXiv:1706.03762), its embeddings not tied yet."""
    return transformer_base().changed(
        architecture="decoder",
        vocab_size=vocab_size,
        d_model=d_model,
        n_layers=n_layers,
        n_heads=n_heads,
        d_ff=None,
        max_seq_len=max_seq_len,
        tie_embeddings=False,
        embed_scale=d_model**0.5,
    )
