"""Matrices with tokens on their axes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from tfcore.charts import theme
from tfcore.charts.tokens import HATCH_LINES, MOST_LABELS, hatch, label_room, token_heatmap

LABELS = ["the", "cat", "the", "&lt;b&gt;", "⏎"]


def labels(n):
    return [f"t{i}" for i in range(n)]


@pytest.mark.parametrize("n", [1, 2, 5, 64, 256])
@pytest.mark.parametrize("masked", [False, True])
def test_plotly_accepts_it(n, masked):
    blocked = ~np.tril(np.ones((n, n), bool)) if masked else None
    theme.check(token_heatmap(np.ones((n, n)), labels(n), blocked=blocked))


def test_equal_tokens_stay_two_rows_and_the_hover_tells_them_apart():
    layout = token_heatmap(np.eye(5), LABELS).to_dict()["layout"]
    assert layout["yaxis"]["ticktext"] == ["'the' (0)", "'cat' (1)", "'the' (2)", "'&lt;b&gt;' (3)", "'⏎' (4)"]
    assert list(layout["xaxis"]["tickvals"]) == [0, 1, 2, 3, 4]
    assert layout["yaxis"]["range"] == [4.5, -0.5], "the first query is at the top"


def test_blocked_cells_have_no_value_and_their_own_layer_below():
    blocked = np.array([[False, True], [False, False]])
    grey, shown, strokes = token_heatmap(np.zeros((2, 2)), ["a", "b"], blocked=blocked).data
    np.testing.assert_array_equal(np.isnan(shown.z), blocked)
    assert shown.hoverongaps is False
    np.testing.assert_array_equal(grey.z, blocked)
    assert "may not see" in grey.hovertemplate
    np.testing.assert_array_equal(strokes.x, [0.5, 1.5, np.nan, np.nan])
    np.testing.assert_array_equal(strokes.y, [0.5, -0.5, np.nan, np.nan])


@pytest.mark.parametrize("n", [1, MOST_LABELS, MOST_LABELS + 1, 256])
def test_labels_are_thinned_evenly(n):
    axis = token_heatmap(np.ones((n, n)), labels(n)).to_dict()["layout"]["xaxis2"]
    assert len(axis["tickvals"]) <= MOST_LABELS
    assert list(axis["tickvals"]) == list(range(0, n, -(-n // MOST_LABELS)))
    assert list(axis["ticktext"]) == [f"t{i}" for i in axis["tickvals"]]


def test_labels_have_room():
    assert label_room(["&lt;b&gt;"]) == label_room(["<b>"])
    assert label_room(["漢字"]) > label_room(["ab"])
    assert label_room(["abcdef"], slant=60) < label_room(["abcdef"])
    assert label_room([]) > 0


@given(arrays.arrays(bool, st.tuples(st.integers(1, 12), st.integers(1, 12))))
def test_strokes_cover_blocked_cells_and_no_others(blocked):
    x, y = hatch(blocked)
    covered = np.zeros_like(blocked)
    for i in range(0, len(x) - 2, 3):
        for step in range(round(float(x[i + 1] - x[i]))):
            covered[round(float(y[i]) - 0.5) - step, round(float(x[i]) + 0.5) + step] = True
    np.testing.assert_array_equal(covered, blocked)


def test_strokes_stay_few():
    x, _ = hatch(~np.tril(np.ones((512, 512), bool)))
    assert len(x) <= 3 * 2 * HATCH_LINES + 1
