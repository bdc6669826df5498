"""From the block of 2017 to today's, one switch at a time: what each does to size, cache and speed."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import torch

from tfcore.analysis.finding import Finding
from tfcore.config import ModelConfig
from tfcore.generation.generate import generate
from tfcore.loading.checkpoints import blank
from tfcore.measures.kv_bytes import cache_shape
from tfcore.measures.parameter_count import parameters
from tfcore.measures.precision import stored_bytes
from tfcore.model import Transformer
from tfcore.presets import PRESETS
from tfcore.training.modernisation import SWITCHES, first_of

SPEED = {"d_model": 256, "n_layers": 4, "n_heads": 4, "vocab_size": 2048, "max_seq_len": 256}  # of the models timed
READ = 128  # tokens read at once
WRITTEN = 16  # tokens written one by one
ROUNDS = 7  # measurements of each
ALIGNED = 16  # numbers: a matrix begins at a multiple of 64 bytes


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

    @property
    def cached_bytes(self) -> int:
        """The same in bytes, at 16 bits."""
        return stored_bytes(self.cached, "float16")


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


@dataclass(frozen=True, slots=True)
class SwitchEffect(Finding):
    """What one switch does to what can be counted.

    Args:
        step: its place in SWITCHES, `last` the last one's; 0 is where it begins.
        before, after: the versions without it and with it; the same at step 0.
        size: the model that is counted, in words.
    """

    step: int
    last: int
    before: Version
    after: Version
    size: str

    @property
    def sentence(self) -> str:
        return (
            f"Switch {self.step} of {self.last}, {self.after.name}: {self.effect} Counted for {self.size}; timed here "
            f"and now on models of width {SPEED['d_model']} with {SPEED['n_layers']} layers (prefill of {READ} "
            f"tokens), the fastest of up to {ROUNDS} runs."
        )

    @property
    def effect(self) -> str:
        """The change of the parameters, and that of the KV cache at 16 bits."""
        before, after = self.before, self.after
        if not self.step:
            return f"{after.parameters:,} parameters, {after.cached_bytes:,} bytes of KV cache per token at 16 bits."
        more = after.parameters - before.parameters
        size = f"{more:+,} parameters ({more / before.parameters:+.2%})" if more else "no change in parameters"
        if after.cached == before.cached:
            return f"{size}; the KV cache stays as it is."
        return f"{size}; the KV cache shrinks from {before.cached_bytes:,} to {after.cached_bytes:,} bytes per token."


def switch_effect(found: Sequence[Version], step: int, size: str) -> SwitchEffect:
    """Compare a version with the one before it."""
    return SwitchEffect(step, len(found) - 1, found[max(0, step - 1)], found[step], size)


WORTH_NAMING = 0.01  # change of the parameters, as a share, from which on a switch is named


@dataclass(frozen=True, slots=True)
class SizeChanges(Finding):
    """Which switches change the size of a model.

    Args:
        parameters: switch -> change of the parameters, as a share, where it is WORTH_NAMING or more.
        cached: switch -> the KV cache over that before, where it changes.
    """

    parameters: dict[str, float]
    cached: dict[str, float]

    @property
    def sentence(self) -> str:
        changed = ", ".join(f"{name} ({change:+.0%})" for name, change in self.parameters.items())
        cached = ", ".join(f"{name} (to {share:.0%})" for name, share in self.cached.items())
        return (
            f"Parameters, changed by {WORTH_NAMING:.0%} or more: {changed or 'none of them'}. KV cache, which long "
            f"contexts fill: {cached or 'none of them'}."
        )


def size_changes(found: Sequence[Version]) -> SizeChanges:
    """Compare each version with the one before it."""
    changes = {b.name: b.parameters / a.parameters - 1 for a, b in pairwise(found)}
    return SizeChanges(
        {name: change for name, change in changes.items() if abs(change) >= WORTH_NAMING},
        {b.name: b.cached / a.cached for a, b in pairwise(found) if b.cached != a.cached},
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


@dataclass(frozen=True, slots=True)
class LossChanges(Finding):
    """Which switches changed the held-out loss by more than another seed does.

    Args:
        clear: switch -> change, nats per token.
        others: how many switches did not.
    """

    clear: dict[str, float]
    others: int

    @property
    def sentence(self) -> str:
        if not self.clear:
            return "No switch changes the loss by more than another seed does."
        changed = ", ".join(f"{name} ({change:+.2f})" for name, change in self.clear.items())
        return (
            f"Loss, changed by more than another seed does: {changed} nats per token. What the others do "
            f"({self.others}) cannot be told from chance in models this small."
        )


def loss_changes(losses: Mapping[str, Sequence[float]]) -> LossChanges:
    """See `loss_effects`."""
    effects = loss_effects(losses)
    clear = {effect.name: effect.change for effect in effects if effect.clear}
    return LossChanges(clear, len(effects) - len(clear))


@dataclass(frozen=True, slots=True)
class Trained:
    """The models of the ladder: what each switch came to, trained.

    Args:
        losses: switch -> held-out losses in nats per token, one for each seed.
        width, layers: of all models.
        tokens: that each was trained on.
    """

    losses: dict[str, list[float]]
    width: int
    layers: int
    tokens: int


@dataclass(frozen=True, slots=True)
class TrainedModels(Finding):
    """What the models whose losses are drawn went through."""

    width: int
    layers: int
    tokens: int
    seeds: int

    @property
    def sentence(self) -> str:
        return (
            f"Losses: models of width {self.width} with {self.layers} layers after {self.tokens / 1e6:.1f} M tokens of "
            f"stories, {self.seeds} seeds each (dots) and their mean."
        )


def trained_models(found: Trained) -> TrainedModels:
    """The training, and how many seeds there are of each switch."""
    return TrainedModels(found.width, found.layers, found.tokens, min(map(len, found.losses.values())))


def read_trained(rows: Sequence[Mapping[str, Any]]) -> Trained | None:
    """The losses of a table with a row a model; None where a switch has none.

    Args:
        rows: switch, seed, d_model, n_layers, tokens, loss.
    """
    losses = {name: [float(row["loss"]) for row in rows if row["switch"] == name] for name in SWITCHES}
    if not all(losses.values()):
        return None
    (size,) = {tuple(int(row[name]) for name in ("d_model", "n_layers", "tokens")) for row in rows}
    return Trained(losses, *size)


def _networks(seed: int) -> list[Transformer]:
    """The network of every version. Their weights, small random numbers, are views of one memory: apart they would take
    140 MB."""
    networks = [blank(version.config).eval() for version in versions(first_of(**SPEED))]
    shapes = [{name: one.shape for name, one in network.state_dict().items()} for network in networks]
    sizes = [[-(-shape.numel() // ALIGNED) * ALIGNED for shape in own.values()] for own in shapes]
    generator = torch.Generator().manual_seed(seed)
    memory = (0.02 * torch.randn(max(map(sum, sizes)), generator=generator)).to(torch.get_default_device())
    for network, own, room in zip(networks, shapes, sizes, strict=True):
        places = memory[: sum(room)].split(room)
        weights = {
            name: place[: shape.numel()].view(shape) for (name, shape), place in zip(own.items(), places, strict=True)
        }
        network.load_state_dict(weights, assign=True)
    return networks


@torch.no_grad()
def race(seed: int) -> Iterator[Speed]:
    """Time every version in turn, again and again, so that a busy moment hurts all alike; yields after each turn."""
    networks = _networks(seed)
    ids = torch.randint(SPEED["vocab_size"], (1, READ), generator=torch.Generator().manual_seed(seed))
    best: dict[int, Speed] = {}
    for _ in range(ROUNDS):
        for step, network in enumerate(networks):
            begin = time.perf_counter()
            network(ids)
            middle = time.perf_counter()
            generate(network, ids.flatten().tolist()[:WRITTEN], max_new_tokens=WRITTEN, temperature=0)
            now = Speed(step, middle - begin, (time.perf_counter() - middle) / WRITTEN)
            last = best.get(step, now)
            best[step] = Speed(step, min(now.read, last.read), min(now.written, last.written))
            yield best[step]


def timed(seed: int) -> list[Speed]:
    """The race to its end."""
    return list(race(seed))
