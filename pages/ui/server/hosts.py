"""Answers requests only for this server's own host names, only from its own pages, and only at addresses that a browser
at the app needs.

Any site can have its own name lead to this machine (DNS rebinding). For the browser that page and this server are then
one site, so neither origins nor cookies keep it out; but the requests it sends name the site and not this server. A
page of another server on this machine is another origin, which Streamlit takes for its own: it lets in localhost with
any port. A proxy has to pass on the Host that the browser sent, as for Streamlit.

TFCORE_HOSTS    localhost where the server listens on this machine alone, else any; the names by which it is reached,
                such as example.org, *.example.org, or * for any; ports do not matter, and localhost is always answered
"""

import os
import re
from collections.abc import Callable
from ipaddress import ip_address
from urllib.parse import urlsplit

import streamlit as st
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from pages.ui.streamlit_internals import CORE, LOGIN, METRICS, NEEDED

REFUSED = (
    "This server does not answer to that host name; whoever runs it can allow the name by the setting TFCORE_HOSTS.\n"
)
FOREIGN = "This server answers its own pages alone, and this request comes from a page of another origin.\n"
PORTS = {"http": 80, "https": 443}


def read() -> tuple[str, ...]:
    """The host names of TFCORE_HOSTS; empty where it is not set.

    Raises:
        ValueError: a name that no request can have.
    """
    names = os.environ.get("TFCORE_HOSTS", "").replace(",", " ").lower().split()
    for name in names:
        if name != "*" and not re.fullmatch(r"(\*\.)?[\w-]+(\.[\w-]+)*|\[[0-9a-f:.]+\]", name, re.ASCII):
            raise ValueError(
                f"TFCORE_HOSTS={name!r} is no host name; use for example example.org, *.example.org, or * for any"
            )
    return tuple(names)


def name_of(host: str) -> str:
    """The name in a Host header, without the port; empty where it is invalid."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port  # raises for what is no port
    except ValueError:
        return ""
    return (parts.hostname or "").rstrip(".") if host.strip() and parts.netloc == host and "@" not in host else ""


def is_own(origin: str, host: str) -> bool:
    """Whether an Origin header names the server that a Host header does, or one that whoever runs it lets in by
    Streamlit's settings."""
    if not st.get_option("server.enableCORS") or origin in st.get_option("server.corsAllowedOrigins"):
        return True
    scheme, _, place = origin.partition("://")
    name, default = name_of(place), PORTS.get(scheme)
    if not name or default is None:
        return False
    if name == st.get_option("browser.serverAddress") and not is_local(name):
        return True
    return (name, _port(place, default)) == (name_of(host), _port(host, default))


def _port(host: str, default: int) -> int | None:
    try:
        return urlsplit(f"//{host}").port or default
    except ValueError:
        return None


def is_local(name: str) -> bool:
    """Whether a name or an address always means this machine: localhost and loopback addresses."""
    try:
        return name == "localhost" or ip_address(name).is_loopback
    except ValueError:
        return False


def allowed(name: str, names: tuple[str, ...]) -> bool:
    """Whether a server with these names answers to this one."""
    written = f"[{name}]" if ":" in name else name
    below = (known[1:] for known in names if known.startswith("*."))
    return is_local(name) or "*" in names or written in names or name.endswith(tuple(below))


class Hosts:
    """ASGI middleware that refuses other host names, and addresses that no browser at the app asks for.

    Args:
        address: what the server listens on; empty: that is not known, and each connection shows where it arrived.
    """

    def __init__(self, app: ASGIApp, address: Callable[[], str]) -> None:
        self.app, self.names, self.address = app, read(), address

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = self.app if scope["type"] == "lifespan" else self._refusal(scope) or self.app
        await answer(scope, receive, send)

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        """The answer to a request that is refused; None where it is not."""
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        name = name_of(host)
        if not allowed(name, self.names or (() if self._for_itself(scope) else ("*",))):
            return PlainTextResponse(REFUSED, status_code=421)
        if origin is not None and not is_own(origin, host):
            return PlainTextResponse(FOREIGN, status_code=403)
        if answered(scope["path"]) or (scope["path"] == METRICS and _from_here(scope, name)):
            return None
        return PlainTextResponse("not found\n", status_code=404)

    def _for_itself(self, scope: Scope) -> bool:
        """Whether this machine alone can reach the server."""
        return is_local(self.address() or (scope.get("server") or ("",))[0])


def answered(path: str) -> bool:
    """Whether a browser at the app needs this address of Streamlit's."""
    _, inside, rest = path.partition(CORE)
    return not path.endswith(LOGIN) and (not inside or bool(NEEDED.fullmatch(rest)))


def _from_here(scope: Scope, name: str) -> bool:
    """Whether a request comes from this machine itself; one through a proxy here has another name or address."""
    return is_local(name) and is_local((scope.get("client") or ("",))[0])
