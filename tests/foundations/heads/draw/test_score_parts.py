"""The figures of a score taken apart: cells, bars that are their sums, and the largest pairs."""

import numpy as np
import pytest

from tests.pages.figures import array
from tfcore.charts import theme
from tfcore.views.foundations.heads.draw.score_parts import pairs_figure, score_matrix
from tfcore.views.foundations.heads.measure.score_table import LargestPairs, ScoreTable

VALUES = np.array([[1.0, -2.0, 0.5], [0.25, 3.0, -0.75]])
TABLE = ScoreTable(("embedding", "head 0.1"), ("embedding", "head 0.1", "biases"), (("", ""), ("", "", "")), VALUES)


def test_bars_are_the_sums_of_the_cells():
    figure = score_matrix(TABLE, "it", "animal")
    theme.check(figure)
    cells, rows, columns = figure.to_dict()["data"]
    np.testing.assert_allclose(array(cells["z"]), VALUES)
    assert (cells["zmin"], cells["zmax"]) == (-3.0, 3.0)
    np.testing.assert_allclose(array(rows["x"]), VALUES.sum(1))
    np.testing.assert_allclose(array(columns["y"]), VALUES.sum(0))
    assert "at 'it' × %{customdata[1]} at 'animal'" in cells["hovertemplate"]


@pytest.mark.parametrize("bias", [0.0, -0.5])
def test_pairs_with_all_others_and_the_bias_behind(bias):
    figure = pairs_figure(LargestPairs((("head 0.1", "feed-forward 0", 2.0), ("a", "b", -1.0)), 0.25, 1234), bias)
    theme.check(figure)
    (bars,) = figure.to_dict()["data"]
    assert array(bars["x"]).tolist() == [2.0, -1.0, 0.25, *([bias] if bias else [])]
    assert bars["customdata"][2] == "1,234 other pairs"
