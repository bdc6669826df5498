"""Text in addresses: short text as it is, long text compressed, nothing that could harm."""

import base64
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.ui import links


@given(st.text(max_size=300))
def test_packed_text_comes_back(source):
    packed = links.pack(source)
    assert links.unpack(packed, len(source)) == source
    assert set(packed) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def test_a_bomb_is_not_unpacked():
    bomb = base64.urlsafe_b64encode(zlib.compress(b"x" * 50_000_000, 9)).decode()
    tracemalloc.start()
    text = links.unpack(bomb, 1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert text is not None
    assert 1000 < len(text) <= 4004  # long enough to be noticed, and cut by the caller
    assert peak < 3_000_000


@given(st.text(max_size=60))
def test_any_string_unpacks_to_text_or_none(source):
    unpacked = links.unpack(source, 100)
    assert unpacked is None or isinstance(unpacked, str)


@pytest.mark.parametrize("keep", [1, 5, 20])
def test_a_link_cut_short_is_called_damaged(keep):
    assert links.unpack(links.pack("one two three four five six seven")[:keep], 1000) is None


def app():
    import streamlit as st

    from pages.ui import controls, notices, page
    from tests.pages.ui.plain_facts import FACTS

    page.begin(FACTS)
    st.session_state["got"] = controls.text_area("Text", "text", "default", 20_000)
    controls.text_area("Other", "other", "", 20_000)
    st.session_state["said"] = notices.sentences()


def opened(address: dict | None = None) -> AppTest:
    test = AppTest.from_function(app, default_timeout=30)
    test.query_params.update(address or {})
    test.run()
    assert not test.exception
    return test


def typed(text: str, key: str = "text") -> AppTest:
    test = opened()
    test.text_area(key=key).set_value(text).run()
    assert not test.exception
    return test


LONG = "".join(f"The {n} cats sat on {n * n} mats. " for n in range(180))


@pytest.mark.parametrize(
    "text", ["", "short", "línea\nuno\x00\u202e", "x" * 2000, "日本語の文" * 100, LONG, "😀" * 3000]
)
def test_the_address_reproduces_the_text(text):
    address = dict(typed(text).query_params)
    assert opened(address).session_state["got"] == text
    assert sum(map(len, address.values())) <= links.LINK_CHARACTERS


def test_the_default_is_left_out_of_the_address():
    test = typed("something")
    test.text_area(key="text").set_value("default").run()
    assert not test.query_params


def test_short_text_is_plain_and_long_text_is_packed_and_never_both():
    test = typed("plain")
    assert dict(test.query_params) == {"text": "plain"}
    test.text_area(key="text").set_value(LONG).run()
    assert list(test.query_params) == ["z"]
    assert list(typed(LONG, "other").query_params) == ["other_z"]


def test_text_too_long_for_a_link_is_not_shared_and_the_page_says_so():
    test = typed("".join(chr(0x4E00 + n * 7919 % 20000) for n in range(9000)))
    assert not test.query_params
    assert test.session_state["said"] == [
        "This text is too long for a link: the address reproduces everything but the text."
    ]
    test.text_area(key="text").set_value("short").run()
    assert not test.session_state["said"]
