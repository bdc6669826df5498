"""Attention of every head of a model on one text: the maps, what is made of them, and what they show."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from numpy import ndarray

from tfcore.measures.heads.kinds import WHOLE, Place
from tfcore.measures.heads.maps import AttentionMaps, attention_maps
from tfcore.measures.heads.part_texts import Part, parts, text_ids
from tfcore.measures.heads.sink import score_without, sink_tokens, weight_on, without_keys
from tfcore.measures.largest import first_largest
from tfcore.measures.token_text import shorten, visible
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer
from tfcore.views.finding import Finding

TOKEN_LETTERS = 12  # of a token in a sentence; a longer one is cut


@dataclass(frozen=True, slots=True)
class AttentionReading:
    """A text with its attention maps.

    Args:
        maps: the maps.
        queries, keys: the query tokens and the key tokens.
        dropped: how many tokens of the text did not fit.
        sink: which keys are taken for sinks; see sink_tokens.
        sink_weight: mean weight of every head on them; NaN where a layer has no attention.
        hides_sink: the maps are without them.
        learned_sink: mean weight of every head on its learned sink, which is no token; None where heads have none.
    """

    maps: AttentionMaps
    queries: list[str]
    keys: list[str]
    dropped: int
    sink: Bool[ndarray, " key"]
    sink_weight: Float[ndarray, "layer head"]
    hides_sink: bool
    learned_sink: Float[ndarray, "layer head"] | None = None

    @property
    def within(self) -> bool:
        """Self-attention: queries and keys are the same tokens."""
        return self.queries == self.keys


def read_attention(
    model: Transformer,
    tokenizer: Tokenizer,
    text: str,
    part: Part | None = None,
    *,
    bos: bool | None = None,
    hide_sink: bool = False,
    most: int | None = None,
) -> AttentionReading | None:
    """Attention of one part of a model on a text; an encoder-decoder also writes its translation, and reads that.

    Args:
        part: one of parts(model.config); None means the first.
        bos: with or without the BOS token before the text; None as its tokenizer does.
        hide_sink: see without_sink.
        most: tokens; None means as many as longest_text says.

    Returns:
        None where the tokenizer makes no token of the text.
    """
    part = part or parts(model.config)[0]
    read = text_ids(model, tokenizer, text, part, bos=bos, most=most)
    if read is None:
        return None
    queries, keys, dropped = read.queries, read.keys, read.dropped
    maps = attention_maps(model, read.ids, part=part, decoder_ids=read.decoder_ids)
    sink = sink_tokens(tokenizer, maps.ids.tolist(), around=part != "decoder")
    weight = weight_on(maps.patterns, sink, within=part != "cross")
    weight = np.where(maps.heads.attends, weight, np.nan)  # of layers that have attention
    learned = 1 - maps.patterns.sum(-1).mean(-1) if model.config.attention.sinks else None
    reading = AttentionReading(maps, queries, keys, dropped, sink, weight, False, learned)
    return without_sink(reading) if hide_sink else reading


def without_sink(reading: AttentionReading) -> AttentionReading:
    """The reading with the sinks hidden and the other weights of each row divided by their sum, learned sinks left out
    too; scores of heads are those of what is left."""
    maps, within = reading.maps, reading.queries == reading.keys
    patterns = np.empty_like(maps.patterns)
    for layer, seen in enumerate(maps.patterns):  # one after another: together they may be hundreds of megabytes
        patterns[layer] = without_keys(seen, reading.sink)
    heads = score_without(patterns, maps.ids, reading.sink, within)
    return replace(reading, maps=replace(maps, patterns=patterns, heads=heads), hides_sink=True)


@dataclass(frozen=True, slots=True)
class HiddenSink(Finding):
    """The part of a map that is hidden.

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
        names = " and ".join(f"'{shorten(visible(token), TOKEN_LETTERS)}' ({place})" for token, place in pairs)
        return (
            f"Hidden: {names}, with {self.share:.0%} of the weight of {self.whose}; "
            "the other weights of each row are divided by their sum."
        )


def hidden_sink(reading: AttentionReading, layer: int | None = None, head: int | None = None) -> HiddenSink:
    """Which tokens are hidden, and how much weight they had: in one head, in a layer, or in all heads."""
    places = tuple(int(i) for i in np.flatnonzero(reading.sink))
    share = _mean_of(reading.sink_weight, layer, head)
    return HiddenSink(tuple(reading.keys[i] for i in places), places, share, _whose(layer, head))


