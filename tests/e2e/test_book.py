"""The book as it is opened from a folder: figures, scenes and formulas are drawn, in both themes, and no request leaves
the folder. Three pages are written for these tests; where BOOK names the folder of a whole book, that one is opened."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Browser, Page

from tests.nightly import nightly
from tfcore import load
from tools import book

pytestmark = nightly
KEYS = ["heads", "flow", "glossary"]  # figures and formulas; a scene; words alone
LARGEST = 10 * 10**6  # bytes: a tenth of it are these pages, the rest is what all pages share, and a model


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    if made := os.environ.get("BOOK"):
        return Path(made).resolve()
    folder = tmp_path_factory.mktemp("made") / "book"
    sizes = book.build(KEYS, folder)
    assert sum(sizes.values()) < LARGEST
    return folder


@pytest.fixture
def opened(browser: Browser, folder: Path):
    """Opens a file of the book, in which nothing may go wrong."""
    wrong: list[str] = []
    contexts = []

    def open_file(name: str, **options: Any) -> Page:
        contexts.append(browser.new_context(**options))
        page = contexts[-1].new_page()
        page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda asked: None if is_here(asked.url) else wrong.append(asked.url))
        page.goto((folder / name).as_uri())
        return page

    def is_here(url: str) -> bool:
        return url.startswith((folder.as_uri(), "blob:", "data:"))

    yield open_file
    for context in contexts:
        context.close()
    assert not wrong


def draw_all(page: Page) -> int:
    """Bring every picture and formula near the window, one after the other; returns how many pictures there are."""
    page.evaluate("document.querySelectorAll('details').forEach(box => (box.open = true))")
    for kind in (".picture", ".math"):
        for one in page.locator(kind).all():
            one.scroll_into_view_if_needed()
            one.locator("xpath=self::*[@data-drawn] | self::*/descendant::*[local-name()='math']").first.wait_for(
                state="attached"
            )
    return page.locator(".picture").count()


def test_every_page_is_drawn_on_a_phone_and_scrolls_no_page_sideways(opened, folder):
    files = sorted(path.name for path in folder.glob("*.html"))
    assert len(files) > len(KEYS)
    page = opened(files[0], viewport={"width": 390, "height": 844})
    for name in files:
        page.goto((folder / name).as_uri())
        draw_all(page)
        assert page.evaluate("document.documentElement.scrollWidth") == 390, name
        assert page.locator(".katex-error").count() == 0, name


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_picture_and_formula_of_a_page_is_drawn(opened, scheme):
    page = opened("heads.html", color_scheme=scheme)
    assert draw_all(page) == page.locator(".picture .main-svg:first-child, .picture .tf-map").count() > 8
    assert page.locator(".math math").count() == page.locator(".math").count() > 0
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert paper == {"light": "rgb(252, 251, 248)", "dark": "rgb(22, 24, 29)"}[scheme]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_page_begins_with_a_picture_before_any_script_has_run(opened, scheme):
    still = opened("heads.html", color_scheme=scheme, java_script_enabled=False).locator(".still img")
    assert still.evaluate("one => one.decode().then(() => one.currentSrc)").endswith(f"first/heads-wide-{scheme}.webp")
    box = still.bounding_box()
    assert box is not None
    assert box["y"] < 720
    assert box["height"] > 150


def test_it_goes_when_the_figure_is_there(opened):
    page = opened("heads.html")
    page.locator(".picture[data-drawn]").first.wait_for()
    assert page.locator(".still").count() == 0


def test_a_figure_answers_the_pointer_and_changes_with_the_theme(opened):
    page = opened("heads.html", color_scheme="light")
    heat = page.locator(".picture:has(.heatmaplayer image, .heatmaplayer .hm)").first
    heat.scroll_into_view_if_needed()
    heat.hover()
    page.locator(".hoverlayer .hovertext").first.wait_for()
    ink = heat.locator(".xtick text").first
    before = ink.evaluate("one => getComputedStyle(one).fill")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("([one, was]) => getComputedStyle(one).fill !== was", arg=[ink.element_handle(), before])


def test_a_scene_is_drawn_by_its_own_script(opened):
    page = opened("flow.html")
    draw_all(page)
    assert page.locator(".tf-river path").count() > 20


def test_the_index_finds_pages_by_words_of_their_titles_and_claims(opened):
    page = opened("index.html")
    search = page.get_by_role("searchbox")
    search.fill("attention occurrence")
    assert page.locator("li:visible a").all_inner_texts() == ["Attention heads"]
    search.fill("no such word")
    assert page.get_by_role("status").is_visible()
    search.fill("")
    page.get_by_role("link", name="Attention heads", exact=True).click()
    assert page.locator("h1").inner_text() == "What does each head attend to?"


TEXTS = (
    "Once upon a time, there was a little girl named Lily. She loved to play with her toys",  # of the model's card
    "They'll see 12 balls,  two spaces\n\tand a tab… «Жил-был» 狗 😀 don't <|endoftext|> ",
    "a",
)


@pytest.mark.parametrize("text", TEXTS)
def test_the_model_of_the_book_computes_what_the_library_does(opened, text):
    page = opened("heads.html")
    page.wait_for_function("window.tfStoriesModel")
    given = page.evaluate(
        """async text => {
          const { encode, run } = await tfStoriesModel(), ids = encode(text), { logits, patterns } = run(ids)
          return { ids, logits: [...logits], patterns: patterns.map(heads => heads.map(one => [...one])) }
        }""",
        text,
    )
    model, tokenizer = load("stories")
    ids = tokenizer.encode(text)
    assert given["ids"] == ids
    expected = model(torch.tensor([ids]), capture=("blocks.*.attn.pattern",))
    logits = expected.logits[0, -1]
    torch.testing.assert_close(torch.tensor(given["logits"]), logits, atol=1e-3, rtol=0)
    for layer, heads in enumerate(given["patterns"]):
        pattern = expected.activations[f"blocks.{layer}.attn.pattern"][0]
        torch.testing.assert_close(
            torch.tensor(heads, dtype=torch.float32).view_as(pattern), pattern, atol=1e-5, rtol=0
        )


def test_a_text_of_ones_own_is_drawn_with_its_heads_and_next_tokens(opened):
    page = opened("heads.html", viewport={"width": 390, "height": 844})
    page.get_by_text("A text of your own").click()
    page.get_by_role("textbox").fill("Lily had a red ball. Tom had a red")
    page.get_by_role("button", name="Run").click()
    page.locator(".heads canvas").nth(23).wait_for()
    assert page.locator(".next li").first.inner_text().startswith("·ball ")
    page.get_by_role("button", name="L3 H0").click()
    assert "“·red” attends to “·ball” (token" in page.get_by_role("status").inner_text()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    page.get_by_role("textbox").fill("")
    page.get_by_role("button", name="Run").click()
    page.get_by_text("There is no text yet: type some above.").wait_for()
