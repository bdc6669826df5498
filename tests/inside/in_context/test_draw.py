"""The figures of in-context learning draw the numbers they are given."""

import numpy as np
import pytest

from tfcore.views.inside.in_context.draw import accuracy_figure, heads_figure
from tfcore.views.inside.in_context.measure.accuracy import AccuracyCurve, TaskAccuracy
from tfcore.views.inside.in_context.measure.heads import ScoredHeadEffects
from tfcore.views.inside.in_context.measure.tasks import LABELS


def test_accuracy_with_the_interval_of_the_chosen_labels():
    curves = tuple(AccuracyCurve(labels, (2, 5, count), 10) for labels, count in zip(LABELS, (9, 4, 8), strict=True))
    figure = accuracy_figure(TaskAccuracy("m", "antonyms", curves, 0.25, 0), "random", 2, 300)
    guess, upper, lower, *lines, ring = figure.data
    assert list(guess.y) == [0.25, 0.25]
    assert [line.name for line in lines] == list(LABELS.values())
    assert [line.y[2] for line in lines] == pytest.approx([0.9, 0.4, 0.8])
    assert (lower.y < lines[1].y).all()
    assert (upper.y > lines[1].y).all()
    assert (ring.x[0], ring.y[0]) == (2, pytest.approx(0.4))


def test_heads_by_score_and_effect():
    effect, score = np.array([[0.1, 2.0], [-0.5, 0.0]]), np.array([[0.0, 0.8], [0.3, 0.1]])
    estimated, exact = heads_figure(ScoredHeadEffects(effect, effect > 1, score), 300).data
    assert (exact.x[0], exact.y[0], exact.text[0]) == (pytest.approx(0.8), pytest.approx(2.0), "0.1")
    assert list(estimated.y) == pytest.approx([0.1, -0.5, 0.0])
