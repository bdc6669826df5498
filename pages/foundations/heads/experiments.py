"""The experiments of the page on attention heads."""

import numpy as np
from jaxtyping import Float
from numpy import ndarray

from tfcore.analysis.finding import Finding
from tfcore.analysis.foundations.attention_maps import (
    AttentionReading,
    hidden_sink,
    map_findings,
    map_range,
    pool,
    read_attention,
    rollout,
    shared_weight,
)
from tfcore.analysis.foundations.attention_sink import rollout_on_first
from tfcore.analysis.foundations.head_ranking import KIND, kinds_of_heads, rank_heads, strongest_heads
from tfcore.analysis.foundations.head_splits import HeadSplit, SharedKV, resplit, share_kv_heads, split_maps
from tfcore.analysis.foundations.heads import head_kind, heads_of_models, same_kind
from tfcore.analysis.foundations.score_findings import largest_pairs, score_sum, score_table, strongest_writers
from tfcore.analysis.foundations.score_parts import ScoreParts, score_parts
from tfcore.analysis.foundations.score_writers import stream_pass
from tfcore.figures.foundations.head_map import kind_map, value_map
from tfcore.figures.foundations.head_portrait import TOKENS, first_drawn
from tfcore.figures.foundations.head_portrait import portrait as draw_portrait
from tfcore.figures.foundations.head_splits import split_figure
from tfcore.figures.foundations.heads import MAP_CELLS, SIDE_CELLS, View, lines
from tfcore.figures.foundations.score_parts import pairs_figure, score_matrix
from tfcore.figures.shown import Shown
from tfcore.figures.theme import Figure
from tfcore.figures.tokens import token_heatmap
from tfcore.measures.heads.kinds import HeadScores
from tfcore.measures.heads.part_texts import Part, text_ids
from tfcore.measures.token_text import label, tick_labels
from tfcore.model import Transformer
from tfcore.tokenizers.tokenizer import Tokenizer


def head_map(
    reading: AttentionReading, kinds: HeadScores | None, by: str, query: int, key: int, layer: int, head: int
) -> Shown:
    """All heads of a model, ranked by what they do on a text (kinds: arXiv:2209.11895, arXiv:2309.17453).

    Args:
        kinds: of the heads on the standard texts; None where they say nothing to the model.
        by: see Ranking.
        query, key: where heads are ranked by the weight from one token to another.
        layer, head: the one that is framed.
    """
    known = kinds or reading.found.heads
    ranking = rank_heads(reading.found.patterns, reading.found.heads, known, by, query, key)
    strongest = strongest_heads(ranking, reading.queries, reading.keys, query, key)
    if by == KIND:
        return Shown(kind_map(known.kind, known.score, (layer, head)), (kinds_of_heads(known), strongest))
    return Shown(value_map(ranking.values, ranking.most, (layer, head)), (strongest,))


def head(
    reading: AttentionReading, layer: int, head: int, token: int, view: View, window: tuple[int, int] | None, log: bool
) -> Shown:
    """What one attention head of a trained model looks at (arXiv:1706.03762, equation 1)."""
    hidden = (hidden_sink(reading, layer, head),) if reading.hides_sink else ()
    figure, findings = map_of(reading, reading.found.patterns[layer, head], token, view, window, log)
    return Shown(figure, findings + hidden)


def portrait(reading: AttentionReading, layer: int, head: int, token: int) -> Shown:
    """One head over a line of the text: arcs to the tokens that the chosen one attends to (arXiv:1706.03762, eq. 1)."""
    pattern = reading.found.patterns[layer, head]
    start = first_drawn(len(pattern), token)
    stop = min(start + TOKENS, len(pattern))
    most, drawn = map_findings(reading, pattern, token, (start, stop), MAP_CELLS)
    labels = tick_labels(reading.queries)[start:stop]
    figure = draw_portrait(pattern[start:stop, start:stop], labels, token - start)
    hidden = (hidden_sink(reading, layer, head),) if reading.hides_sink else ()
    return Shown(figure, (most, drawn, *hidden))


def layer_mean(
    reading: AttentionReading, layer: int, token: int, view: View, window: tuple[int, int] | None, log: bool
) -> Shown:
    """The mean of all heads of a layer."""
    hidden = (hidden_sink(reading, layer),) if reading.hides_sink else ()
    figure, findings = map_of(reading, reading.found.patterns[layer].mean(0), token, view, window, log)
    return Shown(figure, findings + hidden)


def rolled_out(
    reading: AttentionReading, layer: int, token: int, view: View, window: tuple[int, int] | None, log: bool
) -> Shown:
    """Attention rollout: layers multiplied, half of each being the residual connection (arXiv:2005.00928)."""
    hidden = (hidden_sink(reading),) if reading.hides_sink else ()
    *_, rolled = rollout(reading.found.patterns[: layer + 1])
    unseen = reading.sink if reading.hides_sink else np.zeros_like(reading.sink)
    on_first = rollout_on_first(rolled, token, reading.queries, unseen, layer + 1)
    figure, findings = map_of(reading, rolled, token, view, window, log)
    return Shown(figure, findings + hidden + ((on_first,) if on_first else ()))


