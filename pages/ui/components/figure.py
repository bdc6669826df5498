"""Draws every figure of the app: plotly in the browser, with text alternative, downloads and clicks.

A page hands over a plotly figure with role colours; the browser draws it with `Plotly.react`, which changes the picture
in place (no flicker, zoom kept), in the colours of the theme, and sends clicks back. See figure.js for that half.

Streamlit sends a component's script along with every change, so the script here only loads figure.js, which the
browser keeps. Payload: one line of JSON (what to do), the figure as JSON, then a CSV if one was asked for.
"""

import json
import re
import zlib
from collections.abc import Callable, Container, Hashable, Mapping
from typing import Any, TypeAlias

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from pages.ui import cache, embedding, keys, links
from pages.ui.components import assets
from pages.ui.server import first_figures
from pages.ui.session import session

Table: TypeAlias = pd.DataFrame | Callable[[], pd.DataFrame]
Event: TypeAlias = dict[str, Any]

_HEAD = """const bytes = component.data, size = bytes.indexOf(10)
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(0, size)))
  component.parentElement.style.minHeight = head.height + "px\""""
LOADER = assets.loader("figure.js", _HEAD, "component, head, size + 1")
_component = st.components.v2.component("tf_figure", js=LOADER, isolate_styles=False)

LARGEST_INDEX = 10**7
LARGEST_NUMBER = 1e15
LONGEST_TEXT = 500
LONGEST_LIST = 16
MOST_SELECTED = 2_000  # marks


def figure(
    fig: go.Figure | Callable[[], go.Figure],
    *,
    key: str,
    alt: str,
    height: int,
    caption: str = "",
    about: Mapping[str, Any] | None = None,
    table: Table | None = None,
    on_click: Callable[[Event], None] | None = None,
    on_hover: Callable[[Event], None] | None = None,
    on_select: Callable[[list[Any]], None] | None = None,
    min_width: int = 0,
    at: int | None = None,
    cursor: bool = False,
    same: Hashable = None,
) -> None:
    """Show a figure.

    Args:
        fig: a figure with role colours, from `tfcore.charts` (its own height is replaced by `height`); or what
            makes one, called only where it is needed.
        key: names this figure on its page, and its downloads; changing data under the same key redraws in place.
        alt: the finding in words, for who cannot see the picture.
        height: of the picture, in pixels; fixed, so that nothing below it moves.
        caption: shown under the figure as plain text; markdown and HTML are shown literally.
        about: what a saved picture says besides, as `frame.about` has it.
        table: the numbers behind the figure for the CSV download; a function is called only when they are asked for.
        on_click: called as a Streamlit callback (before the rerun, so it may set widgets) with curve, point, x, y and
            customdata of the clicked mark.
        on_hover: the same for the mark under the pointer, after it rested there.
        on_select: called with the customdata of all marks within a box or a lasso that was drawn, none where it was
            taken away; the figure's `dragmode` says which of the two is drawn.
        min_width: on a narrower screen the figure scrolls sideways instead of shrinking further, in pixels.
        at: where in a picture of `min_width` the mark is that must be in sight, in pixels from the left.
        cursor: mark the row and the column under the pointer (heatmaps).
        same: what the picture depends on besides its key. While it stays, the picture is kept and not made again.
    """
    state = keys.own("figure", key)
    draw = fig if callable(fig) else lambda: fig
    body = _json(draw(), height, key) if same is None else _kept(key, height, same, draw)
    csv = _csv(table) if state in session().csv_wanted and table is not None else b""
    session().csv_wanted.discard(state)
    head = {
        "height": height,
        "size": len(body),
        "hash": zlib.crc32(body),
        "name": re.sub(r"\W+", "-", key).strip("-"),
        "alt": alt,
        "caption": caption,
        "minWidth": min_width,
        "at": at,
        "cursor": cursor,
        "csv": table is not None,
        "file": bool(csv),
        "click": on_click is not None,
        "select": on_select is not None,
        "hover": on_hover is not None,
        "key": key,
        "v": links.VERSION,
        "alone": embedding.is_alone(key),
        "open": embedding.is_allowed(),
        **(about or {}),
    }
    sent = json.dumps(head).encode() + b"\n" + body
    first_figures.keep(key, sent)
    with embedding.box(key):
        _component(
            key=state,
            data=sent + csv,
            on_click_change=lambda: _deliver(state, "click", on_click),
            on_hover_change=lambda: _deliver(state, "hover", on_hover),
            on_select_change=lambda: _select(state, on_select),
            on_download_change=lambda: _ask_for_csv(state),
        )


