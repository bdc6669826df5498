"""Two sentences as an encoder sees them: their mean vectors, the cosine of these, and what each pair of tokens adds."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.measures.largest import first_largest
from tfcore.measures.one_text import ends, first_tokens, one_text
from tfcore.measures.token_text import visible
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Two sentences, and the cosine of their mean vectors as a sum over pairs of tokens.

    Args:
        one, two: their tokens.
        special: whether a token of the first, and of the second, was put there by the tokenizer, such as [CLS].
        parts: what each pair of tokens adds; all of them together are the cosine.
    """

    one: tuple[str, ...]
    two: tuple[str, ...]
    special: tuple[tuple[bool, ...], tuple[bool, ...]]
    parts: Float[ndarray, "one two"]

    @property
    def cosine(self) -> float:
        """Of the two mean vectors."""
        return float(self.parts.sum())


@torch.no_grad()
def compare_sentences(model: Transformer, tokenizer: Tokenizer, one: str, two: str) -> SentencePair:
    """With h_i and g_j the last hidden states of the tokens of both sentences, u and v their means (arXiv:1908.10084,
    section 3, mean pooling: special tokens take part):

    A sentence is read as far as the model's context goes.

    cos(u, v) = u . v / (|u| |v|) = sum_ij h_i . g_j / (n m |u| |v|)

    Raises:
        ValueError: a sentence without a token.
    """
    rows = [first_tokens(model, tokenizer, text, model.config.max_seq_len) for text in (one, two)]
    if not all(row.ids for row in rows):
        raise ValueError("each of the two sentences needs at least one token")
    h, g = (model(one_text(model, row.ids)).hidden.squeeze(0).double() for row in rows)
    u, v = h.mean(0), g.mean(0)
    length = (u.norm() * v.norm()).clamp(min=1e-12)
    parts = h @ g.T / (len(h) * len(g) * length)
    before, after = (len(part) for part in ends(tokenizer))
    special = [tuple(not before <= i < len(row.ids) - after for i in range(len(row.ids))) for row in rows]
    return SentencePair(tuple(rows[0].tokens), tuple(rows[1].tokens), (special[0], special[1]), parts.cpu().numpy())


@dataclass(frozen=True, slots=True)
class Similarity(Finding):
    """How similar two sentences are, and which tokens make them so.

    Args:
        cosine: of the mean vectors.
        one, two, part: the pair of tokens that adds most, special ones aside, and what it adds.
        lengths: tokens of the sentences.
        special: what the pairs with a special token add; None where there is none.
    """

    cosine: float
    one: str
    two: str
    part: float
    lengths: tuple[int, int]
    special: float | None

    @property
    def sentence(self) -> str:
        n, m = self.lengths
        said = (
            f"Cosine similarity {self.cosine:.3f}, the sum of {n} x {m} pairs of tokens. '{visible(self.one)}' with "
            f"'{visible(self.two)}' adds most: {self.part:+.4f}; a pair adds {self.cosine / (n * m):+.4f} on average."
        )
        if self.special is None:
            return said
        return f"{said} Pairs with a special token add {self.special:+.3f}."


def similarity(found: SentencePair) -> Similarity:
    """The pair of ordinary tokens that adds most (any pair where there are no ordinary ones)."""
    one, two = (np.array(own) for own in found.special)
    ordinary = ~one[:, None] & ~two[None]
    parts = np.where(ordinary, found.parts, -np.inf) if ordinary.any() else found.parts
    i, j = np.unravel_index(first_largest(parts), parts.shape)
    return Similarity(
        found.cosine,
        found.one[int(i)],
        found.two[int(j)],
        float(found.parts[i, j]),
        (len(found.one), len(found.two)),
        None if ordinary.all() else float(found.parts[~ordinary].sum()),
    )


@dataclass(frozen=True, slots=True)
class TokenShare(Finding):
    """The token of a sentence that adds most to the cosine, all its pairs together.

    Args:
        which: "first" or "second".
        token, part: which one, and what its pairs add.
        least, least_part: the token that adds least.
    """

    which: str
    token: str
    part: float
    least: str
    least_part: float

    @property
    def sentence(self) -> str:
        return (
            f"Of the {self.which} sentence '{visible(self.token)}' adds most, {self.part:+.3f}, and "
            f"'{visible(self.least)}' least, {self.least_part:+.3f}."
        )


def token_share(found: SentencePair, which: int) -> TokenShare:
    """Sums of the rows of the first sentence (0), or of the columns of the second (1)."""
    sums, tokens = found.parts.sum(1 - which), (found.one, found.two)[which]
    most, least = int(sums.argmax()), int(sums.argmin())
    return TokenShare(("first", "second")[which], tokens[most], float(sums[most]), tokens[least], float(sums[least]))
