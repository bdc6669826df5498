"""What the app uses of Streamlit's inside: each name is there and does what we rely on; without it the server runs."""

import asyncio
import importlib.util
import inspect
import logging
import sys
from collections.abc import Callable
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
import streamlit as st
from streamlit.proto.WidgetStates_pb2 import WidgetState
from streamlit.testing.v1 import AppTest

from benchmarks.visitors import Visitor
from pages.ui import streamlit_internals as internals
from pages.ui import uploads
from pages.ui.server import messages
from tests.e2e.serving import get, serve
from tests.nightly import nightly
from tests.pages.visits import opened, run, said

FEATURES = {name: value for name, value in vars(internals).items() if isinstance(value, internals.Feature)}
PATHS = sorted({path for feature in FEATURES.values() for path in feature.paths})


# ---- each name is there ----


@pytest.mark.parametrize("path", PATHS)
def test_streamlit_has_it(path):
    internals.find(path)


def test_all_features_are_on():
    assert {name for name, feature in FEATURES.items() if not feature.on} == set()


# How each of them is called: the arguments, `self` first.
CALLS = {
    "get_script_run_ctx": ((), {"suppress_warning": True}),
    "remove_param": (("self", "key"), {}),
    "set_corrected_value": (("self", "key", "3", "string_value"), {}),
    "set_initial_query_params_from_current": (("self",), {}),
    "get_binding_for_param": (("self", "key"), {}),
    "get_widget_states": (("self",), {}),
    "unbind_widget": (("self", "id"), {}),
    "query_params": (("self",), {}),
    "get_config_options": ((), {}),
    "set_option": (("server.port", 1), {}),
    "config_max_cache_data_size_to_bytes": (("64mb",), {}),
    "get_instance": ((), {}),
}


@pytest.mark.parametrize("name", CALLS)
def test_it_takes_what_we_give_it(name):
    (function,) = {feature[name] for feature in FEATURES.values() if name in feature.parts}
    args, values = CALLS[name]
    inspect.signature(function).bind(*args, **values)


# ---- and does what we rely on ----


def shown(script: Callable[[], None], **address: str | list[str]) -> AppTest:
    test = AppTest.from_function(script)
    test.query_params.update(address)
    return run(test)


def test_after_a_stop_what_comes_last_is_still_drawn():
    def script() -> None:
        import streamlit as st

        from pages.ui import streamlit_internals

        assert streamlit_internals.on_page()
        try:
            streamlit_internals.stop()
        finally:
            st.caption("a notice")
        st.caption("never")

    assert said(shown(script), "caption") == "a notice"


def test_the_address_is_known_as_it_was_sent():
    def script() -> None:
        import streamlit as st

        from pages.ui import streamlit_internals

        st.caption(f"{streamlit_internals.query_string()} {streamlit_internals.is_return()}")

    assert said(shown(script, b="1", a=["2", "3"]), "caption") == "b=1&a=2&a=3 False"


def test_a_bound_control_is_drawn_with_what_the_address_was_made_to_say():
    def script() -> None:
        import streamlit as st

        from pages.ui import streamlit_internals

        streamlit_internals.rewrite("gone", None)
        streamlit_internals.rewrite("head", "3")
        st.slider("Head", 0, 7, 1, key="head", bind="query-params")
        st.slider("Gone", 0, 7, 1, key="gone", bind="query-params")

    test = shown(script, head="99", gone="5")
    assert [test.slider(key=key).value for key in ("head", "gone")] == [3, 1]


def test_a_name_that_was_let_go_of_can_be_written():
    def script() -> None:
        import streamlit as st

        from pages.ui import streamlit_internals

        st.slider("Head", 0, 7, 1, key="head", bind="query-params")
        try:
            st.query_params["head"] = "4"
        except st.errors.StreamlitAPIException:
            st.caption("bound")
        streamlit_internals.unbind("head", "none")
        st.query_params["head"] = "5"

    test = shown(script)
    assert said(test, "caption") == "bound"
    assert test.query_params["head"] == "5"


def test_outside_of_a_page_there_is_none():
    assert not internals.on_page()
    assert internals.query_string() == ""
    assert not internals.is_return()


@pytest.mark.parametrize(("told", "value"), [({"int_value": 5}, 5), ({"string_value": "x"}, 1)])
def test_a_widget_that_is_told_a_wrong_type_holds_its_default(monkeypatch, told, value):
    states = internals.TYPES["WStates"]
    monkeypatch.setattr(states, "__getitem__", states.__getitem__)  # as it was, afterwards
    metadata = internals.TYPES["WidgetMetadata"](
        id="w",
        deserializer=lambda said: 1 if said is None else said,
        serializer=lambda said: said,
        value_type="int_value",
    )
    internals.expect_types()
    widgets = states()
    widgets.set_widget_metadata(metadata)
    widgets["w"] = internals.TYPES["Serialized"](WidgetState(id="w", **told))
    assert widgets["w"] == value


def test_the_logger_that_warns_of_a_missing_page_has_this_name():
    assert import_module(internals.NO_CONTEXT)._LOGGER.name == internals.NO_CONTEXT


def test_streamlits_page_has_a_title_to_replace_and_scripts_to_allow():
    assert internals.index().count(internals.TITLE) == 1
    assert "<script>" in internals.index()
    assert internals.bundles()
    assert all(name.startswith("static/") and path.is_file() for name, path in internals.bundles().items())


def test_streamlits_page_reads_where_its_server_is():
    scripts = [
        path.read_text("utf-8") for name, path in internals.bundles().items() if "/index." in name and ".js" in name
    ]
    assert any("window.__streamlit" in script and "BACKEND_BASE_URL" in script for script in scripts)


