"""A page as text that a person can read: its words as they stand, its controls, its figures and tables in outline.

A snapshot is no proof that something is right: that is what the tests beside the results are for. It shows that nothing
has changed, or, in the difference of a commit, what has. `python -m tests.pages.snapshot` makes all of them anew,
`python -m tests.pages.snapshot heads masks` those of some pages.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from os import environ
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from streamlit.testing.v1 import AppTest

from tests.comparison import NUMBER, says_the_same
from tests.pages.figures import FRAME, array, figures, kind_of, tables
from tests.pages.sights import set_by_buttons, sets
from tests.pages.visits import plain

ANEW = "TFCORE_RECORD"  # set where snapshots and records are written instead of compared
FOLDER = Path(__file__).parent / "snapshots"
MODULE = re.compile(r"\btfcore(?:\.\w+)*\.(?=\w)")  # where code stands, which is not what a page says
ROUNDING = re.compile(r"\d(?:\.\d+)?e-(?:0[5-9]|[1-9]\d+)")  # what rounding leaves, of any size
WORDS = ("title", "header", "subheader", "caption", "markdown", "latex", "info", "warning", "success", "error")
CONTROLS = (
    *("slider", "select_slider", "selectbox", "multiselect", "toggle", "checkbox"),
    *("text_input", "text_area", "number_input", "radio", "button_group"),
)
BOXES = ("column", "expander", "popover", "tab")  # what stands in them is indented
EXAMPLE = "== "  # before the name of an example, after an empty line
ROWS, NAMES, LONG = 2, 6, 120  # of a table, of a list, and signs of a text in one


def lines(
    test: AppTest, clicks: Mapping[str, Iterable[str]], *, live: bool = False, but: Sequence[str] = ()
) -> list[str]:
    """What a page shows, from top to bottom.

    Args:
        test: the page.
        clicks: key of a figure -> what clicks on it set, as "place: control value, ...".
        live: whether it shows times or a training: then its headings, controls and examples alone are told.
        but: names of figures and components whose numbers rounding decides.
    """
    return list(_Reader(test, clicks, live, but).block(test.main, 0))


class _Reader:
    def __init__(self, test: AppTest, clicks: Mapping[str, Iterable[str]], live: bool, but: Sequence[str]) -> None:
        self.figures, self.tables = figures(test), {} if live else tables(test)
        self.buttons, self.clicks, self.live, self.but = set_by_buttons(test), clicks, live, but

    def block(self, block: Any, depth: int) -> Iterator[str]:
        for part in block.children.values():
            if hasattr(part, "children"):
                within = list(self.block(part, depth + (part.type in BOXES)))
                if part.type in BOXES and within:
                    yield _indented(depth, f"[{part.type}] {_label(part)}".strip())
                yield from within
            else:
                yield from (_indented(depth, line) for line in self.element(part))

    def element(self, part: Any) -> Iterator[str]:
        kind = part.type
        if kind in WORDS:
            if not self.live or kind in ("title", "header", "subheader"):
                yield from f"{_heading(kind)}{part.value if kind == 'latex' else readable(part.value)}".splitlines()
        elif kind == "metric":
            if not self.live:
                yield f"metric {part.label}: {part.value} {part.delta}".rstrip()
        elif kind in CONTROLS and part.key:
            yield f"({plain(part.key)}) {part.label}: {_setting(part)}"
        elif kind in ("button", "download_button") and (not self.live or (part.key or "").startswith("try ")):
            given = self.buttons.get(plain(part.key or ""))
            yield f"[button] {readable(part.proto.label)}" + (f" sets {readable(sets(given))}" if given else "")
        elif kind == "page_link" and not self.live:
            yield f"[link] {readable(part.proto.label)} -> {part.proto.page}"
        elif kind in ("dataframe", "table") and not self.live:
            yield from _table(part.value)
        elif kind == "bidi_component" and not self.live:
            yield from self.component(part)

    def component(self, part: Any) -> Iterator[str]:
        name = kind_of(part.proto)
        if name == "tf_figure":
            head = json.loads(part.proto.bytes.partition(b"\n")[0])
            yield from self.figure(head["name"])
        elif name not in FRAME and name not in self.but:
            data = json.loads(part.proto.json or "{}")
            yield f"[{name}] " + readable(_outline(data))

    def figure(self, name: str) -> Iterator[str]:
        head, spec = self.figures[name]
        yield f"[figure {head['key']}] {head['height']} px"
        if name in self.but:
            return
        if head["alt"] not in head["caption"]:
            yield f"  alt: {readable(head['alt'])}"
        yield f"  {readable(head['caption'])}"
        yield from (f"  {line}" for line in _traces(spec["data"]))
        yield from (f"  {line}" for line in _layout(spec["layout"]))
        if set_by_clicks := sorted({one.rpartition(": ")[2].split(" ")[0] for one in self.clicks.get(head["key"], ())}):
            yield f"  a click sets {', '.join(set_by_clicks)}"
        if (table := self.tables.get(name)) is not None:
            yield from (f"  {line}" for line in _table(table))


def _label(box: Any) -> str:
    """The words on a box: of a tab, an expander, or of what opens a popover."""
    within = getattr(box.proto, {"expander": "expandable"}.get(box.type, box.type), box.proto)
    return readable(getattr(within, "label", ""))


def _indented(depth: int, line: str) -> str:
    return f"{'  ' * depth}{line}".rstrip().replace("\n", "⏎")


def _heading(kind: str) -> str:
    return {"title": "# ", "header": "## ", "subheader": "### ", "markdown": "", "caption": "small: "}.get(
        kind, f"{kind}: "
    )


def readable(text: str) -> str:
    """A text without Markdown's escapes, numbers that only rounding leaves, and modules of functions."""
    text = MODULE.sub("", text)
    return ROUNDING.sub("0", text.replace("\\\\", "\0").replace("\\", "").replace("\0", "\\").replace("\u2060", ""))


