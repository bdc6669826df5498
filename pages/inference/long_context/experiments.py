"""The experiments of the page on long texts."""

from tfcore import load
from tfcore.analysis.foundations.masks import replacement_for
from tfcore.analysis.inference.attention_timing import TimingConfig, race
from tfcore.analysis.inference.flash import Order, Tiling, follow
from tfcore.analysis.inference.head_vectors import head_vectors
from tfcore.analysis.inference.memory_traffic import naive_traffic, theorem, tiled_traffic
from tfcore.analysis.inference.ring import Layout, follow_ring
from tfcore.analysis.inference.sparse_reach import measured_reach, reach
from tfcore.analysis.model.flop_count import length_cost
from tfcore.figures.inference.attention_timing import seconds_figure
from tfcore.figures.inference.flash import tiles_figure, traffic_figure
from tfcore.figures.inference.length_cost import operations_figure
from tfcore.figures.inference.ring import meetings_figure
from tfcore.figures.inference.sparse_reach import measured_figure, reach_figure
from tfcore.figures.theme import Figure
from tfcore.masks import MaskConfig
from tfcore.presets import PRESETS


def length(preset: str, lengths: list[int], at: int) -> Figure:
    """What length costs: operations with weights grow with n, those of the scores with n squared."""
    cost = length_cost(PRESETS[preset](), lengths)
    for i, n in enumerate(cost.n):
        print(f"{n:9,} tokens: {cost.linear[i]:.3g} and {cost.squared[i]:.3g} FLOP, {cost.share[i]:.1%} grow with n²")

    return operations_figure(cost, at, height=320)


def pattern(mask: MaskConfig, n: int, layers: int) -> Figure:
    """A sparse pattern: the pairs it keeps, and how far information travels through several layers."""
    found = reach(mask, n, layers)
    print(f"{mask.kind} keeps {found.pairs:,} of {n * (n + 1) // 2:,} causal pairs")
    print(f"through {layers} layers the last token hears of {found.arrived[-1]} of {n}, up to {found.back[-1]} back")

    return reach_figure(found, layers, height=420)


def measured(text: str, tokens: int, mask: MaskConfig, position: int) -> Figure:
    """A token changed in a real model under a sparse mask: whose outputs change?"""
    model, tokenizer = load("stories")
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    found = measured_reach(model, ids, mask, position, replacement_for(tokenizer.encode, ids[position]))
    print(f"{found.changed.sum()} outputs change, up to {found.furthest} further on; {found.expected.sum()} may")

    return measured_figure(found, tokenizer.tokens(ids), height=200)


def flash(text: str, tokens: int, layer: int, head: int, sram: int, order: Order, row: int, tile: int) -> Figure:
    """Flash attention, tile by tile (arXiv:2205.14135): the softmax without ever holding all scores."""
    model, tokenizer = load("stories")
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    tiling = Tiling(n=len(ids), d_head=model.config.head_size, sram=sram, order=order)
    run = follow(head_vectors(model, ids, layer, head), tiling, row)
    for step in run.steps:
        # What was there before this tile counts `rescale` of what it did.
        print(f"tile {step.at + 1}: m {step.m:.3f}, rescale {step.rescale:.3g}, l {step.l:.3f}")
    # The same as the plain softmax, up to rounding.
    print(f"difference to the plain way: {run.difference:.1e}, in float64 {run.exact:.1e}")

    return tiles_figure(run, tile, tokenizer.tokens(ids), height=430)


def traffic(n: int, d_head: int, sram: int, order: Order, causal: bool, bytes_each: int) -> Figure:
    """What has to be moved between memory and chip: the plain way, and tile by tile."""
    naive = naive_traffic(n, d_head)
    tiled = tiled_traffic(Tiling(n=n, d_head=d_head, sram=sram, causal=causal, order=order))
    print(f"plain: {bytes_each * naive.total:,} bytes; tiles: {bytes_each * tiled.total:,}")
    print(f"by the theorem about {bytes_each * theorem(n, d_head, sram, order, causal):,.0f}")

    return traffic_figure(naive, tiled, bytes_each, height=270)


def ring(
    text: str, tokens: int, layer: int, head: int, devices: int, layout: Layout, causal: bool, row: int, step: int
) -> Figure:
    """Ring attention (arXiv:2310.01889): keys and values are passed on from device to device."""
    model, tokenizer = load("stories")
    ids = tokenizer.encode(text)[: min(tokens, model.config.max_seq_len)]
    run = follow_ring(head_vectors(model, ids, layer, head), devices, layout, causal, row)
    for i, work in enumerate(run.work):
        print(f"step {i + 1}: pairs of each device {work.tolist()}, off the plain way by {run.off[i]:.1e}")
    print(f"in the end {run.difference:.1e}, in float64 {run.exact:.1e}")

    return meetings_figure(run, step, height=280)


def timed(config: TimingConfig) -> Figure:
    """Plain and fused attention timed on this machine, at length after length."""
    points = [point for point in race(config) if point is not None]
    for point in points:
        print(f"{point.n:6,} tokens, {point.way}: {1e3 * point.seconds:.3g} ms, {point.computed:,} bytes at once")

    return seconds_figure(points, height=380)