def test_the_way_a_server_was_started_is_noted(monkeypatch):
    config = import_module("streamlit.config")
    monkeypatch.setattr(config, "_server_mode", "starlette-app")
    assert internals.by_streamlit_run()
    monkeypatch.setattr(config, "_server_mode", "asgi-server")
    assert not internals.by_streamlit_run()
    assert '"starlette-app"' in Path(import_module("streamlit.web.bootstrap").__file__ or "").read_text("utf-8")


# ---- where one is missing ----


def take_away(monkeypatch, path: str) -> None:
    """Make Streamlit one that does not have this."""
    module, _, rest = path.partition(":")
    names, _, fields = rest.partition("#")
    if not rest:
        monkeypatch.setattr(st, "__file__", "/nowhere/__init__.py")
        return
    place, _, name = names.rpartition(".")
    owner = attrgetter(place)(import_module(module)) if place else import_module(module)
    if fields:
        monkeypatch.setattr(owner, name, type(name, (), {}))
    else:
        monkeypatch.delattr(owner, name)


def imported_again() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pages.ui.internals_again", internals.__file__)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("path", PATHS)
def test_without_it_the_log_has_a_line_and_what_needs_it_is_off(monkeypatch, caplog, path):
    with monkeypatch.context() as streamlit, caplog.at_level(logging.WARNING):
        take_away(streamlit, path)
        again = imported_again()
    off = {name for name in FEATURES if not getattr(again, name).on}
    assert off == {name for name, feature in FEATURES.items() if path in feature.paths or inside(path, feature.paths)}
    assert len(caplog.records) == len(off)
    assert all(FEATURES[name].lost in caplog.text for name in off)


def inside(path: str, others: tuple[str, ...]) -> bool:
    """Whether a class that is taken away takes one of the others with it."""
    own = path.partition("#")[0]
    return "#" in path and any(other.partition("#")[0].startswith(own) for other in others)


@pytest.fixture
def nothing(monkeypatch) -> None:
    """A Streamlit that has none of it."""
    for feature in FEATURES.values():
        monkeypatch.setattr(feature, "parts", {})


@pytest.mark.usefixtures("nothing")
def test_without_any_everything_can_be_called():
    assert (internals.on_page(), internals.is_return(), internals.by_streamlit_run()) == (False, False, False)
    assert (internals.query_string(), internals.index(), internals.files()) == ("", "", {})
    assert internals.is_connected("anybody")
    internals.rewrite("head", "3")
    internals.unbind("head")
    internals.read_options()
    internals.ask_nobody()
    internals.expect_types()


@pytest.mark.usefixtures("nothing")
def test_without_any_messages_go_through_as_they_are():
    heard = []

    async def app(_, receive, send) -> None:
        heard.append((receive, send))

    asyncio.run(messages.Messages(app)({"type": "websocket"}, "receive", "send"))
    assert heard == [("receive", "send")]


@pytest.mark.usefixtures("nothing")
def test_without_any_a_file_still_has_a_largest_size():
    limits = uploads.Uploads(lambda *_: None)
    limits._make_room("me", uploads.largest())
    with pytest.raises(uploads.HTTPException, match="MB at most"):
        limits._make_room("me", 2 * uploads.largest())


@pytest.mark.usefixtures("nothing")
def test_without_any_pages_open_and_controls_move():
    test = opened("foundations/masks/page.py", kind="sliding window", window="999", text="one two three")
    test.slider(key="window").set_value(3)
    assert run(test).slider(key="window").value == 3
    test.switch_page("foundations/heads/page.py")
    assert said(run(test), "title") == "What does each head attend to?"


WITHOUT = """
import importlib, logging, runpy, sys
import streamlit

logging.basicConfig(filename=sys.argv[1], level=logging.WARNING)
find, streamlit.__file__ = importlib.import_module, "/nowhere/__init__.py"
def missing(name, *rest):
    if name.startswith("streamlit."):
        raise ImportError(f"there is no {name}")
    return find(name, *rest)
importlib.import_module = missing
import pages.ui.streamlit_internals
importlib.import_module = find
runpy.run_path("app.py", run_name="__main__")
"""


@nightly
def test_without_any_the_server_starts_and_pages_answer(tmp_path):
    log = tmp_path / "log"
    with serve(sys.executable, "-c", WITHOUT, str(log)) as address:
        response, body = get(address, "/heads")
        assert (response.status, b"<title>Streamlit</title>" in body) == (200, True)
        visitor = Visitor(f"{address}/heads?layer=2")
        asyncio.run(visit(visitor))
        assert visitor.errors == []
        assert len(visitor.seconds) == 3
    lines = [line for line in log.read_text("utf-8").splitlines() if "lacks something" in line]
    assert len(lines) == len(FEATURES)


async def visit(visitor: Visitor) -> None:
    """Open a page, and move a control of it."""
    await visitor.open()
    await visitor.drag("layer", 3)
    await visitor.leave()


def test_few_sessions_of_visitors_who_have_left_are_kept(monkeypatch):
    storage = import_module("streamlit.runtime.memory_session_storage").MemorySessionStorage(ttl_seconds=77)
    runtime = SimpleNamespace(_session_mgr=SimpleNamespace(_session_storage=storage))
    monkeypatch.setitem(internals.GONE.parts, "get_instance", lambda: runtime)
    internals.keep_few_sessions(3)
    for visitor in "abcde":
        storage.save(SimpleNamespace(session=SimpleNamespace(id=visitor)))
    assert [one.session.id for one in storage.list()] == ["c", "d", "e"]
    assert storage._cache.ttl == 77
