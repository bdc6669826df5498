"""Pictures of texts that repeat: valid for plotly, with the numbers given, and crosses where heads are off."""

import numpy as np
import pytest

from tfcore.charts import theme
from tfcore.measures.heads.induction_heads import Copying
from tfcore.views.inside.induction.draw import find as figures

REPEATED = np.array([False, False, True, True, False, True])
GRID = np.array([[0.0, 0.25, 0.5], [0.75, 0.1, 0.9]])


def run(scale: float = 1.0) -> Copying:
    losses = scale * np.arange(1.0, 7.0)
    return Copying(np.arange(7), np.zeros((2, 3, 7, 7)), {"induction": GRID}, losses, ~REPEATED, REPEATED)


def test_grid_shows_every_head_the_chosen_one_and_those_off():
    figure = figures.head_grid(GRID, (1, 2), [(0, 1), (1, 0)], "induction", 1.0, 200)
    theme.check(figure)
    grid, crosses = figure.data
    assert np.allclose(grid.z, GRID)
    assert [(round(x), round(y)) for x, y in zip(crosses.x, crosses.y, strict=True)] == [(1, 0), (0, 1)]
    frame = figure.layout.shapes[0]
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (1.5, 2.5, 0.5, 1.5)


def test_many_heads_are_drawn_without_numbers():
    figure = figures.head_grid(np.zeros((12, 12)), (0, 0), [(11, 11)], "induction", 1.0, 400)
    theme.check(figure)
    assert figure.data[0].texttemplate is None


@pytest.mark.parametrize("cut", [None, run(2.0)])
def test_losses_with_and_without_heads(cut):
    labels = list("abcdefg")
    figure = figures.losses_figure(run(), cut, labels, 5.5, 300)
    theme.check(figure)
    assert list(figure.data[0].x) == [1, 2, 3, 4, 5, 6]
    assert list(figure.data[0].y) == [1, 2, 3, 4, 5, 6]
    assert len(figure.data) == (1 if cut is None else 2)
    shades = [(s.x0, s.x1) for s in figure.layout.shapes if s.type == "rect"]
    assert shades == [(2.5, 4.5), (5.5, 6.5)]
    assert figure.layout.yaxis.range[1] > (12 if cut else 6)


def test_the_scale_of_weights_ends_at_one_and_of_losses_above_the_largest():
    assert figures.scale_end(GRID, True) == 1
    assert figures.scale_end(np.array([[2.2]]), False) == 2.5
    assert figures.scale_end(np.array([[0.0]]), False) == 0.5
