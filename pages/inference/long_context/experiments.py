"""The experiments of the page on long texts."""

from collections.abc import Mapping, Sequence

from jaxtyping import Int
from numpy import ndarray

from tfcore.analysis.inference.attention_timing import Timed, bytes_at_once, fused_speed
from tfcore.analysis.inference.flash_attention import (
    FlashRun,
    Order,
    PlainNumber,
    Tiling,
    follow,
    tile_place,
    tile_scores,
)
from tfcore.analysis.inference.length_cost import (
    NAMES,
    MeasuredReach,
    Reach,
    layer_memory,
    measured_reach,
    model_reach,
    operations,
    pairs_at_length,
    pattern_reach,
    score_matrix,
)
from tfcore.analysis.inference.memory_traffic import TrafficComparison, against_sram, moved
from tfcore.analysis.inference.online_softmax import head_vectors, row_progress
from tfcore.analysis.inference.ring_attention import (
    Layout,
    RingRun,
    follow_ring,
    load_balance,
    meetings,
    ring_step,
    still_to_come,
)
from tfcore.figures.inference.attention_timing import bytes_figure, seconds_figure
from tfcore.figures.inference.flash_attention import sram_figure, tiles_figure, traffic_figure
from tfcore.figures.inference.length_cost import layer_memory_figure, operations_figure, scale_figure
from tfcore.figures.inference.online_softmax import ledger_figure, scores_figure
from tfcore.figures.inference.ring_attention import devices_figure, meetings_figure, work_figure
from tfcore.figures.inference.sparse_attention import kept_pairs_figure, measured_figure, pattern_reach_figure
from tfcore.figures.shown import Shown
from tfcore.masks import Kind, MaskConfig
from tfcore.measures.flop_count import LengthCost, length_cost
from tfcore.measures.leaks import replacement_for
from tfcore.measures.one_text import FirstTokens, first_tokens
from tfcore.measures.token_text import tick_labels
from tfcore.model import Transformer
from tfcore.presets import PRESETS
from tfcore.tokenizers.tokenizer import Tokenizer

LINES = 12  # of the ledger, shown at a time


def preset_cost(preset: str, lengths: Sequence[int]) -> LengthCost:
    """What a published model costs at these lengths."""
    return length_cost(PRESETS[preset](), lengths)


def to_scale(name: str, n: int, d_head: int) -> Shown:
    """The matrices of one head, drawn to scale."""
    return Shown(scale_figure(n, d_head, height=380), (score_matrix(name, n, d_head),))


def length(name: str, cost: LengthCost, at: int) -> Shown:
    """What length costs: operations with weights grow with n, those of the scores with n squared."""
    return Shown(operations_figure(cost, at, height=320), (operations(name, cost, at),))


def memory(cost: LengthCost, at: int) -> Shown:
    """Bytes in one layer: those of the vectors grow with n, those of the scores with n squared."""
    return Shown(layer_memory_figure(cost, at, height=320), (layer_memory(cost, at),))


def pattern(found: Reach) -> Shown:
    """A sparse pattern: the pairs it keeps, and how far information travels through several layers."""
    return Shown(pattern_reach_figure(found, height=420), (pattern_reach(found),))


def pairs(lengths: Sequence[int], counts: Mapping[Kind, Int[ndarray, " length"]], kind: Kind, at: int) -> Shown:
    """The pairs that each pattern keeps, against length."""
    named = {NAMES[one]: kept for one, kept in counts.items()}
    figure = kept_pairs_figure(lengths, named, NAMES[kind], at, height=420)
    return Shown(figure, (pairs_at_length(lengths, counts, kind, at),))


def changed_token(
    model: Transformer, tokenizer: Tokenizer, text: str, limit: int, mask: MaskConfig, position: int
) -> MeasuredReach:
    """Change a token of a text in a model under a mask, and compare the outputs."""
    ids = first_tokens(model, tokenizer, text, limit).ids
    return measured_reach(model, ids, mask, position, replacement_for(tokenizer.encode, ids[position]))


def measured(found: MeasuredReach, read: FirstTokens) -> Shown:
    """A token changed in a real model under a sparse mask: whose outputs change?"""
    return Shown(measured_figure(found, tick_labels(read.tokens, 9), height=200), (model_reach(found),))


