"""Limits on the size of uploaded files, for each visit and for all together, stored or still arriving.

Streamlit limits the size of one file and holds any number of them. Here a file is let in while there is room for it,
kept in memory and never written to disk, and let go of when its visit ends or, where room is short, when its visitor
is not connected.
"""

import asyncio
import re
from collections import Counter
from http import HTTPStatus
from typing import NoReturn

import streamlit as st
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartParser
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pages.ui import streamlit_internals as internals
from pages.ui.server import settings

MB = 1_048_576
FRAME = MB  # bytes that a request may have beside the file: as many as Streamlit allows
OF_ONE = 24 * MB  # bytes of one visit: a page has places for three files
LEAST = 65_536  # bytes that a file counts as at least, so that many small ones are no way around
PAUSE = 20.0  # seconds between two pieces of a file
LONGEST = 300.0  # seconds for all of it: 8 MB at 30 kB/s


def largest() -> int:
    """Bytes of the largest file."""
    return int(st.get_option("server.maxUploadSize")) * MB


class Uploads:
    """Counts what is uploaded as it arrives, and refuses what there is no room for, in a sentence."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.arriving: Counter[str] = Counter()  # session -> bytes
        # Streamlit leaves reading the request to Starlette, which moves a file over 1 MB to the disk.
        MultiPartParser.spool_max_size = largest() + FRAME

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":
            return await self._visit(scope, receive, send)
        to = internals.UPLOAD.search(scope["path"]) if scope["type"] == "http" and scope["method"] == "PUT" else None
        return await (self._upload(to[1], scope, receive, send) if to else self.app(scope, receive, send))

    async def _visit(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A connection; when it has ended, and nobody came back to the visit for as long as Streamlit waits for that,
        its files go."""
        try:
            await self.app(scope, receive, send)
        finally:
            if away := [session for session in internals.files() if not internals.is_connected(session)]:
                self._forget_later(away)

    async def _upload(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        """A file. Streamlit asks for its bytes once it knows the session and its token."""
        said = Headers(scope=scope).get("content-length", "")
        expected = int(said) if re.fullmatch(r"[0-9]{1,18}", said) else 0
        if expected > largest():
            return await PlainTextResponse(_too_large(), HTTPStatus.REQUEST_ENTITY_TOO_LARGE)(scope, receive, send)
        end = asyncio.get_running_loop().time() + LONGEST
        came = 0

        async def heard() -> Message:
            nonlocal came
            if not came:
                self._make_room(session, expected)
            try:
                async with asyncio.timeout(min(PAUSE, end - asyncio.get_running_loop().time())):
                    message = await receive()
            except TimeoutError:
                refuse(HTTPStatus.REQUEST_TIMEOUT, "The file came too slowly: try again, or use a smaller one.")
            more = max(len(message.get("body", b"")), 0 if came else LEAST)
            self._make_room(session, more, came)
            came += more
            self.arriving[session] += more
            return message

        try:
            await self.app(scope, heard, send)
        finally:
            self.arriving -= Counter({session: came})  # keeps what is above zero
            if came and not internals.is_connected(session):  # the visit may have ended meanwhile
                self._forget_later([session])

    def _make_room(self, session: str, more: int, came: int = 0) -> None:
        """Room for so many bytes of a visit, of whose file others came already.

        Raises:
            HTTPException: the file, the visit's files or all files would take more than they may.
        """
        most = settings.upload_bytes()
        if came + more > largest() + FRAME:
            refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _too_large())
        if self._held(session) + self.arriving[session] + more > OF_ONE:
            refuse(
                HTTPStatus.TOO_MANY_REQUESTS,
                f"Your files may have {OF_ONE // MB} MB together: remove one, or reload the page, and try again.",
            )
        for away in [one for one in internals.files() if not internals.is_connected(one)]:
            if self._all() + more > most:
                self._forget([away])
        if self._all() + more > most:
            refuse(
                HTTPStatus.INSUFFICIENT_STORAGE,
                f"The server holds as many files as it may ({most // MB} MB): try again in a few minutes.",
            )

    def _held(self, session: str) -> int:
        files = internals.files().get(session, [])
        return sum(max(len(file.data) + len(file.name) + len(file.type), LEAST) for file in files)

    def _all(self) -> int:
        return self.arriving.total() + sum(map(self._held, internals.files()))

    def _forget_later(self, sessions: list[str]) -> None:
        """When their visitors can no longer come back."""
        wait = st.get_option("server.disconnectedSessionTTL")
        asyncio.get_running_loop().call_later(wait, self._forget, sessions)

    def _forget(self, sessions: list[str]) -> None:
        for session in sessions:
            if not internals.is_connected(session):
                internals.forget_files(session)


def refuse(status: HTTPStatus, sentence: str) -> NoReturn:
    raise HTTPException(status, sentence)


def _too_large() -> str:
    return f"A file may have {largest() // MB} MB at most."
