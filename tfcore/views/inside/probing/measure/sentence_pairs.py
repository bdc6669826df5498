"""Two sentences as an encoder sees them: their mean vectors, the cosine of these, and what each pair of tokens adds."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy import ndarray

from tfcore.measures.one_text import ends, first_tokens, one_text
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
        """The cosine of the two mean vectors."""
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
