"""Routing collapse: a small mixture of experts trained with a balancing method, and without, on the same batches."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, get_args

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor, nn

from tfcore.checks import check_choice, check_number, check_whole
from tfcore.config import ModelConfig
from tfcore.experts import Experts
from tfcore.kv_cache import KVCache
from tfcore.measures.information import entropy
from tfcore.model import Output, Transformer
from tfcore.part_configs import AttentionConfig, ExpertsConfig, FeedForwardConfig, PositionsConfig
from tfcore.routing import importance_loss
from tfcore.training.data import Batch
from tfcore.training.pitfall_tasks import LETTERS, SENTENCE, SLOTS, encode, text_batch

Remedy = Literal["none", "loss", "capacity", "noise", "experts", "bias"]
Where = Literal["sinusoidal", "rope"]
REMEDIES: tuple[Remedy, ...] = get_args(Remedy)[1:]
USUAL: dict[Remedy, float] = {"none": 0.0, "loss": 0.03, "capacity": 1.25, "noise": 1.0, "experts": 1.0, "bias": 0.01}
REMEDY_NAMES: dict[Remedy, str] = {
    "none": "no remedy",
    "loss": "auxiliary loss",
    "capacity": "capacity",
    "noise": "noise",
    "experts": "expert choice",
    "bias": "loss-free bias",
}
SYMBOLS: dict[Remedy, str] = {"loss": "α", "capacity": "c", "noise": "σ", "experts": "c", "bias": "u"}
N_EXPERTS = 8
D_EXPERT = 16  # width of an expert
SEQ = 48  # letters in a row
ROWS = 16  # rows of a batch
HELD_OUT = 8  # rows on which the held-out loss is measured
RATE = 3e-3  # of AdamW
WARMUP = 20  # steps
CLIP = 1.0  # norm of the gradient
EVERY = 5  # steps between two looks
ROOM = 1.25  # the capacity factor by which overflow is counted where nothing is dropped
ROUTER = "blocks.0.mlp.router."
LAST = 0.1  # share of the steps until now that the numbers at the end are means over
IDLE = 0.01  # share of the choices below which an expert counts as idle
GIVEN = 2  # words of a sentence that are drawn; the others follow from them
TABLE_SEED = 7


@cache
def facts() -> dict[tuple[int, ...], tuple[int, ...]]:
    """Facts on every pair of an adjective and an animal: the words of the other three slots, drawn once."""
    generator = torch.Generator().manual_seed(TABLE_SEED)
    first, second = (len(slot) for slot in SLOTS[:GIVEN])
    table = torch.stack([torch.randint(len(slot), (first, second), generator=generator) for slot in SLOTS[GIVEN:]])
    return {(i, j): tuple(table[:, i, j].tolist()) for i in range(first) for j in range(second)}


def fact_stream(count: int, generator: torch.Generator) -> Int[Tensor, " letter"]:
    """`count` sentences with random first words and the words that follow from them, as ids of letters."""
    drawn = torch.stack([torch.randint(len(slot), (count,), generator=generator) for slot in SLOTS[:GIVEN]], dim=1)
    rows = [(*given, *facts()[given]) for given in map(tuple, drawn.tolist())]
    texts = (SENTENCE.format(*(slot[i] for slot, i in zip(SLOTS, row, strict=True))) for row in rows)
    return encode("".join(texts))


def fact_floor() -> float:
    """The lowest possible loss on long texts, nats a letter: ln(pairs of first words) / mean length of a sentence."""
    lengths = [
        len(SENTENCE.format(*(slot[i] for slot, i in zip(SLOTS, (*given, *rest), strict=True))))
        for given, rest in facts().items()
    ]
    return math.log(len(lengths)) / (sum(lengths) / len(lengths))


@dataclass(frozen=True, slots=True)
class Texts:
    """Letters to train on and letters to measure on, of the same language.

    Args:
        train, held_out: ids.
    """

    train: Int[Tensor, " letter"]
    held_out: Int[Tensor, " other_letter"]


def texts(generator: torch.Generator, count: int = 3_000, kept: int = 200) -> Texts:
    """Two streams of sentences, drawn one after the other."""
    return Texts(fact_stream(count, generator), fact_stream(kept, generator))


@dataclass(frozen=True, slots=True, kw_only=True)
class BalanceConfig:
    """One training.

    Args:
        remedy: none; the auxiliary loss; a capacity; noise, perhaps with the importance loss; experts that choose; or
            the bias without a loss.
        strength: alpha, capacity factor, standard deviation of the noise, experts a token gets on average, or step of
            the bias; 0 means what is usual.
        importance: with noise, the factor of the importance loss; else 0.
        positions: how the order gets in; it decides how alike the tokens are that the router sees.
        seed: of the weights, the batches and the noise.
        steps: of training.

    Raises:
        ValueError: naming the value and what would do.
    """

    remedy: Remedy = "none"
    strength: float = 0.0
    importance: float = 0.0
    positions: Where = "sinusoidal"
    seed: int = 0
    steps: int = 300

    def __post_init__(self) -> None:
        check_choice(self, remedy=Remedy, positions=Where)
        check_number(self, strength=(0, 100), importance=(0, 100))
        check_whole(self, seed=(0, 1_000), steps=(1, 2_000))
        if self.strength == 0:
            object.__setattr__(self, "strength", USUAL[self.remedy])
        if self.remedy == "none" and self.strength:
            raise ValueError(f"strength={self.strength} goes with a remedy; with 'none' leave it 0")
        if self.remedy == "experts" and self.strength not in (1, 2, 3, 4):
            raise ValueError(f"strength={self.strength} must be 1, 2, 3 or 4 experts per token on average")
        if self.importance and self.remedy != "noise":
            raise ValueError(f"importance={self.importance} goes with remedy='noise'; else leave it 0")

    @property
    def name(self) -> str:
        """The remedy and its strength, as in "noise, σ = 1, w = 0.1"."""
        if self.remedy == "none":
            return REMEDY_NAMES["none"]
        importance = f", w = {self.importance:g}" if self.importance else ""
        return f"{REMEDY_NAMES[self.remedy]}, {SYMBOLS[self.remedy]} = {self.strength:g}{importance}"

    @property
    def without(self) -> "BalanceConfig":
        """The same training without a remedy."""
        return replace(self, remedy="none", strength=0.0, importance=0.0)

    @property
    def experts(self) -> ExpertsConfig:
        """Switch's router, one expert a token, weighted by its probability; with the remedy and no other."""
        plain = ExpertsConfig(n_experts=N_EXPERTS, top_k=1, softmax="before", balance_loss=0.0)
        match self.remedy:
            case "loss":
                return replace(plain, balance_loss=self.strength)
            case "capacity":
                return replace(plain, capacity_factor=self.strength)
            case "noise":
                return replace(plain, noise=self.strength)
            case "experts":
                return replace(plain, routing="experts", top_k=int(self.strength))
            case "bias":
                return replace(plain, bias_rate=self.strength)
        return plain

    @property
    def model(self) -> ModelConfig:
        """One layer of attention and one of experts."""
        return ModelConfig(
            vocab_size=len(LETTERS),
            d_model=64,
            n_layers=1,
            attention=AttentionConfig(n_heads=4),
            feed_forward=FeedForwardConfig(d_ff=D_EXPERT),
            max_seq_len=SEQ,
            experts=self.experts,
            positions=PositionsConfig(kind=self.positions),
            embed_scale=8.0 if self.positions == "sinusoidal" else 1.0,
        )


