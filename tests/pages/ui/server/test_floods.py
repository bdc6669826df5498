"""Floods of messages on a real server: /healthz answers, and another visitor's slider moves as it did."""

import asyncio
import os
import re
import select
import socket
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from urllib.parse import urlsplit

import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from websockets.client import ClientProtocol
from websockets.frames import Frame, Opcode
from websockets.uri import parse_uri

from benchmarks.visitors import Visitor
from tests.e2e.serving import get, without_traceback
from tests.nightly import often

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"
ROUNDS, CHANGES = (10, 40) if NIGHTLY else (2, 12)  # each without the flood and beside it
# Two cores may be busy with other tests: what a slider may take in any case. Unlimited, a flood of reruns held it for
# ten seconds, and one of load_git_info for a minute.
FLOOR = 0.4
SLOW = 1.0 if NIGHTLY else 3.0  # seconds for /healthz


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
        client = ClientProtocol(parse_uri(f"ws://{self.where.netloc}/_stcore/stream"), subprotocols=["streamlit"])
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


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[str]:
    """A server's address; whatever floods it, it notes no traceback."""
    with without_traceback(tmp_path_factory.mktemp("server"), OMP_NUM_THREADS="1") as address:
        yield address


def kept(address: str) -> int:
    """Bytes that the caches of results hold, by Streamlit's own count."""
    said = get(address, "/_stcore/metrics")[1].decode()
    return sum(int(size) for size in re.findall(r'cache_type="st_cache_data".* (\d+)', said))


async def health(address: str, waits: list[float]) -> None:
    """Ask /healthz again and again, until cancelled."""
    while True:
        start = time.perf_counter()
        assert (await asyncio.to_thread(get, address, "/healthz"))[0].status == 200
        waits.append(time.perf_counter() - start)
        await asyncio.sleep(0.02)


@pytest.mark.parametrize("kind", often(FLOODS, ["reruns"]))
def test_a_flood_is_nobody_elses_trouble(server, kind):
    alone: list[float] = []
    beside: list[float] = []
    waits: list[float] = []

    async def talk() -> tuple[int, bytes]:
        visitor, sent, heard = Visitor(f"{server}/heads?text=A+dog+ran."), 0, b""
        await visitor.open()
        await visitor.drag("head", 24)  # what the slider shows is in the caches now
        before = kept(server)
        for _ in range(ROUNDS):
            visitor.seconds = alone
            await visitor.drag("head", CHANGES)
            with flooding(server, kind) as flood:
                asking = asyncio.create_task(health(server, waits))
                visitor.seconds = beside
                await visitor.drag("head", CHANGES)
                while len(waits) < 5 or (flood.is_alive() and flood.messages < 2_000):
                    await asyncio.sleep(0.05)
                assert not asking.done(), asking.result()
                asking.cancel()
            sent, heard = sent + flood.messages, heard + flood.heard
        assert kept(server) >= before > 0, "the caches were emptied"
        assert visitor.errors == []
        await visitor.leave()
        return sent, heard

    sent, heard = asyncio.run(asyncio.wait_for(talk(), 1200 if NIGHTLY else 120))
    usual, now = statistics.median(alone), statistics.median(beside)
    figures = f"slider {1e3 * usual:.0f} ms alone, {1e3 * now:.0f} beside; /healthz {1e3 * max(waits):.0f} at most"
    sys.stdout.write(f"{kind}: {sent:,} messages; {figures}\n")
    assert max(waits) < SLOW
    assert now <= max(2 * usual, FLOOR)
    assert b"git_info" not in heard
    assert b"uncommitted" not in heard
