"""Attention over an encoder's states (arXiv:1409.0473): the step between recurrent networks and the Transformer.

A recurrent encoder reads letters, a recurrent decoder writes them again, copied or reversed. Between them is either one
vector, the encoder's last states, or attention: a weighted sum of all its states, weighted anew for each letter.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor, nn

from tfcore.checks import check_choice, check_whole

Order = Literal["copy", "reverse"]
ORDERS: tuple[Order, ...] = get_args(Order)
LETTERS = 26
START = 26  # what the decoder reads first
LENGTHS = (2, 4, 6, 8, 10, 12, 14, 16, 20)  # that are tested
TRAINED = (2, 10)  # letters of a row in training, from and to
SHOWN = 10  # letters of the row whose alignment is shown
ROWS = 64
TESTED = 64  # rows of each length
LR = 3e-3
CLIP = 1.0
LOOKS = 15
KEPT = Path(__file__).with_name("alignments.json")
REPEATED = Path(__file__).with_name("alignment_seeds.json")
DIGITS = 4  # that count, of what is kept of repeats


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignmentConfig:
    """A training of two encoder-decoders, one with attention and one without.

    Args:
        order: of the letters that are to be written.
        width: of the states.
        steps: optimiser steps of each.
        seed: of weights and letters.

    Raises:
        ValueError: naming the value and what would do.
    """

    order: Order = "reverse"
    width: int = 64
    steps: int = 600
    seed: int = 0

    def __post_init__(self) -> None:
        check_choice(self, order=Order)
        check_whole(self, width=(4, 128), steps=(2, 1_200), seed=(0, 9_999))


def additive_attention(
    query: Float[Tensor, "batch width"],
    keys: Float[Tensor, "batch seq width"],
    values: Float[Tensor, "batch seq value"],
    v: Float[Tensor, " width"],
) -> tuple[Float[Tensor, "batch value"], Float[Tensor, "batch seq"]]:
    """Attention whose score is a small network (arXiv:1409.0473, section 3.1 and appendix A.1.2).

    e_j = v . tanh(query + key_j),   alpha = softmax(e),   context = sum_j alpha_j value_j

    Args:
        query: W_a s_{i-1}, of the decoder's state.
        keys: U_a h_j, of the encoder's states.
        values: h_j.

    Returns:
        the context and the weights alpha, the alignment of the letter that is written next.
    """
    scores = torch.tanh(query[:, None, :] + keys) @ v  # (batch, seq)
    weights = scores.softmax(1)
    return (weights[:, None, :] @ values).squeeze(1), weights


class EncoderDecoder(nn.Module):
    """A bidirectional GRU reads, a GRU writes, as in arXiv:1409.0473; without its maxout layer before the output.

    Args:
        width: of each state; the encoder has one in each direction.
        attention: read all states of the encoder for each letter; otherwise its two last ones, once and for all.
    """

    def __init__(self, width: int, attention: bool, seed: int = 0) -> None:
        super().__init__()
        self.attention = attention
        with torch.random.fork_rng(devices=[]):  # torch's own layers draw from the global generator
            torch.manual_seed(seed)
            self.embed = nn.Embedding(LETTERS + 1, width)
            self.encoder = nn.GRU(width, width, batch_first=True, bidirectional=True)
            self.begin = nn.Linear(width, width)  # the decoder's first state, from the encoder's backward one
            self.decoder = nn.GRUCell(3 * width, width)  # reads the letter before and the context
            self.unembed = nn.Linear(3 * width, LETTERS)
            if attention:
                self.query = nn.Linear(width, width, bias=False)
                self.key = nn.Linear(2 * width, width, bias=False)
                self.v = nn.Parameter(torch.randn(width) / width**0.5)

    def forward(
        self, ids: Int[Tensor, "batch seq"], written: Int[Tensor, "batch seq"] | None = None
    ) -> tuple[Float[Tensor, "batch seq letter"], Float[Tensor, "batch wrote seq"]]:
        """Scores of every letter to be written, and the alignment of each (of none without attention).

        Args:
            written: the right letters, each of which the decoder reads after it should have written it (teacher
                forcing); None: it reads what it wrote (free-running).
        """
        states, last = self.encoder(self.embed(ids))  # (batch, seq, 2 width), (2, batch, width)
        context, keys = torch.cat((last[0], last[1]), dim=1), self.key(states) if self.attention else None
        s, before = torch.tanh(self.begin(last[1])), torch.full_like(ids[:, 0], START)
        logits, alignments = [], []
        for i in range(ids.shape[1]):
            if keys is not None:
                context, weights = additive_attention(self.query(s), keys, states, self.v)
                alignments.append(weights)
            s = self.decoder(torch.cat((self.embed(before), context), dim=1), s)
            logits.append(self.unembed(torch.cat((s, context), dim=1)))
            before = logits[-1].argmax(1) if written is None else written[:, i]
        aligned = torch.stack(alignments, dim=1) if alignments else states.new_zeros(len(ids), 0, ids.shape[1])
        return torch.stack(logits, dim=1), aligned


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two, at a moment.

    Args:
        loss: of the batch just trained on, nats per letter.
        by_length: share of right letters, free-running, for each of LENGTHS.
        seconds: of its own steps.
    """

    loss: float
    by_length: tuple[float, ...]
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AlignmentEvaluation:
    """Both at a moment.

    Args:
        plain, attending: without and with attention.
        read, wrote: the letters of one row, and what the network with attention wrote.
        alignment: (wrote, read) its weights.
        followed: for each letter written in rows of the longest length, under teacher forcing: the share of rows in
            which the largest weight is on the letter it repeats or on one beside it.
    """

    step: int
    plain: Side
    attending: Side
    read: tuple[int, ...]
    wrote: tuple[int, ...]
    alignment: Float[ndarray, "wrote read"]
    followed: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class AlignmentRepeats:
    """The ends of trainings of one order that differ in their seed.

    Args:
        seeds: of weights and letters.
        plain, attending: (seed, length) share of right letters for each of LENGTHS, without and with attention.
        followed: (seed, letter) as in AlignmentEvaluation.
    """

    seeds: tuple[int, ...]
    plain: tuple[tuple[float, ...], ...]
    attending: tuple[tuple[float, ...], ...]
    followed: tuple[tuple[float, ...], ...]


