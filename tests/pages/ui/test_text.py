"""Nothing typed by a person is interpreted, and nothing in a token stays hidden."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.ui import text
from tfcore.measures import token_text

HOSTILE = [
    "$x$",
    ":red[hi]",
    ":material/home:",
    ":smile:",
    "*a*",
    "_a_",
    "`code`",
    "[a](http://b.c)",
    "<b>x</b>",
    "# head",
    "- item",
    "1. item",
    "> q",
    "| a | b |\n|--|--|",
    "&amp;",
    "a -> b",
    "    code",
    "a\nb",
    "---",
    "www.example.com",
    "http://example.com",
    "a@b.co",
    "\\",
    "%{x}",
    "$$",
    ":streamlit:",
    "~~x~~",
    "-->",
    "",
]
everything = st.text(st.characters(exclude_categories=()), max_size=40)


def unseen(character: str) -> bool:
    """Whether a character would leave no mark: controls, bidi and zero-width signs, odd spaces, surrogates."""
    return unicodedata.category(character)[0] in "CZ" and character != " "


def shown(source: str) -> str:
    """What a reader should see of `source` in one line of Markdown."""
    return token_text.literal(source, lambda c: " " if c == " " else text.visible_character(c))


def literal(html: str) -> str:
    import html as entities

    plain = html.removeprefix("<p>").removesuffix("</p>\n").removesuffix("</p>")
    assert "<" not in plain.replace("<0x", ""), html
    plain = entities.unescape(plain).replace(text.WORD_JOINER, "").replace(text.NO_BREAK_SPACE, " ")
    return token_text.unisolated(plain)


@pytest.mark.parametrize("source", HOSTILE)
def test_hostile_text_is_shown_literally_by_commonmark(source):
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark", {"linkify": False})
    assert literal(markdown.render(f"x{text.escape(source)}x")) == f"x{shown(source)}x"


@given(st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" \n\t"), max_size=40))
def test_any_text_is_shown_literally_by_commonmark_with_tables_and_strikethrough(source):
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark").enable(["table", "strikethrough"])
    assert literal(markdown.render(f"x{text.escape(source)}x")) == f"x{shown(source)}x"


@given(everything)
def test_escape_leaves_no_bare_punctuation_and_nothing_unseen(source):
    escaped = text.escape(source)
    own = (text.WORD_JOINER, text.NO_BREAK_SPACE, token_text.ISOLATE, token_text.END_ISOLATE)
    seen = token_text._SEQUENCE.sub("", escaped)  # emoji of several code points stay whole
    assert not any(unseen(c) for c in seen if c not in own)
    assert escaped.count(token_text.ISOLATE) == escaped.count(token_text.END_ISOLATE)
    rest = escaped
    for sign in "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~":
        rest = rest.replace("\\" + sign, "", len(rest)) if sign != "\\" else rest
    assert not set(rest.replace("\\\\", "")) & set("!\"#$%&'()*+,-./:;<=>?@[]^_`{|}~")


@pytest.mark.parametrize("source", [":smile:", ":material/home:", "http://a.b", "www.a.b", "a@b.co", "->", "<-", "--"])
def test_what_streamlit_rewrites_after_parsing_is_broken_up(source):
    """A backslash does not help there (checked in Chromium): an invisible sign inside does."""
    assert text.WORD_JOINER in text.escape(source)


def test_escape_keeps_spaces_and_shortens():
    assert text.escape("a  b").replace(text.NO_BREAK_SPACE, " ") == "a  b"
    assert text.escape(" a ") == f"{text.WORD_JOINER}\u00a0a\u00a0{text.WORD_JOINER}"
    assert text.escape("x" * 50, 10) == "x" * 9 + "…"
    assert text.escape(1.5) == r"1\.5"


@given(everything)
def test_plotly_labels_hold_no_tag_entity_template_or_tex(source):
    escaped = text.plotly_escape(source)
    for code in ("&amp;", "&lt;", "&gt;", "&#37;", "&#36;"):
        escaped = escaped.replace(code, "")
    assert not set(escaped) & set("&<>%$")
    assert not any(unseen(c) for c in escaped)


def test_visible_tokens():
    assert text.visible(" cat") == "·cat"
    assert text.visible("\n") == "⏎"
    assert text.visible("\t") == "⇥"
    assert text.visible("\x00") == "␀"
    assert text.visible("a\u202eb") == "a[U+202E]b"
    assert text.visible("\u200d") == "[U+200D]"
    assert text.visible(b"\xe2") == "<0xE2>"
    assert text.visible("é".encode()) == "é"
    assert text.visible("\u0301") == "◌\u0301"
    assert text.visible("") == "∅"
    assert text.visible("😀") == "😀"


@given(everything)
def test_every_token_is_visible(source):
    label = text.visible(source)
    assert label
    assert not any(unseen(c) or c == " " for c in label)


def test_tick_labels_keep_length_order_and_duplicates():
    labels = text.tick_labels(["the", " the", " the", "<b>", "x" * 30], 8)
    assert labels == ["the", "·the", "·the", "&lt;b&gt;", "xxxxxxx…"]


NO_INDEX = [None, "1", -1, 3, True, 1.5, [1], 1e300, float("nan")]


@pytest.mark.parametrize("sent", [None, {}, "x", *({"chosen": value} for value in NO_INDEX)])
def test_chips_refuse_what_is_no_index(sent):
    assert text._chosen_index(sent, 3) is None


@pytest.mark.parametrize("sent", [{"chosen": 2}, {"chosen": 2.0}])
def test_chips_accept_an_index(sent):
    assert text._chosen_index(sent, 3) == 2


def test_chips_draw_any_tokens():
    def app():
        from pages.ui import text

        tokens = ["<script>", "\x00", "\ud800", " $x$", ""]
        text.chips(tokens, key="c", label="Tokens", selected=99, shade=[-1, 0, 0.5, 2, 1], titles=["<b>"] * 5)
        text.chips([], key="d", label="None", on_select=print)

    assert not AppTest.from_function(app, default_timeout=30).run().exception


def test_parts_of_a_chip_have_words_where_they_fit_and_colours_that_begin_again(monkeypatch):
    sent = {}
    monkeypatch.setattr(text, "_CHIPS", lambda **given: sent.update(given["data"]))
    bar = [text.BarPart("12", 0.8, 11), text.BarPart("3", 0.2, 2, hatched=True)]
    text.chips(["a", "b"], key="k", parts=[bar, [text.BarPart("–", 1.0, None)]], faint=[False, True], label="x")
    assert sent["parts"] == [[["12", 0.8, 3, False], ["", 0.2, 2, True]], [["–", 1.0, None, False]]]
    assert sent["faint"] == [False, True]
    assert len(sent["colours"]) == 8


def test_of_many_names_the_number_left_out_is_said():
    assert text.listed(["a", "*b*"], 2) == "**a**, **\\*b\\***"
    assert text.listed(["a", "b", "c", "d"], 2) == "**a**, **b** and 2 more"
