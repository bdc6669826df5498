"""Two sentences as an encoder sees them: their vectors, the cosine of these, and what each pair of tokens adds."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy import ndarray
from torch import Tensor

from tfcore.config import ModelConfig
from tfcore.measures.one_text import ends, first_tokens, one_text
from tfcore.model import Transformer
from tfcore.part_configs import SentencePooling
from tfcore.tokenizers.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True)
class SentencePair:
    """Two sentences, and the cosine of their vectors as a sum over pairs of tokens.

    Args:
        one, two: their tokens.
        special: whether a token of the first, and of the second, was put there by the tokenizer, such as [CLS].
        parts: what each pair of tokens adds; all of them together are the cosine.
        pooling: over which tokens the vectors are taken.
    """

    one: tuple[str, ...]
    two: tuple[str, ...]
    special: tuple[tuple[bool, ...], tuple[bool, ...]]
    parts: Float[ndarray, "one two"]
    pooling: SentencePooling = "mean"

    @property
    def cosine(self) -> float:
        """The cosine of the two vectors."""
        return float(self.parts.sum())


def why_no_sentence_vectors(config: ModelConfig) -> str | None:
    """Why a model has no vector of a sentence, or None."""
    if config.sentences != "unread":
        return None
    return (
        "the folder of this model makes it by a rule that is not read here; the mean, the first and the last token's "
        "state are"
    )


def counted(pooling: SentencePooling, n: int) -> Float[Tensor, " token"]:
    """How much each of n tokens counts in the vector of a sentence."""
    if pooling == "mean":
        return torch.full((n,), 1 / n, dtype=torch.float64)
    return torch.eye(n, dtype=torch.float64)[0 if pooling == "first" else -1]


@torch.no_grad()
def compare_sentences(model: Transformer, tokenizer: Tokenizer, one: str, two: str) -> SentencePair:
    """With h_i and g_j the last hidden states of the tokens of both sentences, and a_i and b_j how much each counts
    (arXiv:1908.10084, section 3): 1/n of n tokens for a mean, in which special tokens take part; 1 of the first or of
    the last and 0 of all others, where that is how the model was trained:

    u = sum_i a_i h_i,  v = sum_j b_j g_j,  cos(u, v) = u . v / (|u| |v|) = sum_ij a_i b_j h_i . g_j / (|u| |v|)

    A sentence is read as far as the model's context goes.

    Raises:
        ValueError: a sentence without a token, or a model whose rule for sentence vectors is not read.
    """
    if reason := why_no_sentence_vectors(model.config):
        raise ValueError(f"there is no vector of a sentence: {reason}")
    rows = [first_tokens(model, tokenizer, text, model.config.max_seq_len) for text in (one, two)]
    if not all(row.ids for row in rows):
        raise ValueError("each of the two sentences needs at least one token")
    h, g = (model(one_text(model, row.ids)).hidden.squeeze(0).double() for row in rows)
    pooling = model.config.sentences
    a, b = (counted(pooling, len(states)).to(states) for states in (h, g))
    length = ((a @ h).norm() * (b @ g).norm()).clamp(min=1e-12)
    parts = a[:, None] * (h @ g.T) * b / length
    before, after = (len(part) for part in ends(tokenizer))
    special = [tuple(not before <= i < len(row.ids) - after for i in range(len(row.ids))) for row in rows]
    return SentencePair(
        tuple(rows[0].tokens), tuple(rows[1].tokens), (special[0], special[1]), parts.cpu().numpy(), pooling
    )
