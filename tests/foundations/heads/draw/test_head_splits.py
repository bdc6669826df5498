"""Pictures of cuts: valid for plotly, every head cut where it is, every query head tied to its key head."""

import numpy as np
import pytest

from tfcore.charts import theme
from tfcore.views.foundations.heads.draw import head_splits as figures
from tfcore.views.foundations.heads.measure.head_splits import HeadSplit, SharedKV


def shared(kv_heads):
    return SharedKV(kv_heads, np.full((2, 6, 4, 4), 0.25, dtype=np.float32), 1.5, 100, 48 * kv_heads)


@pytest.mark.parametrize("n_heads", [1, 3, 16])
def test_plotly_accepts_every_picture_and_cuts_are_even(n_heads):
    cut = HeadSplit(0, 6, np.random.default_rng(0).normal(size=(4, 144)), (48, 48, 48), np.full((n_heads, 4, 4), 0.25))
    figure = figures.product_figure(cut, n_heads, ["a", "b", "c", "d"], 200)
    theme.check(figure)
    lines = sorted({shape["x0"] for shape in figure.to_dict()["layout"]["shapes"] if shape["type"] == "line"})
    np.testing.assert_allclose(np.diff(lines), 48 / n_heads)
    theme.check(figures.split_figure(cut.patterns, 48 // n_heads, 200))


def test_every_query_head_is_tied_to_the_head_it_shares():
    variants = [shared(n) for n in (6, 3, 1)]
    figure = figures.sharing_figure(variants, 160)
    theme.check(figure)
    theme.check(figures.shared_maps_figure(variants, 1, 400))
    lines = [trace for trace in figure.to_dict()["data"] if trace["mode"] == "lines"]
    for variant, trace in zip(variants, lines, strict=True):
        ends = trace["x"][1::3]
        assert len(ends) == 6
        assert len(set(ends)) == variant.kv_heads
    assert [variant.kind for variant in variants] == ["MHA", "GQA", "MQA"]


def test_keys_that_several_heads_share_are_not_called_cut():
    product = np.random.default_rng(0).normal(size=(4, 80))
    cut = HeadSplit(0, 9, product, (48, 16, 16), np.full((9, 4, 4), 0.25))
    layout = figures.product_figure(cut, 3, ["a", "b", "c", "d"], 200).to_dict()["layout"]
    assert [note["text"] for note in layout["annotations"]] == [
        "queries: 3 x 16",
        "keys: 16, shared",
        "values: 16, shared",
    ]
    lines = sorted({shape["x0"] for shape in layout["shapes"] if shape["type"] == "line"})
    assert lines == [-0.5, 15.5, 31.5, 47.5, 63.5, 79.5]


def test_nine_heads_stand_in_two_rows():
    figure = figures.split_figure(np.full((9, 4, 4), 0.25), 16, 400)
    tops = [note["y"] for note in figure.to_dict()["layout"]["annotations"]]
    assert [tops.count(top) for top in sorted(set(tops))] == [5, 4]