def wanted(ids: Int[Tensor, "batch seq"], order: Order) -> Int[Tensor, "batch seq"]:
    """The ids to be written."""
    return ids if order == "copy" else ids.flip(1)


def letters(rows: int, length: int, seed: int) -> Int[Tensor, "row length"]:
    """Random letters."""
    return torch.randint(LETTERS, (rows, length), generator=torch.Generator().manual_seed(seed))


def align(config: AlignmentConfig) -> Iterator[AlignmentEvaluation | None]:
    """Train both on the same rows, a step of each in turn: yields a look now and then, and None in between."""
    models = [EncoderDecoder(config.width, attention, config.seed) for attention in (False, True)]
    optimisers = [torch.optim.Adam(model.parameters(), lr=LR) for model in models]
    seconds, losses = [0.0, 0.0], [0.0, 0.0]
    low, high = TRAINED
    every = max(1, config.steps // LOOKS)
    for step in range(1, config.steps + 1):
        seed = config.seed * 1_000_000 + step
        length = int(torch.randint(low, high + 1, (1,), generator=torch.Generator().manual_seed(seed)))
        ids = letters(ROWS, length, seed)  # one length a step: no padding
        for i, (model, optimiser) in enumerate(zip(models, optimisers, strict=True)):
            began = time.perf_counter()
            losses[i] = train_step(model, optimiser, ids, wanted(ids, config.order))
            seconds[i] += time.perf_counter() - began
        if step == 1 or step % every == 0 or step == config.steps:
            yield _look(config, step, models, losses, seconds)
        else:
            yield None


def aligned(config: AlignmentConfig) -> AlignmentEvaluation:
    """The last look of a training."""
    return [look for look in align(config) if look is not None][-1]


def train_step(model: EncoderDecoder, optimiser: torch.optim.Optimizer, ids: Tensor, target: Tensor) -> float:
    """One step of Adam with teacher forcing; the loss before it."""
    logits, _ = model(ids, target)
    loss = F.cross_entropy(logits.flatten(0, 1), target.flatten())
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), CLIP)
    optimiser.step()
    return float(loss.detach())


