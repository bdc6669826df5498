"""A little language with facts to learn: the first two words of a sentence decide the others."""

import math
from dataclasses import dataclass
from functools import cache

import torch
from jaxtyping import Int
from torch import Tensor

from tfcore.analysis.block.pitfall_tasks import SENTENCE, SLOTS, encode

GIVEN = 2  # words of a sentence that are drawn; the others follow from them
TABLE_SEED = 7


@cache
def facts() -> dict[tuple[int, ...], tuple[int, ...]]:
    """What follows from every pair of an adjective and an animal: the words of the other three slots, drawn once."""
    generator = torch.Generator().manual_seed(TABLE_SEED)
    first, second = (len(slot) for slot in SLOTS[:GIVEN])
    table = torch.stack([torch.randint(0, len(slot), (first, second), generator=generator) for slot in SLOTS[GIVEN:]])
    return {(i, j): tuple(table[:, i, j].tolist()) for i in range(first) for j in range(second)}


def fact_stream(count: int, generator: torch.Generator) -> Int[Tensor, " letter"]:
    """So many sentences with random first words and what follows from them, letter by letter."""
    drawn = torch.stack([torch.randint(0, len(slot), (count,), generator=generator) for slot in SLOTS[:GIVEN]], dim=1)
    rows = [(*given, *facts()[given]) for given in map(tuple, drawn.tolist())]
    texts = (SENTENCE.format(*(slot[i] for slot, i in zip(SLOTS, row, strict=True))) for row in rows)
    return encode("".join(texts))


def fact_floor() -> float:
    """The lowest loss on long texts, nats a letter, of who knows all facts: ln(pairs there are) / mean length."""
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