@dataclass(frozen=True, slots=True)
class LearnedSink(Finding):
    """The weight that learned sinks take.

    Args:
        share: of the weight of each query, 0 to 1, on average.
        whose: "head 0.1", "the heads of layer 0" or "all heads".
        divided: the other weights are divided by their sum, so that rows sum to 1 all the same.
    """

    share: float
    whose: str
    divided: bool

    @property
    def sentence(self) -> str:
        rest = ", and is left out of these rows" if self.divided else "; a row sums to what it leaves"
        return f"{self.share:.0%} of the weight of {self.whose} goes to a learned sink, which is no token{rest}."


def sinks(reading: AttentionReading, layer: int | None = None, head: int | None = None) -> tuple[Finding, ...]:
    """Findings on the tokens that are hidden and on learned sinks, where there are such: of one head, of a layer, or of
    all heads."""
    hidden = (hidden_sink(reading, layer, head),) if reading.hides_sink else ()
    if reading.learned_sink is None:
        return hidden
    share = _mean_of(reading.learned_sink, layer, head)
    return (*hidden, LearnedSink(share, _whose(layer, head), reading.hides_sink))


def _mean_of(weight: Float[ndarray, "layer head"], layer: int | None, head: int | None) -> float:
    some = weight[slice(None) if layer is None else layer][..., slice(None) if head is None else head]
    return float(np.nanmean(some))


def _whose(layer: int | None, head: int | None) -> str:
    return "all heads" if layer is None else f"the heads of layer {layer}" if head is None else f"head {layer}.{head}"


@dataclass(frozen=True, slots=True)
class StrongestKey(Finding):
    """The key token that a query token attends to most.

    Args:
        query, key: positions.
        weight: attention weight.
        query_token, key_token: the tokens.
    """

    query: int
    key: int
    weight: float
    query_token: str
    key_token: str

    @property
    def sentence(self) -> str:
        query, key = (shorten(visible(token), TOKEN_LETTERS) for token in (self.query_token, self.key_token))
        return f"'{query}' attends most to '{key}' ({self.key}), with weight {self.weight:.2f}."


def strongest_key(
    pattern: Float[ndarray, "query key"], query: int, queries: Sequence[str], keys: Sequence[str]
) -> StrongestKey:
    """The largest weight in one row of a map; the first of several equal ones."""
    key = first_largest(pattern[query])
    return StrongestKey(query, key, float(pattern[query, key]), queries[query], keys[key])


@dataclass(frozen=True, slots=True)
class MapRange(Finding):
    """Which part of a map is drawn, and how.

    Args:
        shape: (query, key) of the whole map.
        first, last: of the tokens that are drawn; None for all.
        outside: the share of the weight of the drawn queries that lies on keys that are not drawn.
        pooled: how many tokens a side a cell stands for.
        whole: each row sums to 1; otherwise learned sinks take a part of it.
    """

    shape: tuple[int, int]
    first: int | None = None
    last: int | None = None
    outside: float = 0.0
    pooled: int = 1
    whole: bool = True

    def token(self, row: int) -> int:
        """The first token that a row of the drawn map stands for."""
        return min((self.first or 0) + row * self.pooled, self.shape[0] - 1)

    @property
    def sentence(self) -> str:
        note = "each row sums to 1" if self.whole else "a row sums to 1 less what learned sinks take"
        if self.pooled > 1:
            note = (
                f"pooled: a cell shows the largest weight of {self.pooled} by {self.pooled}; choose a range of tokens "
                "for all of them"
            )
        elif self.first is not None:
            note = f"tokens {self.first} to {self.last}; {self.outside:.0%} of their weight lies outside"
        return f"Shape (query, key) = {self.shape}; {note}."


