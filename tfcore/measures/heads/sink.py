"""Attention without its sink: the first token of a text takes much of the weight, whatever it is (arXiv:2309.17453).

What is hidden: the first token (BOS, where the text has one), and of an encoder's text also the tokens that the
tokenizer puts around it, such as [CLS] and [SEP] (arXiv:1906.04341, section 3.2).
"""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy import ndarray

from tfcore.measures.heads.kinds import LEAST, HeadScores, score_cross, score_heads
from tfcore.tokenizers.tokenizer import Tokenizer


def sink_tokens(tokenizer: Tokenizer, ids: Sequence[int], around: bool) -> Bool[ndarray, " key"]:
    """Which tokens of a text are taken for sinks: the first, and if `around` those that the tokenizer puts before and
    behind every text."""
    sinks = np.zeros(len(ids), dtype=bool)
    sinks[:1] = True
    special = set(tokenizer.encode("")) if around else set()
    for step in (1, -1):
        for place in range(len(ids))[::step]:
            if ids[place] not in special:
                break
            sinks[place] = True
    return sinks


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
