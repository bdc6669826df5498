"""Two replicas behind nginx: a visitor stays with one, and when that one dies, the other shows the same view."""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import expect

from deploy.replicas import Replicas, configuration, healthy
from tests.e2e.serving import SECONDS, get
from tests.e2e.test_servers import free_port
from tests.e2e.visitor import LAST
from tests.nightly import nightly

LINK = "/heads?layer=1&head=2&token=3&text=One+two%2C+one+two."


class Site:
    """The replicas, and the address of nginx in front of them."""

    def __init__(self, folder: Path) -> None:
        self.replicas = Replicas([int(free_port()), int(free_port())], again=False)
        self.where = f"127.0.0.1:{free_port()}"
        self.address = f"http://{self.where}"
        site = configuration(self.where, self.replicas.ports)
        self.thread = Thread(target=self.replicas.serve, args=(self.address, site, folder), daemon=True)
        self.thread.start()

    def wait(self) -> "Site":
        for _ in range(int(5 * SECONDS)):
            self.thread.join(0.2)
            assert self.thread.is_alive(), "the replicas ended"
            if self.replicas.proxy is not None and healthy(int(self.where.split(":")[1])):
                return self
        raise AssertionError("the replicas were not there in time")

    def sessions(self) -> dict[int, int]:
        """How many sessions each replica that lives has."""
        counts = {}
        for port in self.replicas.running:
            _, body = get(f"http://127.0.0.1:{port}", "/_stcore/metrics?families=active_sessions")
            found = re.search(r"^active_sessions\S* (\d+)", body.decode(), re.MULTILINE)
            counts[port] = int(found[1]) if found else 0
        return counts

    def close(self) -> None:
        self.replicas.stop()
        self.thread.join(20)


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    if not shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/bin"):
        pytest.skip("nginx is not installed (apt-get install nginx-light); the replicas are behind it")
    with tempfile.TemporaryDirectory() as folder, closing(Site(Path(folder))) as running:
        yield running.wait()


@nightly
def test_what_nginx_adds_and_what_it_leaves(site):
    page, _ = get(site.address, "/heads", **{"Accept-Encoding": "gzip"})
    assert page.headers["Content-Encoding"] == "gzip"
    assert "frame-ancestors 'self'" in page.headers["Content-Security-Policy"]
    assert page.headers["Server"] == "nginx"
    assert page.headers["Strict-Transport-Security"] is None, "that is for TLS"
    plotly = re.search(r"/assets/\w+/plotly\.min\.js", page.headers["Link"])
    assert plotly
    script, body = get(site.address, plotly[0], **{"Accept-Encoding": "gzip"})
    assert script.headers["Content-Encoding"] == "gzip"
    assert "immutable" in script.headers["Cache-Control"]
    assert len(body) < 2_000_000
    assert get(site.address, "/_stcore/metrics")[0].status == 404


@nightly
def test_a_visitor_gets_one_cookie_and_keeps_it(site):
    def given(**headers: str) -> list[str]:
        response, _ = get(site.address, "/", **headers)
        return [value for value in response.headers.get_all("Set-Cookie") or [] if value.startswith("replica=")]

    first = given()
    assert re.fullmatch(r"replica=[0-9a-f]{32}; Path=/; HttpOnly; SameSite=Lax", first[0])
    assert given() != first
    assert given(Cookie=first[0].split(";")[0]) == []
    assert len(given(Cookie="replica=not+one+of+ours")) == 1


@nightly
def test_killing_a_replica_loses_no_view(site, visit):
    visitor = visit(site.address).open(LINK)
    visitor.control("head").press("ArrowRight")
    visitor.expect_title("Layer 1, head 3")
    visitor.wait_for_address(head="3")
    visitor.settle(LAST["/heads"])
    names = ("closer", "mosaic", "one-token")
    before = {name: visitor.drawn(name) for name in names}
    counts = site.sessions()
    port = max(counts, key=counts.__getitem__)
    with visitor.page.expect_event("websocket"):  # the page connects again by itself
        site.replicas.running[port].kill()
    visitor.wait_until("() => !document.querySelector('[data-testid=stConnectionStatus]')")
    visitor.settle(LAST["/heads"])
    assert set(site.sessions().values()) == {1}, "the other one has it now"
    for name in names:
        visitor.expect_drawing(name, same=before[name])
    visitor.control("head").press("ArrowRight")  # and it goes on from there
    visitor.expect_title("Layer 1, head 4")

    other = visit(site.address).open(f"{urlsplit(visitor.page.url).path}?{urlsplit(visitor.page.url).query}")
    expect(other.box()).to_have_value("One two, one two.")
    other.expect_title("Layer 1, head 4")
    other.expect_drawing("mosaic", same=before["mosaic"])
    visitor.complaints = [words for words in visitor.complaints if "WebSocket" not in words]
