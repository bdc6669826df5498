"""Pictures of a training: curves that grow on an axis that stays, the moment looked at, every map."""

import numpy as np
import pytest

from tfcore.charts import theme
from tfcore.measures.heads.induction_moments import Moment
from tfcore.views.inside.induction.draw import training as figures


def moment(step: int, loss: float = 4.0) -> Moment:
    score, by_place = np.array([[0.1, 0.2], [0.3, 0.4]]), np.linspace(5, loss, 19)
    return Moment(step, 5.0, loss, score, score + 0.5, 0.25, by_place, np.full((2, 2, 6, 6), 0.5))


MOMENTS = [moment(0), moment(100, 3.0), moment(400, 1.0)]


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize("until", [1, 3])
def test_the_course_grows_and_marks_the_moment_looked_at(log, until):
    jump = (100, 400) if until == 3 else None
    figure = figures.course_figure(MOMENTS[:until], until - 1, 700, jump, 5.5, 400, log=log)
    theme.check(figure)
    named = {trace.name: trace for trace in figure.data}
    assert list(named["loss, second copy"].y) == [m.second_loss for m in MOMENTS[:until]]
    assert list(named["best induction head"].y) == [0.9] * until
    assert figure.layout.shapes[0].x0 == named["loss, second copy"].x[-1]
    assert len(figure.layout.shapes) == (2 if jump else 1)
    assert all(x > 0 for x in named["loss, second copy"].x) or not log  # a logarithm has no zero


def test_every_head_has_its_map_with_both_scores():
    figure = figures.maps_figure(MOMENTS[0], 500)
    theme.check(figure)
    titles = [note.text for note in figure.layout.annotations]
    assert titles[3] == "<b>1.1</b><br>prev 0.40 · ind 0.90"


def test_the_loss_along_a_row_marks_the_two_tokens_compared():
    figure = figures.loss_by_position_figure(MOMENTS[2], MOMENTS[0], 2, 20, 5.5, 260)
    theme.check(figure)
    assert list(figure.data[2].y) == [5.0, 1.0]
    assert [note.text for note in figure.layout.annotations] == ["token 2: 5.00", "token 20: 1.00"]