def _setting(element: Any) -> str:
    """What a control is set to, and what else it could be set to."""
    value = element.value
    if element.type == "button_group":
        value = ", ".join(element.formatted_values)
    ends = [f"{element.min} to {element.max} by {element.step}"] if hasattr(element, "step") else []
    if options := list(getattr(element, "options", [])):
        ends.append(f"{len(options)}: {_few(map(str, options))}")
    return "; ".join([readable(repr(value) if isinstance(value, str) and "\n" in value else str(value)), *ends])


def _few(words: Iterable[str], many: int = NAMES) -> str:
    words = list(words)
    kept = words if len(words) <= many + 1 else [*words[:many], "..."]
    return ", ".join(word if len(word) <= LONG else f"{word[:LONG]}..." for word in kept)


def _number(value: float) -> str:
    return f"{value:.4g}" if abs(value) >= 1e-4 else "0"


def _range(values: np.ndarray) -> str:
    flat = values.ravel().astype(float)
    flat = flat[np.isfinite(flat)]
    if not len(flat):
        return "nothing"
    low, high = _number(flat.min()), _number(flat.max())
    return low if low == high else f"{low} to {high}"


def _values(given: Any) -> np.ndarray | list[str] | None:
    """The numbers of an axis, or its words."""
    if isinstance(given, dict) and "bdata" in given:
        return array(given)
    if isinstance(given, list) and given:
        flat = [one for row in given for one in (row if isinstance(row, list) else [row])]
        if all(one is None or isinstance(one, int | float) for one in flat):
            return np.array([np.nan if one is None else one for one in flat], dtype=float)
        return [str(one) for one in flat]
    return None


def _traces(traces: Sequence[dict[str, Any]]) -> Iterator[str]:
    """A line for each trace: its kind, name, length and range; for traces that are alike in these but for numbers, the
    first and how many follow."""
    before, more = "", 0
    for trace in traces:
        line = _trace(trace)
        alike = NUMBER.sub("#", line)
        if alike == before:
            more += 1
            continue
        if more:
            yield f"  and {more} more like it"
        before, more = alike, 0
        yield line
    if more:
        yield f"  and {more} more like it"


def _trace(trace: dict[str, Any]) -> str:
    kind = f"{trace.get('type', 'scatter')} {trace.get('mode', '')}".strip()
    found = [kind + (f" “{readable(trace['name'])}”" if trace.get("name") else "")]
    for axis in ("x", "y", "z", "values"):
        values = _values(trace.get(axis))
        if isinstance(values, list):
            found.append(f"{axis} {_few(map(readable, values))}")
        elif values is not None:
            size = " x ".join(map(str, values.shape))
            found.append(f"{axis} {size}: {_range(values)}")
    words = {name: _values(trace.get(name)) for name in ("text", "labels")}
    found += [f"{k} {_few(dict.fromkeys(map(readable, v)))}" for k, v in words.items() if isinstance(v, list)]
    if hover := trace.get("hovertemplate"):
        found.append(f"hover “{readable(hover)}”")
    return ", ".join(found)


