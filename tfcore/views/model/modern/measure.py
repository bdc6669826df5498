"""From the block of 2017 to today's, one switch at a time: what each does to size, cache and speed."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.attention import attention_scores, attention_weights, softcapped
from tfcore.config import ModelConfig
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.loading.checkpoints import blank
from tfcore.measures.head_vectors import HeadVectors, head_vectors
from tfcore.measures.kv_bytes import cache_shape
from tfcore.measures.one_text import one_text
from tfcore.measures.parameter_count import parameters
from tfcore.measures.precision import stored_bytes
from tfcore.model import Transformer
from tfcore.presets import PRESETS
from tfcore.training import ladder
from tfcore.training.alike import seed_ranges
from tfcore.training.modernisation import SWITCHES, first_of

SPEED = {"d_model": 256, "n_layers": 4, "n_heads": 4, "vocab_size": 2048, "max_seq_len": 256}  # of the models timed
READ = 128  # tokens read at once
WRITTEN = 16  # tokens written one by one
ROUNDS = 7  # measurements of each
ALIGNED = 16  # numbers: a matrix begins at a multiple of 64 bytes

Switch = Literal["cap", "sink", "norm"]


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
        """The KV cache in bytes, at 16 bits a number."""
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
    config, listed = first, []
    for name, changes in SWITCHES.items():
        if "n_kv_heads" in changes:
            changes = {"n_kv_heads": max(2, config.attention.n_heads // 4)}
        config = config.changed(**changes)
        shape = cache_shape(config)
        listed.append(Version(name, config, parameters(config).total, shape.layers * shape.numbers))
    return listed


def tying() -> dict[bool, list[str]]:
    """The published models of `tfcore.presets` whose embeddings are tied (True), and those whose are not (False)."""
    names: dict[bool, list[str]] = {True: [], False: []}
    for name, build in PRESETS.items():
        names[build().tie_embeddings].append(name)
    return names


@dataclass(frozen=True, slots=True)
class LossEffect:
    """The effect of a switch on the held-out loss of small models trained alike.

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
        """Whether the change is larger than what another seed does."""
        return abs(self.change) > self.spread


def loss_effects(losses: Mapping[str, Sequence[float]]) -> list[LossEffect]:
    """Compare each switch with the one before it.

    Args:
        losses: switch -> held-out losses, one for each seed, in the order of SWITCHES.
    """
    ranges = seed_ranges(losses)
    pairs = [(name, ranges[before], ranges[name]) for before, name in pairwise(losses)]
    return [LossEffect(name, b.mean - a.mean, max(a.width, b.width)) for name, a, b in pairs]


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
            generate(network, ids.flatten().tolist()[:WRITTEN], Sampling(temperature=0), max_new_tokens=WRITTEN)
            now = Speed(step, middle - begin, (time.perf_counter() - middle) / WRITTEN)
            last = best.get(step, now)
            best[step] = Speed(step, min(now.read, last.read), min(now.written, last.written))
            yield best[step]


def timed(seed: int) -> list[Speed]:
    """The race to its end."""
    return list(race(seed))


def trained() -> Trained | None:
    """The models of the ladder that ships; None where it does not."""
    return read_trained(ladder.read_table(ladder.SHIPPED / "modernisation.csv"))


# ---- one head ----


@dataclass(frozen=True, slots=True)
class SwitchedHead:
    """One head on a text, as its model has it (first) and with a switch that its model lacks (second).

    Args:
        allowed: the pairs that the mask of its layer allows.
        scores: q . k, before biases of positions.
        weights: of the keys; with a sink, rows sum to less than 1.
        factor: of the cosine of query and key, which makes the scores of normalised ones.
    """

    allowed: Bool[ndarray, "query key"]
    scores: Float[ndarray, "2 query key"]
    weights: Float[ndarray, "2 query key"]
    factor: float

    @property
    def sunk(self) -> Float[ndarray, "2 query"]:
        """The part of each query's weight that a learned sink has."""
        return 1 - self.weights.sum(-1)


@torch.no_grad()
def switched_head(
    model: Transformer, ids: Sequence[int], layer: int, head: int, switch: Switch, amount: float
) -> SwitchedHead:
    """One head of a trained model on a text, computed twice from the same queries and keys; what positions add to the
    scores stays as it is.

    Args:
        switch: "cap" bends scores to amount * tanh(score / amount) (arXiv:2408.00118); "sink" gives the head
            a score of amount that takes part in every softmax and belongs to no token (arXiv:2508.10925, section 2.2);
            "norm" divides each query and key by its root mean square (arXiv:2503.19786, there with a learned
            gain), after the rotation, which keeps their lengths.
    """
    vectors, factor = head_vectors(model, ids, layer, head), model.config.scale_of(layer)
    context = model.stack.attention_context(len(ids), layer)
    mask = torch.ones(len(ids), len(ids), dtype=torch.bool)
    if context.explicit_mask is not None:
        mask = context.explicit_mask.cpu()
    if switch == "norm":
        other = replace(vectors, q=factor * _unit(vectors.q / factor), k=_unit(vectors.k))
    elif switch == "cap":
        other = replace(vectors, softcap=amount)
    else:
        other = replace(vectors, sink=torch.tensor(float(amount)))
    scores = torch.stack([_products(one) for one in (vectors, other)])
    recorded = model.activations(one_text(model, ids), (f"blocks.{layer}.attn.scores",)).popitem()[1]
    bias = recorded[0, head].float().cpu() - scores[0]
    weights = [attention_weights(one + bias, mask, had.sink) for one, had in zip(scores, (vectors, other), strict=True)]
    return SwitchedHead(mask.numpy(), scores.numpy(), torch.stack(weights).numpy(), float(factor * vectors.q.shape[-1]))


def _unit(x: Float[torch.Tensor, "seq d_head"]) -> Float[torch.Tensor, "seq d_head"]:
    """RMSNorm without a gain."""
    return F.rms_norm(x, x.shape[-1:], eps=1e-6)


def _products(vectors: HeadVectors) -> Float[torch.Tensor, "query key"]:
    return softcapped(attention_scores(vectors.q, vectors.k, 1.0), vectors.softcap)
