"""The experiments of the page on attention heads."""

from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.foundations.attention_maps import (
    AttentionReading,
    Part,
    head_mean,
    longest_text,
    map_findings,
    map_range,
    pool,
    read_attention,
    rollout,
    shared_weight,
)
from tfcore.analysis.foundations.head_splits import HeadSplit, SharedKV, resplit, share_kv_heads, split_maps
from tfcore.analysis.foundations.heads import head_kind, same_kind
from tfcore.analysis.token_text import tick_labels
from tfcore.figures.foundations.head_splits import split_figure
from tfcore.figures.foundations.heads import MAP_CELLS, SIDE_CELLS, View, lines
from tfcore.figures.shown import Shown
from tfcore.figures.theme import Figure
from tfcore.figures.tokens import token_heatmap
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def head(
    reading: AttentionReading, layer: int, head: int, token: int, view: View, window: tuple[int, int] | None
) -> Shown:
    """What one attention head of a trained model looks at (arXiv:1706.03762, equation 1)."""
    return Shown(*map_of(reading, reading.found.patterns[layer, head], token, view, window))


def layer_mean(reading: AttentionReading, layer: int, token: int, view: View, window: tuple[int, int] | None) -> Shown:
    """The mean of all heads of a layer: what they agree on, which is little."""
    return Shown(*map_of(reading, head_mean(reading.found.patterns)[layer], token, view, window))


def rolled_out(reading: AttentionReading, layer: int, token: int, view: View, window: tuple[int, int] | None) -> Shown:
    """Attention rollout: layers multiplied, half of each being the residual connection (arXiv:2005.00928)."""
    return Shown(*map_of(reading, rollout(reading.found.patterns)[layer], token, view, window))


def map_of(
    reading: AttentionReading,
    pattern: Float[ndarray, "query key"],
    token: int,
    view: View,
    window: tuple[int, int] | None,
) -> tuple[Figure, tuple[Finding, ...]]:
    """A map with its findings, as cells or as lines.

    Args:
        window: the first token that is drawn, and the one after the last; None for all of them, pooled.
    """
    queries, keys = tick_labels(reading.queries), tick_labels(reading.keys)
    most, drawn = map_findings(reading, pattern, token, window, MAP_CELLS)
    if window is None:
        queries, keys = queries[:: drawn.pooled], keys[:: drawn.pooled]
        return (token_heatmap(pool(pattern, MAP_CELLS), queries, keys, height=580, bar=False), (most, drawn))
    start, stop = window
    cells, queries, keys = pattern[start:stop, start:stop], queries[start:stop], keys[start:stop]
    if view == "map":
        return (token_heatmap(cells, queries, keys, height=580, bar=False), (most, drawn))
    chosen = token - start if start <= token < stop else None
    return (lines(cells, queries, keys, chosen, height=580), (most,))


def side(reading: AttentionReading, layer: int, head: int) -> Shown:
    """One of two maps side by side."""
    pattern = reading.found.patterns[layer, head]
    step = map_range(pattern, None, SIDE_CELLS).pooled
    queries, keys = tick_labels(reading.queries)[::step], tick_labels(reading.keys)[::step]
    figure = token_heatmap(pool(pattern, SIDE_CELLS), queries, keys, height=520, bar=False)
    return Shown(figure, (head_kind(reading.found.heads, layer, head),))


def two_heads(reading: AttentionReading, layer: int, head: int, other_layer: int, other_head: int) -> Shown:
    """Two heads on one text: how much of their weight lies on the same tokens."""
    patterns, shown = reading.found.patterns, side(reading, other_layer, other_head)
    shared = shared_weight(patterns[layer, head], patterns[other_layer, other_head])
    return Shown(shown.figure, (*shown.findings, shared))


def two_texts(reading: AttentionReading, other: AttentionReading, layer: int, head: int) -> Shown:
    """One head on two texts: a head that does one thing does it on every text."""
    shown = side(other, layer, head)
    same = same_kind(reading.found.heads, other.found.heads, layer, head)
    return Shown(shown.figure, (*shown.findings, same))


def read_other(
    model: Transformer,
    tokenizer: Tokenizer,
    other_text: str,
    part: Part | None,
    inducing: Float[ndarray, "layer head"] | None,
) -> AttentionReading | None:
    """The other text, whose argument has a name of its own in a program."""
    return read_attention(model, tokenizer, other_text, part, inducing)


def resplit_text(
    model: Transformer, tokenizer: Tokenizer, text: str, tokens: int, layer: int, n_heads: int
) -> HeadSplit:
    """One layer of a decoder on the first tokens of a text, split into n_heads."""
    return resplit(model, tokenizer.encode(text)[: min(tokens, longest_text(model.config))], layer, n_heads)


def share_on_text(model: Transformer, tokenizer: Tokenizer, text: str, tokens: int) -> list[SharedKV]:
    """A decoder with fewer and fewer KV heads on the first tokens of a text."""
    return share_kv_heads(model, tokenizer.encode(text)[: min(tokens, longest_text(model.config))])


def cuts(split: HeadSplit) -> Shown:
    """One width cut into more or fewer heads: the same queries and keys, reshaped (arXiv:1706.03762, section 3.2.2)."""
    rows = -(-split.n_heads // 8)
    return Shown(split_figure(split.patterns, split.d_head, 190 * rows + 40), (split_maps(split),))