def _layout(layout: dict[str, Any]) -> Iterator[str]:
    """The axes by title and end, and what is written in the figure."""
    axes = []
    for key, axis in layout.items():
        if re.fullmatch(r"[xy]axis\d*", key):
            title = (axis.get("title") or {}).get("text", "")
            kind = "log" if axis.get("type") == "log" else ""
            ends = " to ".join(_number(end) for end in axis.get("range") or () if isinstance(end, int | float))
            ticks = _few(map(readable, map(str, axis["ticktext"]))) if axis.get("ticktext") else ""
            if said := ", ".join(filter(None, [f"“{readable(title)}”" if title else "", kind, ends, ticks])):
                axes.append(f"{key.replace('axis', '')} {said}")
    if axes:
        yield "axes: " + _few(axes)
    notes = [readable(one["text"]) for one in layout.get("annotations", ()) if one.get("text")]
    if notes:
        yield "notes: " + _few(dict.fromkeys(notes))
    if shapes := len(layout.get("shapes", ())):
        yield f"{shapes} shape{'s' * (shapes > 1)}"


def _table(frame: pd.DataFrame) -> Iterator[str]:
    """Columns and the first rows."""
    yield f"table of {len(frame)}: " + _few(map(readable, map(str, frame.columns)), 12)
    for _, row in frame.head(ROWS).iterrows():
        yield "  " + _few((_cell(value) for value in row), 12)


def _cell(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return _number(float(value)) if np.isfinite(value) else "-"
    return readable(str(value)).replace("\n", "⏎")


def _outline(node: Any) -> str:
    """Data of a component: its names, words and single numbers; of lists of numbers their length and range."""
    if isinstance(node, dict):
        return "{" + ", ".join(f"{key} {_outline(value)}" for key, value in node.items()) + "}"
    if isinstance(node, list):
        if isinstance(values := _values(node), np.ndarray):
            return f"{len(node)}: {_range(values)}"
        return f"{len(node)}: " + ", ".join(_outline(one) for one in node[:ROWS])
    if isinstance(node, bool) or node is None:
        return str(node)
    return _number(float(node)) if isinstance(node, int | float) else f"“{str(node)[:LONG]}”"


def new_lines(found: Sequence[str], before: Sequence[str]) -> list[str]:
    """Those lines that were not there before, in their order."""
    known = set(before)
    return [line for line in found if line not in known]


def compare(name: str, found: Sequence[str], whole: bool = True) -> list[str]:
    """Where a page differs from its snapshot, as lines that are gone (-) and new (+); none where it is made anew.

    Args:
        whole: whether its examples are among what was found.
    """
    file = FOLDER / f"{name}.txt"
    if ANEW in environ:
        if whole:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text("\n".join(found) + "\n", "utf-8")
        return []
    assert file.exists(), f"there is no snapshot of {name} yet: run python -m tests.pages.snapshot"
    known = file.read_text("utf-8")
    return changes(found, (known if whole else known.partition(f"\n\n{EXAMPLE}")[0]).splitlines())


def changes(found: Sequence[str], known: Sequence[str]) -> list[str]:
    """Lines that differ by more than what rounding decides of their numbers."""
    before, after = ([NUMBER.sub("#", line) for line in text] for text in (known, found))
    out: list[str] = []
    for tag, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag == "equal":
            for was, now in zip(known[a:b], found[c:d], strict=True):
                out += [] if says_the_same(now, was) else [f"- {was}", f"+ {now}"]
        else:
            out += [*(f"- {line}" for line in known[a:b]), *(f"+ {line}" for line in found[c:d])]
    return out


if __name__ == "__main__":
    which = "(snapshot or round)" + (f" and ({' or '.join(sys.argv[1:])})" if sys.argv[1:] else "")
    tests = ["tests/pages/test_every_page.py", "-k", which, "-m", "nightly or not nightly"]
    run = [sys.executable, "-m", "pytest", "-q", "-n", "2", *tests]
    sys.exit(subprocess.run(run, env=environ | {ANEW: "yes"}, check=False).returncode)