@dataclass(frozen=True, slots=True)
class BalanceEvaluation:
    """A model and its experts after some steps; loads are of the steps since the last look.

    Args:
        step: optimiser steps done.
        load: share of all choices that fall on each expert; sums to 1.
        refused: the part of it that found its expert full.
        lost: share of the tokens that no expert computed.
        overflow: share of the choices beyond a room of 1.25 times the mean, which a capacity would drop.
        loss: in training, nats a letter, without what a remedy adds.
        held_out: on other texts, all in one batch.
        written: on the same texts, one by one and letter by letter, as a model writes; None where not measured.
    """

    step: int
    load: Float[ndarray, " expert"]
    refused: Float[ndarray, " expert"]
    lost: float
    overflow: float
    loss: float
    held_out: float
    written: float | None = None

    @property
    def entropy(self) -> float:
        """Entropy of the load over ln(experts): 1 is even, 0 is one expert for everything."""
        return load_entropy(self.load)


def load_entropy(load: Float[ndarray, " expert"]) -> float:
    """H(f) / log2 N of the shares f of N experts, which sum to 1."""
    return entropy(load) / math.log2(len(load))


def over(load: Float[ndarray, " expert"], factor: float = ROOM) -> float:
    """The share of the choices for which experts with room for factor / N of them all have no place."""
    return float(np.maximum(load - factor / len(load), 0).sum())


