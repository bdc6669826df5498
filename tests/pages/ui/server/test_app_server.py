"""The server as a visitor's browser and a supervisor meet it: a real process on a free port."""

import asyncio
import gzip
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import websockets
from streamlit import net_util

import app as server
from benchmarks.crowd import crowd
from pages.ui.components import assets
from pages.ui.server import first_pictures
from tests.nightly import nightly

ROOT = Path(__file__).resolve().parents[4]


@pytest.fixture(scope="module")
def log(tmp_path_factory) -> Path:
    """What the server writes down."""
    return tmp_path_factory.mktemp("server") / "log"


@pytest.fixture(scope="module")
def address(log) -> Iterator[str]:
    """A server started from another folder, as a supervisor might; ready when it says its address."""
    with log.open("w") as notes:
        process = subprocess.Popen(
            [sys.executable, str(ROOT / "app.py")],
            cwd=ROOT.parent,
            env={**os.environ, "PORT": "0", "HOST": "127.0.0.1", "OMP_DISPLAY_ENV": "verbose"},
            stdout=subprocess.PIPE,
            stderr=notes,
            text=True,
        )
    assert process.stdout is not None
    line = next((text for text in process.stdout if text.startswith("Serving on ")), "")
    assert line, "the server ended without serving"
    yield urlsplit(line.split()[-1]).netloc
    process.terminate()
    process.communicate(timeout=20)


def get(address: str, path: str, **headers: str) -> tuple[HTTPResponse, bytes]:
    return send(address, path, None, **headers)


def send(address: str, path: str, said: bytes | None, **headers: str) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection(address, timeout=30)
    connection.request("GET" if said is None else "POST", path, said, headers)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response, body


def test_a_deep_link_can_be_the_first_request(address):
    response, body = get(address, "/heads?head=3")
    assert response.status == 200
    assert b"<title>Attention heads - Inside the Transformer</title>" in body


def test_a_link_preview_shows_the_page_and_its_picture(address):
    _, body = get(address, "/masks?kind=causal")
    host = f'content="http://{address}/previews/'
    assert b'<meta property="og:title" content="Masks" />' in body
    assert host in body.decode()
    picture, data = get(address, "/previews/" + body.decode().split(host)[1].split('"')[0])
    assert picture.headers["Content-Type"] == "image/png"
    assert data.startswith(b"\x89PNG")
    _, body = get(address, "/masks", **{"X-Forwarded-Proto": "https"})
    assert host.replace("http:", "https:") in body.decode()
    for nothing in ("/previews/none.png", "/previews/..%2Ficon.png"):
        assert get(address, nothing)[0].headers["Content-Type"] != "image/png"
    assert get(address, "/masks/")[0].headers["Location"] == "/masks"


PATHS = [
    "/",
    "/heads",
    "/no-such-page",
    "/healthz",
    "/_stcore/health",
    "/_stcore/host-config",
    "/assets/none/plotly.min.js",
    f"/assets/{assets.digest()}/figure.js",
    "/static/index.html",
    "/static/js/none.js",
    "/media/none.png",
    "/favicon.png",
    "/_stcore/upload_file/a/b",
    "/component/none/index.html",
    "/..%2f..%2fetc/passwd",
    "/static/..%2f..%2f..%2fapp.py",
]


@pytest.mark.parametrize("path", PATHS)
def test_every_response_has_the_security_headers(address, path):
    response, _ = get(address, path)
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "frame-ancestors 'self'" in policy
    assert "object-src 'none'" in policy
    assert "connect-src 'self' blob:;" in policy  # a recording is a blob until it is sent
    assert "microphone=(self)" in response.headers["Permissions-Policy"]
    assert "unsafe" not in policy.split("script-src")[1].split(";")[0]
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["X-Frame-Options"] == "SAMEORIGIN"
    assert response.headers["Referrer-Policy"] == "same-origin"


@pytest.mark.parametrize(("origin", "let_in"), [("http://{}", True), ("https://elsewhere.example", False)])
def test_a_page_of_another_site_cannot_connect(address, log, origin, let_in):
    """Browsers let any page open a websocket; the server must look where it comes from."""

    async def connect() -> None:
        socket = f"ws://{address}/_stcore/stream"
        async with websockets.connect(socket, origin=origin.format(address), subprotocols=["streamlit"]):
            pass

    with nullcontext() if let_in else pytest.raises(websockets.InvalidStatus, match="403"):
        asyncio.run(connect())
    assert '"WebSocket' not in log.read_text("utf-8"), "nor is it noted who connects"


