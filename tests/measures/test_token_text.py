"""Tokens as they are shown: nothing stays invisible, turns the line around, or is read as markup."""

import pickle
import re
import unicodedata
from copy import deepcopy
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.nightly import nightly
from tfcore.charts.tokens import hover_ticks, label_room
from tfcore.loading.checkpoints import load
from tfcore.measures.one_text import last_tokens, pieces_of
from tfcore.measures.token_text import (
    END_ISOLATE,
    ISOLATE,
    CharacterPart,
    TickLabel,
    character_code,
    character_parts,
    characters_of,
    in_words,
    isolated,
    label,
    plotly_escape,
    shorten,
    tick_labels,
    unisolated,
    visible,
    visible_character,
)
from tfcore.tokenizers.tokenizer import ByteTokenizer, readable


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


# ---- parts of characters ----

CHINESE = "今天下午图书馆不开门,所以我们去了公园。"
ARABIC = "ذهب الولد إلى السوق واشترى تفاحة حمراء ثم عاد إلى البيت."
EMOJI = "I ❤️ this 👩\u200d🔬🧪! Café naïve 🇫🇷🇯🇵 1️⃣2️⃣3️⃣"


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """Bytes cut into pieces at some places."""
    edges = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[a:b] for a, b in pairwise(edges)]


def parts(pieces: list[bytes]) -> list[str]:
    return character_parts([readable(piece) for piece in pieces], pieces)


def shown(pieces: list[bytes]) -> list[str]:
    return [unisolated(visible(one)) for one in parts(pieces)]


@pytest.mark.parametrize(
    ("text", "places", "expected"),
    [
        ("今天", [2, 3, 5], ["今 1/2", "今 2/2", "天 1/2", "天 2/2"]),
        ("今天", [1, 4], ["今 1/2", "今 2/2 天 1/2", "天 2/2"]),
        ("a 今", [1, 3], ["a", "·今 1/2", "今 2/2"]),
        ("👩\u200d🔬!", [4, 7, 11], ["👩\u200d🔬 1/3", "👩\u200d🔬 2/3", "👩\u200d🔬 3/3", "!"]),
        ("🇫🇷", [4], ["🇫🇷 1/2", "🇫🇷 2/2"]),
        ("1️⃣2", [1, 4, 7], ["1️⃣ 1/3", "1️⃣ 2/3", "1️⃣ 3/3", "2"]),
        ("cafe\u0301s", [4, 5, 6], ["cafe", "◌\u0301 1/2", "◌\u0301 2/2", "s"]),
        (" إلى", [2, 3], ["·إ 1/2", "إ 2/2", "لى"]),
    ],
)
def test_a_part_of_a_character_is_named_by_it(text, places, expected):
    assert shown(cut(text.encode(), places)) == expected


@given(st.binary(max_size=24), st.lists(st.integers(0, 30), max_size=8))
def test_any_bytes_are_grouped_and_none_is_lost(data, places):
    pieces = cut(data, places)
    found = parts(pieces)
    assert [str(one) for one in found] == [readable(piece) for piece in pieces], "names are what they were"
    for one, piece in zip(found, pieces, strict=True):
        assert isinstance(one, str)
        if isinstance(one, CharacterPart):
            assert one.data == piece
            assert one.label


@given(
    st.lists(st.sampled_from([*"abéل今हि👩", "👩\u200d🔬", "🇫🇷", "❤️", "e\u0301"]), max_size=6).map("".join),
    st.lists(st.integers(0, 60), max_size=9),
)
def test_the_characters_of_the_groups_join_to_the_text(text, places):
    joined = ""
    for one in shown(cut(text.encode(), places)):
        words = one.split(" ")
        for word, after in zip(words, [*words[1:], ""], strict=True):
            part = re.fullmatch(r"(\d+)/(\d+)", after)
            if not re.fullmatch(r"\d+/\d+", word) and (part is None or part[1] == part[2]):
                joined += word
    assert joined.replace("◌", "") == ("" if not text else unisolated(visible(text)).replace("◌", ""))


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b" \xd8", "·part D8"),
        (b"\xe4\xbb", "part E4 BB"),
        (b"a\xc3", "a part C3"),
        (b"\x8a!", "part 8A !"),
        ("é".encode(), "é"),
    ],
)
def test_a_part_of_a_character_outside_of_a_text_is_called_one(data, said):
    assert visible(readable(data)) == said


def test_bytes_that_were_typed_stay_as_they_are():
    assert visible("<0x41>") == "<0x41>"
    assert visible("a<0xD8>") == "a<0xD8>"


def test_its_label_says_so_where_it_is_pointed_at():
    shown = label(readable(b" \xd8"))
    assert isinstance(shown, TickLabel)
    assert (shown, shown.hover) == ("·part D8", "·part D8: part of a character")


