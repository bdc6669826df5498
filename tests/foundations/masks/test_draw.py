"""Pictures of masks: valid for plotly, comparable, and honest about zeros."""

import numpy as np
import pytest

from tests import small
from tfcore.charts import theme
from tfcore.charts.ranges import round_up
from tfcore.charts.tokens import mask_figure
from tfcore.measures.leaks import Leak, leak_test
from tfcore.measures.mask_patterns import FUNCTIONS, MaskConfig
from tfcore.views.foundations.masks import draw as figures
from tfcore.views.foundations.masks.measure import masked_attention

N = 9
LABELS = [f"t{i}" for i in range(N)]


def attention(kind="causal", n=N):
    return masked_attention(small.model(), small.ids(1, n)[0].tolist(), MaskConfig(kind=kind, window=3))


@pytest.mark.parametrize("kind", list(FUNCTIONS))
def test_plotly_accepts_every_mask(kind):
    result = attention(kind)
    theme.check(mask_figure(result.allowed[0], LABELS, 400))
    for masked in (False, True):
        theme.check(figures.masked_scores_figure(result, 1, 5, LABELS, 400, masked=masked))
        theme.check(figures.masked_weights_figure(result, 1, 5, LABELS, 400, masked=masked))


def test_before_and_after_have_one_range():
    result = attention()
    before, after = (figures.masked_scores_figure(result, 0, 0, LABELS, 400, masked=m).data[1] for m in (False, True))
    assert (before.zmin, before.zmax) == (after.zmin, after.zmax)
    assert before.zmin == -before.zmax
    assert before.zmax >= np.abs(result.scores[0, 0]).max()
    assert np.isnan(after.z).sum() == N * (N - 1) // 2
    assert not np.isnan(before.z).any()


@pytest.mark.parametrize(
    ("value", "bound"),
    [(0.0, 1), (0.03, 0.05), (1.0, 1), (1.1, 2), (4.9, 5), (7.0, 10), (51.0, 100), (float("inf"), 1)],
)
def test_ranges_change_seldom(value, bound):
    assert round_up(value) == pytest.approx(bound)


def test_exact_zero_is_drawn_apart_from_the_smallest_number():
    drawn = figures.log_or_zero(np.array([0.0, 1e-30, 1e-7, 1.0, 1e9], dtype=np.float32))
    assert drawn[0] == figures.ZERO
    assert figures.ZERO < drawn[1] < drawn[2] < drawn[3] == 0 < drawn[4] == figures.TOP


def test_leak_figure_shows_the_true_numbers():
    ids = small.ids(1, N)[0].tolist()
    masked, free = (leak_test(small.model(), ids, MaskConfig(kind=k), 4, 60) for k in ("causal", "bidirectional"))
    figure = figures.leak_figure(masked, free, LABELS, "causal", 300)
    theme.check(figure)
    without, within = figure.data
    assert (within.y[:4] == figures.ZERO).all()
    assert (without.y > figures.ZERO).all()
    np.testing.assert_array_equal(within.customdata, masked.difference)


def test_two_tokens_are_enough_for_a_leak_figure():
    leak = Leak(1, np.array([0.0, 1.0], dtype=np.float32), 0.0, True, 0)
    theme.check(figures.leak_figure(leak, leak, ["a", "b"], "causal", 300))
