"""From the block of 2017 to today's, one switch at a time: what each does to size, cache and speed."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

from tfcore.analysis.cache_size import cache_shape
from tfcore.analysis.parameter_count import parameters
from tfcore.config import ModelConfig
from tfcore.generate import generate
from tfcore.model import Transformer
from tfcore.presets import transformer_base

# What is switched, in this order; each keeps what the ones before it did.
SWITCHES: dict[str, dict[str, Any]] = {
    "block of 2017": {},
    "pre-norm": {"norm_placement": "pre"},
    "RMSNorm": {"norm": "rmsnorm"},
    "RoPE": {"positions": "rope", "scale_embeddings": False},
    "GQA": {"n_kv_heads": 2},
    "SwiGLU": {"activation": "swiglu"},
    "no biases": {"bias": False},
    "tied": {"tie_embeddings": True},
    "QK-norm": {"qk_norm": True},
}
SPEED = {"d_model": 256, "n_layers": 4, "n_heads": 4, "vocab_size": 2048, "max_seq_len": 256}  # of the models timed
READ, WRITTEN, ROUNDS = 128, 16, 7  # tokens read at once, tokens written one by one, measurements of each


@dataclass(frozen=True, slots=True)
class Version:
    """A model after one more switch.

    Args:
        name: of the switch.
        config: of the model.
        parameters: all of them.
        cached: numbers that one token leaves in the KV cache, all layers together.
    """

    name: str
    config: ModelConfig
    parameters: int
    cached: int


@dataclass(frozen=True, slots=True)
class Speed:
    """How quick a version was on this machine, the quickest of its measurements until now.

    Args:
        step: its place in SWITCHES.
        read: seconds for READ tokens at once.
        written: seconds for one token written with the cache, of WRITTEN.
    """

    step: int
    read: float
    written: float


def versions(first: ModelConfig) -> list[Version]:
    """The first model and what every switch makes of it; feed-forward layers keep their size where a gate comes
    (arXiv:2002.05202, section 2), and grouped heads share keys and values by two at least.

    Args:
        first: a decoder with as many key/value heads as heads, at least two.
    """
    config, found = first, []
    for name, changes in SWITCHES.items():
        if "n_kv_heads" in changes:
            changes = {"n_kv_heads": max(2, config.n_heads // 4)}
        config = replace(config, **changes)
        shape = cache_shape(config)
        found.append(Version(name, config, parameters(config).total, shape.layers * shape.numbers))
    return found


def first_of(d_model: int, n_layers: int, n_heads: int, vocab_size: int, max_seq_len: int) -> ModelConfig:
    """The decoder of 2017 in this size (arXiv:1706.03762), its embeddings not tied yet."""
    return replace(
        transformer_base(), architecture="decoder", vocab_size=vocab_size, d_model=d_model, n_layers=n_layers,
        n_heads=n_heads, d_ff=None, max_seq_len=max_seq_len, tie_embeddings=False,
    )  # fmt: skip


@torch.no_grad()
def race(seed: int) -> Iterator[Speed]:
    """Time every version in turn, again and again, so that a busy moment hurts all alike; yields after each turn."""
    networks = [Transformer(version.config, seed).eval() for version in versions(first_of(**SPEED))]
    ids = torch.randint(SPEED["vocab_size"], (1, READ), generator=torch.Generator().manual_seed(seed))
    best: dict[int, Speed] = {}
    for _ in range(ROUNDS):
        for step, network in enumerate(networks):
            begin = time.perf_counter()
            network(ids)
            middle = time.perf_counter()
            generate(network, ids[0, :WRITTEN].tolist(), max_new_tokens=WRITTEN, temperature=0)
            now = Speed(step, middle - begin, (time.perf_counter() - middle) / WRITTEN)
            last = best.get(step, now)
            best[step] = Speed(step, min(now.read, last.read), min(now.written, last.written))
            yield best[step]
