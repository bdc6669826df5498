"""The kind of each head, told from standard texts, and all heads ranked by what they do on a text.

The kind is told from a few texts of different sorts, the attention sink left out. On one text a head may look like
anything, and with the sink in sight most heads of a large decoder look alike: on these texts 190 of the 270 heads of
SmolLM2-135M give it 40 % of their weight or more, 1 of 270 without it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.measures.heads.kinds import TEXTS, HeadScores, Place, induction_scores, mean_scores
from tfcore.measures.heads.part_texts import Part
from tfcore.measures.largest import first_largest
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.tokenizers.vocabulary import is_read
from tfcore.views.foundations.heads.measure.attention_maps import read_attention

TOKENS = 64  # of each text; more change few kinds and take longer
LEAST = 8  # tokens of a text that says something about heads


def standard_kinds(model: Transformer, tokenizer: Tokenizer, part: Part | None = None) -> HeadScores | None:
    """The mean of the scores of every head over TEXTS, without the sink; the kinds follow from the means. Which heads
    of a decoder are induction heads is measured on repeated random tokens (see score_heads).

    Args:
        part: one of parts(model.config); None means the first.

    Returns:
        None for a tokenizer that makes too little of the texts, as one for symbols does.
    """
    if not all(is_read(tokenizer, text) for text in TEXTS):
        return None
    read = (read_attention(model, tokenizer, text, part, hide_sink=True, most=TOKENS) for text in TEXTS)
    scores = [one.maps.heads for one in read if one is not None and min(len(one.queries), len(one.keys)) >= LEAST]
    return mean_scores(scores, induction_scores(model)) if len(scores) == len(TEXTS) else None


KIND = "kind"
PAIR = "pair"
ENTROPY = "entropy"
DISTANCE = "distance"
SPREAD = ("local", "broad")  # kinds of heads that do nothing definite


@dataclass(frozen=True, slots=True)
class Ranking:
    """One number for every head, by which heads are ranked.

    Args:
        by: KIND (how strongly the head is what its kind says), PAIR (weight from one token to another), ENTROPY (bits),
            DISTANCE (tokens), or a kind of HeadScores.scores.
        values: (layer, head); NaN where a layer has no attention.
        most: the end of the colour scale.
    """

    by: str
    values: Float[ndarray, "layer head"]
    most: float

    @property
    def order(self) -> list[Place]:
        """All heads, the largest value first."""
        flat = np.argsort(-self.values.ravel(), kind="stable")
        return [(int(i) // self.values.shape[1], int(i) % self.values.shape[1]) for i in flat]

    @property
    def unit(self) -> str:
        """The unit of a value, to be written behind it."""
        return {ENTROPY: " bits", DISTANCE: " tokens"}.get(self.by, "")

    def label(self, place: Place) -> str:
        """The value of a head in short."""
        return f"{self.values[place]:.1f}" if self.unit else f"{self.values[place]:.2f}"


def rank_heads(
    patterns: Float[ndarray, "layer head query key"],
    scores: HeadScores,
    kinds: HeadScores,
    by: str,
    query: int = 0,
    key: int = 0,
) -> Ranking:
    """Rank the heads.

    Args:
        scores: on this text.
        kinds: on the standard texts.
        query, key: of PAIR.
    """
    values, most = kinds.score if by == KIND else scores.scores.get(by, kinds.score), 1.0
    if by == PAIR:
        values = patterns[:, :, query, key]
    elif by == ENTROPY:
        values, most = scores.entropy, float(np.log2(max(2, patterns.shape[-1])))
    elif by == DISTANCE:
        values, most = scores.distance, max(1.0, float(scores.distance.max()))
    return Ranking(by, values if kinds.attends.all() else np.where(kinds.attends, values, np.nan), most)


@dataclass(frozen=True, slots=True)
class TokenPair:
    """A query token and a key token."""

    query: int
    key: int


def strongest_pair(patterns: Float[ndarray, "layer head query key"], hidden: ndarray) -> TokenPair:
    """The two tokens with the largest weight of any head between them, neighbours, the tokens themselves and hidden
    keys apart; where there are no others, the last token and the first."""
    far = np.where(_apart(patterns, hidden), patterns.max(axis=(0, 1)), 0)  # (query, key)
    if not far.any():
        return TokenPair(len(far) - 1, 0)
    return TokenPair(*divmod(first_largest(far), far.shape[1]))


@dataclass(frozen=True, slots=True)
class PairWeight:
    """The weight of one head from a query token to a key token."""

    layer: int
    head: int
    query: int
    key: int
    weight: float


def strongest_look(
    patterns: Float[ndarray, "layer head query key"], queries: Sequence[str], keys: Sequence[str], hidden: ndarray
) -> PairWeight | None:
    """The largest weight of any head between two words: tokens with a letter in them, neighbours, the tokens themselves
    and hidden keys apart. None where no head has weight on such a pair."""
    words = np.array([has_letter(token) for token in queries])[:, None] & np.array([has_letter(key) for key in keys])
    # the largest over heads first: masked maps of all heads would take as much memory as the maps
    far = np.where(_apart(patterns, hidden) & words, patterns.max(axis=(0, 1)), 0.0)
    query, key = (int(i) for i in np.unravel_index(first_largest(far), far.shape))
    heads = patterns[:, :, query, key]
    layer, head = (int(i) for i in np.unravel_index(first_largest(heads), heads.shape))
    return PairWeight(layer, head, query, key, float(far[query, key])) if far[query, key] > 0 else None


def has_letter(token: str) -> bool:
    """Whether a token is a word or a part of one, and no number, mark or space."""
    return any(letter.isalpha() for letter in token)


def _apart(patterns: Float[ndarray, "layer head query key"], hidden: ndarray) -> Bool[ndarray, "query key"]:
    """Which pairs are not neighbours, not a token and itself, and not with a hidden key."""
    query, key = np.indices(patterns.shape[2:])
    return (abs(query - key) > 1) & ~hidden[None, :]


def strongest_of(kinds: HeadScores, kind: str) -> list[Place]:
    """The heads of a kind, the strongest first."""
    places = [(int(layer), int(head)) for layer, head in np.argwhere(kinds.kind == kind)]
    return sorted(places, key=lambda place: -kinds.score[place])


def striking_head(kinds: HeadScores) -> Place:
    """The head to look at first: the strongest induction head, else the strongest one that does something definite."""
    score = np.where(kinds.kind == "induction", 1 + kinds.score, kinds.score)
    score = np.where(np.isin(kinds.kind, SPREAD), score - 1, score)
    score = np.where(kinds.attends, score, -np.inf)
    best = int(score.argmax())
    return best // score.shape[1], best % score.shape[1]