@nightly
def test_visitors_who_drag_at_once_meet_no_error(address):
    answers = asyncio.run(crowd(f"http://{address}", 3, 4))
    assert answers.errors == []
    assert len(answers.changes) == 12


def test_nobody_outside_is_asked_for_the_address_of_this_machine(monkeypatch):
    monkeypatch.setattr(net_util, "_external_ip", None)
    monkeypatch.setattr(net_util, "_make_blocking_http_get", lambda *_, **__: pytest.fail("it was asked"))
    server.keep_to_itself()
    assert net_util.get_external_ip() == "127.0.0.1"


def test_addresses_which_carry_texts_are_not_noted(log, address):
    get(address, "/heads?text=something+private")
    get(address, "/heads?text=something+private")  # the first one's line would be there by now
    assert "private" not in log.read_text("utf-8")


def test_no_address_is_noted_however_the_server_is_started(monkeypatch):
    """`python app.py` has a second lock; under uvicorn's own command this is the only one."""
    access = logging.getLogger("uvicorn.access")
    monkeypatch.setattr(access, "disabled", False)
    monkeypatch.setattr(server.warm, "run", lambda: None)
    monkeypatch.setattr(server.streamlit_internals, "expect_types", lambda: None)
    monkeypatch.setattr(server.streamlit_internals, "keep_few_sessions", lambda _: None)
    monkeypatch.delitem(sys.modules, "pages.ui.work.runs", raising=False)

    async def start() -> None:
        async with server.lifespan(server.app):
            pass

    asyncio.run(start())
    assert access.disabled
    words, values = '%s - "WebSocket %s" [accepted]', ("192.0.2.1:5", "/_stcore/stream?text=private")
    line = logging.LogRecord("uvicorn.error", logging.INFO, "", 0, words, values, None)
    assert not logging.getLogger("uvicorn.error").filter(line)


def test_an_upload_without_a_session_is_refused(address):
    connection = HTTPConnection(address, timeout=30)
    connection.request("PUT", "/_stcore/upload_file/nobody/nothing", b"x" * 1000)
    assert connection.getresponse().status in (400, 403), "an upload needs a session and its token"
    connection.close()


def test_threads_of_torch_that_wait_sleep_soon(address, log):
    spins = re.search(r"GOMP_SPINCOUNT = '(\d+)'", log.read_text("utf-8"))
    if spins is None:
        pytest.skip("this torch comes without GNU's OpenMP")
    assert spins[1] == "20000", "set before torch was loaded"


def test_a_wrong_setting_is_one_sentence_and_no_server():
    command, environment = [sys.executable, str(ROOT / "app.py")], {**os.environ, "TFCORE_TEXT": "5"}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
    assert result.returncode == 1
    assert result.stderr == "TFCORE_TEXT='5' is no number of characters: use a number from 100 to 20,000\n"


@pytest.mark.parametrize(
    "setting", ["TFCORE_TEXT=5", "TFCORE_MODELS=all", "TFCORE_EMBED=example.org", "TFCORE_HOSTS=a:80", "TFCORE_RUNS=x"]
)
def test_every_setting_is_looked_at_before_the_server_starts(monkeypatch, setting):
    monkeypatch.setenv(*setting.split("="))
    with pytest.raises(ValueError, match=setting.split("=")[0]):
        server.check_settings()


def test_plotly_is_compressed_and_kept_for_ever(address):
    path = f"/assets/{assets.digest()}/plotly.min.js"
    packed, body = get(address, path, **{"Accept-Encoding": "gzip"})
    plain, whole = get(address, path)
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body) == whole == assets.plotly_script()
    assert len(body) < 0.35 * len(whole)
    assert plain.headers["Content-Encoding"] is None
    for response in (packed, plain):
        assert "immutable" in response.headers["Cache-Control"]
        assert "Accept-Encoding" in response.headers["Vary"]
        assert response.headers["Content-Type"].startswith("text/javascript")


def test_a_page_announces_the_files_it_will_need(address):
    page, _ = get(address, "/masks")
    announced = re.findall(rf"</assets/{assets.digest()}/([\w.]+)>", page.headers["Link"])
    scripts = ["figure.js", "saving.js", "picture.js", "colours.js", "dom.js", "styles.js", "theme.js"]
    assert announced == [*scripts, "figure.css", "plotly.min.js"]
    assert set(announced) <= set(assets.contents())
    assert get(address, "/healthz")[0].headers["Link"] is None


def test_streamlit_bundles_are_compressed(address):
    _, page = get(address, "/")
    name = page.decode().split('src="./static/js/')[1].split('"')[0]
    packed, body = get(address, f"/static/js/{name}", **{"Accept-Encoding": "gzip"})
    plain, whole = get(address, f"/static/js/{name}")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(body) == whole
    assert plain.headers["Content-Encoding"] is None


