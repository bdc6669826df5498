"""Servers of the app as processes of their own, each on a free port of this machine."""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
SECONDS = float(os.environ.get("E2E_SECONDS", "60"))  # patience with servers and pages; two cores may be busy
PYTHON_APP = (sys.executable, "app.py")
UVICORN = (sys.executable, "-m", "uvicorn", "app:app", "--port", "0", "--ws", "websockets-sansio")
STREAMLIT = (sys.executable, "-m", "streamlit", "run", "app.py", "--server.address", "127.0.0.1", "--server.port")


class Output:
    """What a server says, read as it comes so that it never waits for a reader."""

    HOST = r"(http://(?:[\d.]+|localhost):\d+)"
    ADDRESS = re.compile(rf"(?:Serving|running) on {HOST}|URL: {HOST}|\] {HOST}/lab")

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.lines: list[str] = []
        self.address = ""
        self.told = threading.Event()
        self.reader = threading.Thread(target=self._read, args=(process,), daemon=True)
        self.reader.start()

    def _read(self, process: subprocess.Popen[str]) -> None:
        for line in process.stdout or ():
            self.lines = [*self.lines[-40:], line]
            if not self.address and (found := self.ADDRESS.search(line)):
                self.address = next(filter(None, found.groups()))
                self.told.set()
        self.told.set()

    def failure(self, problem: str) -> RuntimeError:
        return RuntimeError(f"{problem}; the server said:\n{''.join(self.lines)}")


@contextmanager
def serve(*command: str, cwd: Path = ROOT, health: str = "/healthz", **environment: str) -> Iterator[str]:
    """A server that can answer, stopped afterwards: its address, such as http://127.0.0.1:40123.

    Args:
        health: is no visit of a page, and there once it can answer.
    """
    with subprocess.Popen(
        command,
        cwd=cwd,
        env={**os.environ, "PORT": "0", "HOST": "127.0.0.1", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        output = Output(process)
        try:
            if not output.told.wait(SECONDS) or not output.address:
                raise output.failure("the server told no address")
            wait_until_healthy(process, output, health)
            yield output.address
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
            output.reader.join(5)


@contextmanager
def without_traceback(folder: Path, **environment: str) -> Iterator[str]:
    """The address of a server that, whatever its visitors do or send, notes no traceback; its notes are in a folder."""
    log = folder / "log"
    with serve("sh", "-c", f"exec '{sys.executable}' app.py 2> '{log}'", **environment) as address:
        yield address
    assert not re.search("Traceback|Error|Uncaught", log.read_text("utf-8"))


def wait_until_healthy(process: subprocess.Popen[str], output: Output, health: str = "/healthz") -> None:
    """Ask /healthz, which is no visit of a page, until the model answers."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        try:
            if get(output.address, health)[0].status == 200:
                return
        except (OSError, HTTPException):
            pass  # not listening yet
        try:
            process.wait(0.1)
        except subprocess.TimeoutExpired:
            continue
        raise output.failure("the server ended")
    raise output.failure(f"{health} was not 200 within {SECONDS:.0f} s")


def get(address: str, path: str, **headers: str) -> tuple[HTTPResponse, bytes]:
    """One request without a browser."""
    connection = HTTPConnection(urlsplit(address).netloc, timeout=SECONDS)
    try:
        connection.request("GET", path, headers=headers)
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()
