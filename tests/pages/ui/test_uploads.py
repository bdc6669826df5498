"""Files that visitors bring: a running server holds no more of them than it may, and no longer than their visit."""

import asyncio
import re
import resource
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import chain
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from starlette.exceptions import HTTPException
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from benchmarks.servers import APP, Server, serving
from benchmarks.visitors import Visitor
from pages.ui import streamlit_internals as internals
from pages.ui import uploads
from tests.nightly import nightly

MB = uploads.MB
OF_ONE, ALL = 24, 40  # megabytes
HEAD = b'Content-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n'


@dataclass(slots=True)
class Guest(Visitor):
    """Somebody at a page who knows the name of their visit."""

    session: str = ""

    def _note(self, message: ForwardMsg) -> bool:
        if message.WhichOneof("type") == "new_session":
            self.session = message.new_session.initialize.session_id
        return Visitor._note(self, message)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    limits = {"TFCORE_UPLOAD_MB": str(ALL), "STREAMLIT_SERVER_DISCONNECTED_SESSION_TTL": "1"}
    with serving(APP, "/healthz", **limits) as running:
        yield running
        assert running.troubles() == []


class Sender:
    """A client that sends files: over a connection of its own for each request."""

    def __init__(self, server: Server) -> None:
        self.where = urlsplit(server.address).netloc
        with closing(HTTPConnection(self.where, timeout=60)) as connection:
            connection.request("GET", "/_stcore/health")
            cookie = connection.getresponse().headers["Set-Cookie"]
        self.token = re.search(r"_streamlit_xsrf=([^;]+)", cookie)[1]

    def ask(self, method: str, session: str, name: str, body=None, **headers: str) -> tuple[int, str]:
        sent = {"X-Xsrftoken": self.token, "Cookie": f"_streamlit_xsrf={self.token}", **headers}
        with closing(HTTPConnection(self.where, timeout=60)) as connection:
            path = f"/_stcore/upload_file/{session}/{name}"
            connection.request(method, path, body, sent, encode_chunked=hasattr(body, "__next__"))
            response = connection.getresponse()
            return response.status, response.read().decode()

    def put(self, session: str, name: str, *parts: bytes, **headers: str) -> tuple[int, str]:
        return self.ask("PUT", session, name, form(*parts), **{"Content-Type": FORM, **headers})


FORM = "multipart/form-data; boundary=xx"


def form(*parts: bytes) -> bytes:
    return b"".join(b"--xx\r\n" + HEAD + part + b"\r\n" for part in parts) + b"--xx--\r\n"


def with_guests(server: Server, n: int, work) -> None:
    """Call work(sender, sessions) while so many visitors are there; afterwards they leave."""

    async def stay() -> None:
        guests = [Guest(server.address + "/history") for _ in range(n)]
        for guest in guests:
            await guest.open()
        try:
            await asyncio.to_thread(work, Sender(server), [guest.session for guest in guests])
        finally:
            for guest in guests:
                await guest.leave()

    asyncio.run(stay())


@nightly
def test_a_flood_of_files_takes_no_more_than_one_visit_may(server):
    def flood(sender: Sender, sessions: list[str]) -> None:
        before = server.megabytes()
        with ThreadPoolExecutor(4) as hands:
            said = Counter(hands.map(lambda i: sender.put(sessions[0], f"f{i}", bytes(7_900_000)), range(30)))
        taken = said.pop((204, ""))
        assert 1 <= taken <= 3
        assert said == {
            (429, f"Your files may have {OF_ONE} MB together: remove one, or reload the page, and try again."): 30
            - taken
        }
        assert server.megabytes() - before < 80
        assert sender.ask("DELETE", sessions[0], "f0")[0] == 204

    with_guests(server, 1, flood)


@nightly
def test_what_is_removed_replaced_or_of_a_visit_that_ended_makes_room(server):
    def fill(sender: Sender, sessions: list[str]) -> None:
        for _ in range(6):  # the same file, again and again
            assert sender.put(sessions[0], "same", bytes(7 * MB)) == (204, "")
        for name in ("b", "c"):
            assert sender.put(sessions[0], name, bytes(7 * MB))[0] == 204
        assert sender.put(sessions[0], "d", bytes(7 * MB))[0] == 429
        assert sender.ask("DELETE", sessions[0], "b")[0] == 204
        assert sender.put(sessions[0], "d", bytes(7 * MB))[0] == 204

    for _ in range(3):  # three times 21 of 40 MB: those of who left give room at once
        with_guests(server, 1, fill)


def test_no_byte_of_a_file_is_written_to_disk(server):
    """While the server may not write to files at all, a large one still gets in."""
    before = resource.prlimit(server.process, resource.RLIMIT_FSIZE)

    def send(sender: Sender, sessions: list[str]) -> None:
        resource.prlimit(server.process, resource.RLIMIT_FSIZE, (0, before[1]))
        try:
            assert sender.put(sessions[0], "large", bytes(7_900_000)) == (204, "")
        finally:
            resource.prlimit(server.process, resource.RLIMIT_FSIZE, before)

    with_guests(server, 1, send)