@dataclass(slots=True)
class Tally:
    """A tally of the steps since the last look, in shares summed over them."""

    load: Float[ndarray, " expert"]
    refused: Float[ndarray, " expert"]
    lost: float = 0.0
    overflow: float = 0.0
    loss: float = 0.0
    steps: int = 0

    @classmethod
    def fresh(cls) -> "Tally":
        return cls(np.zeros(N_EXPERTS), np.zeros(N_EXPERTS))

    def add(self, output: Output, loss: float) -> None:
        """Count one step."""
        indices, weights, dropped = (output.activations[ROUTER + name] for name in ("indices", "weights", "dropped"))
        taken = weights.detach() > 0
        chosen = taken | dropped
        load = np.bincount(indices[chosen].numpy(), minlength=N_EXPERTS) / int(chosen.sum())
        self.load += load
        self.refused += np.bincount(indices[dropped].numpy(), minlength=N_EXPERTS) / int(chosen.sum())
        self.lost += float((~taken.any(-1)).float().mean())
        self.overflow += over(load)
        self.loss += loss
        self.steps += 1

    def look(self, step: int, held_out: float, written: float | None) -> BalanceEvaluation:
        n = self.steps
        return BalanceEvaluation(
            step, self.load / n, self.refused / n, self.lost / n, self.overflow / n, self.loss / n, held_out, written
        )


