"""Sinusoidal positions: the table and its shifts against their formulas, and what is said of them."""

import math

import numpy as np
import pytest

from tfcore.views.foundations.positions import say
from tfcore.views.foundations.positions.measure import sinusoidal
from tfcore.views.foundations.positions.measure.sinusoidal import Shift, ShiftedProducts


def test_table_and_wavelengths():
    result = sinusoidal.sinusoidal_table(12, 8, 10_000.0)
    assert result.table.shape == (12, 8)
    assert result.table[0].tolist() == [0, 1] * 4
    assert result.wavelengths == pytest.approx([2 * math.pi * 10_000 ** (i / 4) for i in range(4)])


@pytest.mark.parametrize(
    ("length", "d_model", "base", "k", "start"), [(128, 128, 1e4, 5, 40), (16, 8, 10.0, 128, 1000)]
)
def test_shift_is_exact_up_to_rounding(length, d_model, base, k, start):
    assert 0 < sinusoidal.sinusoidal_shift(length, d_model, base, k).error < 1e-6
    result = sinusoidal.shifted_products(length, d_model, base, start)
    assert result.spread < 1e-6 * d_model
    assert result.products.shape == (2, length)
    assert result.products[0, 0] == pytest.approx(d_model / 2)
    by_hand = sum(math.cos(3 / base ** (2 * i / d_model)) for i in range(d_model // 2))
    assert result.products[1, 3] == pytest.approx(by_hand, abs=1e-4)


def test_shift_matrix_is_block_diagonal():
    matrix = sinusoidal.sinusoidal_shift(16, 8, 1e4, 3).matrix
    blocks = np.kron(np.eye(4), np.ones((2, 2)))
    assert not matrix[blocks == 0].any()
    assert matrix[0, :2] == pytest.approx([math.cos(3), math.sin(3)])


def period(i, d_model, base):
    return 2 * math.pi * base ** (2 * i / d_model)


def test_periods_are_those_of_the_pairs_that_are_named():
    table = sinusoidal.sinusoidal_table(24, 8, 100.0)
    ends = say.table_periods(table)
    both = pytest.approx((period(0, 8, 100), period(3, 8, 100)))
    assert (ends.values["shortest"], ends.values["longest"]) == both
    assert str(ends) == (
        "Position vectors of 24 positions by 8 dimensions: stripes that get wider from left to right, one period every "
        "6.3 positions at the left end and every 199 at the right."
    )
    two = say.pair_periods(table, (2, 1))
    assert (two.values["one"], two.values["other"]) == pytest.approx((period(2, 8, 100), period(1, 8, 100)))
    assert str(two) == "Pair 2 repeats after 62.8 positions, pair 1 after 19.9."


def test_the_last_wavelength_stays_below_its_limit():
    waves = sinusoidal.wavelengths(8, 1e4)
    found, limit = say.wavelength_range(waves), say.against_limit(waves, 1e4)
    ends = pytest.approx((period(0, 8, 1e4), period(3, 8, 1e4)))
    assert (found.values["first"], found.values["last"]) == ends
    assert limit.values["last"] == found.values["last"]
    assert limit.values["limit"] == pytest.approx(period(4, 8, 1e4))
    assert str(found) == "4 wavelengths, 2π · b^(2i/8): from 6.28 to 6,283 positions."
    assert str(limit) == "the last wavelength is 2π · b^(1 − 2/d), here 6,283 of 62,832."


def test_the_products_of_a_shift_are_those_at_its_offset():
    products = sinusoidal.shifted_products(16, 8, 1e4, 40)
    found = say.shift_products(products, 5, 40).values
    by_hand = sum(math.cos(5 / 1e4 ** (i / 4)) for i in range(4))
    assert (found["at_zero"], found["at_k"]) == pytest.approx((4, by_hand), abs=1e-4)
    assert (found["start"], found["spread"]) == (40, products.spread)
    assert say.shift_products(products, 15, 0).values["at_k"] == pytest.approx(products.products[0, 15])
    assert say.shift_products(products, 16, 0).values["at_k"] is None
    made_up = ShiftedProducts(np.array([[4.0, 3.1, 2.3], [0.0, 0.0, 0.0]]), 1.24e-6)
    assert str(say.shift_products(made_up, 16, 40)) == (
        "PE(p) · PE(p + k) is 4 = d/2 at k = 0; the same from p = 0 and from p = 40, to within 1.2e-06."
    )
    assert "k = 0, 2.3 at k = 2;" in str(say.shift_products(made_up, 2, 40))


def test_the_error_of_a_shift_is_the_largest_over_the_table():
    assert str(say.shift_error(Shift(np.zeros((2, 2)), 3.14e-7), 5, 16)) == (
        "The matrix that moves position vectors on by 5: 2 by 2 rotations on the diagonal, zero elsewhere; its largest "
        "error over 16 positions is 3.1e-07."
    )