def map_range(
    pattern: Float[ndarray, "query key"], window: tuple[int, int] | None, cells: int, sunk: bool = False
) -> MapRange:
    """Describe what is drawn of a map.

    Args:
        window: the first token that is drawn and the one after the last; None for the whole map, pooled.
        cells: along a side of a pooled map.
        sunk: learned sinks may take a part of each row.
    """
    shape = (pattern.shape[0], pattern.shape[1])
    whole = not sunk or float(pattern.sum(-1).min()) > WHOLE
    if window is None:
        return MapRange(shape, pooled=-(-max(shape) // cells), whole=whole)
    start, stop = window
    if stop - start >= max(shape):
        return MapRange(shape, whole=whole)
    drawn = pattern[start:stop]
    total = float(drawn.sum())  # without their sink rows may be empty
    outside = 1 - float(drawn[:, start:stop].sum()) / total if total else 0.0
    return MapRange(shape, start, stop - 1, outside, whole=whole)


def map_findings(
    reading: AttentionReading,
    pattern: Float[ndarray, "query key"],
    query: int,
    window: tuple[int, int] | None,
    cells: int,
) -> tuple[StrongestKey, MapRange]:
    """Findings on one row of a map, and on the part of the map that is drawn; see map_range."""
    sunk = reading.learned_sink is not None and not reading.hides_sink
    return strongest_key(pattern, query, reading.queries, reading.keys), map_range(pattern, window, cells, sunk)


def head_mean(patterns: Float[ndarray, "layer head query key"]) -> Float[ndarray, "layer query key"]:
    """Each layer's patterns, averaged over its heads."""
    return patterns.mean(1)


def some_heads(
    patterns: Float[ndarray, "layer head query key"], places: Sequence[Place]
) -> Float[ndarray, "place query key"]:
    """The maps of these heads."""
    return np.stack([patterns[place] for place in places])


def rollout(patterns: Float[ndarray, "layer head query key"]) -> Float[ndarray, "layer query key"]:
    """How much of each input token reaches each position by the end of every layer, if attention moved tokens whole.

    Heads are averaged, the residual connection counts as half: A = (mean over heads + I) / 2, and the layers so far
    are multiplied (arXiv:2005.00928, section 3, attention rollout). Rows are divided by their sum, so that it is 1 also
    of maps without their sink, in which a row may be empty, and of those with learned sinks, which move nothing.
    """
    *_, n = patterns.shape
    mixed = head_mean(patterns) + np.eye(n, dtype=patterns.dtype)
    mixed = mixed / mixed.sum(-1, keepdims=True)
    reached = [mixed[0]]
    for layer in mixed[1:]:
        reached.append(layer @ reached[-1])
    return np.stack(reached)


def overlap(one: Float[ndarray, "query key"], other: Float[ndarray, "query key"]) -> float:
    """Share of the weight that two maps of the same tokens have in common: the mean over the queries of
    sum_k min(a, b), which is 1 for equal maps whose rows sum to 1, and 0 for heads that never attend to the same
    token."""
    return float(np.minimum(one, other).sum() / len(one))


def pool(pattern: Float[ndarray, "*head query key"], size: int) -> Float[ndarray, "*head row column"]:
    """Shrink maps to at most size cells a side by keeping the largest weight of each square of cells, so that a single
    strong weight stays visible. Maps that are small enough come back as they are."""
    step = -(-max(pattern.shape[-2:]) // size)
    if step == 1:
        return pattern
    if pattern.ndim > 3:  # layer by layer: all maps together may be hundreds of megabytes
        return np.stack([pool(layer, size) for layer in pattern])
    rows, columns = (-(-n // step) for n in pattern.shape[-2:])
    pad = [(0, 0)] * (pattern.ndim - 2) + [
        (0, cells * step - n) for cells, n in zip((rows, columns), pattern.shape[-2:], strict=True)
    ]
    cells = np.pad(pattern, pad).reshape(*pattern.shape[:-2], rows, step, columns, step)
    return cells.max(axis=(-3, -1))


def pool_keys(weights: Float[ndarray, "head key"], size: int) -> tuple[Float[ndarray, "head column"], int]:
    """Rows of weights in at most `size` columns, each the largest weight of as many keys as the second value says."""
    heads, n = weights.shape
    step = -(-n // size)
    padded = np.pad(weights, ((0, 0), (0, -n % step)))
    return padded.reshape(heads, -1, step).max(-1), step


def map_table(pattern: ndarray, queries: list[str], keys: list[str]) -> pd.DataFrame:
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


def token_table(maps: AttentionMaps, token: int, tokens: list[str], places: Sequence[Place]) -> pd.DataFrame:
    """The attention of one query token in some heads, one row a head and key."""
    rows = [
        (layer, head, key, tokens[key], float(weight))
        for layer, head in places
        for key, weight in enumerate(maps.patterns[layer, head, token])
    ]
    return pd.DataFrame(rows, columns=["layer", "head", "key", "key token", "weight"])
