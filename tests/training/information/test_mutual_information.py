"""Mutual information: three ways that agree, known tables, and letters counted."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcore.views.training.information.measure.mutual_information import (
    KINDS,
    conditional_entropy,
    joint_information,
    kind_of,
    neighbours,
)
from tfcore.views.training.information.say.mutual_information import (
    cell_sum,
    pair_count,
    shared_information,
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
    assert three_ways(result).values["spread"] < 1e-12
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


# ---- what is said ----

TABLE = np.array([[0.5, 0.125], [0.0, 0.375]])


def test_what_is_said_of_two_variables_is_summed_over_their_cells():
    def bits(shares):
        return sum(p * math.log2(1 / p) for p in shares if p)

    result = joint_information(TABLE)
    found = shared_information(result)
    h_x, h_y, h_xy = bits([0.625, 0.375]), bits([0.5, 0.5]), bits([0.5, 0.125, 0.375])
    assert (found.h_x, found.h_y, found.h_xy) == pytest.approx((h_x, h_y, h_xy))
    assert found.shared == pytest.approx(h_x + h_y - h_xy)
    assert found.h_x_given_y == pytest.approx(0.5 * 0 + 0.5 * bits([0.25, 0.75]))  # X is known where Y is the first
    assert found.metrics == {
        "I(X; Y)": "0.549",
        "H(X)": "0.954",
        "H(Y)": "1.000",
        "H(X, Y)": "1.406",
        "H(X | Y)": "0.406",
    }
    assert str(found) == (
        "H(X) = 0.954 and H(Y) = 1.000 bits overlap by I(X; Y) = 0.549 bits, so that H(X, Y) is 1.406 and not 1.954."
    )
    assert str(cell_sum(result)) == "All cells sum to the mutual information, 0.549 bits."


def test_three_ways_are_said_side_by_side():
    result = joint_information(TABLE)
    by_entropies = result.h_x + result.h_y - result.h_xy
    assert str(three_ways(result)).startswith(
        f"H(X) + H(Y) − H(X, Y) = {by_entropies:.6f}; H(X) − H(X | Y) = {by_entropies:.6f}; KL(joint‖product) = "
        f"{result.terms.sum():.6f} bits. Largest difference: "
    )
    apart = replace(result, by_entropies=0.5, by_condition=0.75, by_divergence=0.25)
    assert str(three_ways(apart)) == (
        "H(X) + H(Y) − H(X, Y) = 0.500000; H(X) − H(X | Y) = 0.750000; KL(joint‖product) = 0.250000 bits. Largest "
        "difference: 0.5."
    )


def test_pairs_are_counted():
    found = pair_count(neighbours("ab " * 1_000, 2), 2)
    assert (found.values["pairs"], found.values["apart"]) == (2_998, 2)
    assert str(found) == "2,998 pairs of characters, counted: X and, 2 later, Y."
