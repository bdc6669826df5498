"""Pictures of a router in training: valid from the first look on, with the shares that were counted."""

import numpy as np
import pytest

from tfcore.charts import theme
from tfcore.views.experts.balance import draw as figures
from tfcore.views.experts.balance.measure import BalanceEvaluation


def look(step: int, share: float, refused: float = 0.0) -> BalanceEvaluation:
    load = np.full(8, (1 - share) / 7)
    load[2] = share
    lost = np.eye(8)[2] * refused
    return BalanceEvaluation(step, load, lost, refused, max(0.0, share - 1.25 / 8), 3.0 / step, 3.1 / step)


RUN = [look(1, 0.3), look(5, 0.6), look(10, 0.95)]


@pytest.mark.parametrize("looks", [RUN[:1], RUN, [look(1, 0.5, 0.3), look(5, 0.9, 0.7)]])
def test_bands_lie_on_each_other_up_to_all_letters(looks):
    figure = figures.load_bands_figure(looks, 10, 300)
    theme.check(figure)
    bands = np.array([trace.y for trace in figure.data])
    assert bands.sum(0) == pytest.approx(100, abs=1e-3)
    assert len(bands) == 8 + bool(looks[0].refused.any())
    assert f"expert 3: {100 * (looks[-1].load - looks[-1].refused)[2]:.0f} %" in {
        note.text for note in figure.layout.annotations
    }


def test_the_heatmap_has_a_row_for_each_expert_and_a_column_for_each_look():
    figure = figures.load_map_figure(RUN, 10, 300)
    theme.check(figure)
    assert np.array(figure.data[0].z) == pytest.approx(100 * np.array([k.load for k in RUN]).T, abs=1e-4)
    assert [note.text for note in figure.layout.annotations][2] == "95 %"


@pytest.mark.parametrize("count", [2, 6])
def test_curves_share_their_steps_and_keep_their_axes(count):
    curves = [figures.TrainingCurve(f"run {i}", RUN, f"@cat{i}") for i in range(count)]
    figure = figures.curves_figure(curves, 10, 0.12, 600)
    theme.check(figure)
    assert len(figure.data) == 6 * count
    assert {tuple(trace.x) for trace in figure.data} == {(1, 5, 10)}
    assert figure.data[0].y == pytest.approx([30, 60, 95])
    assert figure.data[4].y == pytest.approx([k.held_out for k in RUN])
    words = [note.text for note in figure.layout.annotations]
    assert ("95 %" in words) == (count == 2)
