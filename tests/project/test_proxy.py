"""nginx as deploy/nginx.conf sets it up, in front of two servers that do nothing but say who they are."""

import shutil
import socket
import ssl
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from string import Template
from threading import Thread

import pytest

from deploy.replicas import AROUND, configuration
from tests.e2e.test_servers import free_port

NGINX = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/bin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="nginx is not installed (apt-get install nginx-light)")


class Named(ThreadingHTTPServer):
    """A replica, as far as nginx can tell: it answers with its port, or with a header it was sent."""

    def __init__(self) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                header = self.path.partition("?")[2]
                body = (self.headers.get(header, "") if header else str(self.server.server_address[1])).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.daemon_threads = True
        Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def die(self) -> None:
        self.shutdown()
        self.server_close()


@contextmanager
def nginx(folder: Path, listen: str, site: str) -> Iterator[None]:
    assert NGINX is not None
    folder.chmod(0o711)
    (folder / "site.conf").write_text(site, "utf-8")
    (folder / "nginx.conf").write_text(Template(AROUND).substitute(folder=folder), "utf-8")
    with subprocess.Popen([NGINX, "-p", folder, "-c", folder / "nginx.conf", "-e", "stderr"]) as process:
        try:
            host, port = listen.split(":")
            for _ in range(100):
                with socket.socket() as probe:
                    if probe.connect_ex((host, int(port))) == 0:
                        break
                with pytest.raises(subprocess.TimeoutExpired):
                    process.wait(0.1)
            yield
        finally:
            process.terminate()


@pytest.fixture
def replicas() -> Iterator[list[Named]]:
    servers = [Named(), Named()]
    yield servers
    for server in servers:
        server.die()


def ask(where: str, path: str = "/", tls: ssl.SSLContext | None = None, **headers: str) -> tuple[HTTPResponse, str]:
    connection = HTTPSConnection(where, timeout=10, context=tls) if tls else HTTPConnection(where, timeout=10)
    connection.request("GET", path, headers=headers)
    response = connection.getresponse()
    body = response.read().decode()
    connection.close()
    return response, body


def test_visitors_are_spread_each_stays_and_only_those_of_a_dead_replica_move(tmp_path, replicas):
    where = f"127.0.0.1:{free_port()}"
    with nginx(tmp_path, where, configuration(where, [server.server_port for server in replicas])):
        cookies = [ask(where)[0].headers["Set-Cookie"].split(";")[0] for _ in range(60)]
        first = {cookie: ask(where, Cookie=cookie)[1] for cookie in cookies}
        assert min(Counter(first.values()).values()) > 10
        assert {cookie: ask(where, Cookie=cookie)[1] for cookie in cookies} == first
        dead = str(replicas[0].server_port)
        replicas[0].die()
        after = {cookie: ask(where, Cookie=cookie)[1] for cookie in cookies}
        assert dead not in after.values()
        assert all(after[cookie] == first[cookie] for cookie in cookies if first[cookie] != dead)


def test_whoever_sends_no_cookie_stays_by_browser_and_address(tmp_path, replicas):
    where = f"127.0.0.1:{free_port()}"
    with nginx(tmp_path, where, configuration(where, [server.server_port for server in replicas])):
        for browser in ("one", "two", "three"):
            assert len({ask(where, **{"User-Agent": browser})[1] for _ in range(5)}) == 1
        said = {browser: ask(where, **{"User-Agent": str(browser)})[1] for browser in range(40)}
        assert len(set(said.values())) == 2


def test_the_app_is_told_where_the_visitor_is(tmp_path, replicas):
    where = f"127.0.0.1:{free_port()}"
    with nginx(tmp_path, where, configuration(where, [server.server_port for server in replicas])):
        assert ask(where, "/?Host", Host="example.org:81")[1] == "example.org:81"
        assert ask(where, "/?X-Forwarded-For")[1] == "127.0.0.1"
        assert ask(where, "/?X-Forwarded-Proto")[1] == "http"


def test_with_tls_the_cookie_is_for_tls_and_browsers_remember_it(tmp_path, replicas):
    if shutil.which("openssl") is None:
        pytest.skip("openssl, which makes a certificate, is not installed")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*made, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    tls = ssl.create_default_context(cafile=str(certificate))
    tls.check_hostname = False
    where = f"127.0.0.1:{free_port()}"
    ports = [server.server_port for server in replicas]
    with nginx(tmp_path, where, configuration(where, ports, (str(certificate), str(key)))):
        response, proto = ask(where, "/?X-Forwarded-Proto", tls)
        assert proto == "https"
        assert response.headers["Set-Cookie"].endswith("; SameSite=Lax; Secure")
        assert response.headers["Strict-Transport-Security"] == "max-age=31536000"
