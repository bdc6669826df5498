"""What a websocket hears of its browser, and how often: other messages are dropped, no hand is cut, floods wait."""

import asyncio
import json
from collections.abc import Coroutine
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.types import Message
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from pages.ui.server import messages
from tests.strangers import state

DISCONNECT = {"type": "websocket.disconnect", "code": 1001}


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(asyncio.wait_for(coroutine, 30))


def rerun(*states: Any, **fields: Any) -> BackMsg:
    message = BackMsg()
    message.rerun_script.SetInParent()
    for name, value in fields.items():
        setattr(message.rerun_script, name, value)
    message.rerun_script.widget_states.widgets.extend(states)
    return message


def at(place: float) -> BackMsg:
    """A slider was moved there."""
    return rerun(state("slider", "double_array_value", [place]))


def event(name: str, value: Any) -> BackMsg:
    """What happened at a component of ours."""
    return rerun(state("part", "json_trigger_value", json.dumps([{"event": name, "value": value}])))


def operation(payload: str) -> BackMsg:
    message = BackMsg()
    getattr(message.backend_operation_request, payload).SetInParent()
    return message


def place(message: Message) -> float:
    return BackMsg.FromString(message["bytes"]).rerun_script.widget_states.widgets[0].double_array_value.data[0]


class Browser:
    """The other end of a websocket; `told` is what it was sent, `asked` how often it was read."""

    def __init__(self, *said: BackMsg | Message) -> None:
        self.queue: asyncio.Queue[Message] = asyncio.Queue()
        self.told: list[Message] = []
        self.asked = 0
        self.left = False
        for one in said:
            self.say(one)
        self.ear = messages.Visitor(self.receive, self.send)

    def say(self, one: BackMsg | Message) -> None:
        raw = {"type": "websocket.receive", "bytes": one.SerializeToString()} if isinstance(one, BackMsg) else one
        self.queue.put_nowait(raw)

    async def receive(self) -> Message:
        self.asked += 1
        return await self.queue.get()

    async def send(self, message: Message) -> None:
        if self.left:
            raise OSError("the browser left")
        self.told.append(message)

    async def all(self) -> list[Message]:
        """What is heard until the browser leaves."""
        heard = [await self.ear.hear()]
        while heard[-1]["type"] == "websocket.receive":
            heard.append(await self.ear.hear())
        return heard[:-1]


def test_every_kind_of_message_that_streamlit_knows_was_decided_on():
    """A new version may bring new ones: see in the browser whether one of this app sends them, and when."""
    known = {field.name for field in BackMsg.DESCRIPTOR.oneofs_by_name["type"].fields}
    assert known == set(messages.HEARD) | set(messages.REFUSED)
    assert not set(messages.HEARD) & set(messages.REFUSED)
    payloads = BackMsg.DESCRIPTOR.fields_by_name["backend_operation_request"].message_type.oneofs_by_name["payload"]
    assert messages.OPERATION in {field.name for field in payloads.fields}


@pytest.mark.parametrize("kind", [*messages.HEARD, *messages.REFUSED])
def test_what_browsers_say_is_heard_and_nothing_else(kind):
    field = BackMsg.DESCRIPTOR.fields_by_name[kind]
    message = BackMsg()
    if kind == "backend_operation_request":
        message = operation(messages.OPERATION)
    elif field.message_type is not None:
        getattr(message, kind).SetInParent()
    else:
        setattr(message, kind, True)
    heard = run(Browser(message, DISCONNECT).all())
    assert [one["bytes"] for one in heard] == ([message.SerializeToString()] if kind in messages.HEARD else [])


@pytest.mark.parametrize("payload", ["install_skills", "dismiss_skills_nudge", "dataframe_chunk"])
def test_no_file_is_written_and_no_table_read_for_a_message(payload):
    assert run(Browser(operation(payload), BackMsg(), DISCONNECT).all()) == []


@pytest.mark.parametrize("frame", [{"text": "hello"}, {"text": "hello", "bytes": None}, {"text": ""}])
def test_a_text_frame_is_not_heard_and_the_next_message_is(frame):
    heard = run(Browser({"type": "websocket.receive", **frame}, at(1), DISCONNECT).all())
    assert [place(one) for one in heard] == [1]


def test_who_left_is_heard_and_is_no_error_of_what_is_said():
    async def talk() -> None:
        browser = Browser(*map(at, range(1000)))
        await browser.ear.hear()
        browser.left = True
        await browser.ear.tell({"type": "websocket.send", "bytes": b"x"})
        assert (await browser.ear.hear())["type"] == "websocket.disconnect", (
            "what was said before is not answered any more"
        )

    run(talk())