@torch.no_grad()
def right_letters(model: EncoderDecoder, order: Order) -> tuple[float, ...]:
    """Share of right letters for each of LENGTHS, free-running, on rows that are always the same."""
    right = []
    for length in LENGTHS:
        ids = letters(TESTED, length, -length % 2**31)
        logits, _ = model(ids)
        right.append(float((logits.argmax(-1) == wanted(ids, order)).float().mean()))
    return tuple(right)


@torch.no_grad()
def _look(
    config: AlignmentConfig, step: int, models: list[EncoderDecoder], losses: list[float], seconds: list[float]
) -> AlignmentEvaluation:
    sides = [
        Side(loss=loss, by_length=right_letters(model, config.order), seconds=s)
        for model, loss, s in zip(models, losses, seconds, strict=True)
    ]
    ids = letters(1, SHOWN, 0)
    (row,), ((logits,), (alignment,)) = ids, models[1](ids)
    return AlignmentEvaluation(
        step=step,
        plain=sides[0],
        attending=sides[1],
        read=tuple(row.tolist()),
        wrote=tuple(logits.argmax(1).tolist()),
        alignment=alignment.numpy(),
        followed=followed_places(models[1], config.order),
    )


@torch.no_grad()
def followed_places(model: EncoderDecoder, order: Order) -> tuple[float, ...]:
    """See AlignmentEvaluation.followed."""
    length = LENGTHS[-1]
    ids = letters(TESTED, length, -length % 2**31)
    _, alignment = model(ids, wanted(ids, order))
    off = (alignment.argmax(-1) - sources(length, order)).abs()  # (row, wrote)
    return tuple((off <= 1).float().mean(0).tolist())


def sources(length: int, order: Order) -> Int[Tensor, " wrote"]:
    """The place of the letter that each written one repeats."""
    (places,) = wanted(torch.arange(length)[None], order)
    return places


def alignment_repeats(seeds: Sequence[int], looks: Sequence[AlignmentEvaluation]) -> AlignmentRepeats:
    """The last look of each training, rounded as it is kept."""
    plain, attending, followed = (
        tuple(tuple(float(f"{value:.{DIGITS}g}") for value in row) for row in rows)
        for rows in (
            [look.plain.by_length for look in looks],
            [look.attending.by_length for look in looks],
            [look.followed for look in looks],
        )
    )
    return AlignmentRepeats(tuple(seeds), plain, attending, followed)


def to_json(look: AlignmentEvaluation) -> dict[str, Any]:
    """A training as JSON-ready values."""
    return {**asdict(look), "alignment": np.round(look.alignment.astype(float), 4).tolist()}


def from_json(kept: dict[str, Any]) -> AlignmentEvaluation:
    """Read the text that `to_json` wrote."""
    sides = {
        name: Side(**{**kept[name], "by_length": tuple(kept[name]["by_length"])}) for name in ("plain", "attending")
    }
    return AlignmentEvaluation(
        step=kept["step"],
        read=tuple(kept["read"]),
        wrote=tuple(kept["wrote"]),
        followed=tuple(kept["followed"]),
        alignment=np.array(kept["alignment"]),
        **sides,
    )


@cache
def kept_alignment(order: Order) -> AlignmentEvaluation:
    """The end of the training that ships; `python -m tfcore.training recurrence` makes it anew."""
    return from_json(json.loads(KEPT.read_text("utf-8"))[order])


@cache
def kept_alignment_repeats(order: Order) -> AlignmentRepeats:
    """The shipped repeats of the same training with other seeds; that of `kept_alignment` is the first of them."""
    kept = json.loads(REPEATED.read_text("utf-8"))[order]
    seeds = tuple(kept.pop("seeds"))
    return AlignmentRepeats(seeds, **{name: tuple(map(tuple, rows)) for name, rows in kept.items()})
