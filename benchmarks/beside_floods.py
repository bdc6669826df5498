"""Whether a flood of messages slows down others: `python -m benchmarks.beside_floods`.

One visitor drags a slider, /healthz is asked all the time, and one websocket is sent the same message as often as the
server takes it. Quiet times take turns with floods, so that whatever else the machine does is in both.
"""

import asyncio
import select
import socket
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from statistics import median
from threading import Event, Thread
from typing import Any
from urllib.parse import urlsplit
from urllib.request import urlopen

from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.typing import Subprotocol
from websockets.uri import parse_uri

from benchmarks import results
from benchmarks.crowd import milliseconds
from benchmarks.servers import APP, serving
from benchmarks.visitors import Visitor

ROUNDS, CHANGES = 4, 20  # each without the flood and beside it
LOOK, SLIDER = "/heads?text=A+dog+ran.", "head"


def rerun() -> BackMsg:
    message = BackMsg()
    message.rerun_script.page_name = "positions"
    return message


FLOODS = {
    "load_git_info": (Opcode.BINARY, BackMsg(load_git_info=True).SerializeToString()),
    "clear_cache": (Opcode.BINARY, BackMsg(clear_cache=True).SerializeToString()),
    "reruns": (Opcode.BINARY, rerun().SerializeToString()),
    "heartbeats": (Opcode.BINARY, BackMsg(app_heartbeat=True).SerializeToString()),
    "garbage": (Opcode.BINARY, b"\xff" * 100),
    "text": (Opcode.TEXT, b"hello"),
}


class Flood(Thread):
    """A websocket on which the same message is sent as often as the server takes it, until it is stopped or closed."""

    def __init__(self, address: str, opcode: Opcode, payload: bytes) -> None:
        super().__init__(daemon=True)
        self.where, self.stopped = urlsplit(address), Event()
        self.frame = Frame(opcode, payload).serialize(mask=True)
        self.sent = 0
        self.heard = b""

    def run(self) -> None:
        with socket.create_connection((self.where.hostname, self.where.port)) as line:
            line.sendall(self._handshake())
            assert line.recv(10_000).startswith(b"HTTP/1.1 101 ")
            line.setblocking(False)
            left = many = self.frame * 2_000
            while not self.stopped.is_set():
                readable, writable, _ = select.select([line], [line], [], 0.1)
                try:
                    if readable:
                        if not (heard := line.recv(1 << 20)):
                            return
                        self.heard = (self.heard + heard)[-1_000_000:]
                    if writable:
                        taken = line.send(left)
                        self.sent += taken
                        left = left[taken:] or many
                except ConnectionError:
                    return

    def _handshake(self) -> bytes:
        client = ClientProtocol(
            parse_uri(f"ws://{self.where.netloc}/_stcore/stream"), subprotocols=[Subprotocol("streamlit")]
        )
        client.send_request(client.connect())
        return b"".join(client.data_to_send())

    @property
    def messages(self) -> int:
        return self.sent // len(self.frame)


@contextmanager
def flooding(address: str, kind: str) -> Iterator[Flood]:
    flood = Flood(address, *FLOODS[kind])
    flood.start()
    try:
        yield flood
    finally:
        flood.stopped.set()
        flood.join(10)


async def health(address: str, waits: list[float]) -> None:
    """Ask /healthz again and again, until cancelled."""
    while True:
        start = time.perf_counter()
        with await asyncio.to_thread(urlopen, f"{address}/healthz") as answer:
            assert answer.status == 200
        waits.append(time.perf_counter() - start)
        await asyncio.sleep(0.02)


async def rounds(address: str, kind: str, count: int, changes: int) -> dict[str, Any]:
    """A row: milliseconds of a change alone and beside the flood, their ratio, and the slowest /healthz."""
    visitor, sent = Visitor(address + LOOK), 0
    alone, beside, waits = list[float](), list[float](), list[float]()
    await visitor.open()
    await visitor.drag(SLIDER, 24)  # what the slider shows is in the caches now
    for _ in range(count):
        visitor.seconds = alone
        await visitor.drag(SLIDER, changes)
        with flooding(address, kind) as flood:
            asking = asyncio.create_task(health(address, waits))
            visitor.seconds = beside
            await visitor.drag(SLIDER, changes)
            asking.cancel()
        sent += flood.messages
    await visitor.leave()
    return {
        "flood": kind,
        "messages": sent,
        "alone": milliseconds(alone, 0.5),
        "beside": milliseconds(beside, 0.5),
        "ratio": round(median(beside) / median(alone), 2),
        "healthz": milliseconds(waits, 1),
        "errors": visitor.errors,
    }


def measure(count: int = ROUNDS, changes: int = CHANGES) -> dict[str, Any]:
    """A row for each kind of message."""
    rows, busy = [], results.busy()
    with serving(APP, "/healthz") as server:
        for kind in FLOODS:
            rows.append(asyncio.run(rounds(server.address, kind, count, changes)))
            print(rows[-1], file=sys.stderr, flush=True)
    return results.stamped(rows) | {"busy": busy}


def table(result: Mapping[str, Any]) -> str:
    """The rows as a Markdown table."""
    heads = ["one websocket sends", "messages", "a change alone, ms", "beside them", "beside / alone", "/healthz, ms"]
    rows = [
        [
            row["flood"],
            f"{row['messages']:,}",
            *(f"{row[name]:.0f}" for name in ("alone", "beside")),
            f"{row['ratio']:.1f}",
            f"{row['healthz']:.0f} at most",
        ]
        for row in result["rows"]
    ]
    what = "One drags on heads while one websocket is sent the same message as fast as the server takes it"
    return results.table(heads, rows, what, result, f"other processes that wanted a core: {result['busy']:.0f}")


if __name__ == "__main__":
    sys.exit(results.command("beside_floods", __doc__, measure, (2, 12), table))