def map_of(
    reading: AttentionReading,
    pattern: Float[ndarray, "query key"],
    token: int,
    view: View,
    window: tuple[int, int] | None,
    log: bool,
) -> tuple[Figure, tuple[Finding, ...]]:
    """A map with its findings, as cells or as lines.

    Args:
        window: the first token that is drawn, and the one after the last; None for all of them, pooled.
        log: colours of cells by the logarithm of the weight.
    """
    queries, keys = tick_labels(reading.queries), tick_labels(reading.keys)
    most, drawn = map_findings(reading, pattern, token, window, MAP_CELLS)
    scale = "@logweights" if log else "@weights"
    if window is None:
        queries, keys = queries[:: drawn.pooled], keys[:: drawn.pooled]
        cells = pool(pattern, MAP_CELLS)
        return (token_heatmap(cells, queries, keys, height=580, bar=False, scale=scale), (most, drawn))
    start, stop = window
    cells, queries, keys = pattern[start:stop, start:stop], queries[start:stop], keys[start:stop]
    if view == "map":
        return (token_heatmap(cells, queries, keys, height=580, bar=False, scale=scale), (most, drawn))
    chosen = token - start if start <= token < stop else None
    return (lines(cells, queries, keys, chosen, height=580), (most,))


def side(reading: AttentionReading, layer: int, head: int, log: bool, of: str = "") -> Shown:
    """One of two maps side by side.

    Args:
        of: the model, where the other map is of another.
    """
    pattern = reading.found.patterns[layer, head]
    step = map_range(pattern, None, SIDE_CELLS).pooled
    queries, keys = tick_labels(reading.queries)[::step], tick_labels(reading.keys)[::step]
    scale = "@logweights" if log else "@weights"
    rows = f"query token of {label(of, 40)}" if of else "query token"
    cells = pool(pattern, SIDE_CELLS)
    figure = token_heatmap(cells, queries, keys, height=520, bar=False, scale=scale, title=rows)
    hidden = (hidden_sink(reading, layer, head),) if reading.hides_sink else ()
    return Shown(figure, (head_kind(reading.found.heads, layer, head), *hidden))


def two_heads(reading: AttentionReading, layer: int, head: int, other_layer: int, other_head: int, log: bool) -> Shown:
    """Two heads on one text: how much of their weight lies on the same tokens."""
    patterns, shown = reading.found.patterns, side(reading, other_layer, other_head, log)
    shared = shared_weight(patterns[layer, head], patterns[other_layer, other_head])
    return Shown(shown.figure, (*shown.findings, shared))


def two_texts(reading: AttentionReading, other: AttentionReading, layer: int, head: int, log: bool) -> Shown:
    """One head on two texts, and whether it is of the same kind on both."""
    shown = side(other, layer, head, log)
    same = same_kind(reading.found.heads, other.found.heads, layer, head)
    return Shown(shown.figure, (*shown.findings, same))


def two_models(
    names: tuple[str, str],
    reading: AttentionReading,
    other: AttentionReading,
    place: tuple[int, int],
    other_place: tuple[int, int],
    log: bool,
) -> Shown:
    """The same text in two models, a head of each."""
    shown = side(other, *other_place, log, names[1])
    found = heads_of_models(names, (reading.found.heads, other.found.heads), (place, other_place))
    return Shown(shown.figure, (*shown.findings, found))


def read_other(
    model: Transformer, tokenizer: Tokenizer, other_text: str, part: Part | None, bos: bool | None, hide_sink: bool
) -> AttentionReading | None:
    """The other text, whose argument has a name of its own in a program."""
    return read_attention(model, tokenizer, other_text, part, bos=bos, hide_sink=hide_sink)


def resplit_text(
    model: Transformer, tokenizer: Tokenizer, text: str, tokens: int, layer: int, n_heads: int
) -> HeadSplit:
    """One layer of a decoder on the first tokens of a text, split into n_heads."""
    return resplit(model, _first_ids(model, tokenizer, text, tokens), layer, n_heads)


def share_on_text(model: Transformer, tokenizer: Tokenizer, text: str, tokens: int) -> list[SharedKV]:
    """A decoder with fewer and fewer KV heads on the first tokens of a text."""
    return share_kv_heads(model, _first_ids(model, tokenizer, text, tokens))


def _first_ids(model: Transformer, tokenizer: Tokenizer, text: str, tokens: int) -> list[int]:
    read = text_ids(model, tokenizer, text, "decoder", most=tokens)
    return [] if read is None else read.ids


def cuts(split: HeadSplit) -> Shown:
    """One width cut into more or fewer heads: the same queries and keys, reshaped (arXiv:1706.03762, section 3.2.2)."""
    found = split_maps(split)
    height = 190 * -(-found.drawn // 8) + 40
    return Shown(split_figure(split.patterns[: found.drawn], split.d_head, height), (found,))


def take_apart(
    model: Transformer,
    tokenizer: Tokenizer,
    text: str,
    part: Part | None,
    bos: bool | None,
    layer: int,
    head: int,
    query: int,
    key: int,
    against: int | None,
) -> ScoreParts | None:
    """One attention score of a text as a sum over what wrote at the query and at the key."""
    run = stream_pass(model, tokenizer, text, part, bos=bos)
    return None if run is None else score_parts(model, run, layer, head, query, key, against)


def why(found: ScoreParts) -> Shown:
    """Why a head attends to a key: its score as a matrix of writers, norms held fixed (arXiv:2211.00593, 3.1)."""
    table = score_table(found)
    query, key = label(found.queries[found.query], 14), label(found.keys[found.key], 14)
    return Shown(score_matrix(table, query, key), (score_sum(found), strongest_writers(found)))


def pairs(found: ScoreParts) -> Shown:
    """The ten pairs of writers with the largest parts of a score, and the sum of all others."""
    named = largest_pairs(found)
    return Shown(pairs_figure(named, found.bias), (named,))
