"""Attention without its sink: the first token of a text takes much of the weight, whatever it is (arXiv:2309.17453).

What is hidden: the first token (BOS, where the text has one), and of an encoder's text also the tokens that the
tokenizer puts around it, such as [CLS] and [SEP] (arXiv:1906.04341, section 3.2).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.measures.heads.kinds import HeadScores, score_cross, score_heads
from tfcore.measures.token_text import shorten, visible
from tfcore.tokenizers.tokenizer import Tokenizer

LETTERS = 12  # of a token in a sentence
LEAST = 1e-6  # weight that must be left in a row; less is rounding


def sink_tokens(tokenizer: Tokenizer, ids: Sequence[int], around: bool) -> Bool[ndarray, " key"]:
    """Which tokens of a text are taken for sinks: the first, and if `around` those that the tokenizer puts before and
    behind every text."""
    found = np.zeros(len(ids), dtype=bool)
    found[:1] = True
    special = set(tokenizer.encode("")) if around else set()
    for step in (1, -1):
        for place in range(len(ids))[::step]:
            if ids[place] not in special:
                break
            found[place] = True
    return found


def without_keys(
    patterns: Float[ndarray, "*head query key"], hidden: Bool[ndarray, " key"]
) -> Float[ndarray, "*head query key"]:
    """Attention weights without some keys: theirs are 0, the others of a row are divided by their sum, so that rows
    sum to 1 again. Rows with nothing else are 0 throughout: the first query of a decoder sees itself alone."""
    kept = np.where(hidden, np.float32(0), patterns)
    total = kept.sum(-1, keepdims=True)
    return np.divide(kept, total, out=np.zeros_like(kept), where=total > LEAST)


def weight_on(
    patterns: Float[ndarray, "layer head query key"], hidden: Bool[ndarray, " key"], within: bool
) -> Float[ndarray, "layer head"]:
    """Mean weight that every head puts on these keys.

    Args:
        within: queries and keys are the same tokens; the queries among the hidden ones then do not count.
    """
    queries = ~hidden if within else np.ones(patterns.shape[2], dtype=bool)
    if not queries.any():
        return np.ones(patterns.shape[:2], dtype=np.float32)
    return patterns[..., hidden][:, :, queries].sum(-1).mean(-1)


def score_without(
    patterns: Float[ndarray, "layer head query key"],
    ids: Int[ndarray, " key"],
    hidden: Bool[ndarray, " key"],
    within: bool = True,
) -> HeadScores:
    """Scores of heads on a text as if the hidden tokens were not there, neither as keys nor as queries.

    Args:
        patterns: without_keys.
        within: self-attention. Of cross-attention only keys are hidden.
    """
    if hidden.all():
        hidden = np.zeros_like(hidden)
    kept = np.flatnonzero(~hidden)
    if not within:
        return score_cross(patterns[..., kept])
    inside = slice(kept[0], kept[-1] + 1)  # sinks stand at the ends: no copy
    return score_heads(patterns[:, :, inside, inside], ids[inside])


@dataclass(frozen=True, slots=True)
class HiddenSink(Finding):
    """What is hidden of a map.

    Args:
        tokens: the hidden tokens.
        positions: theirs.
        share: of the weight of the other tokens that lay on them, 0 to 1.
        whose: "this head" or "all heads".
    """

    tokens: tuple[str, ...]
    positions: tuple[int, ...]
    share: float
    whose: str

    @property
    def sentence(self) -> str:
        pairs = zip(self.tokens, self.positions, strict=True)
        names = " and ".join(f"'{shorten(visible(token), LETTERS)}' ({place})" for token, place in pairs)
        return (
            f"Hidden: {names}, with {self.share:.0%} of the weight of {self.whose}; "
            "the other weights of each row are divided by their sum."
        )


@dataclass(frozen=True, slots=True)
class RolloutOnFirst(Finding):
    """How much of a rollout ends on the first token that a causal model sees, and why.

    Args:
        query: the token that is followed back.
        first, position: the first token that is seen, and its place.
        share: of the query's rollout that lies on it.
        layers: multiplied.
    """

    query: str
    first: str
    position: int
    share: float
    layers: int

    @property
    def moved(self) -> float:
        """The share of what is elsewhere that a layer moves there, the same for all layers: 1 - (1 - share)^(1/n)."""
        return float(1 - max(0.0, 1 - self.share) ** (1 / self.layers))

    @property
    def sentence(self) -> str:
        query, first = (shorten(visible(token), LETTERS) for token in (self.query, self.first))
        over = "in one layer" if self.layers == 1 else f"over {self.layers} layers"
        share = f"{min(self.share, 0.9999):.2%}" if self.share > 0.99 else f"{self.share:.0%}"
        return (
            f"Rollout of '{query}' {over}: {share}{' or more' if self.share > 0.9999 else ''} on '{first}' "
            f"({self.position}), the first token that is seen. Under the causal mask it sees itself alone, so what "
            f"comes there stays: {self.moved:.0%} a layer is enough. Fewer layers show more, and so does hiding the "
            "first token."
        )


def rollout_on_first(
    rolled: Float[ndarray, "query key"], query: int, tokens: Sequence[str], hidden: Bool[ndarray, " key"], layers: int
) -> RolloutOnFirst | None:
    """Of one query of a rollout; None where a query sees later tokens, or where this one sees no other.

    Args:
        rolled: the rollout of so many layers.
        hidden: keys that are left out of its maps.
    """
    first = int((~hidden).argmax())
    if np.triu(rolled, 1).any() or query <= first:
        return None
    return RolloutOnFirst(tokens[query], tokens[first], first, float(rolled[query, first]), layers)
