"""The front page: an invitation to type, and the way to every page."""

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import links
from pages.ui.components import parts_map
from pages.ui.server import previews
from tests.pages.test_router import listed

ROUTER = Path(__file__).parents[3] / "pages" / "router.py"


def opened(**address: str) -> AppTest:
    test = AppTest.from_file(str(ROUTER), default_timeout=60)
    test.query_params.update(address)
    test = test.run()
    assert not test.exception, test.exception
    return test


def button(test: AppTest):
    return next(b for b in test.button if b.label == "See its attention")


def test_it_opens_with_a_text_and_a_button():
    test = opened()
    assert test.title[0].value
    assert test.text_area(key="text").value
    assert not button(test).disabled


def test_it_leads_to_every_page():
    links_shown = [e.proto.page for e in opened().main if getattr(e, "type", "") == "page_link"]
    assert set(links_shown) == {url for *_, url in listed() if url}


def test_its_chapters_are_those_of_the_sidebar_in_the_same_order():
    router, here = previews.literal("router.py", "PAGES"), previews.literal("start/home/page.py", "CHAPTERS")
    assert {name: [file for file, *_ in pages] for name, pages in router.items()} == {
        name: ["start/home/page.py"] * (name == "Start") + [file for file, _ in pages.values()]
        for name, pages in here.items()
    }
    assert list(router) == list(here)


def test_the_button_takes_the_text_along():
    test = opened()
    test.text_area(key="text").set_value("One $x$ :red[two]")
    button(test.run()).click()
    test = test.run()
    assert not test.exception, test.exception
    assert test.title[0].value == "What does each head attend to?"
    assert test.text_area(key="text").value == "One $x$ :red[two]"


def test_its_link_can_be_copied():
    assert any(
        getattr(e, "type", "") == "bidi_component" and e.proto.component_name.endswith("copy_link")
        for e in opened().main
    )
    assert any("This link has version 99" in words.value for words in opened(v="99").caption)


def test_nothing_to_see_without_a_text():
    test = opened()
    test.text_area(key="text").set_value("")
    assert button(test.run()).disabled


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "$x$ :red[x]", "\0\x1b", "😀", "x" * 100_000])
def test_any_text(text):
    test = opened()
    test.text_area(key="text").set_value(text)
    assert not test.run().exception


@pytest.mark.parametrize("address", [{"z": "%%%"}, {"text": "x" * 5_000}, {"nonsense": "1", "head": "99"}])
def test_damaged_addresses(address):
    assert opened(**address).title[0].value


def test_a_long_text_travels_compressed():
    assert set(links.text_parameters("text", "a cat " * 300)) == {"text"}
    assert set(links.text_parameters("text", "é" * 2_000)) == {"z"}


def test_it_leads_back_to_where_one_was():
    test = opened(text="One two three")
    button(test).click()
    test = test.run()
    test = test.switch_page("start/home/page.py").run()
    assert not test.exception, test.exception
    back = [e.proto for e in test.main if getattr(e, "type", "") == "page_link"]
    assert any(link.page == "heads" and "text=" in link.query_string for link in back)
    assert any("Where you were" in words.value for words in test.markdown)


def test_a_part_of_the_map_leads_to_its_page_and_heads_take_the_model_along(monkeypatch):
    opening, gone = [], []
    monkeypatch.setattr(parts_map, "parts_map", lambda *_, on_open, **__: opening.append(on_open))
    monkeypatch.setattr(links, "go", lambda file, parameters: gone.append((file, parameters)))
    opened(model="stories-moe")
    for url in ("heads", "feedforward"):
        opening[-1](url)
    assert gone == [("foundations/heads/page.py", {"model": "stories-moe"}), ("block/feedforward/page.py", {})]
