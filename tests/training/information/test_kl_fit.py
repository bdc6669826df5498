"""One bump for two: moments where they must match, one of the bumps where it must be picked, and true minima."""

import numpy as np
import pytest

from tfcore.measures.information import kl_divergence
from tfcore.views.training.information.measure.kl_fit import (
    MEANS,
    POINTS,
    REACH,
    WIDTHS,
    FittedBump,
    KLFit,
    bump,
    divergences,
    fit_bumps,
    fit_of,
    minima,
    two_bumps,
)
from tfcore.views.training.information.say.kl_fit import fit_table, fitted_bumps, kl_minima, own_bump

X = np.linspace(-REACH, REACH, POINTS)


def test_the_covering_bump_has_the_mean_and_the_width_of_both_together():
    result = fit_bumps(5.0, 0.4, 0.7)
    assert (result.mean, result.deviation) == (pytest.approx(-0.5), pytest.approx(np.sqrt(0.49 + 6.0), abs=1e-3))
    assert result.covering.mean == pytest.approx(result.mean, abs=2e-3)
    assert result.covering.width == pytest.approx(result.deviation, abs=2e-3)


def test_the_picking_bump_is_the_larger_one_of_two():
    result = fit_bumps(5.0, 0.4, 0.7)
    best, second = result.picking[:2]
    assert (best.mean, best.width) == (pytest.approx(-2.5, abs=0.01), pytest.approx(0.7, abs=0.01))
    assert second.mean == pytest.approx(2.5, abs=0.01)
    assert best.reverse == pytest.approx(-np.log2(0.6), abs=0.01)
    assert best.forward > 10
    assert best.reverse < result.covering.reverse
    assert result.covering.forward < best.forward


def test_where_one_has_no_probability_the_other_costs_much_and_no_error():
    p = np.where(X < 0, 0.0, 1.0) / (X >= 0).sum()
    forward, reverse = divergences(p, X, np.array([0.0]), np.array([1.0]))
    assert np.isfinite(forward).all()
    assert 100 < reverse.item() < np.inf


def test_one_bump_is_its_own_fit():
    result = fit_bumps(0.0, 0.5, 1.0)
    assert len(result.picking) == 1
    for fit in (result.covering, *result.picking):
        assert (fit.mean, fit.width) == (pytest.approx(0, abs=1e-3), pytest.approx(1, abs=1e-3))
        assert fit.forward == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize("values", [(8.0, 0.95, 1.5), (8.0, 0.05, 0.4), (2.0, 0.5, 0.7)])
def test_no_neighbour_beats_a_fit(values):
    result = fit_bumps(*values)
    for way, fit in (("forward", result.covering), ("reverse", result.picking[0])):
        for mean, width in ((0.01, 0), (-0.01, 0), (0, 0.01), (0, -0.01)):
            other = fit_of(result.p, result.x, fit.mean + mean, fit.width + width)
            assert getattr(other, way) > getattr(fit, way) - 1e-9


def test_maps_hold_what_the_definition_says():
    p = two_bumps(X, 3.0, 0.3, 0.8)
    forward, reverse = divergences(p, X, MEANS, WIDTHS)
    for row, column in ((0, 0), (20, 7), (38, 48)):
        q = bump(X, MEANS[column], WIDTHS[row])
        assert reverse[row, column] == pytest.approx(kl_divergence(q, p), abs=1e-6)
        if (q > 0).all():
            assert forward[row, column] == pytest.approx(kl_divergence(p, q), rel=1e-6)


def test_minima_are_lower_than_all_eight():
    assert minima(np.array([[1.0, 2, 3], [2, 5, 4], [3, 4, 0]])) == [(0, 0), (2, 2)]


# ---- what is said ----


def planted():
    """Fits with numbers of their own; KL(Q || P) has two minima."""
    cover, pick, other = (
        FittedBump(-0.5, 2.5, 1.25, 2.0),
        FittedBump(-2.25, 0.75, 9.0, 0.5),
        FittedBump(2.0, 0.7, 8.0, 1.5),
    )
    empty = np.zeros((1, 1))
    return KLFit(X, X, -0.4, 2.6, cover, (pick, other), empty[0], empty[0], empty, empty)


def test_what_is_said_of_the_fits_names_the_right_ones():
    found = fitted_bumps(planted())
    assert str(found) == (
        "P has mean −0.40 and standard deviation 2.60. Least KL(P‖Q): mean −0.50, width 2.50. Least KL(Q‖P): mean "
        "−2.25, width 0.75."
    )


def test_what_is_said_of_the_minima():
    found = kl_minima(planted())
    assert str(found) == (
        "KL(P‖Q) is least, 1.250 bits, at mean −0.50; KL(Q‖P) has 2 local minima, the lowest with 0.500 bits at mean "
        "−2.25."
    )
    assert "KL(Q‖P) has one local minimum with" in str(kl_minima(fit_bumps(0.0, 0.5, 1.0)))


def test_ones_own_bump_and_the_table():
    own = FittedBump(1.0, 1.5, 3.5, 4.25)
    assert str(own_bump(own)) == "Yours: KL(P‖Q) = 3.500 bits, KL(Q‖P) = 4.250 bits."
    assert fit_table(planted(), own) == {
        "bump": ["covers: least KL(P‖Q)", "picks: least KL(Q‖P)", "another minimum of KL(Q‖P)", "yours"],
        "mean": ["-0.500", "-2.250", "2.000", "1.000"],
        "width": ["2.500", "0.750", "0.700", "1.500"],
        "KL(P‖Q), bits": ["1.250", "9.000", "8.000", "3.500"],
        "KL(Q‖P), bits": ["2.000", "0.500", "1.500", "4.250"],
    }
