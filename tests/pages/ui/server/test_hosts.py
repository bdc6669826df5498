"""Which requests are answered: by the name they ask for, and by the path.

However the server is started: tests/e2e/test_servers.py.
"""

from http.client import HTTPConnection, HTTPResponse

import pytest
from streamlit import config

import app
from pages.ui.server import hosts
from tests.e2e.serving import PYTHON_APP, STREAMLIT, serve
from tests.e2e.test_servers import free_port
from tests.nightly import nightly

EVIL = "evil.example"
PATHS = ["/", "/heads", "/healthz", "/_stcore/health", "/_stcore/host-config", "/_stcore/stream", "/previews/masks.png"]
HANDSHAKE = {
    "Upgrade": "websocket",
    "Connection": "Upgrade",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Protocol": "streamlit",
}
CLOSED = [
    "script-health-check",
    "agent/interact",
    "agent/openapi.json",
    "agent/mcp",
    "bidi-components/x/y",
    "metrics/",
    "",
    "x",
]


OPTIONS = {"server.enableCORS": True, "server.corsAllowedOrigins": [], "browser.serverAddress": "localhost"}


def ask(address: str, path: str = "/healthz", method: str = "GET", **headers: str) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection(address.removeprefix("http://"), timeout=30)
    connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
    response = connection.getresponse()
    body = b"" if response.status == 101 else response.read()
    response.close()
    connection.close()
    return response, body


@pytest.mark.parametrize("path", PATHS)
def test_a_site_that_has_its_name_lead_here_is_refused(server, path):
    response, body = ask(server, path, Host=EVIL, Origin=f"http://{EVIL}")
    assert response.status == 421
    assert body.decode() == hosts.REFUSED
    assert "TFCORE_HOSTS" in hosts.REFUSED
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_its_websocket_is_refused_too(server):
    for host in (EVIL, f"{EVIL}:8501", f"localhost.{EVIL}", "192.168.1.7:8501"):
        response, body = ask(server, "/_stcore/stream", **HANDSHAKE, Host=host, Origin=f"http://{host}")
        assert (response.status, body.decode()) == (421, hosts.REFUSED)


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "localhost.:8501", "127.0.0.1", "127.0.0.1:80", "[::1]:8501"]
)
def test_names_of_this_machine_are_answered(server, host):
    assert ask(server, Host=host)[0].status == 200
    response, _ = ask(server, "/_stcore/stream", **HANDSHAKE, Host=host, Origin=f"http://{host}")
    assert response.status == 101


FOREIGN = [
    "http://localhost:1",
    "http://127.0.0.1:1",
    "http://{name}",
    "https://{name}",
    "http://[::1]:8501",
    "null",
    "",
]
UPLOAD = "/_stcore/upload_file/a/b"


@pytest.mark.parametrize("origin", FOREIGN)
@pytest.mark.parametrize("path", ["/healthz", "/_stcore/host-config", UPLOAD, "/_stcore/stream"])
def test_a_page_of_another_port_of_this_machine_is_refused(server, path, origin):
    """Streamlit itself lets in localhost with any port, and says so to a browser that asks before an upload."""
    host = server.removeprefix("http://")
    said = origin.format(host=host, name=host.partition(":")[0])
    handshake = HANDSHAKE if path.endswith("stream") else {}
    method = "OPTIONS" if path == UPLOAD else "GET"
    response, body = ask(server, path, method, **handshake, Host=host, Origin=said)
    assert (response.status, body.decode()) == (403, hosts.FOREIGN)
    assert "Access-Control-Allow-Origin" not in response.headers
    assert ask(server, path, method, **handshake, Host=host, Origin=server)[0].status in (200, 204, 101)


