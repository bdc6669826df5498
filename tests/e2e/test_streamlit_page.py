"""Streamlit's page in a browser: the elements that styles name are there, and it asks for nothing that is refused."""

import re
import sys
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from pages.ui import streamlit_internals as internals
from pages.ui.server import hosts
from tests.e2e.serving import serve
from tests.nightly import nightly

UVICORN = (sys.executable, "-m", "uvicorn", "--port", "0", "--ws", "websockets-sansio")
CONSTANTS = [internals.APP + internals.AT_REST, internals.BLOCK, internals.COLUMN, internals.PROGRESS]
WRAPPED = f"{internals.WRAPPER}:has(> [class*=st-key-walk-])"
RULES = re.findall(r"^ *([^/@{}\n ][^/{}\n]*?) \{", internals.STYLE.read_text("utf-8"), re.MULTILINE)


def each(selector: str) -> list[str]:
    """A selector, once for each of the alternatives that it has: of a list, or in its parentheses."""
    head, found, tail = selector.partition(":is(")
    if not found:
        return re.split(r", (?=\.stApp)", selector)
    names, _, rest = tail.partition(")")
    return [f"{head}{name.strip()}{rest}" for name in names.split(",")]


@pytest.fixture(scope="module")
def elements(browser) -> Iterator[tuple[Page, list[str]]]:
    """The page that has them all, and the addresses it asked for."""
    with serve(*UVICORN, "tests.streamlit_elements:app") as address:
        page = browser.new_page()
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url.removeprefix(address)))
        page.on("websocket", lambda socket: asked.append(re.sub("^ws://[^/]+", "", socket.url)))
        page.goto(address)
        page.get_by_text("The end").wait_for()
        page.evaluate("document.documentElement.classList.add('tf-present')")  # as while a page is presented
        yield page, asked
        page.close()


@pytest.mark.parametrize("selector", [*CONSTANTS, WRAPPED, *(one for rule in RULES for one in each(rule))])
def test_streamlits_page_has_the_element(elements, selector):
    element = re.sub(r":focus-visible|::before", "", selector)  # which stand for a moment, or for no element
    element = re.sub(r":not\(:has\((.*?)\)\)", r":has(\1)", element)  # what is closed elsewhere is open here
    elements[0].wait_for_selector(element, state="attached")


def test_the_styles_are_read():
    assert len(RULES) == 30
    assert each("a:is(.b, .c) d") == ["a.b d", "a.c d"]
    assert each(".stApp a:not(b, c), .stApp d") == [".stApp a:not(b, c)", ".stApp d"]


def test_streamlits_page_asks_for_nothing_that_the_app_refuses(elements):
    _, asked = elements
    ours = [address.partition("?")[0] for address in asked if address.startswith(internals.CORE)]
    assert {"health", "host-config", "stream"} <= {address.removeprefix(internals.CORE) for address in ours}
    assert [address for address in ours if not hosts.answered(address)] == []


@nightly
def test_a_page_finds_its_server_at_once(visit, server):
    visitor, asked = visit(server), []
    visitor.page.on("request", lambda request: asked.append(request.url.removeprefix(server)))
    visitor.open("/masks")
    assert [address for address in asked if address.endswith("/health")] == ["/_stcore/health"]
