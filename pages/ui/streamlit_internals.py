"""All that the app uses of Streamlit besides its public interface.

Each `Feature` names the private things it needs, and what is lost without them. Where a version of Streamlit lacks one,
the feature is off, the log says so in one line, and the server runs. The contract tests are test_streamlit_internals.py
for what is named here and e2e/test_streamlit_page.py for the elements of Streamlit's page; `make next` runs them with
the newest release.

In place of three other private uses there is a public one now: the address of the page is `st.navigation`'s, options
are read by `st.get_option`, and the ending of a run falls back on `st.stop`.
"""

import logging
import os
import re
import tomllib
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import streamlit as st
from streamlit.errors import StreamlitAPIException

FOLDER = Path(st.__file__).parent
VERSION = str(st.__version__)
LOG = logging.getLogger(__name__)


def find(path: str) -> Any:
    """The object at a path such as "package.module:Class.method", or the text of a file, "static/index.html".

    "module:Class#one,two" is the class, which must have the attributes, fields or constructor's attributes one and two.

    Raises:
        ImportError, AttributeError, OSError: it is not there.
    """
    module, _, rest = path.partition(":")
    if not rest:
        return (FOLDER / path).read_text("utf-8")
    names, _, wanted = rest.partition("#")
    found = attrgetter(names)(import_module(module))
    if wanted:
        fields = {field.name for field in found.DESCRIPTOR.fields} if hasattr(found, "DESCRIPTOR") else set()
        made = found.__init__.__code__.co_names if hasattr(found.__init__, "__code__") else ()
        known = {*dir(found), *getattr(found, "__dataclass_fields__", ()), *fields, *made}
        if missing := set(wanted.split(",")) - known:
            raise AttributeError(f"{path.partition('#')[0]} has no {', '.join(sorted(missing))}")
    return found


class Feature:
    """Something that the app does with private parts of Streamlit; off where one of them is missing.

    Args:
        lost: what does not work then, for the log.
        paths: of the parts, see `find`.
    """

    def __init__(self, lost: str, *paths: str) -> None:
        self.lost, self.paths = lost, paths
        self.parts: dict[str, Any] = {}
        try:
            self.parts = {re.split(r"[:./]", path.partition("#")[0])[-1]: find(path) for path in paths}
        except (ImportError, AttributeError, OSError) as problem:
            LOG.warning("Streamlit %s lacks something: %s. Without it, %s.", st.__version__, problem, lost)

    @property
    def on(self) -> bool:
        """Whether all parts are there."""
        return bool(self.parts)

    def __getitem__(self, name: str) -> Any:
        return self.parts[name]


# ---- the run of a page ----

_CONTEXT = "streamlit.runtime.scriptrunner:get_script_run_ctx"
STOP = Feature("a page that ends early does not show its last notices", "streamlit.runtime.scriptrunner:StopException")
HISTORY = Feature(
    "Back, Forward and links between pages may lose part of what the address says",
    _CONTEXT,
    "streamlit.runtime.scriptrunner:ScriptRunContext#query_string,is_history_navigation,session_id",
)


def _context() -> Any:
    return HISTORY["get_script_run_ctx"](suppress_warning=True) if HISTORY.on else None


def on_page() -> bool:
    """Whether this thread runs a page."""
    return _context() is not None


def query_string() -> str:
    """The address as the browser sent it: in its order, with every repetition, before Streamlit drops any of it."""
    return _context().query_string if on_page() else ""


def is_return() -> bool:
    """Whether this run follows Back or Forward in the browser."""
    return on_page() and bool(_context().is_history_navigation)


TOLD = Feature(
    "figures of default views are not sent ahead of the page",
    _CONTEXT,
    "streamlit.runtime.scriptrunner:ScriptRunContext#session_state",
    "streamlit.runtime.state.safe_session_state:SafeSessionState.get_widget_states",
)


def is_told() -> bool:
    """Whether the browser told this run what controls hold, as it does when it comes back to a server that was
    restarted; true where that is not known.
    """
    if not (TOLD.on and (context := TOLD["get_script_run_ctx"](suppress_warning=True))):
        return True
    return bool(context.session_state.get_widget_states())


def stopped() -> tuple[type[BaseException], ...]:
    """The exceptions that `stop` and `st.stop` raise, for `except`; none where that is not known."""
    return (STOP["StopException"],) if STOP.on else ()


def stop() -> None:
    """End the run, where that can be done. Unlike `st.stop`, which lets nothing more be drawn, this lets `finally`
    write the notices."""
    if STOP.on:
        raise STOP["StopException"]


# ---- names of the address that controls are bound to ----

# `st.query_params` refuses to touch names that a control is bound to by `bind="query-params"`, and nothing public
# changes what a new control is seeded from. These are the methods that Streamlit itself corrects addresses with.
_ADDRESS = "streamlit.runtime.state.query_params:QueryParams"
ADDRESS = Feature(
    "the address keeps what a control cannot be set to, and names of controls of the page before",
    _CONTEXT,
    "streamlit.runtime.scriptrunner:ScriptRunContext#session_state",
    "streamlit.runtime.state.safe_session_state:SafeSessionState.query_params",
    f"{_ADDRESS}.remove_param",
    f"{_ADDRESS}.set_corrected_value",
    f"{_ADDRESS}.set_initial_query_params_from_current",
    f"{_ADDRESS}.get_binding_for_param",
    f"{_ADDRESS}.unbind_widget",
    "streamlit.runtime.state.query_params:WidgetBinding#widget_id",
)


