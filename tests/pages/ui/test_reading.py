"""The box of a text that a model reads: special tokens in it are text, or, by a switch, what they are."""

import pytest

from pages.ui import cache, links, text
from tests.pages.visits import opened, run, said
from tfcore.measures import one_text, token_pieces
from tfcore.tokenizers.tokenizer import MARK, SEPARATOR
from tfcore.tokenizers.typed_text import marked

HEADS = "foundations/heads/page.py"
TYPED = f"The end.{SEPARATOR}Once"
NOTICE = "read as text like any other"


@pytest.fixture
def given(monkeypatch) -> list[list[int]]:
    """The ids of every text that a page reads for the first time in this process."""
    seen: list[list[int]] = []
    whole = one_text.encoded

    def encoded(*said, **more) -> list[int]:
        seen.append(whole(*said, **more))
        return seen[-1]

    monkeypatch.setattr(one_text, "encoded", encoded)
    return seen


def test_a_switch_reads_special_tokens_as_what_they_are(given):
    tokenizer = cache.model("stories")[1]
    test = opened(HEADS, text=TYPED)
    assert NOTICE in said(test, "caption")
    assert not test.toggle(key="text_special").value
    assert tokenizer.encode(TYPED) in given
    assert not any(tokenizer.separator_id in ids for ids in given)
    test = run(test.toggle(key="text_special").set_value(True))
    assert NOTICE not in said(test, "caption")
    assert [*tokenizer.encode("The end."), tokenizer.separator_id, *tokenizer.encode("Once")] in given
    assert test.text_area(key="text").value == TYPED
    again = opened(HEADS, text=TYPED, text_special="true")
    assert again.toggle(key="text_special").value


@pytest.mark.parametrize("asked", [{"text": "An end alone.", "text_special": "true"}, {"text": f"a {MARK}{SEPARATOR}"}])
def test_nothing_else_makes_a_special_token(given, asked):
    test = opened(HEADS, **asked)
    assert given
    assert not any(cache.model("stories")[1].separator_id in ids for ids in given)
    assert MARK not in test.text_area(key="text").value
    assert bool([one for one in test.toggle if one.key == "text_special"]) == (SEPARATOR in asked["text"])


def test_the_panel_of_tokens_has_it_too():
    address = {"show": "text", "text": TYPED}
    sizes = [
        opened("foundations/tokens/page.py", **address, **more).markdown for more in ({}, {"text_special": "true"})
    ]
    plain, special = (
        len(token_pieces.cut_text(one, cache.model("stories")[1]).ids) for one in (TYPED, marked(TYPED, [SEPARATOR]))
    )
    for found, tokens in zip(sizes, (plain, special), strict=True):
        assert any(one.value.startswith(f"**{tokens} tokens with their ids") for one in found)


def test_links_say_the_text_and_the_switch():
    mine = marked(TYPED, [SEPARATOR])
    assert links.text_parameters("other", mine) == {"other": TYPED, "other_special": "true"}
    assert links._marked({"model": "stories", "text": mine}) == {
        "v": links.VERSION,
        "model": "stories",
        "text": TYPED,
        "text_special": "true",
    }
    long = mine * 300
    assert set(links._marked({"text": long})) == {"v", "z", "text_special"}
    assert MARK not in text.escape(mine)