@nightly
def test_real_tokens_of_other_scripts(real_models):
    _, tokenizer = load("smollm2", device="cpu")
    names = [unisolated(visible(one)) for one in pieces_of(tokenizer, tokenizer.encode(CHINESE))]
    assert names[:5] == ["今 1/2", "今 2/2", "天 1/2", "天 2/2", "下"]
    model, tokenizer = load("stories", device="cpu")
    read = last_tokens(model, tokenizer, "a 今", 10)
    assert [visible(one) for one in read.tokens] == ["a", "·", "今 1/3", "今 2/3", "今 3/3"]
    assert "".join(read.tokens) == "a <0xE4><0xBB><0x8A>"
    read = last_tokens(model, tokenizer, "a 今", 2)
    assert (read.tokens, [*map(visible, read.tokens)]) == (["<0xBB>", "<0x8A>"], ["今 2/3", "今 3/3"])
    _, tokenizer = load("minilm", device="cpu")
    assert pieces_of(tokenizer, tokenizer.encode(CHINESE)) == tokenizer.tokens(tokenizer.encode(CHINESE))


def test_bytes_are_told_where_a_label_is_pointed_at():
    labels = tick_labels(parts([b"\xe4\xbb", b"\x8a", b"a"]))
    assert labels == ["今 1/2", "今 2/2", "a"]
    assert hover_ticks(labels)["ticktext"] == ["'今 1/2, bytes E4 BB' (0)", "'今 2/2, byte 8A' (1)", "'a' (2)"]
    assert [getattr(one, "hover", "") for one in deepcopy(labels)] == ["今 1/2, bytes E4 BB", "今 2/2, byte 8A", ""]
    again = pickle.loads(pickle.dumps(parts([b"\xe4\xbb", b"\x8a"])))
    assert [(str(one), one.label) for one in again] == [("<0xE4><0xBB>", "今 1/2"), ("<0x8A>", "今 2/2")]


def test_what_is_seen_as_one_character_stays_whole_and_what_is_not_seen_alone_is_named():
    for whole in ("👩\u200d🔬", "🇫🇷", "1️⃣", "❤️", "👍🏽"):
        assert visible(whole) == plotly_escape(visible(whole)) == whole
    assert visible("\ufe0f") == "[U+FE0F]"
    assert visible("\u200d") == "[U+200D]"
    assert visible("\u20e3") == "◌\u20e3"
    assert visible(" \u0301") == "·◌\u0301"


# ---- from right to left ----


def is_isolated(text: str) -> bool:
    """Whether no letter that is written from right to left stands outside of an isolate, and each isolate ends."""
    depth = 0
    for character in text:
        depth += (character == ISOLATE) - (character == END_ISOLATE)
        if depth not in (0, 1) or (not depth and unicodedata.bidirectional(character) in ("R", "AL")):
            return False
    return depth == 0


@given(st.text(st.sampled_from("abc 0('אבגدلو今<$%.\n\u202e\u2068\u2069"), max_size=20), st.integers(0, 12))
def test_what_is_written_from_right_to_left_is_isolated_wherever_it_is_shown(text, limit):
    for said in (visible(text), label(text), label(text, limit), shorten(visible(text), limit), *tick_labels([text])):
        assert is_isolated(said), ascii(said)
        assert is_isolated(f"'{said}' (3)")
        assert is_isolated(plotly_escape(f"'{visible(text)}' attends to 'a'"))
    assert unisolated(visible(text)) == ("".join(map(visible_character, text)) or "∅")


def test_isolates_take_no_room():
    assert label_room([label("ولد")]) == label_room(["ولد"])
    assert isolated("abc") == "abc"
    assert isolated(isolated("ولد")) == isolated("ولد")


@pytest.mark.parametrize("text", [ARABIC, EMOJI, CHINESE, "a b", ""])
def test_the_characters_of_tokens_are_those_of_the_text_each_with_the_token_it_begins_in(text):
    names = pieces_of(ByteTokenizer(), ByteTokenizer().encode(text))  # a token a byte
    found = characters_of(names)
    assert "".join(character for character, _ in found) == text
    before = [len(text[:i].encode("utf-8")) for i in range(len(text))]
    assert [token for _, token in found] == before
    cut = characters_of(pieces_of(ByteTokenizer(), ByteTokenizer().encode("ذ!")[1:]))  # its second byte alone
    assert cut == [("\udcb0", 0), ("!", 1)]
    assert [character_code(character) for character, _ in cut] == ["byte B0", "33"]


@pytest.mark.parametrize("text", [ARABIC, EMOJI, CHINESE, "The word שלום means peace (1)"])
def test_no_label_of_a_text_of_mixed_directions_turns_its_words_round(text):
    for one in pieces_of(ByteTokenizer(), ByteTokenizer().encode(text)):
        assert is_isolated(visible(one))
        assert is_isolated(label(one, 8))