def train_run(config: BalanceConfig) -> Iterator[BalanceEvaluation | None]:
    """Train one model: AdamW on the loss of the letters plus what the remedy asks for.

    Yields:
        an evaluation at the first step, every few steps and at the end, None after each other step.
    """
    model = Transformer(config.model, config.seed).train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=RATE, betas=(0.9, 0.98), weight_decay=0.0, fused=True)
    generator = torch.Generator().manual_seed(config.seed)
    (group,) = optimizer.param_groups
    layer = next(module for module in model.modules() if isinstance(module, Experts))
    layer.generator = torch.Generator().manual_seed(config.seed)
    data = texts(generator)
    held_out, tally = text_batch(data.held_out, HELD_OUT, SEQ, generator), Tally.fresh()
    for step in range(1, config.steps + 1):
        output, loss = _forward(model, text_batch(data.train, ROWS, SEQ, generator))
        tally.add(output, float(loss.detach()))
        optimizer.zero_grad()
        (loss + _auxiliary_loss(config, output)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        group["lr"] = RATE * min(1.0, step / WARMUP)
        optimizer.step()
        layer.even_out_()
        last = step == config.steps
        if step % EVERY and step > 1 and not last:
            yield None
            continue
        model.eval()
        yield tally.look(step, held_out_loss(model, held_out), written_loss(model, held_out) if last else None)
        model.train()
        tally = Tally.fresh()


def train_together(
    configs: Sequence[BalanceConfig], known: Mapping[BalanceConfig, Sequence[BalanceEvaluation]] | None = None
) -> Iterator[tuple[BalanceEvaluation, ...] | None]:
    """Several trainings side by side, step by step; those that differ only by remedy see the same batches.

    Args:
        known: all looks of trainings that were made before: these are not made again.

    Yields:
        one evaluation for each, or None between two looks.
    """
    known = known or {}
    runs = [_again(known[config]) if config in known else train_run(config) for config in configs]
    for looks in zip(*runs, strict=True):
        yield tuple(look for look in looks if look is not None) or None


def train_all(configs: Sequence[BalanceConfig]) -> dict[BalanceConfig, list[BalanceEvaluation]]:
    """All looks of trainings that run side by side to their end."""
    looks = [look for look in train_together(configs) if look is not None]
    return {config: list(run) for config, run in zip(configs, zip(*looks, strict=True), strict=True)}


def _again(looks: Sequence[BalanceEvaluation]) -> Iterator[BalanceEvaluation | None]:
    """Repeat what train_run yielded for a training that was made before."""
    at = {look.step: look for look in looks}
    for step in range(1, looks[-1].step + 1):
        yield at.get(step)


def _forward(model: Transformer, batch: Batch) -> tuple[Output, Float[Tensor, ""]]:
    """The output with what the router did, and the loss in nats a letter."""
    output = model(batch.ids, capture=tuple(ROUTER + name for name in ("indices", "weights", "dropped")))
    return output, F.cross_entropy(output.logits.flatten(0, 1), batch.targets.flatten())


def _auxiliary_loss(config: BalanceConfig, output: Output) -> Float[Tensor, ""]:
    """The auxiliary loss of the remedy; 0 where it has none."""
    added = sum(output.losses.values(), torch.zeros(()))
    if config.importance:
        weights, indices = (output.activations[ROUTER + name] for name in ("weights", "indices"))
        added = added + importance_loss(weights, indices, N_EXPERTS, config.importance)
    return added


@torch.no_grad()
def held_out_loss(model: Transformer, batch: Batch) -> float:
    """Nats a letter, all texts in one batch."""
    return float(_forward(model, batch)[1])


@torch.no_grad()
def written_loss(model: Transformer, batch: Batch) -> float:
    """Nats a letter when each text is read alone and one letter at a time, as a model writes: no expert can choose
    among letters that do not exist yet, and none is ever full.
    """
    losses = []
    for ids, targets in zip(batch.ids, batch.targets, strict=True):
        cache = KVCache(model.config, device=model.device)
        (scores,) = torch.cat([model(ids[None, i : i + 1], cache=cache).logits for i in range(len(ids))], dim=1)
        losses.append(F.cross_entropy(scores, targets))
    return float(torch.stack(losses).mean())


@torch.no_grad()
def router_input_cosine(config: BalanceConfig) -> float:
    """The mean cosine of the router's inputs at two positions of a batch, before training: 1 if all are alike."""
    generator = torch.Generator().manual_seed(config.seed)
    batch = text_batch(texts(generator, 300, 1).train, ROWS, SEQ, generator)
    name = "blocks.0.ln2.normalized"
    read = Transformer(config.model, config.seed)(batch.ids, capture=name).activations[name].flatten(0, 1)
    unit = F.normalize(read, dim=1)  # (letter, d_model)
    pairs = len(unit) * (len(unit) - 1)
    return float((unit.sum(0).square().sum() - len(unit)) / pairs)


@dataclass(frozen=True, slots=True)
class Ending:
    """The last tenth of the steps until now.

    Args:
        step: the last.
        expert, largest: the busiest expert and its share of all choices.
        idle: experts with less than a hundredth.
        entropy: over ln(experts), 1 is even.
        lost, overflow: share of the tokens that no expert computed; that a room of 1.25 times the mean cannot take.
        loss, held_out: nats per character.
        written: the same texts character by character; None before the end.
    """

    step: int
    expert: int
    largest: float
    idle: int
    entropy: float
    lost: float
    overflow: float
    loss: float
    held_out: float
    written: float | None


def ending(looks: Sequence[BalanceEvaluation]) -> Ending:
    """The last tenth of the looks until now."""
    last = looks[-1]
    few = [look for look in looks if look.step > (1 - LAST) * last.step]
    load = np.mean([look.load for look in few], axis=0)
    entropy, lost, overflow, loss = (
        float(np.mean([getattr(look, name) for look in few])) for name in ("entropy", "lost", "overflow", "loss")
    )
    return Ending(
        last.step,
        int(load.argmax()),
        float(load.max()),
        int((load < IDLE).sum()),
        entropy,
        lost,
        overflow,
        loss,
        last.held_out,
        last.written,
    )