@pytest.mark.parametrize(
    "make",
    [at, lambda i: event("moved", {"weights": i}), lambda i: event("told", ["moved", {"points": i}])],
    ids=["slider", "component", "scene"],
)
def test_a_dragging_hand_is_never_cut_and_its_last_place_arrives(monkeypatch, make):
    """Far more events than a screen shows frames, all but the last while the hand moves."""
    monkeypatch.setattr(messages, "AT_ONCE", 10)
    sent, every = 150, 0.005

    async def talk() -> list[tuple[float, Message]]:
        browser, heard, clock = Browser(), [], asyncio.get_running_loop().time

        async def drag() -> float:
            for i in range(sent):
                browser.say(make(i))
                await asyncio.sleep(every)
            return clock()

        hand = asyncio.create_task(drag())
        last = make(sent - 1).SerializeToString()
        while not heard or heard[-1][1]["bytes"] != last:
            message = await browser.ear.hear()
            heard.append((clock(), message))
        ended = await hand
        assert sum(when > ended for when, _ in heard) <= 2, "no queue grows behind the hand"
        return heard

    heard = run(talk())
    order = [message["bytes"] for _, message in heard]
    said = [make(i).SerializeToString() for i in range(sent)]
    assert order == [raw for raw in said if raw in set(order)], "in order, none twice"
    assert len(heard) >= 10 + 5, "pictures follow while the hand moves"


def test_what_happened_once_is_never_left_out(monkeypatch):
    monkeypatch.setattr(messages, "TURNS", 2000.0)
    monkeypatch.setattr(messages, "AT_ONCE", 1)
    once = [
        event("chosen", 3),
        event("moved", {"weights": "1", "final": True}),
        event("told", ["moved", {"points": "1", "final": True}]),
        event("told", ["part", 3]),
        BackMsg(stop_script=True),
        rerun(state("button", "trigger_value", True)),
        rerun(is_history_navigation=True),
        rerun(fragment_id="other"),
        rerun(page_script_hash="other"),
        operation(messages.OPERATION),
        rerun(state("other", "bool_value", True)),
    ]
    said = [message for one in once for message in (one, at(1), at(2))]
    heard = [one["bytes"] for one in run(Browser(*said, DISCONNECT).all())]
    assert [raw for raw in heard if raw != at(2).SerializeToString() and raw != at(1).SerializeToString()] == [
        one.SerializeToString() for one in once
    ]
    assert len(heard) < len(said), "a place that was left again is"


@given(st.lists(st.sampled_from("abAB"), max_size=30))
def test_any_mixture_ends_with_the_last_and_holds_every_click(said):
    """Small letters are places of two sliders, capitals are clicks."""
    made = [
        event("chosen", f"{one}{i}") if one.isupper() else rerun(state(one, "double_array_value", [i]))
        for i, one in enumerate(said)
    ]
    patch = pytest.MonkeyPatch()
    with patch.context() as now:
        now.setattr(messages, "TURNS", 1e4)
        now.setattr(messages, "AT_ONCE", 1)
        heard = [one["bytes"] for one in run(Browser(*made, DISCONNECT).all())]
    wanted = [one.SerializeToString() for one in made]
    assert heard == [raw for raw in wanted if raw in set(heard)]
    assert heard[-1:] == wanted[-1:]
    assert {raw for raw, one in zip(wanted, said, strict=True) if one.isupper()} <= set(heard)
    kept = [one for one, raw in zip(said, wanted, strict=True) if raw in set(heard)]
    last = [one for one, after in pairwise([*said, ""]) if one != after]
    assert len(kept) >= len(last), "the last place of each slider before another is moved"


@pytest.mark.parametrize(
    "raw",
    ["hello", at(1), BackMsg(load_git_info=True), BackMsg(clear_cache=True), BackMsg(app_heartbeat=True), b"\xff" * 90],
)
def test_a_flood_is_not_read(raw):
    """It waits at whoever sent it, and neither memory nor the event loop pays for it."""
    raw = raw.SerializeToString() if isinstance(raw, BackMsg) else raw
    message = {"type": "websocket.receive", "text" if isinstance(raw, str) else "bytes": raw}

    async def talk() -> tuple[int, int, float]:
        browser, heard = Browser(), []
        for _ in range(10_000):
            browser.say(message)

        async def listen() -> None:
            while True:
                heard.append(await browser.ear.hear())

        listening = asyncio.create_task(listen())
        clock = asyncio.get_running_loop().time
        begin = clock()
        for _ in range(30):  # the event loop is free for others
            await asyncio.sleep(0.01)
        listening.cancel()
        browser.ear.leave()
        return browser.asked, len(heard), clock() - begin

    asked, heard, seconds = run(talk())
    assert asked <= messages.READ_AT_ONCE + messages.READ * seconds + 1
    assert heard <= messages.AT_ONCE + messages.TURNS * seconds + 1


