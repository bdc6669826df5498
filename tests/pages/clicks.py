"""What a click on each figure of a page sets, by the page's own answer to it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from pages.ui import controls, links
from pages.ui.components import figure as drawing
from pages.ui.work import live
from tests.pages.figures import array

CURVES = 3  # of the first curves, and of the last one
NOTHING = {"x": None, "y": None, "customdata": None}
STRANGE: tuple[dict[str, Any], ...] = (
    NOTHING,
    {"x": -1, "y": -1, "customdata": -1},
    {"x": 10**6, "y": 0, "customdata": [10**6, 0]},
    {"x": 0, "y": 10**6, "customdata": [0, 10**6]},
    {"x": 0.5, "y": 0.5, "customdata": [-1, -1]},
    {"x": "", "y": "", "customdata": ["", ""]},
)


def record_clicks(monkeypatch: pytest.MonkeyPatch) -> dict[str, set[str]]:
    """Key of a figure -> what each click set, from now on: clicks on its marks, and such as no browser sends. Nothing
    is clicked while the page runs: only what it would set is noted."""
    clicked: dict[str, set[str]] = {}
    now: dict[str, Any] = {}  # what is clicked, and what that sets
    component = drawing._component
    event, one, other = drawing._event, controls.set_values, live.set_values

    def shown(*, key: str, data: bytes, on_click_change: Any, **more: Any) -> None:
        component(key=key, data=data, on_click_change=on_click_change, **more)
        first, _, rest = data.partition(b"\n")
        head = json.loads(first)
        if not head["click"]:
            return
        for click in clicks(json.loads(rest[: head["size"]])["data"]):
            now.update(click=click, sets={})
            on_click_change()
            said = ", ".join(f"{name} {str(value)[:40]}" for name, value in now["sets"].items())
            if said:
                clicked.setdefault(head["key"], set()).add(f"{_place(click)}: {said}")
        now.clear()

    monkeypatch.setattr(drawing, "_component", shown)
    monkeypatch.setattr(drawing, "_event", lambda *given: now["click"] if now else event(*given))
    away = links.go

    def gone(file: str, view: Mapping[str, str]) -> None:
        """To another page: while a click is only tried, the visitor stays."""
        now["sets"].update(view, page=file) if now else away(file, view)

    monkeypatch.setattr(links, "go", gone)
    for module, was in ((controls, one), (live, other)):
        monkeypatch.setattr(module, "set_values", lambda was=was, **to: now["sets"].update(to) if now else was(**to))
    return clicked


def _place(click: dict[str, Any]) -> str:
    data = click["customdata"]
    return f"x {click['x']}, y {click['y']}"[:60] if data is None else str(data)[:60]


def clicks(traces: Sequence[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Clicks on the first, the last and a mark between of the first curves and the last one; then STRANGE ones."""
    for curve in sorted({*range(min(CURVES, len(traces))), len(traces) - 1}):
        yield from _marks(curve, {name: _values(traces[curve].get(name)) for name in ("x", "y", "z", "customdata")})
    for strange in STRANGE:
        yield {"curve": 0, "point": 0, **strange}
    yield {"curve": 0, "point": [10**6, 0], **NOTHING}


def _marks(curve: int, values: dict[str, np.ndarray | None]) -> Iterator[dict[str, Any]]:
    x, y, z, customdata = (values[name] for name in ("x", "y", "z", "customdata"))
    if z is not None and z.ndim == 2 and z.size:
        rows, columns = z.shape
        for row, column in sorted(
            {(0, 0), (0, columns - 1), (rows // 2, columns // 3), (rows - 1, 0), (rows - 1, columns - 1)}
        ):
            named = {
                "x": column if x is None else _plain(x[column]),
                "y": row if y is None else _plain(y[row]),
                "customdata": None if customdata is None else _plain(customdata[row][column]),
            }
            yield {"curve": curve, "point": [row, column], **named}
    elif x is not None and y is not None:
        n = min(len(x), len(y))
        for i in sorted({0, n // 2, n - 1} if n else ()):
            data = None if customdata is None else _plain(customdata[i])
            yield {"curve": curve, "point": i, "x": _plain(x[i]), "y": _plain(y[i]), "customdata": data}


def _values(given: Any) -> np.ndarray | None:
    if given is None:
        return None
    return array(given) if isinstance(given, dict) else np.array(given, dtype=None if _is_regular(given) else object)


def _is_regular(given: list[Any]) -> bool:
    return all(isinstance(part, int | float) for part in given)


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value
