"""Figures of the experiments: valid for plotly, small, with fixed ranges."""

import numpy as np
import pytest

from tfcore.charts import theme
from tfcore.measures.product_spread import WIDTHS, product_spread
from tfcore.views.foundations.attention.draw import scale as figures
from tfcore.views.foundations.attention.measure.scale import gradient_theory, saturation

SPREAD = product_spread(500, 0)
SATURATED = {n: saturation(n, 0) for n in (2, 64)}
ENDS = (0, len(WIDTHS) - 1)


def drawn(at, n):
    result = SATURATED[n]
    return [
        *(figures.products_figure(SPREAD, at, scaled=scaled) for scaled in (False, True)),
        figures.variance_figure(SPREAD, at),
        figures.entropy_figure(result, at),
        figures.largest_figure(result, at),
        figures.curve_figure(result, at),
        figures.gradient_figure(result, gradient_theory(n), at),
    ]


@pytest.mark.parametrize("n", SATURATED)
@pytest.mark.parametrize("at", ENDS)
def test_plotly_accepts_them_and_they_are_small(at, n):
    for figure in drawn(at, n):
        theme.check(figure)
        assert len(figure.to_json()) < 60_000


def test_ranges_stay_while_d_k_moves():
    for first, last in zip(*(drawn(at, 64) for at in ENDS), strict=True):
        for axis in ("xaxis", "yaxis"):
            assert first.to_dict()["layout"][axis]["range"] == last.to_dict()["layout"][axis]["range"]


def test_the_curve_over_the_histogram_has_the_theorys_variance():
    bars, curve = figures.products_figure(SPREAD, 8, scaled=False).data
    share = curve.y / curve.y.sum()
    assert (share * curve.x**2).sum() == pytest.approx(WIDTHS[8], rel=0.01)
    assert bars.x.std() == pytest.approx(curve.x.std(), rel=0.02)


def test_two_keys_have_a_theory_for_every_width():
    names = [trace.name for trace in figures.gradient_figure(SATURATED[2], gradient_theory(2), 0).data]
    assert any("2p" in name for name in names)
    assert not any(np.isnan(trace.y).any() for trace in figures.variance_figure(SPREAD, 0).data)
