"""From the block of 2017 to today's, one switch at a time: what each does to size, cache and speed."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.attention import attention_scores, attention_weights, softcapped
from tfcore.config import ModelConfig
from tfcore.generation.generate import generate
from tfcore.generation.sampling import Sampling
from tfcore.loading.checkpoints import blank
from tfcore.measures.attention_sizes import AttentionSizes
from tfcore.measures.head_vectors import HeadVectors, head_vectors
from tfcore.measures.kv_bytes import cache_shape
from tfcore.measures.one_text import one_text
from tfcore.measures.parameter_count import parameters
from tfcore.measures.precision import stored_bytes
from tfcore.model import Transformer
from tfcore.presets import PRESETS
from tfcore.training import ladder
from tfcore.training.alike import SeedDifference, seed_difference, seed_ranges
from tfcore.training.modernisation import SWITCHES, first_of
from tfcore.training.multi_token import SecondGuesses
from tfcore.training.recipes.ladder_second_wave import CONNECTIONS, GUESSES, SECOND_WAVE, TABLE
from tfcore.training.second_wave import BASE, switched

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
        listed.append(version_of(name, config))
    return listed


def version_of(name: str, config: ModelConfig) -> Version:
    """A model, counted."""
    shape = cache_shape(config)
    return Version(name, config, parameters(config).total, shape.layers * shape.numbers)


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


# ---- after 2023 ----


@dataclass(frozen=True, slots=True)
class TrainedSwitch:
    """A switch of today, alone against the base: models trained alike, of the same seeds.

    Args:
        version: the model, named after its switch.
        losses: held-out losses in nats per token, one for each seed.
        differences: of these to the losses of the base, seed by seed.
        difference: their mean and its interval.
        sizes: scores, weights and stream, means over the seeds.
    """

    version: Version
    losses: tuple[float, ...]
    differences: tuple[float, ...]
    difference: SeedDifference
    sizes: AttentionSizes


@dataclass(frozen=True, slots=True)
class SecondWave:
    """The base and the switches of today, trained.

    Args:
        switches: the base first.
        tokens: that each model was trained on.
        seq: of these, how many were read at once.
    """

    switches: tuple[TrainedSwitch, ...]
    tokens: int
    seq: int

    @property
    def names(self) -> list[str]:
        """The base and the switches by name, in their order."""
        return [one.version.name for one in self.switches]

    def place(self, name: str) -> int:
        """The place of a switch among them.

        Raises:
            ValueError: naming those that there are.
        """
        if name not in self.names:
            raise ValueError(f"{name!r} is no switch of the second wave; there are {', '.join(self.names)}")
        return self.names.index(name)

    @property
    def base(self) -> TrainedSwitch:
        """The model that all are compared with."""
        return self.switches[0]


def read_second_wave(rows: Sequence[Mapping[str, Any]]) -> SecondWave:
    """The switches of a table with a row a model, as far as they are trained with the seeds of the base.

    Args:
        rows: switch, seed, tokens, seq, loss, and the fields of AttentionSizes.
    """
    rows = sorted(rows, key=lambda row: row["seed"])
    trained = {name: [row for row in rows if row["switch"] == name] for name in switched(SECOND_WAVE.model)}
    base = [float(row["loss"]) for row in trained[BASE]]
    listed = [
        _trained_switch(version_of(name, config), trained[name], base)
        for name, config in switched(SECOND_WAVE.model).items()
        if len(trained[name]) == len(base) > 1
    ]
    return SecondWave(tuple(listed), rows[0]["tokens"], rows[0]["seq"])


def _trained_switch(version: Version, rows: Sequence[Mapping[str, Any]], base: Sequence[float]) -> TrainedSwitch:
    losses = [float(row["loss"]) for row in rows]
    means = {f.name: float(np.mean([row[f.name] for row in rows])) for f in fields(AttentionSizes)}
    apart = tuple(float(loss - other) for loss, other in zip(losses, base, strict=True))
    return TrainedSwitch(version, tuple(losses), apart, seed_difference(losses, base), AttentionSizes(**means))


def second_wave_trained() -> SecondWave:
    """The models of the ladder that ships."""
    return _second_wave_in(ladder.SHIPPED / TABLE)


@lru_cache(maxsize=1)
def _second_wave_in(table: Path) -> SecondWave:
    return read_second_wave(ladder.rows_of(table))


def second_guesses() -> tuple[SecondGuesses, ...]:
    """The second prediction of the models that ship, seed by seed."""
    rows = sorted(ladder.rows_of(ladder.SHIPPED / GUESSES), key=lambda row: row["seed"])
    return tuple(SecondGuesses(**{f.name: row[f.name] for f in fields(SecondGuesses)}) for row in rows)


def connections() -> Float[ndarray, "seed layer row column"]:
    """The learned weights around each layer, attention and feed-forward layers counted alike, as
    HyperConnection.matrix has them."""
    rows = ladder.rows_of(ladder.SHIPPED / CONNECTIONS)
    weights = {(row["seed"], row["place"], row["source"]): row for row in rows}
    seeds, places, sources = (range(1 + max(one[axis] for one in weights)) for axis in range(3))
    return np.array(
        [
            [[[weights[key, place, row][str(to)] for to in sources] for row in sources] for place in places]
            for key in seeds
        ]
    )


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


# ---- the first token ----


@dataclass(frozen=True, slots=True)
class FirstTokenWeights:
    """The first token of a text in a decoder.

    Args:
        layers: those that have attention.
        weights: mean weight on it of the queries in the second half of the text.
        even: the same if each query gave all tokens the same.
        stream: length of its vector in the residual stream before each layer, over the median length of the others.
        values: the same of its values, those of all heads together.
    """

    layers: tuple[int, ...]
    weights: Float[ndarray, "layer head"]
    even: float
    stream: Float[ndarray, " layer"]
    values: Float[ndarray, " layer"]


@torch.no_grad()
def first_token(model: Transformer, ids: Sequence[int]) -> FirstTokenWeights:
    """Weights on the first token, and how long its vectors are.

    Raises:
        ValueError: a text of fewer than two tokens, or another model than a decoder.
    """
    if model.config.architecture != "decoder":
        raise ValueError(
            f"the first token is seen by all later ones in a decoder, not in an {model.config.architecture}"
        )
    if len(ids) < 2:
        raise ValueError(f"there are no tokens after the first in a text of {len(ids)}; give two at least")
    layers, half = tuple(model.config.attention_layers), max(1, len(ids) // 2)
    names = [f"blocks.{layer}.{part}" for layer in layers for part in ("resid_pre", "attn.v", "attn.pattern")]
    record = model.activations(one_text(model, ids), names)
    pattern = torch.stack([record[f"blocks.{layer}.attn.pattern"][0, :, half:, 0].mean(-1) for layer in layers])
    stream = [record[f"blocks.{layer}.resid_pre"][0] for layer in layers]
    values = [record[f"blocks.{layer}.attn.v"][0].transpose(0, 1).flatten(1) for layer in layers]
    even = float(np.mean([1 / (query + 1) for query in range(half, len(ids))]))
    return FirstTokenWeights(layers, pattern.float().cpu().numpy(), even, _first_length(stream), _first_length(values))


def _first_length(vectors: Sequence[Float[torch.Tensor, "seq width"]]) -> Float[ndarray, " layer"]:
    """The length of the first vector of each layer over the median length of the others."""
    lengths = torch.stack([one.float().norm(dim=-1) for one in vectors])
    return (lengths[:, 0] / lengths[:, 1:].median(-1).values.clamp(min=1e-9)).cpu().numpy()
