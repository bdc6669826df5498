"""The shelf in Chromium: pinned, noted, ordered; saved as a page with live figures, as a notebook and as a file."""

import json
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from playwright.sync_api import Locator, Page, expect

from tests.e2e.test_every_page import PHONE
from tests.e2e.visitor import LAST, Visitor
from tests.nightly import nightly

TEXT = "The trophy did not fit into the suitcase because it was too big."
PLOTLY = "application/vnd.plotly.v1+json"
# What plotly draws in a saved page.
LIVE = "() => [...document.querySelectorAll('.js-plotly-plot')].map(plot => plot._fullData.length)"

ITEM = {"page": "masks", "query": "v=4", "figure": "mask", "caption": "", "computed": "", "note": ""}
KEEP = "items => items.forEach((one, i) => localStorage.setItem(`tf-shelf:${i}`, JSON.stringify(one)))"


def pins(visitor: Visitor) -> Locator:
    """The pins of a page: those of its scenes, where it has some."""
    scenes = visitor.page.locator(".tf-scene .tf-pin:visible")
    return scenes if scenes.count() else visitor.page.locator(".tf-pin:visible")


def pin(visitor: Visitor, path: str, note: str = "") -> str:
    """Pin the last scene of a page, or its last figure, with a note; its title."""
    visitor.open(path)
    button = pins(visitor).last
    expect(button).to_have_attribute("aria-pressed", "false")
    button.focus()
    visitor.page.keyboard.press("Enter")
    box = visitor.page.locator(".tf-own-note")
    expect(box).to_be_focused()
    visitor.page.keyboard.type(note)
    visitor.page.keyboard.press("Escape")
    expect(button).to_be_focused()
    expect(button).to_have_attribute("aria-pressed", "true")
    return str(button.get_attribute("aria-label")).removeprefix("Pin ")


def shelf(page: Page) -> Locator:
    """The drawer, open."""
    page.keyboard.press("s")
    drawer = page.get_by_role("dialog", name="Shelf")
    expect(drawer).to_be_visible()
    return drawer


def titles(drawer: Locator) -> list[str]:
    return drawer.locator("li a").all_inner_texts()


def saved(page: Page, drawer: Locator, name: str, folder: Path) -> Path:
    with page.expect_download() as download:
        drawer.get_by_role("button", name=name, exact=True).click()
    path = folder / download.value.suggested_filename
    download.value.save_as(path)
    return path


def test_what_is_pinned_is_noted_ordered_and_shown_as_a_lesson_elsewhere(visitor, stranger):
    """A view at its defaults is at its defaults there too, after a stop with a text of one's own."""
    first = pin(visitor, "/masks", "At its defaults.")
    default = visitor.box().input_value()
    second = pin(visitor, f"/masks?text={TEXT.replace(' ', '+')}", "It is *long*.")
    visitor.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    drawer = shelf(visitor.page)
    assert titles(drawer) == [first, second]
    drawer.get_by_label("Your note on").last.press("Alt+ArrowUp")
    expect(drawer.get_by_role("status")).to_contain_text("is now 1 of 2")
    drawer.get_by_role("textbox", name="Title of the shelf").fill("Mine")
    drawer.get_by_role("button", name="Copy link").click()
    expect(drawer.get_by_role("status")).to_contain_text("Copied: a link that shows these 2 views as a lesson")
    link = visitor.page.evaluate("navigator.clipboard.readText()").removeprefix(visitor.address)
    card = stranger.open(link).page.locator(".st-key-lesson_card")
    expect(card).to_contain_text("Mine · 1 of 2")
    expect(card).to_contain_text("It is *long*.")
    assert stranger.box().input_value() == TEXT
    stranger.page.keyboard.press("ArrowRight")
    expect(card).to_contain_text("At its defaults.")
    stranger.settle(LAST["/masks"])
    expect(stranger.box()).to_have_value(default)


@nightly
def test_a_shelf_is_presented_and_its_file_is_read_elsewhere(visit, server, tmp_path):
    visitor = visit(server)
    first = pin(visitor, f"/masks?text={TEXT.replace(' ', '+')}", "First.")
    second = pin(visitor, "/positions?scheme=RoPE", "Second.")
    drawer = shelf(visitor.page)
    drawer.get_by_role("textbox", name="Title of the shelf").fill("Mine")
    file = saved(visitor.page, drawer, "File", tmp_path)
    assert file.name == "mine.json"
    drawer.get_by_role("button", name="Presented").click()
    words = visitor.page.locator(".tf-words")
    expect(words).to_contain_text("First.")
    expect(visitor.page.locator(".tf-on-stage")).to_have_count(1)
    expect(visitor.page.locator(".st-key-lesson_next a")).to_have_count(1)  # which the key presses
    visitor.page.keyboard.press("ArrowRight")
    expect(words).to_contain_text("Second.")
    visitor.page.keyboard.press("Escape")
    other = visit(server).open("/masks")
    drawer = shelf(other.page)
    assert titles(drawer) == []
    drawer.locator("input[type=file]").set_input_files(file)
    expect(drawer.locator("li")).to_have_count(2)
    assert titles(drawer) == [first, second]
    assert [one.input_value() for one in drawer.get_by_label("Your note on").all()] == ["First.", "Second."]
    drawer.get_by_role("link", name=first).click()
    other.wait_for_address(text=TEXT)
    expect(other.box()).to_have_value(TEXT)
    other.open("/lessons", "What to see")
    other.page.get_by_text("A lesson from a file").click()
    other.page.locator("[data-testid=stFileUploader] input").set_input_files(file)
    other.page.get_by_role("link", name="Mine").click()
    expect(other.page.locator(".st-key-lesson_card")).to_contain_text("First.")


