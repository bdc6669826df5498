"""Every way to start the app serves a deep link as its very first request, safely and compressed."""

import gzip
import re
import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.parse import quote_plus, urlsplit

import pytest
from playwright.sync_api import expect

from tests.e2e.checks import truth
from tests.e2e.serving import PYTHON_APP, STREAMLIT, UVICORN, get, serve
from tests.nightly import nightly

TEXT = "A red cat & a red dog: 100% <b>friends</b> + $x$"


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


COMMANDS = {"python": PYTHON_APP, "uvicorn": UVICORN, "streamlit": STREAMLIT}


@nightly
@pytest.mark.parametrize("name", COMMANDS)
def test_a_deep_link_is_the_very_first_request(visit, name):
    command = COMMANDS[name]
    with serve(*command, *([free_port()] if command == STREAMLIT else [])) as address:
        visitor = visit(address).open(f"/heads?layer=1&head=2&token=3&text={quote_plus(TEXT)}")
        expect(visitor.box()).to_have_value(TEXT)
        visitor.expect_title("Layer 1, head 2")
        for key, value in {"layer": "1", "head": "2", "token": "3"}.items():
            expect(visitor.control(key)).to_have_value(value)
        expect(visitor.chips()).to_have_text(truth.chips(TEXT))
        expect(visitor.plot("closer")).to_be_visible()
        assert set(visitor.said()) == {"layer", "head", "token", "text"}, "opening a link does not rewrite it"
        visitor.leave()
        headers_are_safe_and_plotly_is_small(address)
        other_names_are_refused(address)


@pytest.fixture
def elsewhere():
    """Another site on this machine: its page /?ADDRESS shows that address in a frame."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(f'<iframe src="{urlsplit(self.path).query}"></iframe>'.encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as site:
        Thread(target=site.serve_forever, daemon=True).start()
        yield f"http://localhost:{site.server_port}"
        site.shutdown()


@nightly
def test_other_sites_may_show_the_app_only_where_that_is_switched_on(browser, server, elsewhere):
    with browser.new_context() as context, serve(*PYTHON_APP, TFCORE_EMBED=elsewhere) as address:
        page = context.new_page()
        page.goto(f"{elsewhere}/?{address}/heads")
        heading = page.frame_locator("iframe").get_by_role("heading", name="What does each head attend to?")
        expect(heading).to_be_attached()
    with browser.new_context() as context:
        page = context.new_page()
        with page.expect_event("requestfailed") as failed:
            page.goto(f"{elsewhere}/?{server}/heads")
        assert failed.value.url == f"{server}/heads"
        assert failed.value.failure == "net::ERR_BLOCKED_BY_RESPONSE"


def other_names_are_refused(address: str) -> None:
    """A site that has its name lead here: its pages could ask in a visitor's place."""
    stranger = {"Host": "evil.example", "Origin": "http://evil.example"}
    handshake = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13"}
    handshake |= {"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": "streamlit"}
    assert get(address, "/healthz", **stranger)[0].status == 421
    assert get(address, "/_stcore/stream", **handshake, **stranger)[0].status == 421


def headers_are_safe_and_plotly_is_small(address: str) -> None:
    page, _ = get(address, "/")
    assert "default-src 'self'" in page.headers["Content-Security-Policy"]
    assert "frame-ancestors 'self'" in page.headers["Content-Security-Policy"]
    assert page.headers["X-Content-Type-Options"] == "nosniff"
    path = re.search(r"/assets/\w+/plotly\.min\.js", page.headers["Link"])
    assert path
    plotly, body = get(address, path[0], **{"Accept-Encoding": "gzip"})
    assert "immutable" in plotly.headers["Cache-Control"]
    assert plotly.headers["Content-Encoding"] == "gzip"
    assert len(body) < 0.35 * len(gzip.decompress(body))
    assert get(address, "/healthz")[0].status == 200
