"""Pictures of mistakes: valid for plotly from the first look on, with remarks that point at the numbers."""

import math

import pytest

from tfcore.analysis.block.pitfall_findings import Symptom, finding
from tfcore.analysis.block.pitfalls import KINDS, Look, PitfallConfig
from tfcore.figures import theme
from tfcore.figures.block import pitfalls as figures

FIRST, LAST = Look(0, (3.3, 3.3), (0.5, 0.4)), Look(100, (0.05, 0.5), (1e-9, 0.7))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("looks", [[FIRST], [FIRST, LAST]])
def test_curves_grow_and_remarks_point_at_them(kind, looks):
    config = PitfallConfig(kind=kind)
    found = finding(config, looks)
    loss = figures.loss_figure(looks, found, config.steps, 300)
    theme.check(loss)
    assert [list(trace.y) for trace in loss.data] == [[k.loss[1] for k in looks], [k.loss[0] for k in looks]]
    remark = loss.layout.annotations[-1]
    assert (remark.x, remark.y) == (found.loss.step, found.loss.value)
    for log in (False, True):
        figure = figures.symptom_figure(looks, found, config.steps, Symptom("number", log), 300)
        theme.check(figure)
        low, high = figure.layout.yaxis.range
        assert low <= figure.layout.annotations[0].y <= high
        assert low < high


def test_numbers_at_the_edge_are_drawn_too():
    looks = [Look(0, (3.3, 3.3), (0.0, 0.0)), Look(5, (50.0, 3.0), (0.0, 0.0))]
    found = finding(PitfallConfig(kind="half"), looks)
    loss = figures.loss_figure(looks, found, 100, 300)
    assert loss.layout.yaxis.range[1] > 50
    for log in (False, True):
        figure = figures.symptom_figure(looks, found, 100, Symptom("number", log, None if log else 1.0), 300)
        theme.check(figure)
        assert all(math.isfinite(bound) for bound in figure.layout.yaxis.range)
