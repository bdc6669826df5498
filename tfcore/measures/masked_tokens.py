"""How well an encoder fills blanks: its guesses at tokens that were hidden from it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.measures.one_text import one_text
from tfcore.measures.statistics import ratio
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import BPETokenizer, Tokenizer

SHARE = 0.15  # of the tokens that are hidden (arXiv:1810.04805, section 3.1)
MASKS = ("[MASK]", "<mask>")  # of tokenizers that have a token for it


@dataclass(frozen=True, slots=True)
class Filled:
    """How often the hidden token was the first guess, and among the first five; of how many.

    Args:
        top1, top5: shares from 0 to 1.
        hidden: tokens that were hidden.
    """

    top1: float
    top5: float
    hidden: int


def mask_id(tokenizer: BPETokenizer) -> int:
    """The id that stands for a blank: the first that no text can have."""
    return tokenizer.vocab_size


def mask_of(tokenizer: Tokenizer, vocab_size: int) -> int | None:
    """The id that stands for a blank: the tokenizer's own, or, of our models, the first that no text can have."""
    if isinstance(tokenizer, BPETokenizer):
        return mask_id(tokenizer) if mask_id(tokenizer) < vocab_size else None
    around = tokenizer.encode("")
    for mark in MASKS:
        inside = [i for i in tokenizer.encode(mark) if i not in around]
        if [tokenizer.token_bytes(i) for i in inside] == [mark.encode()]:
            return inside.pop()
    return None


def with_blanks(tokenizer: BPETokenizer, text: str, sign: str) -> list[int]:
    """The ids of a text in which `sign` stands for a blank, the separator first.

    A space before a blank belongs to the token that is hidden, as BPE has it.
    """
    ids, blank = [tokenizer.separator_id or 0], mask_id(tokenizer)
    *before, last = text.split(sign)
    for piece in before:
        ids += [*tokenizer.encode(piece.removesuffix(" ")), blank]
    return ids + tokenizer.encode(last)


@torch.no_grad()
def guesses(model: Transformer, tokenizer: BPETokenizer, ids: Sequence[int]) -> Float[ndarray, "blank vocab"]:
    """The probability of every token in each blank of a text, as an encoder fills it."""
    row = one_text(model, ids)
    hidden = row == mask_id(tokenizer)
    return fill_masked(model, row, hidden, mask_id(tokenizer))[hidden].float().softmax(1).cpu().numpy()


@torch.no_grad()
def fill_masked(
    model: Transformer, ids: Int[Tensor, "rows seq"], hidden: Bool[Tensor, "rows seq"], blank: int
) -> Tensor:
    """The scores of all tokens at every position, (rows, seq, vocab), with the hidden ones out of sight and the blank
    itself ruled out as a guess."""
    scores = model(ids.masked_fill(hidden, blank)).logits
    scores[..., blank] = -torch.inf
    return scores


def filled(model: Transformer, tokenizer: BPETokenizer, documents: Iterable[str], seed: int = 0) -> Filled:
    """Hide SHARE of the tokens of documents, each read by itself from the separator on in windows of the model's
    context, and count how often the model finds them."""
    blank, n = mask_id(tokenizer), model.config.max_seq_len
    generator, device = torch.Generator().manual_seed(seed), model.device
    total = top1 = top5 = 0
    for document in documents:
        for ids in _windows([tokenizer.separator_id or 0, *tokenizer.encode(document)], n):
            hidden = torch.rand(ids.shape, generator=generator) < SHARE
            scores = fill_masked(model, ids.to(device), hidden.to(device), blank)
            guesses = scores.cpu()[hidden].topk(min(5, scores.shape[-1])).indices  # (hidden, 5)
            right = guesses == ids[hidden][:, None]
            top1, top5, total = top1 + int(right[:, 0].sum()), top5 + int(right.sum()), total + len(right)
    return Filled(ratio(top1, total), ratio(top5, total), total)


def _windows(ids: Sequence[int], n: int) -> list[Int[Tensor, "1 seq"]]:
    return [torch.tensor([ids[start : start + n]]) for start in range(0, len(ids), n)]