@nightly
@pytest.mark.parametrize("size", [{}, PHONE], ids=["desktop", "phone"])
def test_a_shelf_is_saved_as_a_page_and_a_notebook(visit, server, tmp_path, size):
    visitor = visit(server, **size)
    of_text = f"/heads?model=smollm2&text={TEXT.replace(' ', '+')}"
    for path in (of_text, "/walkthrough", "/flow?model=stories", "/positions?scheme=RoPE"):
        pin(visitor, path, "<b>Mine</b>") if not size else press(visitor, path)
    drawer = shelf(visitor.page)
    page = saved(visitor.page, drawer, "HTML", tmp_path)
    expect(drawer.get_by_role("status")).to_contain_text("Saved: a page with these 4 figures")
    book = nbformat.read(saved(visitor.page, drawer, "Notebook", tmp_path), as_version=4)
    assert [cell.cell_type for cell in book.cells] == ["markdown", *["markdown", "code"] * 4]
    assert TEXT in book.cells[2].source.replace('"\n            "', "")
    alone = visit("")
    reader = alone.page
    reader.context.set_offline(True)
    reader.goto(page.as_uri())
    assert all(reader.evaluate(LIVE))
    assert reader.locator("h2").all_inner_texts() == titles(drawer)
    assert reader.locator("figure").count() == 4
    assert reader.locator("b").count() == 0
    river = reader.locator(".scene")
    river.get_by_role("button", name="Play").click()
    expect(river.get_by_role("button", name="Pause")).to_be_visible()
    expect(river.locator(":scope > img")).to_have_count(0)
    alone.check()
    NotebookClient(book, timeout=300, startup_timeout=300, kernel_name="python3").execute()
    shown = [cell.outputs[-1]["data"] for cell in book.cells[2::2]]
    assert [bool(one.get(PLOTLY, {}).get("data")) for one in shown] == [True, True, False, True]
    assert "<iframe" in shown[2]["text/html"]
    assert all(one["text/plain"].strip() for one in shown)


def press(visitor: Visitor, path: str) -> None:
    visitor.open(path)
    pins(visitor).last.click()
    expect(pins(visitor).last).to_have_attribute("aria-pressed", "true")


@nightly
def test_two_windows_have_one_shelf_and_lose_nothing(visit, server):
    one = visit(server)
    first = pin(one, "/masks")
    other = Visitor(one.page.context.new_page(), server)
    drawer = shelf(one.page)
    second = pin(other, "/positions?scheme=RoPE")
    expect(drawer.locator("li")).to_have_count(2)
    assert titles(drawer) == [first, second]
    drawer.get_by_role("button", name=f"Remove {second}").click()
    expect(other.page.locator(".tf-pin[aria-pressed=true]")).to_have_count(0)
    drawer.get_by_role("button", name="Undo").click()
    expect(other.page.locator(".tf-pin[aria-pressed=true]")).to_have_count(1)
    other.check()


@nightly
def test_hostile_contents_of_the_browser_are_text_or_left_out(visit, server):
    visitor = visit(server).open("/masks")
    hostile = "<img src=x onerror=alert(7)> $x$ :red[x]"
    item = {"page": "heads", "query": "", "figure": "", "title": hostile, "note": hostile, "caption": hostile, "at": 1}
    stored = {"tf-shelf:a": json.dumps(item), "tf-shelf:b": json.dumps({**item, "page": "//evil.example"})}
    visitor.page.evaluate(
        "said => Object.entries(said).forEach(([key, value]) => localStorage.setItem(key, value))", stored
    )
    drawer = shelf(visitor.page)
    assert titles(drawer) == [hostile]
    expect(drawer.get_by_role("status")).to_contain_text("One thing kept here could not be read and is left out.")
    assert drawer.locator("img").count() == 0


@nightly
def test_a_row_is_dragged_and_is_where_it_was_let_go_after_a_reload(visit, server):
    visitor = visit(server).open("/masks")
    visitor.page.evaluate(KEEP, [{**ITEM, "title": name, "at": at} for at, name in enumerate("abcd")])
    drawer = shelf(visitor.page)
    grips = drawer.locator(".tf-grip")
    grips.nth(0).hover()
    visitor.page.mouse.down()
    box = drawer.locator("li").nth(2).bounding_box()
    assert box is not None
    visitor.page.mouse.move(box["x"] + 10, box["y"] + box["height"] - 5, steps=5)
    expect(drawer.locator(".tf-dragged")).to_have_count(1)
    visitor.page.mouse.up()
    assert titles(drawer) == ["b", "c", "a", "d"]
    visitor.open("/masks")
    assert titles(shelf(visitor.page)) == ["b", "c", "a", "d"]


@nightly
def test_a_full_shelf_says_so(visit, server):
    visitor = visit(server).open("/masks")
    visitor.page.evaluate(KEEP, [{**ITEM, "title": f"View {at}", "at": at} for at in range(200)])
    pins = visitor.page.locator(".tf-pin:visible")
    pins.last.click()
    expect(visitor.page.locator(".tf-note:visible")).to_contain_text("The shelf holds 200 views")
    expect(pins.last).to_have_attribute("aria-pressed", "false")
    expect(shelf(visitor.page).locator("li")).to_have_count(200)
