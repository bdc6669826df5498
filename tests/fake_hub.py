"""A stand-in for the Hugging Face hub on this machine: folders served the way the hub serves its models."""

import hashlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

COMMIT = "0123456789abcdef0123456789abcdef01234567"
PIECE = 1 << 14


class FakeHub(ThreadingHTTPServer):
    """Serves root/org/name as the model org/name.

    Args:
        sizes: file -> bytes that it claims to have, where it lies.
        gate: set: everything is sent at once; cleared: weights stop coming after their first piece.
        asked: names of the files that were fetched.
        parts: name, first and last byte of the parts of files that were.
        ranges: whether parts are given; a whole file is sent otherwise.
    """

    daemon_threads = True

    def __init__(self, root: Path, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.root, self.sizes, self.asked = root, dict[str, int](), list[str]()
        self.parts, self.ranges = list[tuple[str, int, int]](), True
        self.gate = threading.Event()
        self.gate.set()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: FakeHub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = self.path.partition("?")[0]
        if listing := re.fullmatch(r"/api/models/([\w.-]+/[\w.-]+)(?:/revision/\w+)?", path):
            return self._list(listing[1])
        if file := re.fullmatch(r"/([\w.-]+/[\w.-]+)/resolve/\w+/([\w.-]+)", path):
            return self._file(self.server.root / file[1] / file[2])
        return self._answer(404, b"{}")

    def _list(self, name):
        folder = self.server.root / name
        if not folder.is_dir():
            return self._answer(401, b"{}", **{"X-Error-Code": "RepoNotFound"})
        files = [
            {"rfilename": f.name, "size": self.server.sizes.get(f.name, f.stat().st_size)}
            for f in sorted(folder.iterdir())
        ]
        return self._answer(200, json.dumps({"id": name, "sha": COMMIT, "siblings": files}).encode())

    def _file(self, path):
        if not path.is_file():
            return self._answer(404, b"", **{"X-Error-Code": "EntryNotFound"})
        content = path.read_bytes()
        status, body, headers = 200, content, {"ETag": _etag(content), "X-Repo-Commit": COMMIT}
        if self.server.ranges and (wanted := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))):
            first, last = int(wanted[1]), min(int(wanted[2] or len(content)), len(content) - 1)
            if self.command == "GET":
                self.server.parts.append((path.name, first, last))
            status, body = 206, content[first : last + 1]
            stated = self.server.sizes.get(path.name, len(content))
            headers["Content-Range"] = f"bytes {first}-{last}/{stated}"
        elif self.command == "GET":
            self.server.asked.append(path.name)
        return self._answer(status, body, slow=path.suffix in (".safetensors", ".gguf"), **headers)

    def _answer(self, status, body, slow=False, **headers):
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        for start in range(0, len(body), PIECE):
            self.wfile.write(body[start : start + PIECE])
            if slow:
                self.server.gate.wait(30)


def _etag(content: bytes) -> str:
    return f'"{hashlib.sha1(content).hexdigest()}"'


@contextmanager
def serving(root: Path) -> Iterator[FakeHub]:
    """A hub for a while."""
    hub = FakeHub(root)
    thread = threading.Thread(target=hub.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.gate.set()
        hub.shutdown()
        hub.server_close()
        thread.join()