def tiled(
    model: Transformer,
    tokenizer: Tokenizer,
    text: str,
    limit: int,
    layer: int,
    head: int,
    sram: int,
    order: Order,
    row: int,
) -> FlashRun:
    """One head of a model on a text in tiles, and by standard attention."""
    ids = first_tokens(model, tokenizer, text, limit).ids
    tiling = Tiling(n=len(ids), d_head=model.config.head_size, sram=sram, order=order)
    return follow(head_vectors(model, ids, layer, head), tiling, row)


def flash(run: FlashRun, read: FirstTokens, tile: int) -> Shown:
    """Flash attention, tile by tile (arXiv:2205.14135): the softmax without ever holding all scores."""
    figure = tiles_figure(run, tile, tick_labels(read.tokens), height=430)
    return Shown(figure, (tile_place(run, tile), run.off_by))


def scores(run: FlashRun, read: FirstTokens, tile: int) -> Shown:
    """The scores of the followed query in its last tile so far; in its first where there is none yet."""
    step = run.latest(tile)
    labels = tick_labels([read.tokens[key] for key in step.keys])
    return Shown(scores_figure(step, labels, height=120), (tile_scores(run, step),))


def ledger(run: FlashRun, tile: int) -> Shown:
    """The numbers of the online softmax after each tile of the followed query."""
    done, names = run.done(tile), [f"tile {step.at + 1}" for step in run.steps]
    first = max(0, min(len(done) - LINES + 3, len(names) - LINES))  # a window that moves on with the tiles
    figure = ledger_figure(done[first:], names[first : first + LINES], height=56 + 30 * min(len(names), LINES))
    return Shown(figure, (row_progress("tile", done, len(names)), PlainNumber(float(run.naive[0]))))


def traffic(found: TrafficComparison) -> Shown:
    """What has to be moved between memory and chip: by standard attention, and tile by tile."""
    return Shown(traffic_figure(found.naive, found.tiled, found.bytes_each, height=270), (moved(found),))


def traffic_by_sram(sizes: Sequence[int], every: Sequence[TrafficComparison], at: int) -> Shown:
    """What has to be moved against the size of the fast memory, counted and by the theorem."""
    totals = [moved(one) for one in every]
    counted, formula = [one.tiled for one in totals], [one.formula for one in totals]
    figure = sram_figure(sizes, counted, formula, totals[at].plain, at, height=300)
    return Shown(figure, (against_sram(sizes, every),))


def around(
    model: Transformer,
    tokenizer: Tokenizer,
    text: str,
    limit: int,
    layer: int,
    head: int,
    devices: int,
    layout: Layout,
    causal: bool,
    row: int,
) -> RingRun:
    """One head of a model on a text around the ring, and by standard attention."""
    ids = first_tokens(model, tokenizer, text, limit).ids
    return follow_ring(head_vectors(model, ids, layer, head), devices, layout, causal, row)


def ring(run: RingRun, step: int) -> Shown:
    """Ring attention (arXiv:2310.01889): keys and values are passed on from device to device."""
    return Shown(devices_figure(run, step, height=350), (ring_step(run, step), still_to_come(run, step)))


def blocks_met(run: RingRun, step: int) -> Shown:
    """The step at which each block of queries meets each block of keys."""
    return Shown(meetings_figure(run, step, height=280), (meetings(run, step),))


def states(run: RingRun, step: int) -> Shown:
    """The numbers of the online softmax after each block that reached the followed query."""
    names = [f"KV{int(block)}" for block in run.held[:, run.home[run.row]]]
    figure = ledger_figure(run.steps[: step + 1], names, height=60 + 34 * len(names))
    return Shown(figure, (row_progress("step", run.steps[: step + 1], len(names)),))


def work(every: Mapping[Layout, Int[ndarray, "step device"]], layout: Layout, step: int) -> Shown:
    """The pairs that each device computes at each step; the scale is that of all layouts."""
    found, most = every[layout], max(int(one.max()) for one in every.values())
    height = 110 + 30 * len(found)
    return Shown(work_figure(found, step, most, height), (load_balance(layout, found),))


def timed(points: Sequence[Timed]) -> Shown:
    """Plain and fused attention timed on this machine, at length after length."""
    return Shown(seconds_figure(points, height=380), (fused_speed(points),))


def at_once(points: Sequence[Timed]) -> Shown:
    """The bytes of plain and fused attention, computed and measured."""
    return Shown(bytes_figure(points, height=380), (bytes_at_once(points),))
