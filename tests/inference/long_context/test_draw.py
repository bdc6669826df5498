"""Figures of the page on long texts: valid for plotly, small, and drawing the numbers they were given."""

import numpy as np
import pytest

from tests.inference.long_context.test_flash import vectors
from tfcore import presets
from tfcore.charts import theme
from tfcore.measures.flop_count import length_cost
from tfcore.measures.mask_patterns import MaskConfig
from tfcore.measures.quantities import compact
from tfcore.views.inference.long_context.draw import cost as cost_figures
from tfcore.views.inference.long_context.draw import flash as flash_attention
from tfcore.views.inference.long_context.draw import online_softmax
from tfcore.views.inference.long_context.draw import patterns as sparse_attention
from tfcore.views.inference.long_context.draw import ring as ring_attention
from tfcore.views.inference.long_context.draw import timing as attention_timing
from tfcore.views.inference.long_context.measure.flash import Tiling, follow
from tfcore.views.inference.long_context.measure.patterns import MeasuredReach, pairs_kept, reach
from tfcore.views.inference.long_context.measure.ring import follow_ring
from tfcore.views.inference.long_context.measure.timing import LENGTHS, Timed
from tfcore.views.inference.long_context.measure.traffic import naive_traffic, tiled_traffic

N = 13
LABELS = [f"t{i}" for i in range(N)]
TILING = Tiling(n=N, d_head=5, sram=60)
RUN = follow(vectors(N), TILING, 11)
COST = length_cost(presets.gpt2_small(), [128, 1024, 4096, 2**17])


def drawn():
    for n in (128, 4096, 2**20):
        yield cost_figures.scale_figure(n, 64, 300)
    for at in (0, 3):
        yield cost_figures.operations_figure(COST, at, 300)
        yield cost_figures.layer_memory_figure(COST, at, 300)
    for layers in (1, 4):
        yield sparse_attention.pattern_reach_figure(reach(MaskConfig(kind="dilated"), 20, layers), 300)
    pairs = {kind: pairs_kept(MaskConfig(kind=kind), [64, 1024, 2**17]) for kind in ("causal", "window", "blocks")}
    yield sparse_attention.kept_pairs_figure([64, 1024, 2**17], pairs, "window", 2, 300)
    some = np.arange(N) > 4
    yield sparse_attention.measured_figure(MeasuredReach("window", 4, 5, some, some), LABELS, 200)
    for tile in (0, len(RUN.tiles) - 1):
        yield flash_attention.tiles_figure(RUN, tile, LABELS, 300)
        yield online_softmax.ledger_figure(RUN.done(tile), [str(s.at) for s in RUN.steps], 200)
    yield online_softmax.scores_figure(RUN.steps[-1], ["a"] * len(RUN.steps[-1].keys), 100)
    yield flash_attention.traffic_figure(naive_traffic(64, 8), tiled_traffic(Tiling(n=64, d_head=8, sram=100)), 2, 200)
    yield flash_attention.sram_figure([16.0, 32.0, 48.0], [9e6, 5e6, 4e6], [8e6, 4e6, np.inf], 1e7, 1, 200)
    for devices in (1, 4, 8):
        around = follow_ring(vectors(N), devices, "contiguous", True, 3)
        yield ring_attention.devices_figure(around, devices - 1, 300)
        yield ring_attention.meetings_figure(around, 0, 300)
        yield ring_attention.work_figure(around.work, 0, 10, 200)
    for points in ([], [Timed(128, "naive", 0.01, 3, 1000, None)], race()):
        yield attention_timing.seconds_figure(points, 300)
        yield attention_timing.bytes_figure(points, 300)


def race():
    return [
        Timed(n, way, 1e-9 * n * n if n < 4096 else np.nan, int(n < 4096), n * n, n * n or None)
        for n in LENGTHS
        for way in ("naive", "fused")
    ]


def test_plotly_accepts_them_and_they_are_small():
    for figure in drawn():
        theme.check(figure)
        assert len(figure.to_json()) < 60_000


def test_the_scale_figure_is_to_scale():
    shapes = cost_figures.scale_figure(4096, 64, 300).to_dict()["layout"]["shapes"]
    areas = [(s["x1"] - s["x0"]) * (s["y1"] - s["y0"]) for s in shapes]
    assert areas[2] == pytest.approx(4096**2)
    assert [round(a) for a in areas[:2] + areas[3:]] == [4096 * 64] * 4


def test_tiles_show_what_is_here_and_what_has_gone():
    tile = 3
    gone, now, _ = flash_attention.tiles_figure(RUN, tile, LABELS, 300).data
    top, bottom, left, right = RUN.tiles[tile]
    inside = np.zeros((N, N), dtype=bool)
    inside[top:bottom, left:right] = True
    np.testing.assert_array_equal(~np.isnan(now.z), inside)
    before = sum((b - t) * (r - le) for t, b, le, r in RUN.tiles[:tile])
    assert (~np.isnan(gone.z)).sum() == before
    np.testing.assert_allclose(now.z[inside] ** 2, RUN.pattern[inside], atol=1e-6)


def test_the_ledger_fills_line_by_line():
    done = RUN.done(RUN.steps[1].at)
    words = online_softmax.ledger_figure(done, ["a", "b", "c", "d"], 200).data[0]["text"]
    assert words[1] == online_softmax.cells(RUN.steps[1])
    assert words[1][1] == compact(RUN.steps[1].m)
    assert all(not any(row) for row in words[2:])


@pytest.mark.parametrize(
    ("low", "high", "some"), [(1e3, 1e13, "1G"), (1.5e7, 3e8, "100M"), (1.9e7, 2.1e7, "20M"), (3.0, 4e4, "1k")]
)
def test_axes_have_ticks_at_any_range(low, high, some):
    axis = cost_figures.powers_axis("x", np.array([low, high]))
    assert some in axis["ticktext"]
    assert 2 <= len(axis["tickvals"]) <= 9


def test_the_ring_shows_whose_keys_are_where():
    run = follow_ring(vectors(N), 4, "contiguous", True, 3)
    _, queries, keys = ring_attention.devices_figure(run, 1, 300).data
    assert list(queries["text"]) == ["Q0", "Q1", "Q2", "Q3"]
    assert list(keys["text"]) == ["KV3", "KV0", "KV1", "KV2"]
    meetings = ring_attention.meetings_figure(run, 1, 300).data[0]
    assert meetings["text"][0] == ["1", "–", "–", "–"]
    assert meetings["text"][3] == ["4", "3", "2", "1"]
