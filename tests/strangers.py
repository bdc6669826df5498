"""Clients that speak Streamlit's protocol and say with it what no browser would."""

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.visitors import Visitor

# Values as they stand in a message: the field, and what is put into it.
VALUES: tuple[tuple[str, Any], ...] = (
    ("double_array_value", [float("nan")]),
    ("double_array_value", [float("inf"), -1e308]),
    ("double_array_value", [1e308] * 50),
    ("double_array_value", []),
    ("double_value", -1e308),
    ("int_value", -(2**63)),
    ("int_array_value", [2**63 - 1, -1]),
    ("bool_value", True),
    ("trigger_value", True),
    ("string_value", "<script>alert(7)</script>"),
    ("string_value", "x" * 300_000),
    ("string_value", "\0\u202e\ufffe"),
    ("string_array_value", ["no such option", "\0", "<b>"]),
    ("string_array_value", ["x"] * 10_000),
    ("json_value", "{"),
    ("json_value", "[" * 5_000),
    ("json_value", '{"chosen": -1e400}'),
    ("bytes_value", b"\xff\0"),
    ("json_value", '"\\ud800"'),
    ("json_trigger_value", "[[[]]]"),
)
# What the browser's half of a component might say was moved, chosen or clicked.
EVENTS: tuple[Any, ...] = (
    None,
    True,
    -1,
    1e308,
    10**400,
    "\ud800",
    "x" * 9_000,
    [],
    [None],
    {},
    {"weights": None},
    {"weights": "9" * 10_000},
    {"weights": "-1_nan_inf", "final": "yes", "seq": -1},
    {"points": ["a"] * 999, "seq": 1e300, "final": True},
    {"points": {"x": 1}, "kind": "\ud800", "token": 2.5},
    {"curve": -1, "point": 0},
    {"curve": 0, "point": [1e9, "x"]},
    {"curve": 0, "point": [10**6, 10**6], "x": 1e14, "y": -1e14, "customdata": ["<b>", None]},
    {"curve": 0, "point": 3, "x": "\ud800", "y": "\0", "customdata": [[[1]]]},
    {"curve": 10**6, "point": 10**6, "x": None, "y": 3, "customdata": [99, 99, 99]},
    {"curve": 0, "point": 0, "x": 0.5, "y": "a", "customdata": [-1, -1]},
    {"chosen": 10**9, "moved": [1], "click": {}},
)
NAMES = ("chosen", "moved", "click", "hover", "download", "copied", "stage", "frame")


@dataclass(slots=True)
class Stranger(Visitor):
    """Someone at a page who knows every id on it.

    Args:
        widgets: id -> kind, of whatever the page holds.
        fragments: id -> the fragment it stands in.
        patience: seconds without a word from the server that are an error.
    """

    widgets: dict[str, str] = field(default_factory=dict)
    fragments: dict[str, str] = field(default_factory=dict)
    patience: float = 60

    def _note(self, message: ForwardMsg) -> bool:
        if message.WhichOneof("type") == "delta" and message.delta.WhichOneof("type") == "new_element":
            kind = message.delta.new_element.WhichOneof("type") or ""
            name = getattr(getattr(message.delta.new_element, kind, None), "id", "")
            if name:
                self.widgets[name], self.fragments[name] = kind, message.delta.fragment_id
        return Visitor._note(self, message)

    async def say(self, *states: WidgetState, **fields: str) -> None:
        """Send these values, and read the answer to its end."""
        await self.send(self.message(*states, **fields))
        await self.answer()

    def message(self, *states: WidgetState, **fields: str) -> bytes:
        """What asks for a run with these values; `fields` are others of a BackMsg's rerun_script."""
        message = BackMsg()
        for name, value in {"query_string": self._query, "page_script_hash": self._page, **fields}.items():
            setattr(message.rerun_script, name, value)
        message.rerun_script.widget_states.widgets.extend(states)
        return message.SerializeToString()

    async def send(self, raw: bytes) -> None:
        assert self._socket is not None
        await self._socket.send(raw)

    async def answer(self) -> None:
        assert self._socket is not None
        while True:
            raw = await asyncio.wait_for(self._socket.recv(decode=False), self.patience)
            if self._note(ForwardMsg.FromString(raw)):
                return


def state(widget: str, where: str, value: Any) -> WidgetState:
    """One widget's value in a message."""
    made = WidgetState(id=widget)
    if where.endswith("array_value"):
        getattr(made, where).data.extend(value)
        getattr(made, where).SetInParent()
    else:
        setattr(made, where, value)
    return made


def triggers(widget: str, event: Any) -> list[WidgetState]:
    """An event of a component, under every name that one may have."""
    return [state(widget, "json_trigger_value", json.dumps([{"event": name, "value": event}])) for name in NAMES]
