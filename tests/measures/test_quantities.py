"""Numbers in words: by hand, and as exact as their digits say."""

from functools import partial
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcore.measures.quantities import (
    amount,
    both,
    compact,
    counted,
    few_digits,
    gigabytes,
    in_ten,
    listed,
    percent,
    power,
    prefixed,
    round_count,
    scale,
    short,
    si,
    span,
)


@pytest.mark.parametrize(
    ("value", "decimal", "binary"),
    [
        (85_899_345_920, "85.9 GB", "80.0 GiB"),
        (10_737_418_240, "10.7 GB", "10.0 GiB"),
        (999, "999 B", "999 B"),
        (69_120, "69.1 kB", "67.5 KiB"),
        (1_500_000, "1.50 MB", "1.43 MiB"),
        (-131e9, "−131 GB", "−122 GiB"),
        (0, "0 B", "0 B"),
    ],
)
def test_bytes_in_words(value, decimal, binary):
    assert amount(value) == decimal
    assert amount(value, "binary") == binary
    assert both(value) == f"{decimal} ({binary})"


def test_a_share_in_per_cent():
    assert [percent(share) for share in (0.0, 1e-9, 0.00123, 0.0494, 0.12)] == [
        "0 %",
        "<0.001 %",
        "0.12 %",
        "4.9 %",
        "12 %",
    ]


@given(st.integers(0, 10**20))
def test_words_are_as_exact_as_three_digits(value):
    for unit, step in (("decimal", 1000), ("binary", 1024)):
        number, prefix = amount(value, unit).split()
        size = float(number.replace(",", "")) * step ** "BkMGTPE".index(prefix[0].replace("K", "k"))
        assert size == pytest.approx(value, rel=0.0051, abs=0.5)


@pytest.mark.parametrize(
    ("count", "words"),
    [(512, "512"), (98_496, "98.50 k"), (124_439_808, "124.4 M"), (8.03e9, "8.03 B"), (1.4e12, "1.40 T")],
)
def test_counts_in_few_digits(count, words):
    assert short(count) == words


def test_sizes_in_words():
    assert [gigabytes(n) for n in (8.7e6, 1.53e9, 186.8e9)] == ["9 MB", "1.5 GB", "187 GB"]
    assert [gigabytes(n) for n in (0, 300, 58_832)] == ["0 MB", "1 kB", "59 kB"]


@pytest.mark.parametrize(
    ("value", "words"),
    [(7e10, "70 B"), (1.33e12, "1.33 T"), (512, "512"), (4.05e11, "405 B"), (float("inf"), "endless")],
)
def test_counts_as_people_say_them(value, words):
    assert round_count(value) == words


@pytest.mark.parametrize(("value", "words"), [(5.76e23, "5.8 × 10²³"), (1e20, "10²⁰"), (2e-3, "2.0 × 10⁻³")])
def test_powers_of_ten(value, words):
    assert power(value) == words


@pytest.mark.parametrize(
    ("value", "word"),
    [(0.0, "0.000"), (-1.5, "−1.500"), (float("-inf"), "−∞"), (0.0031, "3.1e−03"), (12345.0, "1.2e+04")],
)
def test_a_number_of_any_size_in_few_signs(value, word):
    assert compact(value) == word


@pytest.mark.parametrize(
    ("count", "unit", "word"),
    [(999, "B", "999 B"), (1000, "B", "1.0 kB"), (402_653_184, "B", "402.7 MB"), (1.04e12, "FLOP", "1.0 TFLOP")],
)
def test_a_count_with_a_prefix(count, unit, word):
    assert prefixed(count, unit) == word


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0 "), (999, "999 "), (999.5, "1 k"), (1_234, "1.23 k"), (35.1e9, "35.1 G"), (2e21, "2e+03 E")],
)
def test_letters_for_thousands(value, text):
    assert si(value) == text


@pytest.mark.parametrize(
    ("values", "form", "text"),
    [((0.5, 0.31, 0.9), ".0%", "31% to 90%"), ((0.311, 0.309), ".0%", "31%"), ((2.0,), ".2f", "2.00")],
)
def test_from_the_least_to_the_largest(values, form, text):
    assert span(values, form) == text


@pytest.mark.parametrize(
    ("value", "text"), [(17.448, "17.45"), (99_999.5, "99,999.50"), (887_504.3, "887,504"), (1_187_513, "1.2 × 10⁶")]
)
def test_any_size_in_ten_characters(value, text):
    assert in_ten(value) == text
    assert len(in_ten(value)) <= 10


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0123, "0.012"), (99.4, "99"), (99.9, "100"), (150.4, "150"), (12_345.6, "12,346"), (2e7, "2.0e+07")],
)
def test_a_number_of_any_size_in_few_characters(value, words):
    assert few_digits(value) == words


def test_values_are_listed_behind_their_names():
    assert listed({"a": 0.25, "b": 12_345.6}, "; ") == "a 0.25; b 12,346"


@pytest.mark.parametrize(
    ("words", "values", "expected"),
    [
        (amount, (999.5, 9_995, 99_900, 99_950), ["1.00 kB", "10.0 kB", "99.9 kB", "100 kB"]),
        (partial(counted, what="layer"), (0, 1, 2, 1024), ["0 layers", "1 layer", "2 layers", "1,024 layers"]),
        (gigabytes, (1e9, 1e11), ["1.0 GB", "100 GB"]),
        (power, (0, inf, 0.5), ["0", "inf", "5.0 × 10⁻¹"]),
        (in_ten, (99_999.99, 100_000, 999_999.5), ["99,999.99", "100,000", "10⁶"]),
        (percent, (0.099, 0.0995), ["9.9 %", "10 %"]),
        (compact, (0.01, 999.5, 1000), ["0.010", "999.500", "1.0e+03"]),
        (few_digits, (0.001, 99, 100, 99_999, 100_000), ["0.001", "99", "100", "99,999", "1.0e+05"]),
    ],
)
def test_the_form_of_a_number_changes_at_its_limits(words, values, expected):
    assert [words(value) for value in values] == expected


def test_an_axis_has_the_largest_unit_of_which_there_are_one_and_a_half():
    assert scale(1500, "decimal") == (1000.0, "kB")
    assert scale(1499, "decimal") == (1.0, "B")
    assert scale(1e30, "binary") == (2.0**60, "EiB")
