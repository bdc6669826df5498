"""The matrix of two sentences: every pair, with a range that has zero in its middle."""

import numpy as np

from tfcore.figures import theme
from tfcore.figures.inside.sentence_pairs import pairs_figure, pairs_height


def test_every_pair_is_drawn():
    parts = np.array([[0.1, -0.3, 0.0], [0.2, 0.0, 0.1]])
    figure = pairs_figure(parts, ["a", "b"], ["c", "d", "e"], pairs_height(2, ["c", "d", "e"]))
    theme.check(figure)
    cells = figure.data[0]
    assert np.allclose(cells.z, parts)
    assert (cells.zmin, cells.zmax) == (-0.3, 0.3)
    assert pairs_height(60, ["a"]) == pairs_height(30, ["a"])
