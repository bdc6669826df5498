"""The picture of two lenses: a line each, on a scale that has no 0."""

import numpy as np

from tfcore.charts import theme
from tfcore.measures.lenses import LensReading
from tfcore.views.inside.stream.draw.lens import divergence_figure


def test_two_lenses_are_two_lines_without_the_stage_where_nothing_differs():
    names = ("blocks.0.resid_pre", "blocks.0.resid_post", "blocks.1.resid_post")
    logit, tuned = np.array([[8.0, 10.0], [1.0, 3.0], [1e-7, 1e-7]]), np.array([[1.5, 1.5], [0.25, 0.75], [0.0, 0.0]])
    best = np.zeros((3, 2), dtype=int)
    few = LensReading(names[::2], tuned[::2], best[::2])
    figure = divergence_figure(
        {"logit": LensReading(names, logit, best), "tuned": LensReading(names, tuned, best), "jacobian": few}, 280
    )
    theme.check(figure)
    assert [line.name for line in figure.data] == ["logit lens", "tuned lens", "Jacobian lens"]
    assert [list(line.y) for line in figure.data] == [[9.0, 2.0, None], [1.5, 0.5, None], [1.5, None]]
    assert list(figure.data[2].x) == [0, 2]
    assert list(figure.layout.xaxis.ticktext) == ["embed", "block 0", "block 1"]
    assert figure.layout.yaxis.type == "log"
