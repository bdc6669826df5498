"""The server: Streamlit's ASGI app with security headers, cached static files, a warm model and a health check.

All of these serve the same thing: `python app.py`, `uvicorn app:app --ws websockets-sansio`, `streamlit run app.py`.
The first is the fastest: a slider change costs about half of what it costs under `streamlit run`.

Environment: PORT (8501), HOST (127.0.0.1), TFCORE_EMBED (who may show the app in a frame: "*" or a list of origins),
and what settings.py, model_settings.py, run_settings.py, previews.py and hosts.py in pages/ui read: one table
in docs/settings.md has them all.
"""

import base64
import gzip
import hashlib
import logging
import os
import re
import socket
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any

import anyio.to_thread
import streamlit as st
import uvicorn
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

ROOT = Path(__file__).resolve().parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

os.environ.setdefault("HF_HUB_DISABLE_XET", "1")  # a download over plain HTTPS tells how far it is and can be stopped
# Threads of torch that wait for each other spin for 20,000 rounds and then sleep; by default they never do. Where other
# programs use the cores too, a browser for one, 32 tokens of smollm2 took 384 ms with two threads, and so 185 ms.
os.environ.setdefault("GOMP_SPINCOUNT", "20000")
# oneDNN writes a program for every shape of a matrix product, 0.6 MB with what torch notes of it, and 1,024 are kept by
# default: with texts of all lengths more than all models take. A text needs about five; to write one anew takes 1 ms.
for kept in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
    os.environ.setdefault(kept, "32")

from pages.ui import sentences, streamlit_internals, uploads  # noqa: E402  (needs the path above)
from pages.ui.components import assets  # noqa: E402
from pages.ui.loading import model_settings  # noqa: E402
from pages.ui.server import first_figures, first_pictures, hosts, log, memory, messages, previews, seen, settings, shelf  # noqa: E402
from pages.ui.work import run_settings  # noqa: E402

with suppress(ValueError):  # which check_settings says
    streamlit_internals.read_options()

FOR_EVER = "public, max-age=31536000, immutable"
DEFAULT_MODEL = "stories"
HOST = "127.0.0.1"
SESSIONS = 16  # of visitors who have left that are kept for their coming back


# ---- security headers ----


def frame_ancestors(setting: str) -> str:
    """Who may embed the app: itself, which draws figures of a saved shelf so, and the origins or "*" of TFCORE_EMBED.

    Raises:
        ValueError: a name that is no origin (it would end up in a header).
    """
    origins = setting.replace(",", " ").split()
    for origin in origins:
        if origin != "*" and not re.fullmatch(r"https?://[\w.*-]+(:\d+)?", origin):
            raise ValueError(f"TFCORE_EMBED={origin!r} is no origin; use for example https://example.org, or *")
    return " ".join(["'self'", *origins])


def content_policy(ancestors: str) -> str:
    """The Content-Security-Policy under which the app runs.

    Scripts come from this server, as a blob (Streamlit loads components' code that way) or are inline scripts, named by
    their hashes: those of Streamlit's own page, the one that says where the server is, and the one that shows the first
    picture. Styles are inline in Streamlit and plotly. Nothing leaves this server: a blob that is connected to is what
    the browser itself holds, such as a recording that it is about to send.
    No text is compiled into a script, so browser tools that have the page do that need to ask from outside instead.
    """
    inline = re.findall(r"<script>(.*?)</script>", streamlit_internals.index(), re.DOTALL)
    inline += [streamlit_internals.SERVER, first_pictures.SCRIPT]
    hashes = " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in inline)
    scripts = hashes if streamlit_internals.INDEX.on else "'unsafe-inline'"
    return "; ".join(
        [
            "default-src 'self'",
            f"script-src 'self' blob: {scripts}",
            "worker-src 'self' blob:",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "media-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            f"frame-ancestors {ancestors}",
        ]
    )


def early_hints() -> str:
    """Lets the browser fetch what figures need while Streamlit is still starting, instead of after it."""
    path = f"/assets/{assets.digest()}"
    needed = ("figure", "saving", "picture", "colours", "dom", "styles", "theme")
    modules = ", ".join(f"<{path}/{name}.js>; rel=modulepreload" for name in needed)
    return f"{modules}, <{path}/figure.css>; rel=preload; as=style, <{path}/plotly.min.js>; rel=preload; as=script"


class ResponseHeaders:
    """Adds the security headers to every HTTP response, and the early hints to pages."""

    def __init__(self, app: ASGIApp, embed: str = "") -> None:
        ancestors = frame_ancestors(embed)
        headers = {
            "Content-Security-Policy": content_policy(ancestors),
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "same-origin",
            "Permissions-Policy": "camera=(), microphone=(self), geolocation=()",
        }
        if ancestors == "'self'":
            headers["X-Frame-Options"] = "SAMEORIGIN"
        self.app = app
        self.headers = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        self.hints = (b"link", early_hints().encode())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def add(message: Message) -> None:
            if message["type"] == "http.response.start":
                own = list(message.get("headers", []))
                page = any(n == b"content-type" and v.startswith(b"text/html") for n, v in own)
                message["headers"] = own + self.headers + [self.hints] * page
            await send(message)

        await self.app(scope, receive, add if scope["type"] == "http" else send)