def rewrite(key: str, said: str | None) -> None:
    """Make the address say `said` of the bound control `key` (None: nothing), also for controls yet to be drawn."""
    if not (ADDRESS.on and on_page()):
        return
    with _context().session_state.query_params() as address:
        if said is None:
            address.remove_param(key)
        else:
            address.set_corrected_value(key, said, "string_value")
        address.set_initial_query_params_from_current()


def unbind(*keys: str) -> None:
    """Have controls of the page before let go of these names of the address."""
    if not (ADDRESS.on and on_page()):
        return
    with _context().session_state.query_params() as address:
        for key in keys:
            if (bound := address.get_binding_for_param(key)) is not None:
                address.unbind_widget(bound.widget_id)


# ---- the server ----

OPTIONS = Feature(
    "the variables STREAMLIT_... count under `streamlit run` alone",
    "streamlit.config:get_config_options",
    "streamlit.config:set_option",
    "streamlit.config_option:ConfigOption#env_var,multiple,type",
    "streamlit.byte_util:config_max_cache_data_size_to_bytes",
)
MODE = Feature(
    "under `streamlit run`, which host names are local is read off each connection", "streamlit.config:_server_mode"
)
OUTSIDE = Feature(
    "Streamlit asks a service outside for this server's address when a page of another site tries to connect",
    "streamlit.net_util:_external_ip",
)
NO_CONTEXT = "streamlit.runtime.scriptrunner_utils.script_run_context"  # logs that a cache is filled outside of a page


def read_options() -> None:
    """Let the variables STREAMLIT_... count, which Streamlit reads under `streamlit run` alone.

    Raises:
        ValueError: one is of another type than the option; or the bound of the caches is no size.
    """
    if not OPTIONS.on:
        return
    for name, option in OPTIONS["get_config_options"]().items():
        if (said := os.environ.get(option.env_var)) is not None:
            words = said.split() if option.multiple else said
            OPTIONS["set_option"](name, words if option.type is str else _typed(option.env_var, said, option.type))
    try:
        OPTIONS["config_max_cache_data_size_to_bytes"](st.get_option("server.maxCacheDataSize"))
    except StreamlitAPIException as problem:
        raise ValueError("STREAMLIT_SERVER_MAX_CACHE_DATA_SIZE is no size: use one such as 64mb, or 0") from problem


def _typed(variable: str, said: str, kind: type) -> object:
    try:
        value = tomllib.loads(f"value = {said}")["value"]
    except tomllib.TOMLDecodeError:
        value = None
    if type(value) is not kind and (type(value), kind) != (int, float):
        raise ValueError(f"{variable}={said!r} is no {kind.__name__}")
    return value


def by_streamlit_run() -> bool:
    """Whether `streamlit run` started this server."""
    return MODE.on and import_module("streamlit.config")._server_mode == "starlette-app"


def ask_nobody() -> None:
    """Streamlit takes this machine's own address for the one that it has outside, and asks no service for that."""
    if OUTSIDE.on:
        addresses: Any = import_module("streamlit.net_util")
        addresses._external_ip = "127.0.0.1"


# ---- messages of browsers ----

MESSAGES = Feature(
    "messages of browsers are neither checked nor paced",
    "streamlit.proto.BackMsg_pb2:BackMsg#rerun_script,stop_script,file_urls_request,app_heartbeat,"
    "backend_operation_request",
    "streamlit.proto.ClientState_pb2:ClientState#widget_states,fragment_id,page_script_hash,page_name,"
    "is_history_navigation",
    "streamlit.proto.WidgetStates_pb2:WidgetState#id,json_value,json_trigger_value,double_value,double_array_value",
    "streamlit.proto.ForwardMsg_pb2:ForwardMsg#script_finished",
)
if TYPE_CHECKING:
    from streamlit.proto.BackMsg_pb2 import BackMsg as BackMsg
    from streamlit.proto.ClientState_pb2 import ClientState as ClientState
    from streamlit.proto.ForwardMsg_pb2 import ForwardMsg as ForwardMsg
    from streamlit.proto.WidgetStates_pb2 import WidgetState as WidgetState
else:  # as annotations and, where the feature is on, as classes
    BackMsg, ClientState, ForwardMsg, WidgetState = (
        MESSAGES.parts.get(name, Any) for name in ("BackMsg", "ClientState", "ForwardMsg", "WidgetState")
    )

_STATE = "streamlit.runtime.state.session_state"
TYPES = Feature(
    "a control that is told a value of a wrong type shows an error until it is moved",
    f"{_STATE}:WStates#states,widget_metadata",
    f"{_STATE}:Serialized#value",
    f"{_STATE}:Value#value",
    "streamlit.runtime.state.common:WidgetMetadata#value_type,deserializer",
)


