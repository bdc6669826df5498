"""The behaviour of each attention head, measured on its pattern: one number per head and per kind of behaviour."""

import numpy as np
import pandas as pd

from tfcore.measures.heads.kinds import HeadScores, Place

NAMED = 8  # heads that a sentence names


def order(scores: HeadScores, sort: str) -> list[Place]:
    """The heads by "place", "kind" or "score"; within a kind, and by score, the largest score first."""
    places = [(int(layer), int(head)) for layer, head in np.ndindex(scores.kind.shape)]
    if sort == "score":
        return sorted(places, key=lambda p: -scores.score[p])
    if sort == "kind":
        return sorted(places, key=lambda p: (scores.kind[p], -scores.score[p]))
    return places


def score_columns(scores: HeadScores) -> list[str]:
    """The columns of head_table that hold numbers with decimals."""
    return ["score", *scores.scores, "entropy (bits)", "mean distance (tokens)"]


def head_table(scores: HeadScores, kinds: HeadScores) -> pd.DataFrame:
    """Every head of attention with everything measured about it, one row each.

    Args:
        scores: on a text.
        kinds: what kinds are told from; see standard_kinds.
    """
    rows = [
        {
            "layer": layer,
            "head": head,
            "kind": kinds.kind[layer, head],
            "score": kinds.score[layer, head],
            **{kind: values[layer, head] for kind, values in scores.scores.items()},
            "entropy (bits)": scores.entropy[layer, head],
            "mean distance (tokens)": scores.distance[layer, head],
        }
        for layer, head in order(scores, "place")
        if kinds.attends[layer, head]
    ]
    return pd.DataFrame(rows)
