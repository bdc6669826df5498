"""Surprise of two models with different tokens, by the pieces of the text at whose ends both end a token."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from numpy import ndarray

from tfcore.measures.text_loss import LN2, TextBits, text_bits
from tfcore.measures.token_text import bytes_of
from tfcore.views.kept import kept
from tfcore.views.sources import Source

costs = kept(text_bits, entries=16)


@dataclass(frozen=True, slots=True)
class SpanSurprise:
    """Pieces of a text with what they cost two models.

    Args:
        pieces: as text, in order.
        nats: surprise of all tokens of a piece by either model.
        sizes: bytes of each piece.
        tokens: of each piece by either model.
    """

    pieces: tuple[str, ...]
    nats: Float[ndarray, "model piece"]
    sizes: Int[ndarray, " piece"]
    tokens: Int[ndarray, "model piece"]

    @property
    def per_byte(self) -> tuple[float, float]:
        """Nats over bytes of either model."""
        first, second = self.nats.sum(1) / self.sizes.sum()
        return float(first), float(second)


def spans(first: TextBits, second: TextBits) -> SpanSurprise:
    """The shortest pieces at whose ends both models end a token: the text is the same, and so is what they have said.

    The tokens that nothing stands before cost nothing here: the piece with the first of either is left out, unless it
    is the only one.

    Raises:
        ValueError: a tokenizer that does not give back the text.
    """
    if not (first.whole and second.whole):
        raise ValueError(
            "one of the two tokenizers changes the text, as by leaving out capitals or signs, so its pieces cannot be "
            "told apart; type a text of letters that it knows"
        )
    ends = [np.cumsum(one.sizes) for one in (first, second)]
    common = np.intersect1d(ends[0], ends[1])
    data = b"".join(map(bytes_of, first.tokens))
    starts = [0, *common[:-1].tolist()]
    places = [np.searchsorted(one, common) + 1 for one in ends]  # tokens up to the end of each piece
    sums = [np.concatenate(([0.0], np.cumsum(one.bits)))[at] for one, at in zip((first, second), places, strict=True)]
    nats = np.stack([np.diff(one, prepend=0.0) for one in sums]) * LN2
    counts = np.stack([np.diff(at, prepend=0) for at in places])
    pieces = [data[start:end].decode("utf-8", "replace") for start, end in zip(starts, common, strict=True)]
    untold = len(common) > 1 and not (first.start and second.start)
    kept_from = 1 if untold else 0
    sizes = np.diff(common, prepend=0)
    return SpanSurprise(tuple(pieces[kept_from:]), nats[:, kept_from:], sizes[kept_from:], counts[:, kept_from:])


def spans_of(first: Source, second: Source, text: str) -> SpanSurprise:
    """The pieces of a text in two models."""
    return spans(costs(first, text), costs(second, text))
