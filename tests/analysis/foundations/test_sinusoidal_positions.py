"""Sinusoidal positions: the table and its shifts against their formulas, and what is said of them."""

import math

import numpy as np
import pytest

from tfcore.analysis.foundations import sinusoidal_positions


def test_table_and_wavelengths():
    result = sinusoidal_positions.sinusoidal_table(12, 8, 10_000.0)
    assert result.table.shape == (12, 8)
    assert result.table[0].tolist() == [0, 1] * 4
    assert result.wavelengths == pytest.approx([2 * math.pi * 10_000 ** (i / 4) for i in range(4)])


@pytest.mark.parametrize(
    ("length", "d_model", "base", "k", "start"), [(128, 128, 1e4, 5, 40), (16, 8, 10.0, 128, 1000)]
)
def test_shift_is_exact_up_to_rounding(length, d_model, base, k, start):
    result = sinusoidal_positions.sinusoidal_shift(length, d_model, base, k, start)
    assert 0 < result.error < 1e-6
    assert result.spread < 1e-6 * d_model
    assert result.products.shape == (2, length)
    assert result.products[0, 0] == pytest.approx(d_model / 2)
    by_hand = sum(math.cos(3 / base ** (2 * i / d_model)) for i in range(d_model // 2))
    assert result.products[1, 3] == pytest.approx(by_hand, abs=1e-4)


def test_shift_matrix_is_block_diagonal():
    matrix = sinusoidal_positions.sinusoidal_shift(16, 8, 1e4, 3, 0).matrix
    blocks = np.kron(np.eye(4), np.ones((2, 2)))
    assert not matrix[blocks == 0].any()
    assert matrix[0, :2] == pytest.approx([math.cos(3), math.sin(3)])


def period(i, d_model, base):
    return 2 * math.pi * base ** (2 * i / d_model)


def test_periods_are_those_of_the_pairs_that_are_named():
    table = sinusoidal_positions.sinusoidal_table(24, 8, 100.0)
    ends = sinusoidal_positions.table_periods(table)
    assert (ends.length, ends.d_model) == (24, 8)
    assert (ends.shortest, ends.longest) == pytest.approx((period(0, 8, 100), period(3, 8, 100)))
    assert str(ends) == (
        "Position vectors of 24 positions by 8 dimensions: stripes that get wider from left to right, one period every "
        "6.3 positions at the left end and every 199 at the right."
    )
    two = sinusoidal_positions.pair_periods(table, (2, 1))
    assert two.periods == pytest.approx((period(2, 8, 100), period(1, 8, 100)))
    assert str(two) == "Pair 2 repeats after 62.8 positions, pair 1 after 19.9."


def test_the_last_wavelength_stays_below_its_limit():
    waves = sinusoidal_positions.wavelengths(8, 1e4)
    found = sinusoidal_positions.wavelength_range(waves, 1e4)
    assert (found.pairs, found.width) == (4, 8)
    assert (found.first, found.last) == pytest.approx((period(0, 8, 1e4), period(3, 8, 1e4)))
    assert found.limit == pytest.approx(period(4, 8, 1e4))
    assert str(found) == "4 wavelengths, 2π · b^(2i/8): from 6.28 to 6,283 positions."
    assert found.against_limit == "the last wavelength is 2π · b^(1 − 2/d), here 6,283 of 62,832."


def test_the_products_of_a_shift_are_those_at_its_offset():
    shift = sinusoidal_positions.sinusoidal_shift(16, 8, 1e4, 5, 40)
    found = sinusoidal_positions.shift_products(shift, 5, 40)
    by_hand = sum(math.cos(5 / 1e4 ** (i / 4)) for i in range(4))
    assert (found.at_zero, found.at_k) == pytest.approx((4, by_hand), abs=1e-4)
    assert (found.start, found.spread) == (40, shift.spread)
    assert sinusoidal_positions.shift_products(shift, 15, 0).at_k == pytest.approx(shift.products[0, 15])
    assert sinusoidal_positions.shift_products(shift, 16, 0).at_k is None
    assert str(sinusoidal_positions.ShiftProducts(16, 40, 4.0, None, 1.24e-6)) == (
        "PE(p) · PE(p + k) is 4 = d/2 at k = 0; the same from p = 0 and from p = 40, to within 1.2e-06."
    )
    assert "k = 0, 2.3 at k = 5;" in str(sinusoidal_positions.ShiftProducts(5, 40, 4.0, 2.3, 1e-6))


def test_the_error_of_a_shift_is_the_largest_over_the_table():
    shift = sinusoidal_positions.sinusoidal_shift(16, 8, 1e4, 5, 40)
    found = sinusoidal_positions.shift_error(shift, 5)
    assert (found.k, found.length, found.error) == (5, 16, shift.error)
    assert str(sinusoidal_positions.ShiftError(5, 16, 3.14e-7)) == (
        "The matrix that moves position vectors on by 5: 2 by 2 rotations on the diagonal, zero elsewhere; its largest "
        "error over 16 positions is 3.1e-07."
    )
