"""Tokens as they are shown: nothing stays invisible, turns the line around, or is read as markup."""

import unicodedata

import pytest

from tfcore.measures.token_text import in_words, plotly_escape, shorten, visible, visible_character


@pytest.mark.parametrize(
    ("character", "shown"),
    [
        ("a", "a"),
        ("é", "é"),
        ("\x07", "␇"),
        ("\x7f", "␡"),
        ("\x85", "[U+0085]"),  # control
        ("\u200b", "[U+200B]"),  # zero width
        ("\u202e", "[U+202E]"),  # right to left from here
        ("\u00a0", "[U+00A0]"),  # a space that does not break
        ("\u2028", "[U+2028]"),  # a line ends
        ("\ue000", "[U+E000]"),  # private
        ("\udcc3", "<0xC3>"),  # a byte that is no UTF-8
    ],
)
def test_a_character_that_cannot_be_seen_is_named(character, shown):
    assert visible_character(character) == shown
    assert visible(character) == shown


def test_no_category_of_invisible_characters_is_forgotten():
    for code in range(0x3000):
        character = chr(code)
        hidden = unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp"}
        assert (visible_character(character) != character) >= hidden, hex(code)


def test_a_combining_mark_has_something_to_sit_on():
    assert visible("\u0301") == "◌\u0301"
    assert visible("e\u0301") == "e\u0301"


def test_a_text_that_is_too_long_ends_in_dots():
    assert [shorten("abcdef", limit) for limit in (None, 6, 5, 1, 0)] == ["abcdef", "abcdef", "abcd…", "…", "…"]


def test_plotly_reads_no_markup():
    assert plotly_escape("<b> & %{x} $1") == "&lt;b&gt; &amp; &#37;{x} &#36;1"
    assert plotly_escape(3) == "3"


@pytest.mark.parametrize(
    ("token", "words"),
    [
        (" ", "space"),
        ("    ", "4 spaces"),
        ("\n", "new line"),
        ("\n  ", "new line, 2 spaces"),
        ("\xa0", "no-break space"),
        (" a", "·a"),
        ("", "∅"),
    ],
)
def test_white_space_alone_in_words(token, words):
    assert in_words(token) == words
