"""From the block of 2017 to today's, one switch at a time: what each does to size, cache and speed."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch

from tfcore.analysis.inference.kv_cache import cache_shape
from tfcore.analysis.model.parameter_count import parameters
from tfcore.config import ModelConfig
from tfcore.generation.generate import generate
from tfcore.model import Transformer
from tfcore.presets import PRESETS, transformer_base

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
        first: a decoder with as many KV heads as query heads, at least two.
    """
    config, found = first, []
    for name, changes in SWITCHES.items():
        if "n_kv_heads" in changes:
            changes = {"n_kv_heads": max(2, config.n_heads // 4)}
        config = replace(config, **changes)
        shape = cache_shape(config)
        found.append(Version(name, config, parameters(config).total, shape.layers * shape.numbers))
    return found


WORTH_NAMING = 0.01  # change of the parameters, as a share, from which on a switch is named


def size_finding(found: Sequence[Version]) -> str:
    """Which switches change the number of parameters by 1 % or more, and which the KV cache."""
    changed, cached = [], []
    for before, after in pairwise(found):
        change = after.parameters / before.parameters - 1
        if abs(change) >= WORTH_NAMING:
            changed.append(f"{after.name} ({change:+.0%})")
        if after.cached != before.cached:
            cached.append(f"{after.name} (to {after.cached / before.cached:.0%})")
    named = ", ".join(changed) or "none of them"
    return (
        f"Parameters, changed by {WORTH_NAMING:.0%} or more: {named}. KV cache, which long contexts fill: "
        f"{', '.join(cached) or 'none of them'}."
    )


def tying() -> dict[bool, list[str]]:
    """The published models of `tfcore.presets` whose embeddings are tied (True), and those whose are not (False)."""
    found: dict[bool, list[str]] = {True: [], False: []}
    for name, build in PRESETS.items():
        found[build().tie_embeddings].append(name)
    return found


@dataclass(frozen=True, slots=True)
class LossEffect:
    """What a switch did to the held-out loss of small models trained alike.

    Args:
        name: of the switch.
        change: of the mean over the seeds, nats per token.
        spread: the range over the seeds, before or after the switch, whichever is larger.
    """

    name: str
    change: float
    spread: float

    @property
    def clear(self) -> bool:
        """The change is larger than what another seed does."""
        return abs(self.change) > self.spread


def loss_effects(losses: Mapping[str, Sequence[float]]) -> list[LossEffect]:
    """Compare each switch with the one before it.

    Args:
        losses: switch -> held-out losses, one for each seed, in the order of SWITCHES.
    """
    ranges = {name: max(seeds) - min(seeds) for name, seeds in losses.items()}
    means = {name: sum(seeds) / len(seeds) for name, seeds in losses.items()}
    return [LossEffect(b, means[b] - means[a], max(ranges[a], ranges[b])) for a, b in pairwise(losses)]


def loss_finding(effects: Sequence[LossEffect]) -> str:
    """Which switches changed the loss by more than another seed does."""
    clear = [f"{effect.name} ({effect.change:+.2f})" for effect in effects if effect.clear]
    rest = len(effects) - len(clear)
    if not clear:
        return "No switch changes the loss by more than another seed does."
    return (
        f"Loss, changed by more than another seed does: {', '.join(clear)} nats per token. What the others "
        f"do ({rest}) cannot be told from chance in models this small."
    )


def first_of(d_model: int, n_layers: int, n_heads: int, vocab_size: int, max_seq_len: int) -> ModelConfig:
    """The decoder of 2017 in this size (arXiv:1706.03762), its embeddings not tied yet."""
    return replace(
        transformer_base(),
        architecture="decoder",
        vocab_size=vocab_size,
        d_model=d_model,
        n_layers=n_layers,
        n_heads=n_heads,
        d_ff=None,
        max_seq_len=max_seq_len,
        tie_embeddings=False,
    )


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
