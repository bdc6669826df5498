"""No key of one page is that of something else on another: Streamlit has one space of keys for a whole session."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.work import jobs
from tests.nightly import nightly
from tests.pages.test_every_page import FILES
from tests.pages.test_hostile import panels
from tests.pages.visits import opened

CONTROLS = ("slider", "select_slider", "selectbox", "button_group", "toggle", "checkbox", "text_area", "text_input")
BLOCKS = ("expandable", "popover", "tab_container", "flex_container", "form")


def keyed(node: Any) -> Iterator[tuple[str, str]]:
    """Key and kind of each widget in a part of a page, of those that have a key, from the ids that the browser gets."""
    proto = getattr(node, "proto", None)
    name, kind = str(getattr(proto, "id", "")), str(getattr(node, "type", ""))
    for block in BLOCKS:
        if not name and hasattr(proto, block) and proto.HasField(block):
            name, kind = str(getattr(getattr(proto, block), "id", "")), block
    if kind == "bidi_component":
        kind = proto.component_name
    if name.startswith("$$") and not name.endswith("-None"):
        yield name.split("-", 2)[2], kind
    for child in getattr(node, "children", {}).values():
        yield from keyed(child)


def kinds(tests: Iterator[tuple[str, AppTest]]) -> dict[str, dict[str, str]]:
    """Key -> kind -> a page that has it. All controls of one name are one kind: the one door that draws them lets none
    have what another kind held (test_controls.py)."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for page, test in tests:
        for key, kind in keyed(test._tree):
            is_control = kind in CONTROLS and ":" not in key
            found[key].setdefault("control" if is_control else kind, page)
    return found


@nightly
@pytest.mark.usefixtures("short")
def test_no_key_is_that_of_two_kinds_of_widgets():
    """On all pages, in all their sections; test_keys.py of the architecture reads the source each time."""

    def visits() -> Iterator[tuple[str, AppTest]]:
        for file in FILES:
            for shown in panels(file):
                jobs.JOBS.close()
                yield f"{file} {shown}", opened(file, **shown)

    found = kinds(visits())
    assert len(found) > 1_000
    assert {key: some for key, some in found.items() if len(some) > 1} == {}


def test_a_key_of_two_kinds_is_found():
    def one() -> None:
        import streamlit as st

        st.text_area("Numbers", key="numbers")
        st.button("Go", key="go")

    def other() -> None:
        import streamlit as st

        st.expander("Numbers", key="numbers", on_change="rerun")
        st.button("Go", key="go")

    tests = ((name.__name__, AppTest.from_function(name).run()) for name in (one, other))
    found = kinds(iter(tests))
    assert found == {"numbers": {"control": "one", "expander": "other"}, "go": {"button": "one"}}
