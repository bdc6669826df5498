"""Two small tasks: sentences of a small language letter by letter, and rows of symbols to be reversed."""

import math
from collections import Counter

import torch
from jaxtyping import Int
from torch import Tensor

from tfcore.training.data import Batch

SLOTS = (
    ("big", "old", "shy", "tiny", "brave", "happy", "quiet", "clever"),
    ("dog", "cat", "owl", "girl", "boy", "king", "fish", "wolf"),
    ("saw", "took", "lost", "hid", "wanted", "found", "gave away", "painted"),
    ("red", "blue", "green", "yellow", "round", "soft", "new", "golden"),
    ("ball", "kite", "hat", "drum", "cake", "boat", "spoon", "lamp"),
)
SENTENCE = "the {} {} {} a {} {}. "
LETTERS = sorted(set("".join(word for slot in SLOTS for word in slot)) | set(SENTENCE) - set("{}"))
SYMBOLS = 16  # kinds of symbols in the rows to be reversed
ROW = 10  # symbols of a row


def sentences(count: int, generator: torch.Generator) -> str:
    """Sentences of a small language: every word of a slot is equally likely, whatever came before."""
    drawn = torch.stack([torch.randint(len(slot), (count,), generator=generator) for slot in SLOTS], dim=1)
    return "".join(SENTENCE.format(*(slot[i] for slot, i in zip(SLOTS, row, strict=True))) for row in drawn.tolist())


def sentence_length() -> float:
    """The mean length of a sentence, in letters."""
    return len(SENTENCE.replace("{}", "")) + sum(len("".join(slot)) / len(slot) for slot in SLOTS)


def sentence_floor() -> float:
    """The lowest loss on long texts of that language, nats a letter: ln(sentences there are) / their mean length.

    The best that a causal model can reach; a lower loss shows that letters to come are seen.
    """
    return sum(math.log(len(slot)) for slot in SLOTS) / sentence_length()


def letter_loss() -> float:
    """The loss of a unigram model: the entropy of the letters, in nats."""
    counts = Counter(SENTENCE.replace("{}", ""))
    often = {letter: counts[letter] + sum("".join(s).count(letter) / len(s) for s in SLOTS) for letter in LETTERS}
    shares = [count / sentence_length() for count in often.values()]
    return -sum(share * math.log(share) for share in shares)


def encode(text: str) -> Int[Tensor, " seq"]:
    """A text of that language as ids."""
    ids = {letter: i for i, letter in enumerate(LETTERS)}
    return torch.tensor([ids[letter] for letter in text])


def decode(ids: Int[Tensor, " seq"]) -> str:
    """The inverse of encode."""
    return "".join(LETTERS[i] for i in ids.tolist())


def text_batch(stream: Int[Tensor, " letter"], rows: int, seq: int, generator: torch.Generator) -> Batch:
    """Random windows of the stream; the target of each letter is the next."""
    start = torch.randint(len(stream) - seq, (rows, 1), generator=generator)
    window = stream[start + torch.arange(seq + 1)]
    return Batch(window[:, :-1], window[:, 1:])


def reverse_batch(rows: int, generator: torch.Generator) -> Batch:
    """Rows of random symbols, to be reversed: the target at position i is the symbol at n - 1 - i."""
    ids = torch.randint(SYMBOLS, (rows, ROW), generator=generator)
    return Batch(ids, ids.flip(1))


def reverse_floor(batch: Batch) -> float:
    """The lowest loss on rows to be reversed for a model that sees the set of symbols without their order.

    The target is then equally likely any of the others, so the best prediction gives each its share among them.
    """
    same = (batch.ids[:, None, :] == batch.targets[:, :, None]).sum(-1)  # (row, seq): how often the target occurs
    others = same - (batch.ids == batch.targets).int()  # the place itself is not the one asked for (ROW is even)
    return float(-(others / (ROW - 1)).log().mean())