def expect_types() -> None:
    """From now on a widget holds its default when it is told a value of a type that it has not.

    Streamlit's lookup of what a widget was told is replaced by one to which such a value is none.
    """
    if not TYPES.on:
        return
    kept, told_raw, value = TYPES["WStates"], TYPES["Serialized"], TYPES["Value"]
    lookup = kept.__getitem__

    def of_its_type(states: Any, key: str) -> Any:
        told, metadata = states.states.get(key), states.widget_metadata.get(key)
        if isinstance(told, told_raw) and metadata is not None:
            kind = told.value.WhichOneof("value")
            if kind is not None and metadata.value_type is not None and kind != metadata.value_type:
                states.states[key] = value(metadata.deserializer(None))
        return lookup(states, key)

    kept.__getitem__ = of_its_type


# ---- files of visitors ----

UPLOADS = Feature(
    "files that visitors upload are limited one by one and not together",
    "streamlit.runtime:get_instance",
    "streamlit.runtime:Runtime#is_active_session,uploaded_file_mgr",
    "streamlit.runtime.memory_uploaded_file_manager:MemoryUploadedFileManager#file_storage,remove_session_files",
)


def files() -> dict[str, list[Any]]:
    """Session -> the files it has uploaded, each with `name`, `type` and `data`."""
    if not UPLOADS.on:
        return {}
    kept = UPLOADS["get_instance"]().uploaded_file_mgr.file_storage
    return {session: list(kept.get(session, {}).values()) for session in list(kept)}


def is_connected(session: str) -> bool:
    """Whether the visitor of this session is connected."""
    return not UPLOADS.on or UPLOADS["get_instance"]().is_active_session(session)


def has_left() -> bool:
    """Whether this thread runs a page whose visitor is no longer connected."""
    return on_page() and not is_connected(_context().session_id)


def leaving() -> Callable[[], bool]:
    """A question that any thread may ask from now on: is the visitor of this page no longer connected?"""
    if not (on_page() and UPLOADS.on):
        return lambda: False
    runtime, visitor = UPLOADS["get_instance"](), _context().session_id
    return lambda: not runtime.is_active_session(visitor)


def forget_files(session: str) -> None:
    """Let go of all files of a session."""
    UPLOADS["get_instance"]().uploaded_file_mgr.remove_session_files(session)


# ---- sessions of visitors who have left ----

GONE = Feature(
    "sessions of visitors who have left are kept by their age alone",
    "streamlit.runtime:get_instance",
    "streamlit.runtime:Runtime#_session_mgr",
    "streamlit.runtime.websocket_session_manager:WebsocketSessionManager#_session_storage",
    "streamlit.runtime.memory_session_storage:MemorySessionStorage#_cache",
)


def keep_few_sessions(most: int) -> None:
    """Keep at most so many sessions of visitors whose connection is gone, those that left last.

    Streamlit keeps 128 for two minutes, in case their visitors come back, and each takes up to 3 MB.
    """
    if GONE.on:
        storage = GONE["get_instance"]()._session_mgr._session_storage
        storage._cache = type(storage._cache)(maxsize=most, ttl=storage._cache.ttl)


# ---- addresses and files that the server has ----

# What Streamlit's page asks for below /_stcore/. The others are its numbers for whoever runs the server, an interface
# for programs, and checks that are off.
CORE = "/_stcore/"
NEEDED = re.compile(r"health|host-config|stream|upload_file/.+", re.DOTALL)
METRICS = f"{CORE}metrics"
UPLOAD = re.compile(rf"{CORE}upload_file/([^/]+)/[^/]+$")
LOGIN = ("/auth/login", "/auth/logout", "/oauth2callback")  # the app has no accounts

INDEX = Feature(
    "link previews show Streamlit's name, and scripts within the page are not limited to Streamlit's own",
    "static/index.html",
)
TITLE = "<title>Streamlit</title>"
# Where the page is told that its server answers. It would try the page's own address first, and wait in vain.
SERVER = "window.__streamlit = { BACKEND_BASE_URL: new URL('./', location.href).href }"


def index() -> str:
    """The HTML that every page begins as; empty where it is not known."""
    return INDEX.parts.get("html", "")


def bundles() -> dict[str, Path]:
    """Address -> file, of the scripts and styles of Streamlit's page."""
    return {path.relative_to(FOLDER / "static").as_posix(): path for path in FOLDER.glob("static/static/*/*.*s")}


# ---- elements of Streamlit's page, for styles; those in streamlit_internals.css belong to them ----

THEME = "stActiveTheme"  # what the name begins with under which a browser keeps the theme that its visitor chose
APP = '[data-testid="stApp"]'
AT_REST = '[data-test-script-state="notRunning"]'  # of the app: no run of the page is under way
BLOCK = '[data-testid="stMainBlockContainer"]'
COLUMN = '[data-testid="stColumn"]'
WRAPPER = '[data-testid="stLayoutWrapper"]'
PROGRESS = '[data-testid="stProgress"]'
STYLE = Path(__file__).with_suffix(".css")
