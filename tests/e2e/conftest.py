"""A server and a Chromium for all tests here, and a fresh context for each window."""

import os
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.e2e.serving import PYTHON_APP, SECONDS, serve
from tests.e2e.visitor import Visitor
from tests.e2e.windows import FLAGS, Visit, find_chromium, open_window, visits


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """These tests are called e2e, and run last: while playwright lives, its event loop runs in this thread."""
    ours = [item for item in items if "e2e" in item.path.parts]
    for item in ours:
        item.add_marker(pytest.mark.e2e)
    items[:] = [item for item in items if item not in set(ours)] + ours


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    try:
        path = find_chromium(os.environ)
    except FileNotFoundError as problem:
        pytest.fail(str(problem), pytrace=False)
    expect.set_options(timeout=1000 * SECONDS)
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path, args=FLAGS, timeout=1000 * SECONDS)
        yield running
        running.close()


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a server that all tests share."""
    with serve(*PYTHON_APP) as address:
        yield address


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    """`visit(address, **context_options)` opens a window of its own."""
    yield from visits(browser)


@pytest.fixture(scope="session")
def windows() -> dict[str, Visitor]:
    """The windows that tests use one after another, once there are some; they begin them, so a lost one is replaced."""
    return {}


@pytest.fixture
def visitor(browser: Browser, windows: dict[str, Visitor], server: str) -> Iterator[Visitor]:
    """One window on a desktop, on the shared server. Only the app's compiled scripts are left of the test before:
    a window of its own would compile them anew, for three seconds."""
    yield from shared(browser, windows, server, "visitor")


@pytest.fixture
def stranger(browser: Browser, windows: dict[str, Visitor], server: str) -> Iterator[Visitor]:
    """The window of somebody else, who has nothing in common with `visitor` but the server."""
    yield from shared(browser, windows, server, "stranger")


def shared(browser: Browser, windows: dict[str, Visitor], server: str, name: str) -> Iterator[Visitor]:
    if name not in windows or windows[name].page.is_closed():
        windows[name] = open_window(browser, server)
    yield windows[name]
    try:
        windows[name].check()
    finally:
        windows[name].forget()


@pytest.fixture(scope="module")
def visit_for_long(browser: Browser) -> Iterator[Visit]:
    """The same for windows that several tests of a file share."""
    yield from visits(browser)
