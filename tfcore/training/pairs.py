"""Sentences and their translations: read, split so that no English sentence is on both sides, put into batches."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from tfcore.tokenizers.tokenizer import BPETokenizer
from tfcore.training.data import IGNORE, Batch, CorpusError, read_text

SOURCE = ("tatoeba-eng-fra/fra.txt", "English-French pairs of Tatoeba, English TAB French on each line, CC BY 2.0")
WORDS = 10  # of the longest English sentence
HELD_OUT = 1_000  # English sentences for the card, and as many for measures during training


@dataclass(frozen=True, slots=True)
class TranslationPair:
    """A sentence and one of its translations."""

    english: str
    french: str


@dataclass(frozen=True, slots=True)
class PairSplit:
    """Pairs that share no English sentence: to train on, to look at during training, and for the card."""

    train: list[TranslationPair]
    valid: list[TranslationPair]
    test: list[TranslationPair]


def read_pairs(corpus: Path) -> list[TranslationPair]:
    """All pairs of at most WORDS English words, spaces and quotes made plain.

    Raises:
        CorpusError: when the file is missing, is not UTF-8, or has no such pair.
    """
    path, origin = corpus / SOURCE[0], SOURCE[1]
    pairs = []
    for line in read_text(path, origin).splitlines():
        sides = [plain(side) for side in line.split("\t")[:2]]
        if len(sides) == 2 and all(sides) and len(sides[0].split()) <= WORDS:
            pairs.append(TranslationPair(*sides))
    if not pairs:
        raise CorpusError(f"{path} has no pair of up to {WORDS} words: it should hold {origin}")
    return pairs


def plain(text: str) -> str:
    """NFC, every run of white space (no-break spaces, too) one space, typographic apostrophes straight."""
    return re.sub(r"\s+", " ", unicodedata.normalize("NFC", text).replace("’", "'")).strip()


def key(english: str) -> str:
    """A key that is the same for English sentences that count as one: their letters and digits, in lower case."""
    return " ".join(re.findall(r"\w+", english.lower()))


def split(pairs: Sequence[TranslationPair], held_out: int = HELD_OUT, seed: int = 0) -> PairSplit:
    """Pairs by English sentence; of a held-out sentence the first pair alone is kept.

    Raises:
        CorpusError: when held-out sentences would be more than a quarter of all.
    """
    sentences = sorted({key(pair.english) for pair in pairs})
    if len(sentences) < 8 * held_out:
        raise CorpusError(f"{len(sentences)} English sentences are too few to hold out 2 x {held_out}")
    order = np.random.default_rng(seed).permutation(len(sentences))
    place = {sentences[i]: rank for rank, i in enumerate(order.tolist())}
    train, valid, test = list[TranslationPair](), dict[str, TranslationPair](), dict[str, TranslationPair]()
    for pair in pairs:
        rank = place[name := key(pair.english)]
        if rank >= 2 * held_out:
            train.append(pair)
        else:
            (valid if rank >= held_out else test).setdefault(name, pair)
    return PairSplit(train, list(valid.values()), list(test.values()))


@dataclass(frozen=True, slots=True)
class EncodedPairs:
    """Pairs as ids, ordered by length, so that a batch of neighbours has little padding.

    Args:
        sources: per pair what the encoder reads: the English ids and the separator.
        targets: per pair what the decoder writes: the French ids and the separator.
    """

    sources: list[list[int]]
    targets: list[list[int]]
    separator: int

    @classmethod
    def of(cls, tokenizer: BPETokenizer, pairs: Sequence[TranslationPair]) -> "EncodedPairs":
        end = tokenizer.separator_id or 0
        both = [
            ([*tokenizer.encode(pair.english), end], [*tokenizer.encode(pair.french), end])
            for pair in sorted(pairs, key=lambda pair: (pair.english, pair.french))
        ]
        both.sort(key=lambda ids: (len(ids[0]), len(ids[1])))
        return cls([source for source, _ in both], [target for _, target in both], end)

    def batch(self, rows: int, generator: torch.Generator) -> Batch:
        """A batch of pairs that are neighbours by length, from a random place on."""
        start = int(torch.randint(0, max(1, len(self.sources) - rows + 1), (1,), generator=generator))
        source, target = self.sources[start : start + rows], self.targets[start : start + rows]
        ids, mask = padded(source, self.separator)
        read, _ = padded([[self.separator, *row[:-1]] for row in target], self.separator)
        wanted, _ = padded(target, IGNORE)
        return Batch(ids, wanted, read, mask)


def padded(rows: Sequence[Sequence[int]], filler: int) -> tuple[Tensor, Tensor]:
    """Rows of different lengths as one tensor (rows, longest), and where it is real."""
    longest = max(len(row) for row in rows)
    ids = torch.tensor([[*row, *[filler] * (longest - len(row))] for row in rows])
    lengths = torch.tensor([len(row) for row in rows])
    return ids, torch.arange(longest)[None, :] < lengths[:, None]
