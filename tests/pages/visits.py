"""How a test visits a page: opens it at an address, runs it and finds no error, reads what it says."""

import re
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from streamlit.components.v2.component_manager import BidiComponentManager
from streamlit.runtime.scriptrunner.script_cache import ScriptCache
from streamlit.testing.v1 import AppTest, app_test, local_script_runner

ROUTER = Path(__file__).parents[2] / "pages" / "router.py"
# A server compiles the router and each page once; AppTest would do so for every run, a quarter of its time.
_COMPILED = ScriptCache()


def opened(file: str, **address: str) -> AppTest:
    """The page of this file as a fresh visitor meets it at this address."""
    test = _fresh()
    test._registered_pages = _addresses()
    test._page_hash = _name_of(file)
    test.query_params.update(address)
    return run(test)


def _fresh() -> AppTest:
    test = AppTest.from_file(str(ROUTER), default_timeout=300)
    test._bidi_component_manager = _components()
    return test


@cache
def _components() -> BidiComponentManager:
    """What AppTest otherwise learns anew for each visitor, from the manifests of all installed packages."""
    manager = BidiComponentManager()
    manager.discover_and_register_components(start_file_watching=False)
    return manager


@cache
def _name_of(file: str) -> str:
    """What a session calls the page of this file; AppTest looks through all files to find it."""
    test = _fresh()
    test._registered_pages = _addresses()  # an address is no file's name, and AppTest learns them from a first run
    return test.switch_page(file)._page_hash


@cache
def _addresses() -> Any:
    """What AppTest knows of all pages after a run, learned by a visitor of its own: the front page has a text, too."""
    return run(_fresh())._registered_pages


def run(test: AppTest) -> AppTest:
    """Run the page once more: a visitor meets neither a traceback nor an error."""
    with ExitStack() as stack:
        for place in (app_test, local_script_runner):  # of the pages, and of the router
            stack.enter_context(patch.object(place, "ScriptCache", lambda: _COMPILED))
        test = test.run()
    assert not test.exception, test.exception
    assert not test.error, test.error
    return test


def press(test: AppTest, key: str) -> AppTest:
    """Click the button of this name."""
    test.button(key=f"{plain(key)}:button").click()
    return run(test)


def plain(key: str | None) -> str:
    """The name in the key of a widget that is no control; a control's key as it is."""
    return re.sub(r":[a-z_]+$", "", key or "")


def said(test: AppTest, *kinds: str) -> str:
    """The words of all elements of these kinds ("caption", "markdown", ...), without Markdown's escapes."""
    words = " ".join(element.value for kind in kinds for element in getattr(test, kind))
    return words.replace("\\", "").replace("\u2060", "")


def address(test: AppTest, key: str) -> str:
    """What the address says about a key: AppTest keeps what a test put there, and a list of what the page did."""
    said_of_it = test.query_params[key]
    return said_of_it if isinstance(said_of_it, str) else said_of_it[-1]


def sliders_short_of_their_end(test: AppTest) -> list[str]:
    """The keys of sliders whose last step does not fall on their end."""
    steps = {slider.key: (slider.max - slider.min) / slider.step for slider in test.slider if slider.step}
    return [key for key, count in steps.items() if abs(count - round(count)) > 1e-6]
