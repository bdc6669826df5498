"""What whoever runs the server decides: read, refused in a sentence, and obeyed."""

import pytest
from streamlit import config
from streamlit.testing.v1 import AppTest

from pages.ui import cache, streamlit_internals
from pages.ui.server import settings
from tests.pages.visits import run

NAMES = ("TEXT", "CACHE", "THREADS", "UPLOAD_MB")


@pytest.fixture
def say(monkeypatch):
    for name in NAMES:
        monkeypatch.delenv(f"TFCORE_{name}", raising=False)

    def said(**values):
        for name, value in values.items():
            monkeypatch.setenv(f"TFCORE_{name}", value)

    return said


def test_what_holds_when_nothing_is_said(say):
    assert (settings.threads(), settings.text_cap(), settings.cache_factor()) == (1, 20_000, 1)
    say(TEXT="", CACHE=" ")
    assert (settings.text_cap(), settings.cache_factor()) == (20_000, 1)
    settings.check()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("THREADS", "0", "TFCORE_THREADS='0' is no number of threads: use a number from 1 to 256"),
        ("THREADS", "2.5", "TFCORE_THREADS=2.5 is no number of threads: use a whole number"),
        ("TEXT", "99", "TFCORE_TEXT='99' is no number of characters: use a number from 100 to 20,000"),
        ("TEXT", "nan", "TFCORE_TEXT='nan' is no number"),
        ("UPLOAD_MB", "8", "TFCORE_UPLOAD_MB='8' is no number of megabytes for uploads: use a number from 16"),
        ("CACHE", "half", "TFCORE_CACHE='half' is no factor for the caches: use a number from 0.01 to 100"),
    ],
)
def test_a_setting_that_makes_no_sense_is_named(say, name, value, message):
    say(**{name: value})
    with pytest.raises(ValueError, match=message):
        settings.check()


def test_caches_are_larger_or_smaller_and_never_nothing(say):
    kept = []

    def function(name: str) -> str:
        kept.append(name)
        return name

    say(CACHE="0.5")
    assert settings.entries(64) == 32
    assert settings.entries(1) == 1
    half = cache.data(max_entries=4)(function)
    for name in "abcabc":
        half(name)
    assert kept == list("abcabc"), "two are kept, of three in turn"
    half.clear()


TEXTS = """
import streamlit as st
from pages.ui import controls, notices
notices.reserve()
st.title(len(controls.text_area("Text", "text", "x" * 150, 2000)))
"""


@pytest.mark.parametrize(("cap", "counts"), [("2000", 500), ("300", 300), ("100", 150)])
def test_a_text_counts_as_far_as_both_the_page_and_the_server_say(say, cap, counts):
    say(TEXT=cap)
    page = run(AppTest.from_string(TEXTS))
    assert page.title[0].value == "150", "what the page begins with is never cut"
    page.text_area(key="text").set_value("y" * 500)
    assert run(page).title[0].value == str(counts)


def test_streamlits_own_settings_count_however_the_app_is_started(monkeypatch):
    """Streamlit reads them in its command line alone."""
    name, before = "server.xsrfCookieSameSite", config.get_option("server.xsrfCookieSameSite")
    monkeypatch.setenv("STREAMLIT_SERVER_XSRF_COOKIE_SAME_SITE", "none")
    try:
        streamlit_internals.read_options()
        assert config.get_option(name) == "none"
    finally:
        config.set_option(name, before)


@pytest.mark.parametrize(
    ("variable", "value", "message"),
    [
        ("SERVER_MAX_UPLOAD_SIZE", "big", "STREAMLIT_SERVER_MAX_UPLOAD_SIZE='big' is no int"),
        ("SERVER_HEADLESS", "yes", "STREAMLIT_SERVER_HEADLESS='yes' is no bool"),
        ("SERVER_MAX_CACHE_DATA_SIZE", "much", "STREAMLIT_SERVER_MAX_CACHE_DATA_SIZE is no size: use one such as 64mb"),
    ],
)
def test_a_setting_of_streamlit_that_makes_no_sense_is_named(monkeypatch, variable, value, message):
    monkeypatch.setenv(f"STREAMLIT_{variable}", value)
    size = config.get_option("server.maxCacheDataSize")
    try:
        with pytest.raises(ValueError, match=message):
            streamlit_internals.read_options()
    finally:
        config.set_option("server.maxCacheDataSize", size)
