"""The parts every page is made of, and the caches."""

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui import cache


def app():
    from pages.ui import controls, page, text
    from tests.pages.ui.plain_facts import FACTS

    page.begin(FACTS)
    controls.slider("Head", "head", 0, 7, 0)
    page.try_this({"three": {"head": 3}, "$x$ :red[y]": {"head": 4}})
    page.what_to_see("A stripe.")
    page.question("Why?", "Because.")
    page.drawer("a test", r"a = b", (text.visible, len), (), "arXiv:1706.03762")


def test_a_page_has_its_rhythm():
    test = AppTest.from_function(app, default_timeout=30).run()
    assert not test.exception
    assert test.title[0].value == "What is it?"
    words = [markdown.value for markdown in test.markdown]
    assert words == [
        "It is this.",
        "**What to see.** A stripe.",
        "**A question.** Why?",
        "Because.",
        "arXiv:1706.03762",
    ]
    assert test.latex[0].value == "$$\na = b\n$$"
    assert "def visible(token" in test.code[0].value
    assert "no Python source" in test.code[1].value
    assert [one.label for one in test.expander] == ["Answer", "How it is computed"]
    assert [one.label for one in test.tabs] == ["Formula", "Code", "Papers"]
    assert "tfcore.measures.token_text.visible" in test.caption[-2].value


def test_try_this_sets_the_control():
    test = AppTest.from_function(app, default_timeout=30).run()
    test.button(key="try three:button").click().run()
    assert test.slider(key="head").value == 3


def test_cached_functions_are_called_once_per_argument():
    calls = []

    @cache.data(max_entries=2)
    def double(number: int) -> int:
        calls.append(number)
        return 2 * number

    assert [double(1), double(1), double(2)] == [2, 2, 4]
    assert calls == [1, 2]


def test_cached_functions_take_no_arrays():
    with pytest.raises(TypeError, match="'pattern' is an array"):

        @cache.data(max_entries=2)
        def total(name: str, pattern: np.ndarray) -> float:
            return float(pattern.sum())


def test_a_cache_has_a_limit():
    with pytest.raises(TypeError, match="max_entries"):
        cache.data()  # type: ignore[call-arg]