# ---- static files ----


def static_response(request: Request, plain: bytes, packed: bytes, kind: str) -> Response:
    """A file that never changes, compressed where the browser takes it."""
    headers = {"Cache-Control": FOR_EVER, "Vary": "Accept-Encoding", "Content-Type": assets.TYPES[kind]}
    if "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(plain, headers=headers)
    return Response(packed, headers={**headers, "Content-Encoding": "gzip"})


def asset(request: Request) -> Response:
    """Plotly and the figure script; an address of an older version answers 404, never with other contents."""
    name = request.path_params["name"]
    if request.path_params["digest"] != assets.digest() or name not in assets.contents():
        return Response("not found", status_code=404)
    return static_response(request, assets.contents()[name], assets.compressed(name), name.rsplit(".", 1)[-1])


def page(request: Request) -> Response:
    """Streamlit's page, with what others show of a link to this one."""
    scheme = request.headers.get("x-forwarded-proto", request.url.scheme)
    base = previews.base(request.headers.get("host", ""), scheme)
    url = request.url.path.rsplit("/", 1)[-1]
    first = "" if request.url.query else first_pictures.html(url, first_figures.address(url))
    said = seen.said(url, request.query_params.multi_items()) if request.url.query else ""
    return HTMLResponse(previews.html(url, base, first, said), headers={"Cache-Control": "no-cache"})


def picture(request: Request) -> Response:
    """The picture of a page."""
    found = previews.pictures().get(request.path_params["name"])
    if found is None:
        return Response("not found", status_code=404)
    return Response(found, media_type="image/png", headers={"Cache-Control": "public, max-age=86400"})


def first_picture(request: Request) -> Response:
    """What a page begins with, as a picture; an address of an older version answers 404."""
    found = first_pictures.pictures().get(request.path_params["name"])
    if found is None or request.path_params["digest"] != first_pictures.digest():
        return Response("not found", status_code=404)
    return Response(found, media_type="image/webp", headers={"Cache-Control": FOR_EVER})


def first_figure(request: Request) -> Response:
    """The live figure that a page begins with; an address of another one answers 404."""
    name = request.path_params["name"]
    found = first_figures.kept("" if name == previews.HOME else name)
    if found is None or request.path_params["digest"] != found.digest:
        return Response("not found", status_code=404)
    headers = {"Cache-Control": FOR_EVER, "Content-Encoding": "gzip"}
    return Response(found.packed, media_type="application/octet-stream", headers=headers)


async def shelf_notebook(request: Request) -> Response:
    """A notebook of what a browser has on its shelf; 400 or 413 and a sentence where that is none."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > shelf.LARGEST:
            sentence = f"A notebook is made of {shelf.LARGEST // 10**6} MB at most: remove some views."
            return PlainTextResponse(sentence, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    try:
        written = await anyio.to_thread.run_sync(shelf.notebook, body)
    except ValueError as problem:
        return PlainTextResponse(str(problem), HTTPStatus.BAD_REQUEST)
    return Response(written, media_type="application/x-ipynb+json", headers={"Cache-Control": "no-store"})


@cache
def packed_streamlit_file(name: str) -> bytes:
    return gzip.compress(streamlit_internals.bundles()[name].read_bytes(), compresslevel=6, mtime=0)


class CompressedBundles:
    """Streamlit sends its scripts (several MB) uncompressed; this sends them gzipped, each packed once."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.names = set(streamlit_internals.bundles())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        name = scope.get("path", "").lstrip("/")
        if scope["type"] != "http" or scope["method"] != "GET" or name not in self.names:
            return await self.app(scope, receive, send)
        request = Request(scope)
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return await self.app(scope, receive, send)
        packed = await anyio.to_thread.run_sync(packed_streamlit_file, name)
        return await static_response(request, b"", packed, name.rsplit(".", 1)[-1])(scope, receive, send)


# ---- warm start and health ----


class Warm:
    """Loads the default model and lets it answer once, beside the server, so that no visitor waits for it."""

    def __init__(self) -> None:
        self.ready = False
        self.word = "the default model is being loaded"

    def run(self) -> None:
        for name in assets.contents():
            assets.compressed(name)
        from tfcore.loading import real_models

        for name, said in real_models.damaged().items():
            log.write(f"{name} is left out: {said}")
        try:
            import torch

            from pages.ui import cache as shared  # the very instance that the pages will use
            from tfcore.training import compiler

            compiler.leave_out()
            # Small models gain little from a second thread, and lose much when visitors' threads wait for each other.
            torch.set_num_threads(settings.threads())
            model, tokenizer = shared.model(DEFAULT_MODEL)
            answer(model, tokenizer)
        except Exception as problem:  # a server without a model still shows what it can, and says what is missing
            self.word = f"the model {DEFAULT_MODEL!r} cannot answer: {sentences.without_paths(str(problem))}"
            log.write(self.word)
        else:
            self.ready, self.word = True, "the default model answers"
        real_models.fetch_missing()


