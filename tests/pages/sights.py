"""Everything a page shows, in few words and numbers, for a machine to compare."""

import json
import re
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from zlib import crc32

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.components import figure as drawing
from tests.pages.figures import FRAME, Everything, array, figures, heads, kind_of, tables
from tests.pages.visits import plain

DRAWN = (":figure", ":river", ":bars")  # what keys of pictures end with
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
ROUNDING = re.compile(r"\d(?:\.\d+)?e\\?-(?:0[5-9]|[1-9]\d+)")  # as Markdown has them
WORDS = ("title", "subheader", "caption", "info", "warning", "success")
LABELLED = ("button", "download_button", "expander", "page_link")
CONTROLS = (
    "slider",
    "select_slider",
    "selectbox",
    "multiselect",
    "toggle",
    "checkbox",
    "text_input",
    "number_input",
    "radio",
)


def said_and_set(test: AppTest) -> dict[str, Any]:
    """What a page says, and what its controls are and could be set to."""
    said = [element.value for kind in WORDS for element in getattr(test, kind)]
    said += [f"{metric.label}: {metric.value} {metric.delta}".strip() for metric in test.metric]
    for head in heads(test).values():
        said += [head["alt"], head["caption"]]
    said += _texts(test)
    elements = [e for kind in (*CONTROLS, "button_group") for e in test.get(kind) if getattr(e, "key", None)]
    controls = {named(element.key): _control(element) for element in elements}
    return {"words": said, "controls": controls}


def places(test: AppTest) -> dict[str, str]:
    """Key of each control and figure -> in which column or box of the page it stands, which button is coloured, and
    which label is hidden."""
    return dict(_places(test.main, "", False))


def _places(block: Any, path: str, nested: bool) -> Iterator[tuple[str, str]]:
    for i, part in block.children.items():
        if hasattr(part, "children"):
            number = f"{i + 1}. " if nested or part.type == "column" else ""  # on the page itself others come and go
            yield from _places(part, f"{path}{number}{part.type.replace('flex_container', 'box')} ", True)
        elif getattr(part, "key", None) and not part.key.endswith(
            (":view_told", ":shortcuts")
        ):  # which frame every page
            hidden = getattr(getattr(part.proto, "label_visibility", None), "value", 0)
            yield named(part.key), f"{path}{getattr(part.proto, 'type', '')}{' unnamed' if hidden else ''}".strip()


def named(key: str | None) -> str:
    """The key of a control or a figure, the name of any other widget."""
    return str(key) if str(key).endswith(DRAWN) else plain(str(key))


def set_by_buttons(test: AppTest) -> dict[str, dict[str, Any]]:
    """Key of each button -> what a click sets controls to."""
    known = test.session_state._state._state._new_widget_state.widget_metadata
    given = {named(button.key): known[button.proto.id].callback_kwargs for button in test.button}
    return {key: values for key, values in given.items() if values}


def sets(values: dict[str, Any]) -> str:
    """The controls that are set and their values, of a text how it begins."""
    return ", ".join(f"{key} {str(value)[:40]}" for key, value in values.items())


