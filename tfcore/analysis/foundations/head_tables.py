"""The numbers behind the pictures of attention, as tables for people and spreadsheets."""

import numpy as np
import pandas as pd

from tfcore.analysis.foundations.attention_maps import AttentionMaps


def score_columns(found: AttentionMaps) -> list[str]:
    """The columns of head_table that hold numbers with decimals."""
    return ["score", *found.heads.scores, "entropy (bits)", "mean distance (tokens)"]


def order(found: AttentionMaps, sort: str) -> list[tuple[int, int]]:
    """The heads (layer, head) by "place", "kind" or "score"."""
    places = [(int(layer), int(head)) for layer, head in np.ndindex(found.heads.kind.shape)]
    if sort == "score":
        return sorted(places, key=lambda p: -found.heads.score[p])
    if sort == "kind":
        return sorted(places, key=lambda p: (found.heads.kind[p], -found.heads.score[p]))
    return places


def head_table(found: AttentionMaps) -> pd.DataFrame:
    """Every head with everything measured about it, one row each."""
    heads = found.heads
    rows = [
        {
            "layer": layer,
            "head": head,
            "kind": heads.kind[layer, head],
            "score": heads.score[layer, head],
            **{kind: scores[layer, head] for kind, scores in heads.scores.items()},
            "entropy (bits)": heads.entropy[layer, head],
            "mean distance (tokens)": heads.distance[layer, head],
        }
        for layer, head in order(found, "place")
    ]
    return pd.DataFrame(rows)


def map_table(pattern: np.ndarray, queries: list[str], keys: list[str]) -> pd.DataFrame:
    """A map as rows of query, key, weight."""
    query, key = np.nonzero(pattern > 0)
    return pd.DataFrame(
        {
            "query": query,
            "key": key,
            "query token": [queries[i] for i in query],
            "key token": [keys[i] for i in key],
            "weight": pattern[query, key],
        }
    )


def token_table(found: AttentionMaps, token: int, tokens: list[str]) -> pd.DataFrame:
    """Where one token looks, one row a head and key."""
    layer, head, key = np.indices(found.patterns[:, :, token].shape).reshape(3, -1)
    weight = found.patterns[:, :, token].ravel()
    return pd.DataFrame(
        {"layer": layer, "head": head, "key": key, "key token": [tokens[i] for i in key], "weight": weight}
    )
