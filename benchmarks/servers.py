"""Servers to be measured: each a process of its own on a free port, with its memory and what it complained of."""

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
APP = (sys.executable, "app.py")
# A page with nothing but a slider, as app.py's own `main` would serve it.
_UVICORN = (
    *(sys.executable, "-m", "uvicorn", "--log-level", "warning"),
    *("--ws", "websockets-sansio", "--ws-per-message-deflate", "false"),
)
EMPTY = (*_UVICORN, "benchmarks.served.empty:app")
PLAIN = (*_UVICORN, "benchmarks.served.plain:app")  # the same with one st.plotly_chart
TROUBLE = re.compile(r"^Traceback|\bERROR\b|\bException\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers."""

    address: str
    process: int
    log: Path

    def megabytes(self) -> float:
        """What it holds in memory now, shared libraries included."""
        return self._read("VmRSS")

    def peak(self) -> float:
        """The most that it held since it began, or since `forget_peak`."""
        return self._read("VmHWM")

    def forget_peak(self) -> None:
        """Let `peak` begin anew, with what it holds now."""
        Path(f"/proc/{self.process}/clear_refs").write_text("5", "utf-8")

    def _read(self, name: str) -> float:
        for line in Path(f"/proc/{self.process}/status").read_text("utf-8").splitlines():
            if line.startswith(name):
                return round(int(line.split()[1]) * 1.024e-3, 1)
        raise RuntimeError("the server has ended")

    def troubles(self) -> list[str]:
        """Lines of its log with errors."""
        return [line for line in self.log.read_text("utf-8").splitlines() if TROUBLE.search(line)]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(command: Sequence[str], health: str, patience: float = 120, **environment: str) -> Iterator[Server]:
    """A server, from the moment it is healthy; stopped afterwards.

    Raises:
        RuntimeError: it ended, or was not healthy in time; with what it said.
    """
    port = free_port()
    given = [*command, *(["--port", str(port)] if "uvicorn" in command else [])]
    said = {**os.environ, "OMP_NUM_THREADS": "1", "HOST": "127.0.0.1", "PORT": str(port), **environment}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with log.open("w") as out, subprocess.Popen(given, cwd=ROOT, env=said, stdout=out, stderr=out) as process:
            try:
                wait(f"127.0.0.1:{port}", health, process, log, patience)
                yield Server(f"http://127.0.0.1:{port}", process.pid, log)
            finally:
                process.terminate()
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()


def wait(where: str, health: str, process: "subprocess.Popen[bytes]", log: Path, patience: float) -> None:
    """Until the address `health` answers 200."""
    end = time.monotonic() + patience
    while process.poll() is None and time.monotonic() < end:
        if answers(where, health):
            return
        time.sleep(0.1)
    raise RuntimeError(f"{process.args!r} did not serve {health}; it said:\n{log.read_text('utf-8')[-4000:]}")


def answers(where: str, path: str) -> bool:
    """Whether a server says 200 to a request."""
    connection = HTTPConnection(where, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()