def ask_for_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every figure sends the numbers behind it along."""
    monkeypatch.setattr(drawing, "session", lambda: SimpleNamespace(csv_wanted=Everything()))


def drawn(test: AppTest) -> dict[str, list[list[Any]]]:
    """The parts of each figure, of each table and of each component, in a few numbers."""
    parts = {
        name: [*map(_summary, spec["data"]), _summary(spec["layout"] | _in_sight(head))]
        for name, (head, spec) in figures(test).items()
    }
    lists = {"lists": [_table(element.value) for element in test.dataframe]}
    return parts | _components(test) | {f"{k} as a table": [_table(v)] for k, v in tables(test).items()} | lists


def _in_sight(head: dict[str, Any]) -> dict[str, Any]:
    """From which width on a figure scrolls, what of it is in sight at first, and whether cells are marked."""
    found = {"at": head["at"], "cursor": head["cursor"], "minWidth": head["minWidth"]}
    return {key: _in_letters(value) for key, value in found.items() if value}


def _texts(test: AppTest) -> list[str]:
    """Paragraphs, formulas and labels."""
    texts = [
        f"{kind} {ROUNDING.sub('0', element.value)}" for kind in ("markdown", "latex") for element in test.get(kind)
    ]
    for kind in LABELLED:
        protos = [element.proto for element in test.get(kind)]
        texts += [f"{kind} {proto.label} {getattr(proto, 'query_string', '')}" for proto in protos]
    return texts


def _in_letters(number: Any) -> str:
    """A number as a word: compared exactly."""
    return str(number).translate(str.maketrans("0123456789", "ghijklmnop"))


def _components(test: AppTest) -> dict[str, list[list[float]]]:
    """What is handed to components that are no figures: maps of the model, tokens as chips, bars, the player."""
    found: dict[str, list[list[float]]] = {}
    for element in test.get("bidi_component"):
        if element.proto.json and kind_of(element.proto) not in FRAME:
            found.setdefault(kind_of(element.proto), []).append(_summary(json.loads(element.proto.json)))
    return found


def _table(frame: pd.DataFrame) -> list[Any]:
    """A table in a few words and numbers: its columns, and of each its length, mean, spread and centre of mass."""
    columns = {str(name): _values(frame[name]) for name in frame}
    kinds = {name: values for name, values in columns.items() if not any(isinstance(v, str) for v in values)}
    words = [f"{name}: {'|'.join(map(str, columns[name]))[:60]}" for name in columns if name not in kinds]
    return [len(frame), ", ".join(columns)[:300], words, _summary([np.array(v, dtype=float) for v in kinds.values()])]


def _values(column: pd.Series) -> list[Any]:
    if isinstance(column.dtype, np.dtype) and column.dtype != object:
        return column.tolist()
    return column.astype(object).where(column.notna(), np.nan).tolist()  # NaN for what pandas calls missing


def _control(element: Any) -> str:
    """What a control is set to, and what else it could be set to."""
    ends = [f"{name} {getattr(element, name)}" for name in ("min", "max", "step") if hasattr(element, name)]
    if options := getattr(element, "options", []):
        ends.append(f"of {len(options)}: {', '.join(options)[:200]}")
    return ", ".join([str(element.value), *ends])


def _summary(node: Any) -> list[float]:
    """A part of a figure in a few numbers: its words as a checksum, without digits; of each array of numbers its
    length, mean, spread and centre of mass."""
    texts, arrays = list[str](), list[np.ndarray | float]()
    for leaf in _leaves(node):
        if isinstance(leaf, str):
            texts.append(leaf)
        else:
            arrays.append(leaf)
    found = [float(crc32(NUMBER.sub("#", "|".join(texts)).encode()))]
    for values in arrays:
        if isinstance(values, float):  # an array of one, and there are many
            found.append(float(f"{values:.5g}") if np.isfinite(values) else 0.0)
            continue
        flat = values.ravel().astype(float)
        flat = flat[np.isfinite(flat)]
        place = np.arange(len(flat))
        weight = np.abs(flat).sum()
        centre = float((np.abs(flat) * place).sum() / weight) if weight else 0.0
        stats = [flat.mean(), flat.std()] if len(flat) else [0.0, 0.0]
        found += [float(len(flat)), *(float(f"{value:.5g}") for value in (*stats, centre))]
    return found


def _leaves(node: Any) -> Iterator[Any]:
    """The strings, arrays and single numbers of a figure."""
    if isinstance(node, np.ndarray):
        yield node
    elif isinstance(node, dict) and "bdata" in node:
        yield array(node)
    elif isinstance(node, dict):
        for key in sorted(node):
            yield key
            yield from _leaves(_in_letters(node[key]) if key == "height" else node[key])
    elif isinstance(node, list) and node and all(isinstance(part, int | float) for part in node):
        yield np.array(node, dtype=float)
    elif isinstance(node, list):
        for part in node:
            yield from _leaves(part)
    elif isinstance(node, int | float) and not isinstance(node, bool):
        yield float(node)
    else:
        yield str(node)
