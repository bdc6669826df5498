"""Every way to start the app serves a deep link as its very first request, safely and compressed."""

import gzip
import re
import socket
from urllib.parse import quote_plus

import pytest
from playwright.sync_api import expect

from tests.e2e import truth
from tests.e2e.serving import PYTHON_APP, STREAMLIT, UVICORN, get, serve

TEXT = "A red cat & a red dog: 100% <b>friends</b> + $x$"


def free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


@pytest.mark.parametrize("command", [PYTHON_APP, UVICORN, STREAMLIT], ids=["python", "uvicorn", "streamlit"])
def test_a_deep_link_is_the_very_first_request(visit, command):
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
