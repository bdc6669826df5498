"""What is recorded is compared as two processors come to it: another word, another count or another number is seen, a
last digit that rounding decides is not."""

import pytest

from tests.comparison import NEAR, differences, distinct, unmatched

SAME = {
    "a last digit": ("0.4712 of all", "0.4713 of all"),
    "up to another power of ten": ("9.99 times", "10.00 times"),
    "fewer digits": ("999.5 tokens", "1,000 tokens"),
    "a number of a head": ("the largest of any head: 0.71", "the largest of any head: 0.72"),
    "a percentage": ("47 % of it", "48 % of it"),
    "a percentage in Markdown": ("47 \\% of it", "48 \\% of it"),
    "a point in Markdown": ("H\\(P\\) is 1\\.65834", "H\\(P\\) is 1\\.65835"),
    "a digit less in a row that was cut": (
        "token: h|0.6829764491994865|<0xB8>|",
        "token: h|0.682976449199486|<0xB8>||",
    ),
    "a power": ("1.27e+21 operations", "1.28e+21 operations"),
    "a small one": ("2.1e\\-03 apart", "2.2e\\-03 apart"),
    "what is nothing but rounding": ("2.1e-07 apart", "7e-08 apart"),
    "a number": (0.50319, 0.50322),
    "a sum of the same numbers": (1.2345e-9, -1e-8),
    "a large number of five digits": (12346.0, 12347.0),
    "a power of ten": (1.778279410038923e17, 1.778279410038924e17),
}
OTHER = {
    "a word": ("Head 3 looks back", "Head 3 looks ahead"),
    "a word, in a checksum": (592241764.0, 592241765.0),
    "the last word of a row": ("token: h|0.68|<0xB8>|c", "token: h|0.68|<0xB8>|d"),
    "a word of a row": ("token: h|0.682|<0xB8>|c", "token: hat|0.68|<0xB8>|"),
    "a sign": ("A loss of -0.47", "A loss of +0.47"),
    "a count": ("Head 3 of 24", "Head 3 of 25"),
    "another head": ("head 2.3 looks back", "head 2.4 looks back"),
    "another head, in Markdown": ("heads **2\\.3", "heads **2\\.4"),
    "a count in letters and commas": ("1,234,567 parameters", "1,234,568 parameters"),
    "a count of points": ([32.0, 1.2874], [33.0, 1.2874]),
    "a count of many points": ([2000.0, 1.2874], [2001.0, 1.2874]),
    "a count of rows": (1024, 1025),
    "a count of parameters": (110104890, 110104891),
    "2 %": ("0.4712 of all", "0.4806 of all"),
    "2 %, in Markdown": ("1\\.65834 bits", "1\\.69151 bits"),
    "2 %, of a whole percentage": ("98 % of it", "96 % of it"),
    "2 %, of a power": ("1.27e+21 operations", "1.30e+21 operations"),
    "the power": ("1.27e+21 operations", "1.27e+22 operations"),
    "2 %, of a number": (1.2874, 1.3131),
    "2 %, of a large number": (12346.0, 12593.0),
    "2 %, negative": (-0.050319, -0.051325),
    "one number more": ([1.0, 0.5], [1.0, 0.5, 0.5]),
}


@pytest.mark.parametrize("case", SAME)
def test_what_rounding_decides_is_the_same(case):
    one, other = SAME[case]
    assert differences({"a": [one]}, {"a": [other]}) == differences(other, one) == []
    assert unmatched({"a": [one]}, {"a": [other]}) == []


@pytest.mark.parametrize("case", OTHER)
def test_another_word_count_or_number_is_seen(case):
    one, other = OTHER[case]
    assert differences({"a": [one]}, {"a": [other]})
    assert differences(other, one)
    assert len(unmatched({"a": [one]}, {"a": [other]})) == 2


@pytest.mark.parametrize("apart", [NEAR / 2, NEAR, 2 * NEAR])
def test_each_of_the_parts_is_like_one_that_was_kept_on_another_processor(apart):
    """Where two are nearly as far apart as parts must be to be kept both, one processor keeps both, the other one."""
    fewer, more = ([[7.0, 1.0], [7.0, 1 / (1 - apart * nearly)]] for nearly in (0.9999, 1.0001))
    assert unmatched({"a": distinct(fewer)}, {"a": distinct(more)}) == []


SAID = r"H is 1\.65834 of 1\,203\.4 or of 3 or 47 \%, and KL 1\.2e\-03; 12 of 24%2C; head 5\.6"


@pytest.mark.parametrize(
    ("old", "new", "is_same"),
    [
        (r"1\.65834", r"1\.65835", True),
        (r"1\.65834", r"1\.69151", False),
        (r"1\,203\.4", r"1\,203\.5", True),
        (r"1\,203\.4", r"1\,228\.4", False),
        ("of 3 or", "of 4 or", False),
        ("47 ", "48 ", True),
        ("47 ", "49 ", False),
        (r"1\.2e", r"1\.3e", True),
        ("03;", "04;", False),
        ("12 of", "13 of", False),
        ("24%", "25%", False),
        (r"5\.6", r"5\.7", False),
    ],
)
def test_what_a_page_says_is_compared_with_its_numbers_whole(old, new, is_same):
    """Points are escaped in Markdown, and percentages are no counts."""
    known = SAID.replace(old, new)
    assert known != SAID
    assert (differences(SAID, known) == []) is (differences(known, SAID) == []) is is_same


@pytest.mark.parametrize(("mean", "same"), [(-1.24e-4, True), (-1.3e-4, False), (1.2e-4, False)])
def test_a_mean_may_be_off_by_little_of_its_spread(mean, same):
    """0.2 % of 2.25e-3 are 4.5e-6."""
    row = [0.0, 48.0, -1.2e-4, 2.25e-3, 22.1]
    assert (differences([0.0, 48.0, mean, 2.25e-3, 22.1], row) == []) == same
    assert differences([0.0, 48.0, -1.2e-4, 2.3e-3, 22.1], row)  # a spread itself may not
    assert differences([48.5, mean, 2.25e-3], [48.5, -1.2e-4, 2.25e-3])  # behind no count there is no mean
