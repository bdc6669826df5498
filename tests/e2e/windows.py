"""The browser, and windows in it that leave no complaint unheard."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from playwright.sync_api import Browser

from tests.e2e.serving import SECONDS
from tests.e2e.visitor import Visitor

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = ["--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
FLAGS += ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]  # a microphone that beeps
FLAGS += ["--disable-component-update", "--disable-sync", "--use-gl=angle", "--use-angle=swiftshader"]
DESKTOP = {"width": 1440, "height": 900}
Visit = Callable[..., Visitor]


def find_chromium(environment: Mapping[str, str]) -> str:
    """The browser to use.

    Raises:
        FileNotFoundError: there is none.
    """
    named = environment.get("CHROMIUM", "")
    for name in [named] if named else NAMES:
        if path := shutil.which(name, path=environment.get("PATH", "")):
            return path
    raise FileNotFoundError(
        f"{named or 'Chromium'} was not found: install it (apt-get install chromium) "
        "or set CHROMIUM to the path of a Chromium or Chrome; the tests in tests/e2e need one"
    )


def open_window(browser: Browser, address: str, **options: Any) -> Visitor:
    """A window in a context of its own; options are the context's."""
    context = browser.new_context(**{"viewport": DESKTOP, "accept_downloads": True, **options})
    context.set_default_timeout(1000 * SECONDS)
    return Visitor(context.new_page(), address)


def visits(browser: Browser) -> Iterator[Visit]:
    """Opens windows, each in a context without a past; in the end nothing may have gone wrong in any of them."""
    opened: list[Visitor] = []

    def visit(address: str, **options: Any) -> Visitor:
        opened.append(open_window(browser, address, **options))
        return opened[-1]

    yield visit
    there = [visitor for visitor in opened if not visitor.page.is_closed()]
    try:
        for visitor in there:
            visitor.check()
    finally:
        for visitor in there:
            visitor.page.context.close()