@cache.data(max_entries=64)
def _kept(key: str, height: int, same: Hashable, _draw: Callable[[], go.Figure]) -> bytes:  # noqa: ARG001 - a key
    return _json(_draw(), height, key)


def _json(fig: go.Figure, height: int, key: str) -> bytes:
    """The figure as compact JSON; arrays as base64 of their bytes, without plotly's 6 kB default template."""
    spec = fig.to_dict()
    layout = spec["layout"]
    layout.pop("template", None)
    layout["height"] = height
    layout.setdefault("uirevision", key)
    return json.dumps(spec, separators=(",", ":"), default=_plain, allow_nan=False).encode()


def _plain(value: Any) -> Any:
    """NumPy scalars and small arrays (titles, ticks) as plain numbers and lists, for json."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"a figure cannot hold a {type(value).__name__}")


def _csv(table: Table) -> bytes:
    """The table as CSV in UTF-8 (with the mark that makes spreadsheets read it as such)."""
    frame = table() if callable(table) else table
    # a field is quoted for the signs that end a row: with one of them alone, a token that is the other would end it
    return frame.to_csv(index=False, lineterminator="\r\n").encode("utf-8-sig")


def _ask_for_csv(state: str) -> None:
    """Callback of the CSV button: the next run sends the numbers along."""
    if _event(state, "download") == "csv":
        session().csv_wanted.add(state)


def _deliver(state: str, name: str, callback: Callable[[Event], None] | None) -> None:
    """Callback of a click or a hover: check what came from the browser, then hand it to the page."""
    event = checked(_event(state, name))
    if callback is not None and event is not None:
        callback(event)


def _select(state: str, callback: Callable[[list[Any]], None] | None) -> None:
    """Callback of a box or a lasso: check what came from the browser, then hand it to the page."""
    places = _event(state, "select")
    if callback is None or not isinstance(places, list) or len(places) > MOST_SELECTED:
        return
    if all(map(_is_value, places)):
        callback(places)


def _event(state: str, name: str) -> Any:
    events = st.session_state.get(state)
    return events.get(name) if isinstance(events, Mapping) else None


def checked(event: Any) -> Event | None:
    """An event from the browser with every part checked for type and size; None if it is not one.

    Anyone can send anything over a websocket, so a page may rely on no more than this: curve is an index, point an
    index or a pair of them, x, y and customdata are finite numbers, short texts, short lists of these, or None.
    """
    if not isinstance(event, dict) or not _is_index(event.get("curve")):
        return None
    point = event.get("point")
    pair = isinstance(point, list) and len(point) == 2 and all(_is_index(i) for i in point)
    values = {name: event.get(name) for name in ("x", "y", "customdata")}
    if not (pair or _is_index(point)) or not all(_is_value(v) for v in values.values()):
        return None
    return {"curve": event["curve"], "point": point, **values}


def place_of(event: Event, count: int) -> int | None:
    """Which of `count` places a mark stands for, as its customdata says; None if it says none of these."""
    place = event["customdata"]
    return place if isinstance(place, int) and 0 <= place < count else None


def name_of(event: Event, names: Container[str]) -> str | None:
    """Which of these names a mark stands for, as its customdata says; None if it says none of these."""
    name = event["customdata"]
    return name if isinstance(name, str) and name in names else None


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_INDEX


def _is_value(value: Any, nested: bool = False) -> bool:
    if isinstance(value, list):
        return not nested and len(value) <= LONGEST_LIST and all(_is_value(v, nested=True) for v in value)
    if isinstance(value, int | float):
        return abs(value) <= LARGEST_NUMBER  # false for not-a-number too
    return value is None or (isinstance(value, str) and len(value) <= LONGEST_TEXT)