def test_behind_a_proxy_the_origin_is_that_of_the_host_it_passes_on(monkeypatch):
    monkeypatch.setattr(hosts.st, "get_option", OPTIONS.__getitem__)
    for origin, host in {
        "https://example.org": "example.org",
        "https://Example.org": "example.org:443",
        "http://example.org:80": "example.org",
        "http://localhost:8080": "localhost:8080",
        "http://[::1]:8501": "[::1]:8501",
    }.items():
        assert hosts.is_own(origin, host)
    assert not hosts.is_own("https://example.org", "127.0.0.1:8501")
    monkeypatch.setitem(OPTIONS, "browser.serverAddress", "example.org")
    assert hosts.is_own("https://example.org", "127.0.0.1:8501")
    monkeypatch.setitem(OPTIONS, "browser.serverAddress", "localhost")
    monkeypatch.setitem(OPTIONS, "server.corsAllowedOrigins", ["https://example.net"])
    assert hosts.is_own("https://example.net", "127.0.0.1:8501")
    assert not hosts.is_own("https://example.org", "127.0.0.1:8501")
    monkeypatch.setitem(OPTIONS, "server.enableCORS", False)
    assert hosts.is_own("https://example.org", "127.0.0.1:8501"), "whoever runs it wants that"


@pytest.mark.parametrize("path", CLOSED)
def test_what_no_browser_asks_for_is_not_there(server, path):
    assert ask(server, f"/_stcore/{path}")[0].status == 404


@pytest.mark.parametrize("path", ["/auth/login", "/auth/logout", "/oauth2callback"])
def test_there_is_no_login(server, path):
    assert ask(server, path)[0].status == 404


def test_numbers_of_the_server_are_for_this_machine_alone(server):
    assert b"cache_memory_bytes" in ask(server, "/_stcore/metrics")[1]
    through_a_proxy = {"X_Forwarded_For": "192.0.2.7"}
    assert ask(server, "/_stcore/metrics", **through_a_proxy)[0].status == 404


@nightly
def test_a_server_for_others_answers_to_any_name_or_to_those_it_is_given():
    with serve(*PYTHON_APP, HOST="0.0.0.0") as address:
        assert ask(address.replace("0.0.0.0", "127.0.0.1"), Host="example.org")[0].status == 200
        assert ask(address.replace("0.0.0.0", "127.0.0.1"), "/_stcore/metrics", Host="example.org")[0].status == 404
    with serve(*PYTHON_APP, TFCORE_HOSTS="example.org, *.example.net") as address:
        for host, status in {"example.org:8501": 200, "a.b.example.net": 200, "localhost": 200, EVIL: 421}.items():
            assert ask(address, Host=host)[0].status == status


@nightly
def test_on_streamlits_cloud_the_proxy_names_the_host(monkeypatch):
    """There `streamlit run app.py` is told no address, and listens for all."""
    monkeypatch.setattr(config, "_server_mode", "starlette-app")
    assert app.listening() == "0.0.0.0"
    command = [word.replace("server.address", "browser.serverAddress") for word in STREAMLIT]  # what it prints alone
    with serve(*command, free_port()) as address:
        assert ask(address, Host="name.streamlit.app")[0].status == 200


NAMES = {
    "example.org": "example.org",
    "Example.ORG:80": "example.org",
    "[::1]:8501": "::1",
    "localhost.": "localhost",
    "": "",
    " ": "",
    "a@localhost": "",
    "localhost/x": "",
    "localhost:x": "",
    "localhost:99999": "",
    "[::1": "",
}


@pytest.mark.parametrize("host", NAMES)
def test_a_host_header_has_one_name_or_none(host):
    assert hosts.name_of(host) == NAMES[host]


def test_names_are_allowed_as_they_are_written():
    for name in ("example.org", "a.example.net", "::1", "127.9.9.9", "2001:db8::1"):
        assert hosts.allowed(name, ("example.org", "*.example.net", "[2001:db8::1]"))
    for name in ("", "example.net", "notexample.net", "a.example.org", "example.org.evil.example", "192.0.2.1"):
        assert not hosts.allowed(name, ("example.org", "*.example.net"))
    assert hosts.allowed("", ("*",)), "a client of long ago names no host"


@pytest.mark.parametrize(
    "setting", ["https://example.org", "example.org:80", "a/b", "*.*", "*example.org", "a,,b c:d", "a;b"]
)
def test_a_name_that_no_request_has_is_one_sentence(monkeypatch, setting):
    monkeypatch.setenv("TFCORE_HOSTS", setting)
    with pytest.raises(ValueError, match=r"TFCORE_HOSTS='.+' is no host name; use for example example\.org"):
        app.check_settings()
