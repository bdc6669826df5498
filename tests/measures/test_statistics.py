"""Intervals and quantiles, beside tables and the equations that define them."""

import numpy as np
import pytest

from tfcore.measures.statistics import (
    colour_end,
    correlation,
    ratio,
    relative_error,
    student_interval,
    t_quantile,
    wilson,
)


def test_a_part_by_nothing_is_none_of_it():
    assert (ratio(3, 4), ratio(0, 0), ratio(2, 0)) == (0.75, 0.0, 0.0)


def test_an_error_is_relative_to_the_root_mean_square():
    assert relative_error(np.array([3.0, 4.0]), np.array([3.0, 3.0])) == 0.2
    assert relative_error(np.zeros(3), np.ones(3)) == 0


def test_what_does_not_vary_has_no_correlation():
    rising = np.arange(3.0)
    assert correlation(rising, 5 - 2 * rising) == pytest.approx(-1)
    for one, other in ((np.full(3, 0.1), rising), (rising, np.full(3, 0.1)), (rising[:1],) * 2, (rising[:0],) * 2):
        assert correlation(one, other) is None  # the mean of tenths is no tenth, so they have a standard deviation


def test_an_interval_of_wilson():
    for share in wilson(8, 10):  # the shares from which 8 of 10 is just as far as 1.96 standard errors
        assert abs(0.8 - share) == pytest.approx(1.959964 * (share * (1 - share) / 10) ** 0.5)
    assert wilson(8, 10)[0] < 0.8 < wilson(8, 10)[1]
    assert wilson(0, 5)[0] == pytest.approx(0, abs=1e-12)
    assert min(wilson(0, of)[0] for of in range(1, 99)) >= 0
    assert max(wilson(of, of)[1] for of in range(1, 99)) <= 1


@pytest.mark.parametrize(("largest", "end"), [(2.0, 2.0), (2.1, 1.0)])
def test_a_colour_scale_ends_at_the_largest_or_where_most_values_end(largest, end):
    assert colour_end(np.array([*[-1.0] * 99, largest, np.nan])) == end
    assert colour_end(np.array([np.nan])) == 0


@pytest.mark.parametrize(
    ("degrees", "expected"), [(1, 12.7062), (2, 4.3027), (5, 2.5706), (11, 2.2010), (30, 2.0423), (63, 1.9983)]
)
def test_quantiles_are_those_of_tables(degrees, expected):
    assert t_quantile(degrees, 0.975) == pytest.approx(expected, abs=2e-4)


def test_an_interval_of_a_mean_is_that_of_a_table():
    """1, 2, 3: a standard deviation of 1, and two degrees of freedom."""
    mean, low, high = student_interval(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]))
    half = 4.3027 / 3**0.5
    assert mean == pytest.approx([2, 5])
    assert low == pytest.approx([2 - half, 5], abs=1e-3)
    assert high == pytest.approx([2 + half, 5], abs=1e-3)
