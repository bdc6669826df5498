"""The numbers of an atlas by plain loops over maps, one head, query and key after another."""

import math
from collections import defaultdict

import numpy as np

CLOSES = {")": "(", "]": "[", "}": "{"}


def by_loops(texts, maps, kinds, sinks):
    """What an atlas says of each head.

    Args:
        texts: the tokens of each text, as strings.
        maps: of each text, weights[layer][head][query][key].
        kinds: of each text, whether each token is of each kind.
        sinks: of each text, which tokens are sinks.
    """
    layers, heads = maps[0].shape[:2]
    found = defaultdict(lambda: np.zeros((layers, heads)))
    n_kinds = kinds[0].shape[1]
    pairs = np.zeros((layers, heads, n_kinds, n_kinds))
    distances, ahead = np.zeros((2, layers, heads, 8))
    for layer in range(layers):
        for head in range(heads):
            one = _head(texts, [each[layer][head].tolist() for each in maps], kinds, sinks)
            for name, value in one["measures"].items():
                found[name][layer, head] = value
            pairs[layer, head], distances[layer, head], ahead[layer, head] = (
                one[name] for name in ("pairs", "distances", "ahead")
            )
    return dict(found), pairs, distances, ahead


def octave(distance):
    return 0 if distance == 0 else min(7, int(math.log2(distance)) + 1)


def _head(texts, maps, kinds, sinks):
    values = defaultdict(list)
    n_kinds = kinds[0].shape[1]
    pairs, counts = np.zeros((n_kinds, n_kinds)), np.zeros(n_kinds)
    distances, ahead, moved, weights = np.zeros(8), np.zeros(8), 0.0, 0.0
    for tokens, pattern, kind, sink in zip(texts, maps, kinds, sinks, strict=True):
        opened = []
        for query, token in enumerate(tokens):
            closed = None
            for sign in token:
                if sign in CLOSES.values():
                    opened.append((sign, query))
                elif sign in CLOSES and opened and opened[-1][0] == CLOSES[sign]:
                    closed = opened.pop()[1]
            if sink[query]:
                continue
            row = pattern[query]
            on_sink = sum(row[key] for key in range(len(tokens)) if sink[key])
            values["first"].append(on_sink)
            values["sink_share"].append(1.0 if on_sink > 0.5 else 0.0)
            values["self"].append(row[query])
            values["activity"].append(sum(row) - on_sink - row[query])
            values["previous"].append(row[query - 1])
            values["entropy"].append(-sum(weight * math.log(weight) for weight in row if weight > 0))
            seen = [key for key in range(len(tokens)) if key <= query or row[key] > 0]
            same = [key for key in seen if tokens[key] == token and key != query]
            after = [key for key in seen if key and tokens[key - 1] == token and key - 1 != query and key != query]
            if same:
                values["same"].append(sum(row[key] for key in same))
            if after:
                values["after_same"].append(sum(row[key] for key in after))
            if closed is not None and not sink[closed]:
                values["bracket"].append(row[closed])
            for first in np.flatnonzero(kind[query]):
                counts[first] += 1
            for key in range(len(tokens)):
                if sink[key]:
                    continue
                side = distances if key <= query else ahead
                side[octave(abs(query - key))] += row[key]
                moved += abs(query - key) * row[key]
                weights += row[key]
                for first in np.flatnonzero(kind[query]):
                    for second in np.flatnonzero(kind[key]):
                        pairs[first, second] += row[key]
    queries = len(values["first"])
    measures = {name: sum(found) / len(found) for name, found in values.items()}
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "measures": measures | {"distance": moved / weights},
            "pairs": pairs / counts[:, None],
            "distances": distances / queries,
            "ahead": ahead / queries,
        }


def by_position(maps, kinds, sinks):
    """Weight from kind to kind if each head put on every key its mean weight at that distance."""
    layers, heads = maps[0].shape[:2]
    found = np.zeros((layers, heads, kinds[0].shape[1], kinds[0].shape[1]))
    for layer in range(layers):
        for head in range(heads):
            weights = defaultdict(list)
            for pattern, sink in zip(maps, sinks, strict=True):
                for query, key in _pairs(sink, pattern):
                    weights[query - key].append(pattern[layer][head][query][key])
            usual = {away: sum(all_of) / len(all_of) for away, all_of in weights.items()}
            counts = np.zeros(found.shape[2])
            for pattern, kind, sink in zip(maps, kinds, sinks, strict=True):
                for query in np.flatnonzero(~sink):
                    counts += kind[query]
                for query, key in _pairs(sink, pattern):
                    found[layer, head] += np.outer(kind[query], kind[key]) * usual[query - key]
            with np.errstate(divide="ignore", invalid="ignore"):
                found[layer, head] /= counts[:, None]
    return found


def _pairs(sink, pattern):
    """Queries and keys that are no sinks; in a decoder the key is not behind the query."""
    ahead = bool(np.triu(pattern[0][0], 1).any())
    kept = np.flatnonzero(~sink).tolist()
    return [(query, key) for query in kept for key in kept if ahead or key <= query]