def test_a_notebook_of_a_shelf_is_made_of_what_is_sent_and_of_nothing_else(address):
    call = ["masks.allowed", {"model": "stories", "text": "a b", "mask": {}}]
    stops = [{"title": "A mask", "note": "", "address": "", "call": call}]
    response, body = send(address, "/shelf/notebook", json.dumps({"title": "T", "stops": stops}).encode())
    assert (response.status, response.headers["Content-Type"]) == (200, "application/x-ipynb+json")
    assert "shown = allowed(\n" in json.loads(body)["cells"][2]["source"]
    refused = {b"{": (400, "This is no shelf"), b"x" * 2_000_001: (413, "A notebook is made of 2 MB at most")}
    for said, (status, sentence) in refused.items():
        response, body = send(address, "/shelf/notebook", said)
        assert (response.status, body.decode().startswith(sentence)) == (status, True)


@pytest.mark.parametrize("path", ["/assets/old/figure.js", "/assets/{digest}/../app.py", "/assets/{digest}/app.py"])
def test_nothing_else_is_served_as_an_asset(address, path):
    assert get(address, path.format(digest=assets.digest()))[0].status in (400, 404)


def test_health_is_one_sentence_of_json_and_never_cached(address):
    response, body = get(address, "/healthz")
    report = json.loads(body)
    assert response.status == (200 if report["status"] == "ok" else 503)
    assert report["detail"]
    assert "\n" not in report["detail"]
    assert response.headers["Cache-Control"] == "no-store"


class Model:
    """Stands for a checkpoint: gives logits of a chosen width and value."""

    def __init__(self, width: int, value: float) -> None:
        self.width, self.value = width, value

    def __call__(self, ids):
        import torch

        return type("Output", (), {"logits": torch.full((*ids.shape, self.width), self.value)})


class Tokenizer:
    vocab_size = 5

    def encode(self, _: str) -> list[int]:
        return [1, 2]


def test_a_warm_start_needs_a_real_answer():
    server.answer(Model(5, 0.0), Tokenizer())
    for broken in (Model(3, 0.0), Model(5, float("nan"))):
        with pytest.raises(RuntimeError, match="no usable numbers"):
            server.answer(broken, Tokenizer())


def test_a_missing_model_is_a_sentence_and_not_a_crash(monkeypatch, capsys):
    from pages.ui import cache

    def missing(name: str):
        raise FileNotFoundError(f"no checkpoint {name}")

    monkeypatch.setattr(cache, "model", missing)
    warm = server.Warm()
    assert not warm.ready
    warm.run()
    assert not warm.ready
    assert warm.word == "the model 'stories' cannot answer: no checkpoint stories"
    assert "no checkpoint" in capsys.readouterr().err


def test_a_warm_start_that_answers_is_ready(monkeypatch):
    from pages.ui import cache

    monkeypatch.setattr(cache, "model", lambda _: (Model(5, 0.0), Tokenizer()))
    warm = server.Warm()
    warm.run()
    assert warm.ready


def test_embedding_is_off_unless_switched_on():
    assert server.frame_ancestors("") == "'self'"
    assert server.frame_ancestors("*") == "'self' *"
    assert (
        server.frame_ancestors("https://a.example, http://b.example:81")
        == "'self' https://a.example http://b.example:81"
    )
    for bad in ("a.example", "https://a.example; script-src *", "https://a\r\nX: y", "javascript:alert(1)"):
        with pytest.raises(ValueError, match="TFCORE_EMBED"):
            server.frame_ancestors(bad)
    headers = dict(server.ResponseHeaders(lambda *_: None, embed="*").headers)
    assert b"x-frame-options" not in headers
    assert b"frame-ancestors 'self' *" in headers[b"content-security-policy"]


def test_a_first_picture_is_sent_without_parameters_alone_and_kept_for_ever(address):
    assert b"tf-first" in get(address, "/masks")[1]
    assert b"tf-first" not in get(address, "/masks?kind=causal")[1]
    digest = first_pictures.digest()
    response, sent = get(address, f"/first/{digest}/masks-wide-dark.webp")
    assert (response.status, response.headers["Content-Type"]) == (200, "image/webp")
    assert sent == first_pictures.pictures()["masks-wide-dark.webp"]
    assert "immutable" in response.headers["Cache-Control"]
    for path in (f"/first/{digest}/nothing.webp", "/first/000000000000/masks-wide-dark.webp"):
        assert get(address, path)[0].status == 404