def test_who_does_not_stop_is_hung_up_on(monkeypatch):
    for name, value in {"READ": 1e6, "PATIENCE": 1.0, "PATIENT": 200}.items():
        monkeypatch.setattr(messages, name, value)

    async def talk() -> None:
        browser = Browser(*[BackMsg(clear_cache=True)] * 1_000)
        assert (await browser.ear.hear())["type"] == "websocket.disconnect"
        assert browser.asked == 200
        await browser.ear.tell({"type": "websocket.close", "code": 1000})
        assert browser.told == [], "the server closes the line, and does not wait until its other end agrees"

    run(talk())


def test_who_asks_before_they_are_answered_has_a_third_of_the_time_while_others_ask(monkeypatch):
    now, crowd = [100.0], messages.Crowd()
    monkeypatch.setattr(messages, "time", SimpleNamespace(monotonic=lambda: now[0]))
    one, other = (messages.Visitor(Browser().receive, Browser().send, crowd) for _ in range(2))
    one.asked = 100.0
    crowd.asks(one)
    assert one._wait(True) == 0, "nobody else asks"
    crowd.asks(other)
    assert 0 < one._wait(True) <= messages.LOOK, "the answer has not ended"
    now[0] = one.answered = 100.1
    assert one._wait(True) == pytest.approx(0.2)
    assert one._wait(False) == 0, "asked when all was answered"
    now[0] = 100.3 + 1e-6
    assert one._wait(True) == 0
    one.asked = now[0] = 101.5
    assert one._wait(True) == 0, "the others have stopped"
    crowd.asks(other)
    now[0] += 3 * messages.LONGEST
    assert one._wait(True) == 0, "a long answer is replaced"


def test_two_websockets_know_of_each_other(monkeypatch):
    """Of two browsers, one asks again at once, and the app is still at its first answer."""
    monkeypatch.setattr(messages, "LONGEST", 0.05)

    async def talk(*others: Browser) -> float:
        hasty, clock = Browser(at(1), event("chosen", 2)), asyncio.get_running_loop().time
        for other in others:
            other.ear.crowd = hasty.ear.crowd
            await other.ear.hear()
        await hasty.ear.hear()
        began = clock()
        await hasty.ear.hear()
        return clock() - began

    assert run(talk(Browser(at(1)))) >= 3 * 0.05 - 0.01


@pytest.mark.parametrize(
    ("finished", "ends"), [("FINISHED_SUCCESSFULLY", True), ("FINISHED_EARLY_FOR_RERUN", False), (None, False)]
)
def test_the_end_of_a_run_is_told_from_all_else(finished, ends):
    message = ForwardMsg()
    if finished:
        message.script_finished = getattr(ForwardMsg, finished)
    message.metadata.cacheable = False
    assert messages.is_end(message.SerializeToString()) is ends
    assert not messages.is_end(b"x" * 101)


def test_large_messages_count_as_several():
    pace = messages.Pace(100, 10)
    pace.take(1 + messages.LARGEST / messages.READ_AS_ONE)
    assert pace.wait() > 1.5
    assert messages.Pace(100, 10).wait() == 0


def test_there_are_so_many_open_pages_and_no_more(monkeypatch):
    monkeypatch.setattr(messages, "MOST_OPEN", 2)
    told: list[Message] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await receive()

    async def send(message: Message) -> None:
        told.append(message)

    async def talk() -> None:
        door = messages.Messages(app)
        rooms = [Browser() for _ in range(2)]
        scope = {"type": "websocket", "path": "/_stcore/stream", "headers": []}
        there = [asyncio.create_task(door(scope, room.receive, room.send)) for room in rooms]
        await asyncio.sleep(0)
        await door(scope, Browser().receive, send)
        assert told[0]["status"] == 503
        assert b"2 open pages" in told[1]["body"]
        rooms[0].say(DISCONNECT)
        await there[0]
        told.clear()
        third = asyncio.create_task(door(scope, (late := Browser()).receive, send))
        await asyncio.sleep(0)
        for room in (late, rooms[1]):
            room.say(DISCONNECT)
        await asyncio.gather(third, there[1])
        assert told == [], "one left, and another may come"
        assert door.open == 0

    run(talk())