def test_who_has_no_visit_or_no_token_sends_and_removes_nothing(server):
    def try_it(sender: Sender, sessions: list[str]) -> None:
        own, stranger = sessions
        assert [sender.put(own, name, bytes(7 * MB))[0] for name in "abc"] == [204] * 3
        assert sender.put("nobody", "a", bytes(1000))[0] == 400
        for token in ("", "2|00000000|00000000000000000000000000000000|0"):
            assert sender.put(own, "a", b"other", **{"X-Xsrftoken": token})[0] == 403
            assert sender.ask("DELETE", own, "a", **{"X-Xsrftoken": token})[0] == 403
        for path in (stranger, "nobody", f"{stranger}%2F..%2F{own}"):
            sender.ask("DELETE", path, "a")
        assert sender.put(own, "d", bytes(7 * MB))[0] == 429, "nobody else made room"

    with_guests(server, 2, try_it)


def test_all_visitors_together_have_their_bound_and_one_can_still_leave(server):
    def fill(sender: Sender, sessions: list[str]) -> None:
        said = [sender.put(session, name, bytes(7 * MB)) for session in sessions for name in "abc"]
        full = (507, f"The server holds as many files as it may ({ALL} MB): try again in a few minutes.")
        assert Counter(said) == {(204, ""): 5, full: 4}

    with_guests(server, 3, fill)


def test_requests_that_lie(server):
    pieces = (b"x" * MB for _ in range(12))
    large = "A file may have 8 MB at most."

    def lie(sender: Sender, sessions: list[str]) -> None:
        own, kind = sessions[0], {"Content-Type": FORM}
        assert sender.ask("PUT", own, "a", chain([b"--xx\r\n" + HEAD], pieces), **kind) == (413, large)
        assert sender.put(own, "a", bytes(9 * MB)) == (413, large)
        assert sender.put(own, "a", *[bytes(5_000)] * 1_001)[0] == 400
        assert sender.put(own, "a", bytes(5), **{"Content-Type": "text/plain"})[0] == 400
        with suppress(ConnectionResetError):  # of a head that cannot be read the rest is not waited for
            assert sender.put(own, "a", **{"Content-Length": "9" * 5_000})[0] == 400
        assert sender.ask("PUT", own, "a", b"--xx\r\n" + b"A" * 2 * MB, **kind)[0] == 400
        said = Counter(sender.put(own, f"small{i}", b"x")[0] for i in range(OF_ONE * 16 + 3))
        assert said == {204: OF_ONE * 16, 429: 3}

    with_guests(server, 1, lie)


# ---- without a server ----


async def spoken(app, messages: list[dict], **changes) -> None:
    """One request to upload, of which these messages come, and then none any more."""
    left = list(messages)

    async def receive() -> Any:
        return left.pop(0) if left else await asyncio.Event().wait()

    scope = {"type": "http", "method": "PUT", "path": "/_stcore/upload_file/me/a", "headers": [], **changes}
    await app(scope, receive, None)


async def reading(scope, receive, send) -> None:
    while (await receive())["more_body"]:
        pass


@pytest.fixture
def alone(monkeypatch):
    """The limits before an app that reads to the end, and the files that are held."""
    manager = MemoryUploadedFileManager("/_stcore/upload_file")
    runtime = SimpleNamespace(uploaded_file_mgr=manager)
    monkeypatch.setitem(internals.UPLOADS.parts, "get_instance", lambda: runtime)
    monkeypatch.setattr(internals, "is_connected", lambda _: True)
    return uploads.Uploads(reading), manager


def test_who_is_slow_is_not_waited_for(alone, monkeypatch):
    limits, _ = alone
    piece = {"type": "http.request", "body": b"x", "more_body": True}
    for name in ("PAUSE", "LONGEST"):
        with monkeypatch.context() as patience:
            patience.setattr(uploads, name, 0.02)
            with pytest.raises(HTTPException, match="too slowly") as told:
                asyncio.run(spoken(limits, [piece] * 3))
            assert told.value.status_code == 408
    assert not limits.arriving, "and nothing of it is counted any more"


async def gone(manager: MemoryUploadedFileManager, session: str) -> None:
    """Wait until no file of a visit is held."""
    async with asyncio.timeout(5):
        while session in manager.file_storage:
            await asyncio.sleep(0.001)


FILE = UploadedFileRec("a", "a.png", "image/png", b"x")
NO_WAIT = {"server.disconnectedSessionTTL": 0, "server.maxUploadSize": 8}


def test_a_file_that_comes_when_its_visit_has_ended_is_let_go_of(alone, monkeypatch):
    limits, manager = alone
    monkeypatch.setattr(internals, "is_connected", lambda _: False)
    monkeypatch.setattr(uploads.st, "get_option", NO_WAIT.get)

    async def adding(scope, receive, send) -> None:
        await reading(scope, receive, send)
        manager.add_file("me", FILE)

    async def visit() -> None:
        limits.app = adding
        await spoken(limits, [{"type": "http.request", "body": b"x", "more_body": False}])
        assert manager.get_files("me", ["a"])
        await gone(manager, "me")

    asyncio.run(visit())


def test_files_go_when_their_visit_has_ended_and_not_before(alone, monkeypatch):
    """Of two visits whose connections broke off, one comes back in time."""
    limits, manager = alone
    here: set[str] = set()
    monkeypatch.setattr(internals, "is_connected", here.__contains__)
    monkeypatch.setattr(uploads.st, "get_option", NO_WAIT.get)

    async def nothing(*_) -> None:
        pass

    async def visit() -> None:
        limits.app = nothing
        for session in ("ended", "back"):
            manager.add_file(session, FILE)
        await limits({"type": "websocket"}, nothing, nothing)
        here.add("back")
        await gone(manager, "ended")
        assert manager.get_files("back", ["a"])

    asyncio.run(visit())