def answer(model: Any, tokenizer: Any) -> None:
    """One real forward pass; raises if it does not give one finite number for every token of the vocabulary."""
    import torch

    ids = torch.tensor([tokenizer.encode("Once upon a time")])
    with torch.inference_mode():
        logits = model(ids).logits
    if logits.shape[-1] < tokenizer.vocab_size or not torch.isfinite(logits).all():
        raise RuntimeError("its forward pass gave no usable numbers")


warm = Warm()


def left_out() -> str:
    """Which real models are damaged, for the end of a sentence."""
    from tfcore.loading import real_models

    return "".join(f"; {name} is left out: {said}" for name, said in real_models.damaged().items())


async def healthz(_: Request) -> Response:
    """200 once a model has answered, 503 before, and one sentence that says which, and which are left out."""
    detail = warm.word + (await anyio.to_thread.run_sync(left_out) if warm.ready else "")
    body = {"status": "ok" if warm.ready else "unavailable", "detail": detail}
    return JSONResponse(body, status_code=200 if warm.ready else 503, headers={"Cache-Control": "no-store"})


def check_settings() -> None:
    """Raises ValueError, in a sentence that names the setting and what would work."""
    frame_ancestors(os.environ.get("TFCORE_EMBED", ""))
    previews.check()
    hosts.read()
    streamlit_internals.read_options()
    settings.check()
    model_settings.read()
    run_settings.read()


def keep_to_itself() -> None:
    """No note of who visits and what for, none that somebody else words, and no question to anybody outside.

    Addresses carry the visitors' texts, and Streamlit switches the logs of all addresses and connections on. When a
    page of another site tries to connect, Streamlit asks a service outside what this server's address is, and everyone
    waits for that.
    """
    log.install()
    logging.getLogger("uvicorn.access").disabled = True
    connects = re.compile(r'"WebSocket|^connection ')
    logging.getLogger("uvicorn.error").addFilter(lambda line: not connects.search(str(line.msg)))
    streamlit_internals.ask_nobody()
    # Filling a cache outside a page run is the point of a warm start; Streamlit warns of it.
    logging.getLogger(streamlit_internals.NO_CONTEXT).setLevel(logging.ERROR)


def listening() -> str:
    """The address that this server was told to listen on; empty under uvicorn's own command, which does not tell."""
    if __name__ == "__main__":
        return os.environ.get("HOST", HOST)
    by_streamlit = streamlit_internals.by_streamlit_run()
    return str(st.get_option("server.address") or "0.0.0.0") if by_streamlit else ""


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    keep_to_itself()
    streamlit_internals.expect_types()
    streamlit_internals.keep_few_sessions(SESSIONS)
    check_settings()  # a server with a setting that makes no sense says so, and does not start
    memory.bound()
    threading.Thread(target=warm.run, name="warm-start", daemon=True).start()
    yield
    if (lab := sys.modules.get("pages.ui.work.runs")) is not None:  # trainings and the processes that do them
        await anyio.to_thread.run_sync(lab.RUNS.close)


app = st.App(
    ROOT / "pages" / "router.py",
    lifespan=lifespan,
    routes=[
        Route("/healthz", healthz),
        Route("/assets/{digest}/{name}", asset),
        Route("/previews/{name}.png", picture),
        Route("/first/{digest}/{name}", first_picture),
        Route("/begin/{digest}/{name}", first_figure),
        Route("/shelf/notebook", shelf_notebook, methods=["POST"]),
        *[Route(f"/{url}", page) for url in previews.pages() if streamlit_internals.INDEX.on],
    ],
    middleware=[
        Middleware(ResponseHeaders, embed=os.environ.get("TFCORE_EMBED", "")),
        Middleware(hosts.Hosts, address=listening),
        Middleware(CompressedBundles),
        Middleware(messages.Messages),
        Middleware(uploads.Uploads),
    ],
)


class Server(uvicorn.Server):
    """Says the address once it really listens (with PORT=0 the system chooses a free port)."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            sys.stdout.write(f"Serving on http://{host}:{port}\n")
            sys.stdout.flush()


def main() -> None:
    os.chdir(ROOT)  # where .streamlit/config.toml is looked for
    try:
        check_settings()
        port = settings.whole("PORT", 8501, 0, 65_535, "port")
    except ValueError as problem:
        sys.exit(str(problem))
    sockets: dict[str, Any] = {"ws": "websockets-sansio", "ws_per_message_deflate": False}
    sockets["ws_max_size"] = messages.LARGEST  # a larger one closes its connection before it is read
    Server(uvicorn.Config(app, host=listening(), port=port, log_level="warning", access_log=False, **sockets)).run()


if __name__ == "__main__":
    main()
