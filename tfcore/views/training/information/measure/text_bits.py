"""The surprisal of a text, token by token, in bits."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.measures.one_text import last_tokens, one_text
from tfcore.measures.text_loss import WINDOW, TextBits, framed, likeliest, next_tokens, text_bits
from tfcore.measures.token_text import visible
from tfcore.model import NO_LOGITS, Transformer
from tfcore.tokenizers.tokenizer import Tokenizer

UNIFORM = 8.0  # bits per byte of a uniform guess
SENTENCE = "The little girl went to the park with her mother, and there she saw a big dog."
ROWS = 64  # places whose logits are there at a time


@dataclass(frozen=True, slots=True)
class RankedPrediction:
    """The prediction of a model in one place of a text.

    Args:
        tokens, probabilities: the most probable tokens, the first of them the best.
        rank: of the token that stands there in the text; 1 is the best.
    """

    tokens: tuple[str, ...]
    probabilities: Float[ndarray, " guess"]
    rank: int


def window_of(model: Transformer, tokenizer: Tokenizer, text: str, at: int) -> int:
    """The first token of the window from which token `at` is predicted.

    Raises:
        ValueError: there is no such token, or nothing before it.
    """
    read = framed(tokenizer, text)
    place = at + len(read.before)
    if not (0 <= at < len(read.ids) and place):
        raise ValueError(f"token {at} has nothing before it, or is none of the {len(read.ids)} tokens")
    return window_start(place, min(model.config.max_seq_len, WINDOW))


@torch.no_grad()
def predict_window(
    model: Transformer, tokenizer: Tokenizer, text: str, start: int, count: int
) -> dict[int, RankedPrediction]:
    """Predictions in the place of every token of a window that begins at `start`, in one pass: token ->
    prediction."""
    read, context = framed(tokenizer, text), min(model.config.max_seq_len, WINDOW)
    ids = [*read.before, *read.ids][start : start + context + 1]
    (hidden,) = model(one_text(model, ids[:-1]), logits_to_keep=NO_LOGITS).hidden
    actual = torch.tensor(ids[1:], device=hidden.device)
    ranked: list[RankedPrediction] = []
    for some, tokens in zip(hidden.split(ROWS), actual.split(ROWS), strict=True):  # all logits would take 200 MB
        logits = model.to_logits(some)
        assert logits is not None
        ranks = (logits > logits.gather(1, tokens[:, None])).sum(1) + 1
        for row, rank in zip(logits, ranks.tolist(), strict=True):
            best = likeliest(row, count)
            ranked.append(RankedPrediction(tuple(tokenizer.tokens(best.ids.tolist())), best.probabilities, rank))
    return dict(enumerate(ranked, start + 1 - len(read.before)))


def window_start(place: int, context: int) -> int:
    """The first token of the window in which `surprisal` predicts the token at `place`: they begin every half
    context."""
    step = max(1, context // 2)
    return max(0, -(-(place - context) // step)) * step


def knows_text(model: Transformer, tokenizer: Tokenizer) -> bool:
    """Whether a model needs fewer bits for a plain English sentence than a uniform guess of its bytes."""
    return text_bits(model, tokenizer, SENTENCE).per_byte < UNIFORM


def cut_bytes(text: str, most: int) -> str:
    """The beginning of a text that takes at most so many bytes, in whole characters."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= most:
        return text
    while data[most] & 0xC0 == 0x80:  # inside of a character
        most -= 1
    return data[:most].decode("utf-8", "surrogatepass")


def half_of_bits(bits: TextBits) -> int:
    """The fewest tokens of a text that have half of its bits."""
    largest_first = np.sort(bits.bits)[::-1].cumsum()
    return int(np.searchsorted(largest_first, bits.total / 2)) + 1


def next_shares(
    model: Transformer, tokenizer: Tokenizer, text: str, limit: int, count: int
) -> tuple[tuple[float, ...], list[str]]:
    """The probabilities of the likeliest tokens after a text and of all others together, and their names.

    Args:
        limit: tokens of the text that are read, at most: the last ones.
        count: tokens that are told apart.
    """
    ids = last_tokens(model, tokenizer, text, limit).ids
    best = next_tokens(model, ids, count)
    p = best.probabilities.astype(np.float64)
    return (*p.tolist(), max(0.0, 1 - float(p.sum()))), [*map(visible, tokenizer.tokens(best.ids.tolist())), "others"]
