"""What browsers send over the websocket, before Streamlit reads it: what no browser says is left out, and much waits.

A widget that is told JSON which is none, or a text where it has a number, would show an error on every run from then
on, and fill the log. Pages check all other values themselves, where they know what is valid. Streamlit's protocol also
has words for whoever develops an app: they empty the caches of all visitors, or run git while nobody is served.

Every message is work for all visitors' one event loop, and a run is work for a thread of its own, so each websocket has
a pace. Nobody is cut off for being quick: while a run waits for its turn, a newer one of the same control takes its
place, so that a dragging hand is answered 20 times a second and its last position always. What goes beyond that is not
read, and waits at whoever sent it; who goes on like that is hung up on.
"""

import asyncio
import json
import math
import time
from typing import Any

from google.protobuf.message import DecodeError
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.ui.streamlit_internals import MESSAGES, BackMsg, ClientState, WidgetState

LARGEST = 4_000_000  # bytes of a message: all boxes of a page filled with long texts are a tenth of it
LONGEST_EVENT = 200_000  # characters of what a component says

TURNS = 20.0  # messages a second that each websocket may have answered in the long run; a change takes 20 to 50 ms
AT_ONCE = 40  # of them without waiting, after a rest: eight seconds of our own components, which ask 25 times a second
READ = 300.0  # messages a second that are read at most: more than a screen of 240 Hz makes a hand send
READ_AT_ONCE = 300
PATIENCE, PATIENT = 100.0, 1_500  # the same again: who is read more often than that for long is hung up on
READ_AS_ONE = 20_000  # bytes; a longer message counts as several
MOST_OPEN = 500  # websockets at once, ten times the visitors that one process was measured with

# What browsers say to this app, and when. Streamlit knows more, see `REFUSED`.
HEARD = {
    "rerun_script": "a page is opened or a control is moved",
    "stop_script": "Stop is chosen in the menu of a page that is computing",
    "file_urls_request": "an uploader asks where to put a file",
    "app_heartbeat": "a site that shows the app in a frame asks it to keep its connection open",
    "backend_operation_request": "a download button asks for its file; its other requests are refused",
}
REFUSED = {
    "load_git_info": "the developer's menu asks for branch and uncommitted files: git runs on the event loop",
    "clear_cache": "the developer's menu empties the caches of all visitors",
    "set_run_on_save": "the developer's menu",
    "debug_disconnect_websocket": "Streamlit's own tests",
    "debug_shutdown_runtime": "Streamlit's own tests",
}
OPERATION = "deferred_file"  # of backend_operation_request; others install files or read tables that we do not have


