"""Mutual information: three ways that agree, known tables, and letters counted."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcore.analysis.training.mutual_information import (
    KINDS,
    conditional_entropy,
    joint_information,
    kind_of,
    neighbours,
    three_ways,
)

TABLES = st.tuples(st.integers(2, 4), st.integers(2, 4)).flatmap(
    lambda size: (
        st.lists(st.integers(0, 10_000), min_size=size[0] * size[1], max_size=size[0] * size[1])
        .filter(any)
        .map(lambda cells: np.array(cells).reshape(size) / sum(cells))
    )
)


@given(table=TABLES)
def test_three_ways_agree_and_respect_the_bounds(table):
    result = joint_information(table)
    assert three_ways(result).spread < 1e-12
    assert -1e-12 <= result.by_divergence <= min(result.h_x, result.h_y) + 1e-12
    assert result.h_xy == pytest.approx(result.h_y + result.h_x_given_y, abs=1e-12)
    assert result.h_y_given_x == pytest.approx(result.h_xy - result.h_x, abs=1e-12)
    assert result.by_divergence == pytest.approx(joint_information(table.T).by_divergence, abs=1e-12)


@pytest.mark.parametrize(
    ("table", "bits"),
    [
        ([[42, 18], [28, 12]], 0.0),
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], math.log2(3)),
        ([[0, 1], [1, 0], [0, 1]], 0.9182958340544896),  # Y = X squared
        ([[45, 5], [5, 45]], 1 - 0.4689955935892812),  # a channel that errs once in ten
    ],
)
def test_known_tables(table, bits):
    cells = np.array(table) / np.sum(table)
    assert joint_information(cells).by_divergence == pytest.approx(bits, abs=1e-12)


def test_a_column_that_never_happens_tells_nothing():
    assert conditional_entropy(np.array([[0.5, 0.0], [0.5, 0.0]])) == pytest.approx(1.0)


def test_what_is_no_distribution_is_refused():
    with pytest.raises(ValueError, match="divide it by its sum"):
        joint_information(np.ones((2, 2)))


def test_letters_are_counted():
    assert [KINDS[kind_of(c)] for c in "aB ß.\n"] == ["vowel", "consonant", "space", "other", "other", "space"]
    counts = neighbours("abab", 1)
    assert counts[0, 1] == 2
    assert counts[1, 0] == 1
    assert counts.sum() == 3
    assert neighbours("abab", 2)[0, 0] == 1
    assert neighbours("ab", 5).sum() == 0
