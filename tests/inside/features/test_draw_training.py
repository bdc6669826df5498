"""Curves of a dictionary in training: the numbers of its moments, the shipped one across, cosines in bins."""

from dataclasses import replace

import numpy as np
import pytest

from tfcore.measures.dictionaries.growth import DictionaryMoment
from tfcore.measures.dictionaries.quality import Quality
from tfcore.views.inside.features.draw import BINS, cosine_figure, quality_figure

OWN = Quality(16.0, 0.75, 2.0, 2.5, 7.0, 3, 2_304)
START = DictionaryMoment(0, OWN, replace(OWN, dead=0, loss_substituted=2.1), np.full(5, 0.2), np.zeros(5, int), 0.2)
END = replace(START, step=50, quality=replace(OWN, dead=9), cosine=np.array([0.5, 0.51, 0.9, 1.0000001, -0.1]))


def test_curves_are_the_measures_and_the_shipped_one_is_a_line():
    traces = {trace.name: trace for trace in quality_figure([START, END], 100, 300).data}
    assert list(traces["loss recovered"].y) == pytest.approx([0.9, 0.9])
    assert list(traces["loss recovered, shipped"].y) == pytest.approx([0.98, 0.98])
    assert list(traces["loss recovered, shipped"].x) == [0, 100]
    assert list(traces["features that never fire"].y) == [3, 9]


def test_every_cosine_is_in_a_bin():
    now, before = cosine_figure([START, END], 300).data
    assert sum(now.y) == sum(before.y) == 5
    assert now.y[BINS - 1] == 1
    assert (now.name, before.name) == ("step 50", "step 0")
