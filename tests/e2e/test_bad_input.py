"""Whatever is pasted is shown literally, and nothing breaks: no traceback, no script, no frozen page."""

import pytest
from playwright.sync_api import expect

from tests.e2e.checks import truth
from tests.e2e.visitor import CHARACTERS, LAST, MOST_CHARACTERS, NO_TEXT, kept
from tests.nightly import often

TEXTS = {
    "nothing": "",
    "one token": "a",
    "only spaces": "     ",
    "emoji": "😀 👩‍👩‍👧‍👦 🏳️‍🌈",
    "right to left": "שלום עולם \u202eمرحبا",
    "controls": "a\0b\x07\x1b[31m\x7fc",
    "script": "<script>alert(1)</script><img src=x onerror=alert(2)>",
    "latex": "$x$ and $$y$$",
    "directives": ":red[x] :smile: **b** %{x} &lt;",
    "100,000 characters": "A cat sat. " * 9_091,
}
MARKUP = 'document.querySelectorAll(\'[data-testid="stMain"] :is(script, img[src="x"])\').length'


@pytest.fixture(scope="module", params=often(["/heads", "/masks"], ["/heads"]))
def window(request, visit_for_long, server):
    """One window a page, into which one text after the other is pasted."""
    return request.param, visit_for_long(server).open(request.param)


@pytest.mark.parametrize("name", often(TEXTS, ["right to left", "script"]))
def test_any_text_can_be_pasted(window, name):
    (path, visitor), text = window, TEXTS[name]
    most = CHARACTERS.get(path, MOST_CHARACTERS)
    visitor.paste(text, LAST[path] if text else NO_TEXT)
    expect(visitor.box()).to_have_value(kept(path, text))
    main = visitor.page.get_by_test_id("stMain")
    if text and path == "/heads":
        expect(visitor.chips()).to_have_text(truth.chips(kept(path, text)))
        n = len(truth.chips(kept(path, text)))
        expect(visitor.figure("closer")).to_contain_text(f"({n}, {n})")
    if text and path == "/masks":
        n = min(len(truth.chips(text)), 64)
        expect(main).to_contain_text(f"(query, key) = ({n}, {n})")
    if len(text) > most:
        expect(main).to_contain_text(f"{len(text):,} characters, more than the {most:,} used here")
        expect(main).to_contain_text("the last 256 are used" if path == "/heads" else "the first 64 are used")
    assert visitor.page.evaluate(MARKUP) == 0
    assert not visitor.page.locator('[data-testid="stMain"] .katex', has_text="x and").count()
    visitor.check()
