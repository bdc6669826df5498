"""The loss of a text: surprisal per token, bits per byte, loss by position; and the most probable next tokens."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from numpy import ndarray
from torch import Tensor

from tfcore.measures.one_text import next_logits, one_text, piece_of, pieces_of
from tfcore.measures.statistics import ratio
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import BPETokenizer, Tokenizer, unmarked

LN2 = math.log(2)
WINDOW = 1_024  # tokens read at once at most, whatever the context: attention of 4,096 needs 16 times the memory
ENDED = re.compile(r"[.!?…][\"'”’)\]]*\s*$|\n\s*$")  # a text whose last sentence or line has ended


@torch.no_grad()
def surprisal(model: Transformer, ids: Sequence[int], most: int | None = None) -> Tensor:
    """-ln p of each id after the first given those before it, in nats; shape (len(ids) - 1,).

    A text longer than the model's context is read in windows that overlap by half, so that each token but the first
    few is predicted from at least half a context.

    Args:
        most: tokens read at once, where the context is longer than what memory can hold.
    """
    context = min(model.config.max_seq_len, most or model.config.max_seq_len)
    device = next(model.parameters()).device
    losses, start, done = [], 0, 1  # ids[:done] are predicted (or, the first, given)
    while done < len(ids):
        window = torch.tensor(ids[start : start + context + 1], device=device)
        (logits,) = model(window[None, :-1]).logits  # (window - 1, vocab)
        losses.append(F.cross_entropy(logits.float(), window[1:], reduction="none")[done - start - 1 :])
        done = start + len(window)
        start += max(1, context // 2)
    return torch.cat(losses) if losses else torch.zeros(0)


def token_losses(logits: Float[Tensor, "*batch vocab"], targets: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """Cross-entropy of each target, in nats; with the vocabulary last in a tenth of the time that it takes where the
    vocabulary is moved to the second axis."""
    return F.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none").view(targets.shape)


def next_losses(
    logits: Float[Tensor, "row seq vocab"], ids: Sequence[int] | Int[Tensor, "row seq"]
) -> Float[Tensor, "row next"]:
    """Cross-entropy of each next token, in nats.

    Args:
        ids: of the text that all rows predict, or of a text each.
    """
    if not isinstance(ids, Tensor):
        ids = torch.tensor(list(ids), dtype=torch.int64, device=logits.device).expand(len(logits), -1)
    return token_losses(logits[:, :-1].float(), ids[:, 1:])


def bits_per_byte(model: Transformer, tokenizer: BPETokenizer, documents: Iterable[str]) -> float:
    """Total surprisal of documents, each read by itself from the separator on, in bits over their UTF-8 bytes.

    Per byte rather than per token, so that models with different tokenizers can be compared.
    """
    nats, size = 0.0, 0
    start = [] if tokenizer.separator_id is None else [tokenizer.separator_id]
    for document in documents:
        nats += float(surprisal(model, start + tokenizer.encode(document)).sum())
        size += len(document.encode("utf-8", "surrogatepass"))
    return ratio(nats / LN2, size)


@torch.no_grad()
def position_losses(model: Transformer, windows: Int[Tensor, "rows seq"], rows: int = 8) -> Float[Tensor, " position"]:
    """Mean loss in nats of predicting the token after each position, over windows of ids; shape (seq - 1,).

    Args:
        rows: how many windows are read at once.
    """
    device = next(model.parameters()).device
    losses = []
    for some in windows.split(rows):
        log_p = model(some[:, :-1].to(device)).logits.float().log_softmax(-1)
        losses.append(-log_p.gather(2, some[:, 1:, None].to(device)).squeeze(2).cpu())
    return torch.cat(losses).mean(0)


@dataclass(frozen=True, slots=True)
class Likeliest:
    """Tokens and their probabilities, the most probable first."""

    ids: Int[ndarray, " guess"]
    probabilities: Float[ndarray, " guess"]


def top(probabilities: Float[ndarray, " vocab"], count: int) -> Likeliest:
    """The `count` most probable tokens of a distribution; all of them where there are fewer."""
    ids = torch.tensor(probabilities).topk(min(count, len(probabilities))).indices.numpy()
    return Likeliest(ids, probabilities[ids])


def likeliest(logits: Float[Tensor, " vocab"], count: int) -> Likeliest:
    """The `count` most probable tokens of softmax(logits)."""
    return top(logits.float().softmax(-1).cpu().numpy(), count)


def first_explained(text: str, certainty: Sequence[float]) -> int:
    """The position whose prediction is shown at first: the last one; where a sentence ends there, so that little but a
    new line is expected, the one after which the model is surest.

    Args:
        certainty: the probability of the most probable token after each token of the text.
    """
    return max(range(len(certainty)), key=certainty.__getitem__) if has_ended(text) else len(certainty) - 1


def has_ended(text: str) -> bool:
    """Whether a sentence or a line ends where the text ends."""
    return ENDED.search(text) is not None


@torch.no_grad()
def next_tokens(model: Transformer, ids: Sequence[int], count: int) -> Likeliest:
    """The `count` most probable tokens after a text."""
    return likeliest(next_logits(model, ids), count)


@torch.no_grad()
def every_next(model: Transformer, ids: Sequence[int], count: int) -> list[Likeliest]:
    """The `count` most probable tokens after each token of a text, which a decoder predicts in one run."""
    (logits,) = model(one_text(model, ids)).logits
    probabilities = logits.float().softmax(1)  # (seq, vocab)
    best = probabilities.topk(min(count, probabilities.shape[1]))
    return [Likeliest(*row) for row in zip(best.indices.cpu().numpy(), best.values.cpu().numpy(), strict=True)]


@dataclass(frozen=True, slots=True)
class Framed:
    """A text as a model reads it.

    Args:
        before: ids that say that a text begins: of the tokenizer, or the separator of our own; often none.
        ids: of the text itself, without those before and after it.
        whole: decoding the ids gives the very text.
    """

    before: tuple[int, ...]
    ids: tuple[int, ...]
    whole: bool


def framed(tokenizer: Tokenizer, text: str) -> Framed:
    """Take the tokens that are the text apart from those that a tokenizer puts around it."""
    around, ids = tokenizer.encode(""), tokenizer.encode(text)
    start = next((i for i, pair in enumerate(zip(around, ids, strict=False)) if pair[0] != pair[1]), len(around))
    end = len(around) - start
    before, inside = ids[:start], ids[start : len(ids) - end]
    separator = getattr(tokenizer, "separator_id", None)
    if not before and separator is not None:
        before = [separator]
    return Framed(tuple(before), tuple(inside), tokenizer.decode(inside) == unmarked(text))


@dataclass(frozen=True, slots=True)
class TextBits:
    """Bits that each token of a text costs a model.

    Args:
        ids: of the text.
        tokens: the same as pieces of text.
        bits: -log2 p of each token, given all before it.
        sizes: bytes of each token.
        n_bytes: of the text, in UTF-8; the sum of the sizes, unless the tokenizer changes the text.
        start: the sign before the first token, or "" where there is none: the first token then costs log2 of the
            vocabulary, as if every one of its ids were equally likely.
        whole: the tokens give back the very text.
    """

    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    bits: Float[ndarray, " token"]
    sizes: Int[ndarray, " token"]
    n_bytes: int
    start: str
    whole: bool

    @property
    def total(self) -> float:
        """Bits of the whole text."""
        return float(self.bits.sum())

    @property
    def per_token(self) -> float:
        """Mean surprisal: the cross-entropy of the text under the model."""
        return ratio(self.total, len(self.bits))

    @property
    def per_byte(self) -> float:
        """Bits over the bytes of the text: models with different vocabularies are compared by it."""
        return ratio(self.total, self.n_bytes)


def text_bits(model: Transformer, tokenizer: Tokenizer, text: str) -> TextBits:
    """Surprisal of every token of a text in one pass (in windows that overlap by half, where it is long)."""
    read = framed(tokenizer, text)
    nats = surprisal(model, [*read.before, *read.ids], WINDOW)[max(0, len(read.before) - 1) :]
    bits = nats.double().cpu().numpy() / LN2
    if not read.before and read.ids:
        bits = np.concatenate(([math.log2(model.config.vocab_size)], bits))
    return TextBits(
        read.ids,
        tuple(pieces_of(tokenizer, read.ids)),
        bits,
        np.array([len(tokenizer.token_bytes(i)) for i in read.ids], dtype=np.int64),
        len(unmarked(text).encode("utf-8", "surrogatepass")),
        piece_of(tokenizer, read.before[-1]) if read.before else "",
        read.whole,
    )
