"""What browsers send over the websocket, before Streamlit reads it: what no browser says is left out.

A widget that is told JSON which is none, or a text where it has a number, would show an error on every run from then
on, and fill the log. Pages check all other values themselves, where they know what is valid.
"""

import json
import math
from typing import Any

from google.protobuf.message import DecodeError
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.runtime.state.session_state import Serialized, Value, WStates

LARGEST = 4_000_000  # bytes of a message: all boxes of a page filled with long texts are a tenth of it
LONGEST_EVENT = 200_000  # characters of what a component says


class Messages:
    """Lets messages of browsers through, without what is no valid part of them."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def heard() -> Message:
            while True:
                message = await receive()
                raw = message.get("bytes") if message["type"] == "websocket.receive" else None
                if raw is None:
                    return message
                if (clean := cleaned(raw)) is not None:
                    return {**message, "bytes": clean}

        await self.app(scope, heard if scope["type"] == "websocket" else receive, send)


def cleaned(raw: bytes) -> bytes | None:
    """A message without the values that no widget has; None for what is no message at all."""
    if len(raw) > LARGEST:
        return None
    try:
        message = BackMsg.FromString(raw)
    except DecodeError:
        return None
    states = message.rerun_script.widget_states.widgets
    kept = [state for state in states if _possible(state)]
    if len(kept) == len(states):
        return raw
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


_original = WStates.__getitem__


def _of_its_type(states: WStates, key: str) -> Any:
    """Streamlit's lookup of what a widget was told, to which a value of another type than the widget's is none."""
    told, metadata = states.states.get(key), states.widget_metadata.get(key)
    if isinstance(told, Serialized) and metadata is not None:
        kind = told.value.WhichOneof("value")
        if kind is not None and metadata.value_type is not None and kind != metadata.value_type:
            states.states[key] = Value(metadata.deserializer(None))
    return _original(states, key)


def expect_types() -> None:
    """From now on a widget holds its default when it is told a value of a type that it has not."""
    WStates.__getitem__ = _of_its_type  # type: ignore[method-assign]
