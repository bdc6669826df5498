"""Visitors without a browser: they speak Streamlit's own protocol (protobuf over a websocket), open a page and drag.

What is timed is all that the server does for one change, from the message that asks for it to the last byte of the
answer: the script, the figures, their packing and the way through the socket.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, cycle
from urllib.parse import urlsplit

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState

PATIENCE = 120.0  # seconds for one answer; longer counts as an error


@dataclass(frozen=True, slots=True)
class Slider:
    """A slider as the server described it.

    Args:
        widget, fragment: ids; the fragment is empty where a change reruns the whole page.
        places: what the handle stands at from left to right: numbers, or the words of a list.
    """

    widget: str
    fragment: str
    places: Sequence[float] | Sequence[str]


@dataclass(slots=True)
class Visitor:
    """One person at one page.

    Args:
        address: of the page, with what the link says.
        seconds: how long each change took.
        errors: what went wrong, in words; exceptions that the page showed among them.
        progress: what stood on the last bar of progress, without Markdown's escapes.
        places: fragment -> the path of its container; other fragments may stand in it, and go when it is drawn
            without them.
    """

    address: str
    seconds: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    progress: str = ""
    places: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _socket: websockets.ClientConnection | None = None
    _sliders: dict[str, Slider] = field(default_factory=dict)
    _said: dict[str, WidgetState] = field(default_factory=dict)
    _page: str = ""
    _query: str = ""

    async def open(self, **headers: str) -> float:
        """Open the page: the seconds until it is complete."""
        where = urlsplit(self.address)
        self._query = where.query
        scheme = "wss" if where.scheme == "https" else "ws"
        self._socket = await websockets.connect(
            f"{scheme}://{where.netloc}/_stcore/stream",
            subprotocols=[websockets.Subprotocol("streamlit")],
            additional_headers=headers,
            max_size=None,
            ping_interval=None,
        )
        return await self._ask()

    async def look(self) -> float:
        """Have the page drawn once more: the seconds."""
        return await self._ask()

    async def leave(self) -> None:
        if self._socket is not None:
            await self._socket.close()

    async def drag(self, key: str, changes: int, pause: float = 0, start: int = 0) -> None:
        """Move the slider `key` place by place, to and fro, waiting for each answer."""
        if key not in self._sliders:
            self.errors.append(f"{self.address} has no slider {key!r}; it has {', '.join(self._sliders)}")
            return
        slider = self._sliders[key]
        for place in there_and_back(slider.places, start, changes):
            self._said[slider.widget] = state = WidgetState(id=slider.widget)
            (state.string_array_value if isinstance(place, str) else state.double_array_value).data.append(place)
            self.seconds.append(await self._ask(slider.fragment))
            if pause:
                await asyncio.sleep(pause)

    async def _ask(self, fragment: str = "") -> float:
        """Send all that the browser knows and read the answer to its end: the seconds."""
        if self._socket is None:
            raise RuntimeError("open the page first")
        message = BackMsg()
        run = message.rerun_script
        run.query_string, run.page_script_hash, run.fragment_id = self._query, self._page, fragment
        run.page_name = urlsplit(self.address).path.strip("/")
        run.widget_states.widgets.extend(self._said.values())
        start = time.perf_counter()
        await self._socket.send(message.SerializeToString())
        while True:
            raw = await asyncio.wait_for(self._socket.recv(decode=False), PATIENCE)
            if self._note(ForwardMsg.FromString(raw)):
                return time.perf_counter() - start

    def _note(self, message: ForwardMsg) -> bool:
        """Remember what a browser would; True at the end of a run after which the page does not run again by itself."""
        kind, path = message.WhichOneof("type"), tuple(message.metadata.delta_path)
        if kind == "delta" and len(path) <= len(self.places.get(message.delta.fragment_id, path)):
            self.places[message.delta.fragment_id] = path
        if kind == "navigation":
            self._page = message.navigation.page_script_hash
        elif kind == "page_info_changed":
            self._query = message.page_info_changed.query_string
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            element = message.delta.new_element
            if element.HasField("exception"):
                self.errors.append(f"{self.address}: {element.exception.type}: {element.exception.message}")
            elif element.HasField("progress"):
                self.progress = element.progress.text.replace("\\", "").replace("\u2060", "")
            elif element.HasField("slider") and not element.slider.disabled:
                slider = element.slider
                places = list(slider.options) or numbers(slider.min, slider.max, slider.step)
                key = slider.id.rpartition("-")[2]
                self._sliders[key] = Slider(slider.id, message.delta.fragment_id, places)
        return kind == "script_finished" and message.script_finished != ForwardMsg.FINISHED_EARLY_FOR_RERUN

    def stands_in(self, path: tuple[int, ...], fragment: str) -> bool:
        """Whether an element is part of a fragment, or of one within it."""
        where = self.places.get(fragment)
        return where is not None and path[: len(where)] == where


def numbers(least: float, most: float, step: float) -> list[float]:
    """The places of a slider of numbers, both ends among them."""
    return [least + i * step for i in range(round((most - least) / step) + 1)]


def there_and_back(places: Sequence[float] | Sequence[str], start: int, n: int) -> Iterator[float | str]:
    """n places, as a hand moves over them: from place `start` to the right end, to the left end, and so on."""
    last = len(places) - 1
    way = cycle(chain(range(last), range(last, 0, -1)) if last else [0])
    order = [index for index, _ in zip(way, range(start + 1 + n), strict=False)]
    return (places[i] for i in order[start + 1 :])
