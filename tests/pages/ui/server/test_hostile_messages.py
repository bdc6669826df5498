"""Messages that no browser sends: the server answers, the page shows no error, others notice nothing, memory stays."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.exceptions import ConnectionClosed

from pages.ui.server import messages
from tests.nightly import often
from tests.strangers import EVENTS, VALUES, Stranger, state, triggers

# Pages whose controls and components are, taken together, of every kind that there is.
PLACES = ["/attention", "/information", "/heads", "/walkthrough", "/check", "/history"]
QUERIES = ("text=%FF%FE%ED%A0%80&layer=%00", "&".join(f"k{i}=1" for i in range(500)), "text=" + "%F0" * 9_000, "=&&=;?")


def spoken(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 240))


@asynccontextmanager
async def opened(address: str) -> AsyncIterator[Stranger]:
    stranger = Stranger(address)
    try:
        await stranger.open()
        yield stranger
    finally:
        await stranger.leave()
    assert stranger.errors == []


@pytest.mark.parametrize("path", often(PLACES, ["/walkthrough", "/check"]))
def test_no_value_of_any_type_breaks_a_page(server, path):
    """Each kind of control is told everything, and stays as it is or takes the nearest valid value."""

    async def talk() -> None:
        async with opened(server + path) as stranger:
            kinds = {kind: widget for widget, kind in stranger.widgets.items() if kind != "bidi_component"}
            components = [widget for widget, kind in stranger.widgets.items() if kind == "bidi_component"]
            for i, (where, value) in enumerate(VALUES):  # all kinds at once, one more value each time
                some = [*kinds.values(), components[i % len(components)]]
                await stranger.say(*(state(widget, where, value) for widget in some))
            for event in EVENTS:
                await stranger.say(*(one for widget in components for one in triggers(widget, event)))
            await stranger.say()  # as if nothing had happened

    spoken(talk())


def test_what_is_no_message_or_names_nothing_does_no_harm(server):
    async def talk() -> None:
        async with opened(server + "/heads") as other, opened(server + "/positions") as stranger:
            for raw in (b"\xff" * 1_000, b"\x0a\xff\xff\xff\xff\x0f", b"\x08" * 2_001):
                await stranger.send(raw)
            await stranger.say(*(state(f"$$ID-{i}-none", "string_value", "x") for i in range(2_000)))
            await stranger.send(stranger.message(fragment_id="no such fragment"))  # has no answer of its own
            for query in QUERIES:
                await stranger.say(query_string=query)
            await stranger.say(page_script_hash="../../etc/passwd", page_name="../app")
            await other.drag("head", 2)

    spoken(talk())


def test_too_large_a_message_ends_its_own_session_alone(server):
    async def talk() -> None:
        async with opened(server + "/positions") as other, opened(server + "/heads") as stranger:
            with pytest.raises(ConnectionClosed, match="1009"):
                await stranger.say(state("$$ID-x-text", "string_value", "x" * messages.LARGEST))
            await other.drag("start", 2)

    spoken(talk())


def cleaned(raw: bytes) -> bytes | None:
    """What the app hears of these bytes."""
    said = messages.understood(raw)
    return None if said is None else messages.cleaned(said)


def test_cleaning_leaves_what_a_browser_says_as_it_is():
    message = BackMsg()
    usual = (("double_array_value", [1.0, 2.0]), ("string_value", "é\ud7ff"), ("json_value", '{"a": [1, "ü"]}'))
    for where, value in usual:
        message.rerun_script.widget_states.widgets.append(state("a", where, value))
    assert cleaned(message.SerializeToString()) == message.SerializeToString()


NO_JSON = ["{", "", "[" * 9_000, "NaN", "1e999", '"\\udfff"', "9" * 5_000, json.dumps("x" * 200_000)]


@pytest.mark.parametrize("text", NO_JSON)
def test_json_that_no_component_says_is_left_out(text):
    message = BackMsg()
    message.rerun_script.query_string = "a=1"
    message.rerun_script.widget_states.widgets.append(state("a", "json_trigger_value", text))
    message.rerun_script.widget_states.widgets.append(state("b", "bool_value", True))
    left = BackMsg.FromString(cleaned(message.SerializeToString()) or b"")
    assert [one.id for one in left.rerun_script.widget_states.widgets] == ["b"]
    assert left.rerun_script.query_string == "a=1"


@given(st.binary(max_size=300))
def test_any_bytes_are_a_message_or_none(raw):
    left = cleaned(raw)
    assert left is None or BackMsg.FromString(left).WhichOneof("type") in messages.HEARD
