"""Filters and paces what browsers send over the websocket, before Streamlit reads it.

A widget that receives invalid JSON, or a text in place of a number, would show an error on every later run and fill the
log, so such values are dropped. Pages check all other values themselves, where they know what is valid. Messages of
Streamlit's developer menu are dropped, too: they empty the caches of all visitors, or run git on the event loop.

Every message is work for the one event loop of all visitors, and a run is work for a thread of its own, so each
websocket has a rate limit. While a run waits for its turn, a newer one of the same control replaces it: a dragging hand
is answered 20 times a second, and its last position always. Messages beyond the limit are not read and wait at the
sender; a connection that stays above the limit for long is closed. Who asks again before they are answered has at most
a third of the time while others ask, too: twice as long as an answer took passes before the next one is begun.
"""

import asyncio
import json
import math
import time
from typing import Any

from google.protobuf.message import DecodeError
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.ui.streamlit_internals import MESSAGES, BackMsg, ClientState, ForwardMsg, WidgetState

LARGEST = 4_000_000  # bytes of a message: all boxes of a page filled with long texts are a tenth of it
LONGEST_EVENT = 200_000  # characters of what a component says

TURNS = 20.0  # messages a second that each websocket may have answered in the long run; a change takes 20 to 50 ms
AT_ONCE = 40  # of them without waiting, after a rest: eight seconds of our own components, which ask 25 times a second
READ = 300.0  # messages a second that are read at most: more than a screen of 240 Hz makes a hand send
READ_AT_ONCE = 300
PATIENCE = 100.0  # messages a second: who is read more often than that for long is hung up on
PATIENT = 1_500  # of them at once
READ_AS_ONE = 20_000  # bytes; a longer message counts as several
OTHERS = 1.0  # seconds since somebody else has asked something, for which they count
RESTS, LONGEST = 2, 0.4  # times that an answer took, and seconds that count of it at most: a long run can be replaced
LOOK = 0.02  # seconds between two looks whether an answer has ended
SHORT = 100  # bytes that the end of a run has at most
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
    """ASGI middleware that forwards valid messages of browsers, at a limited rate."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.open = 0
        self.crowd = Crowd()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket" or not MESSAGES.on:
            return await self.app(scope, receive, send)
        if self.open >= MOST_OPEN:
            words = f"This server has {MOST_OPEN} open pages, as many as it takes; please come back later.\n"
            return await PlainTextResponse(words, status_code=503)(scope, receive, send)
        visitor = Visitor(receive, send, self.crowd)
        self.open += 1
        try:
            await self.app(scope, visitor.hear, visitor.tell)
        finally:
            self.open -= 1
            visitor.leave()


class Pace:
    """A rate limit: `rate` times a second in the long run, `at_once` times after a rest."""

    def __init__(self, rate: float, at_once: float) -> None:
        self.each, self.slack = 1 / rate, (at_once - 1) / rate
        self.paid = 0.0  # the time until which all that happened would be spread evenly

    def wait(self) -> float:
        """Seconds until it may happen next."""
        return max(0.0, self.paid - self.slack - time.monotonic())

    def take(self, times: float = 1) -> None:
        """Count one event, or as many as `times`."""
        self.paid = max(self.paid, time.monotonic()) + times * self.each


class Crowd:
    """Who has asked last, and when."""

    def __init__(self) -> None:
        self.last: list[tuple[Visitor, float]] = []  # of two visitors, the last at the end

    def asks(self, visitor: "Visitor") -> None:
        self.last = [*(one for one in self.last if one[0] is not visitor), (visitor, time.monotonic())][-2:]

    def is_beside(self, visitor: "Visitor") -> bool:
        """Whether somebody else has asked something lately."""
        return any(one is not visitor and time.monotonic() - when < OTHERS for one, when in self.last)


class Visitor:
    """One websocket: its two ends as the app sees them."""

    def __init__(self, receive: Receive, send: Send, crowd: Crowd | None = None) -> None:
        self.receive, self.send, self.crowd = receive, send, crowd or Crowd()
        self.asked = self.answered = 0.0  # when the app was last told something, and when it had answered that
        self.turns, self.reads = Pace(TURNS, AT_ONCE), Pace(READ, READ_AT_ONCE)
        self.patience = Pace(PATIENCE, PATIENT)
        self.gone = False
        self.reading: asyncio.Task[Message | BackMsg] | None = None
        self.later: Message | BackMsg | None = None  # was read while the message before it waited

    async def hear(self) -> Message:
        """The next message, once the rate limit allows it."""
        said, self.later = self.later or await self._next(), None
        if not isinstance(said, BackMsg):
            return said
        hurries = said.HasField("rerun_script") and self.answered < self.asked
        while self.later is None and (left := self._wait(hurries)) and (later := await self._next_within(left)):
            if isinstance(later, BackMsg) and replaces(later, said):
                said = later
            else:
                self.later = later
        while True:
            await asyncio.sleep(left := self._wait(hurries))  # others are heard meanwhile, also where it is 0
            if not left:
                break
        self.turns.take()
        if said.HasField("rerun_script"):
            self.asked = time.monotonic()
            self.crowd.asks(self)
        return {"type": "websocket.receive", "bytes": cleaned(said)}

    def _wait(self, hurries: bool) -> float:
        """Seconds until the next message may be answered, or until that is to be asked again; 0: now."""
        left = self.turns.wait()
        if not (hurries and self.crowd.is_beside(self)):
            return left
        is_over, now = self.answered >= self.asked, time.monotonic()
        took = min(self.answered - self.asked if is_over else LONGEST, LONGEST)
        rest = self.asked + (1 + RESTS) * took - now
        return max(left, rest if is_over else min(rest, LOOK), 0.0)

    async def tell(self, message: Message) -> None:
        """Send what the app sends; a visitor who has left is noted, and is no error."""
        if self.gone:
            return
        if is_end(message.get("bytes") or b""):
            self.answered = time.monotonic()
        try:
            await self.send(message)
        except OSError:
            self.gone = True

    def leave(self) -> None:
        """Stop reading."""
        if self.reading is not None:
            self.reading.cancel()

    async def _next_within(self, seconds: float) -> Message | BackMsg | None:
        """The next valid message; None when none comes in time."""
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
        """The next valid message; all others are skipped."""
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


def _read_as(kind: Any, raw: bytes, most: int) -> Any:
    """The message of this kind in these bytes; None where they are more than `most`, or no such message."""
    if len(raw) > most:
        return None
    try:
        return kind.FromString(raw)
    except DecodeError:
        return None


def understood(raw: bytes) -> BackMsg | None:
    """The message in these bytes; None where no browser at this app sends such a one."""
    message: BackMsg | None = _read_as(BackMsg, raw, LARGEST)
    if message is None:
        return None
    kind = message.WhichOneof("type")
    other = kind == "backend_operation_request" and message.backend_operation_request.WhichOneof("payload") != OPERATION
    return message if kind in HEARD and not other else None


def is_end(raw: bytes) -> bool:
    """Whether the app says with these bytes that a run has ended, and not because a newer one begins."""
    message = _read_as(ForwardMsg, raw, SHORT)
    ended = message is not None and message.WhichOneof("type") == "script_finished"
    return ended and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN


def replaces(later: BackMsg, earlier: BackMsg) -> bool:
    """Whether the earlier message may be left out, because the later one has a newer value for all that it holds.

    A click would be lost, so it may not; the position of a hand that goes on moving may.
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
    """Whether its only events are those of a hand that is still moving something, see dragging.js."""
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
    match event:
        case {"event": "moved", "value": dict(said)} | {"event": "told", "value": ["moved", dict(said)]}:
            return said.get("final") is not True
    return False


def cleaned(message: BackMsg) -> bytes:
    """The message without values that no widget can have."""
    states = message.rerun_script.widget_states.widgets
    kept = [state for state in states if _possible(state)]
    if len(kept) < len(states):
        del states[:]
        states.extend(kept)
    return message.SerializeToString()


def _possible(state: WidgetState) -> bool:
    """Whether a browser can have sent this value of a widget."""
    kind = state.WhichOneof("value")
    if kind in ("json_value", "json_trigger_value"):
        return _is_json(getattr(state, kind))
    numbers = state.double_array_value.data if kind == "double_array_value" else [state.double_value]
    return all(map(math.isfinite, numbers))


def _is_json(text: str) -> bool:
    """Whether a text is JSON of finite numbers and valid characters, and not too long."""
    if len(text) > LONGEST_EVENT:
        return False
    try:
        json.dumps(json.loads(text), ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):  # ValueError: no JSON, not finite, or a lone surrogate
        return False
    return True