class Messages:
    """Lets messages of browsers through at a pace, without what is no valid part of them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.open = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket" or not MESSAGES.on:
            return await self.app(scope, receive, send)
        if self.open >= MOST_OPEN:
            words = f"This server has {MOST_OPEN} open pages, as many as it takes; please come back later.\n"
            return await PlainTextResponse(words, status_code=503)(scope, receive, send)
        visitor = Visitor(receive, send)
        self.open += 1
        try:
            await self.app(scope, visitor.hear, visitor.tell)
        finally:
            self.open -= 1
            visitor.leave()


class Pace:
    """How often something may happen: `rate` times a second in the long run, `at_once` times after a rest."""

    def __init__(self, rate: float, at_once: float) -> None:
        self.each, self.slack = 1 / rate, (at_once - 1) / rate
        self.paid = 0.0  # the time until which all that happened would be spread evenly

    def wait(self) -> float:
        """Seconds until it may happen next."""
        return max(0.0, self.paid - self.slack - time.monotonic())

    def take(self, times: float = 1) -> None:
        """It happens."""
        self.paid = max(self.paid, time.monotonic()) + times * self.each


class Visitor:
    """One websocket, as the app hears it and speaks to it."""

    def __init__(self, receive: Receive, send: Send) -> None:
        self.receive, self.send = receive, send
        self.turns, self.reads = Pace(TURNS, AT_ONCE), Pace(READ, READ_AT_ONCE)
        self.patience = Pace(PATIENCE, PATIENT)
        self.gone = False
        self.reading: asyncio.Task[Message | BackMsg] | None = None
        self.later: Message | BackMsg | None = None  # was read while the message before it waited

    async def hear(self) -> Message:
        """The next message, when it is its turn."""
        said, self.later = self.later or await self._next(), None
        if not isinstance(said, BackMsg):
            return said
        while self.later is None and (left := self.turns.wait()) and (later := await self._next_within(left)):
            if isinstance(later, BackMsg) and replaces(later, said):
                said = later
            else:
                self.later = later
        await asyncio.sleep(self.turns.wait())
        self.turns.take()
        return {"type": "websocket.receive", "bytes": cleaned(said)}

    async def tell(self, message: Message) -> None:
        """What the app says; that the visitor has left is heard, and is no error of what was being said."""
        if self.gone:
            return
        try:
            await self.send(message)
        except OSError:
            self.gone = True

    def leave(self) -> None:
        """Nothing is read any more."""
        if self.reading is not None:
            self.reading.cancel()

    async def _next_within(self, seconds: float) -> Message | BackMsg | None:
        """The next message that a browser can have sent; None when none comes in time."""
        self.reading = self.reading or asyncio.create_task(self._read())
        done, _ = await asyncio.wait([self.reading], timeout=seconds)
        return await self._next() if done else None

    async def _next(self) -> Message | BackMsg:
        if self.reading is None:
            return await self._read()
        read = await self.reading
        self.reading = None
        return read

    async def _read(self) -> Message | BackMsg:
        """Skips what no browser sends."""
        while True:
            await asyncio.sleep(self.reads.wait())
            if self.gone or self.patience.wait():
                self.gone = True  # no close is said: until both have said it, uvicorn reads on without a pause
                return {"type": "websocket.disconnect", "code": 1006}
            message = await self.receive()
            if message["type"] != "websocket.receive":
                return message
            raw = message.get("bytes") or b""  # nothing for a text, which no browser sends
            self.patience.take()
            self.reads.take(1 + len(raw or message.get("text") or "") / READ_AS_ONE)
            if (said := understood(raw)) is not None:
                return said


def understood(raw: bytes) -> BackMsg | None:
    """What a browser says with these bytes; None for what none of this app says."""
    if len(raw) > LARGEST:
        return None
    try:
        message = BackMsg.FromString(raw)
    except DecodeError:
        return None
    kind = message.WhichOneof("type")
    other = kind == "backend_operation_request" and message.backend_operation_request.WhichOneof("payload") != OPERATION
    return message if kind in HEARD and not other else None


def replaces(later: BackMsg, earlier: BackMsg) -> bool:
    """Whether nothing is lost when the earlier message is left out, because all it says is said anew by the later one.

    What happened once, as a click did, is lost; the place of a hand that goes on moving is not.
    """
    if not (later.HasField("rerun_script") and earlier.HasField("rerun_script")):
        return False
    new, old = later.rerun_script, earlier.rerun_script
    same = (new.fragment_id, new.page_script_hash, new.page_name) == (
        old.fragment_id,
        old.page_script_hash,
        old.page_name,
    )
    if not same or old.is_history_navigation or not _lasting(old):
        return False
    return {state.id for state in old.widget_states.widgets} <= {state.id for state in new.widget_states.widgets}


def _lasting(run: ClientState) -> bool:
    """Whether it holds no events but those of a hand that is still moving something, see dragging.js."""
    for state in run.widget_states.widgets:
        kind = state.WhichOneof("value") or ""
        if "trigger" not in kind and kind != "chat_input_value":
            continue
        if kind != "json_trigger_value" or not _is_json(state.json_trigger_value):
            return False
        events = json.loads(state.json_trigger_value)
        if not (isinstance(events, list) and all(map(_moving, events))):
            return False
    return True


def _moving(event: Any) -> bool:
    if not isinstance(event, dict) or event.get("event") != "moved":
        return False
    return isinstance(event.get("value"), dict) and event["value"].get("final") is not True


def cleaned(message: BackMsg) -> bytes:
    """The message without the values that no widget has."""
    states = message.rerun_script.widget_states.widgets
    kept = [state for state in states if _possible(state)]
    if len(kept) < len(states):
        del states[:]
        states.extend(kept)
    return message.SerializeToString()


def _possible(state: WidgetState) -> bool:
    """Whether a browser can have said this of a widget."""
    kind = state.WhichOneof("value")
    if kind in ("json_value", "json_trigger_value"):
        return _is_json(getattr(state, kind))
    numbers = state.double_array_value.data if kind == "double_array_value" else [state.double_value]
    return all(map(math.isfinite, numbers))


def _is_json(text: str) -> bool:
    """Whether a text is JSON of finite numbers and whole characters, and not too long."""
    if len(text) > LONGEST_EVENT:
        return False
    try:
        json.dumps(json.loads(text), ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):  # ValueError: no JSON, not finite, or a lone surrogate
        return False
    return True
