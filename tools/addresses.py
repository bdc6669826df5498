"""Which controls of which page take the arguments of which view, stored in tfcore/views/addresses.json: of that a view
in a notebook makes its link into the app.

`python -m tools.addresses` finds out, with names of pages for these alone: it opens each section at its defaults, then
with one control changed at a time, and keeps which controls the arguments of its views follow exactly.
"""

import json
import os
import sys
import time
from collections import ChainMap
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import Any

from streamlit.testing.v1 import AppTest

from pages import facts
from pages.ui.server import previews
from pages.ui.work.workers import WithoutMain
from tfcore.views.addresses import FILE, ShownAt, arguments, name_of, parameters
from tfcore.views.view import Made, View
from tools import book

OPTIONS = 4  # of a few choices side by side that are tried, at most
FEW = 2  # of a long list
TEXTS = ("The cat did not eat the fish, because it was old.", "One day the girl went to the sea.")
MOVED = ("slider", "toggle", "selectbox", "select_slider", "button_group", "text_area", "text_input")
DEEPEST = 2  # choices that have to be made, one after the other, for a view to be shown
LONGEST = 15  # seconds of a processor that a page may take to be moved by each of its controls
Named = tuple[str, str]  # a view: its function's name and its key
ABOUT = ("model", "text", "reading.model", "reading.text")  # all that is asked of pages that take longer, or train


@dataclass(slots=True)
class Followed:
    """A view on a page, and what its arguments did.

    Args:
        began: its arguments at first.
        controls: argument -> control that it followed.
        strayed: control -> arguments that it changed.
        gone: control -> controls that were no longer there.
    """

    began: dict[str, Any]
    controls: dict[str, str] = field(default_factory=dict)
    strayed: dict[str, set[str]] = field(default_factory=dict)
    gone: dict[str, set[str]] = field(default_factory=dict)

    def place(self, page: str, view: Mapping[str, str]) -> ShownAt:
        """The same, as it is stored: a control that puts another one in the place of one that is followed, as each
        dictionary has its own for a feature, is said as it began."""
        kept = {name: key for name, key in self.controls.items() if not self._replaces(key)}
        said = [parameters(name, key, self.began[name]) for name, key in self.controls.items() if name not in kept]
        moved = {name for key in kept.values() for name in self.strayed[key]}
        fixed = {name: value for name, value in self.began.items() if name not in {*kept, *moved} and _is_plain(value)}
        return ShownAt(page=page, view=dict(ChainMap(dict(view), *said)), controls=kept, fixed=fixed)

    def _replaces(self, control: str) -> bool:
        return any(
            key in self.gone.get(control, ()) and name in self.strayed[control] for name, key in self.controls.items()
        )


def _is_plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


def controls_of(test: AppTest) -> dict[str, Any]:
    """The controls of a page that an address sets, by key."""
    every = [one for kind in MOVED for one in getattr(test, kind)]
    return {one.key: one for one in every if one.key and ":" not in one.key}


def other_values(control: Any) -> Iterator[str]:
    """Values that a control does not have now, as an address says them."""
    match control.type:
        case "slider":
            points = (control.value + control.step, control.value - control.step)
            point = next((one for one in points if control.min <= one <= control.max), control.value)
            yield str(type(control.value)(round(point, 10)))
        case "toggle":
            yield str(not control.value).lower()
        case "text_area" | "text_input":
            yield next(one for one in TEXTS if one != control.value)
        case _:
            yield from [one for one in control.options if one != str(control.value)]


def places_of(key: str) -> dict[str, list[dict[str, Any]]]:
    """The places of a page where views are shown, by the names of their functions."""
    sections = facts.pages()[key].facts.sections
    found: dict[Named, ShownAt] = {}
    for section in sections.names or {"": ""}:
        _look(found, key, {sections.key: section} if section else {})
    listed: dict[str, list[dict[str, Any]]] = {}
    for (name, _), place in found.items():
        if (one := asdict(place)) not in listed.setdefault(name, []):
            listed[name].append(one)
    return listed


def _look(found: dict[Named, ShownAt], key: str, at: dict[str, str]) -> None:
    """Add the views that a page shows at an address, and those that one other choice shows in their stead."""
    begun = time.process_time()
    first = book.shown(key, at)
    is_long = facts.pages()[key].facts.live or time.process_time() - begun > LONGEST
    new = {one: Followed(arguments(of(view))) for one, view in _named(first.views).items() if one not in found}
    if not new:
        return
    controls = controls_of(first.test)
    tried = [] if is_long else [*_tried(new, controls, at)]
    shown = {(one, value): book.shown(key, {**at, one: value}) for one, value in tried}
    for (control, _), page in shown.items():
        _follow(new, control, controls, page)
    found |= {
        name: ShownAt(page=key, view=at, controls=_about(one, controls)) if is_long else one.place(key, at)
        for name, one in new.items()
    }
    for (control, value), page in shown.items():
        is_choice = controls[control].type in ("button_group", "selectbox")
        if is_choice and len(at) < DEEPEST and _named(page.views).keys() - found.keys():
            _look(found, key, {**at, control: value})


def _tried(
    new: Mapping[Named, Followed], controls: Mapping[str, Any], at: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """The controls that an argument may follow, as they are equal, and the choices, each with other values."""
    known = [value for one in new.values() for value in one.began.values()]
    for key, control in controls.items():
        if key in at:
            continue
        most = (
            OPTIONS if control.type == "button_group" else FEW if any(_same(one, control.value) for one in known) else 0
        )
        yield from [(key, value) for value in other_values(control)][:most]


def _about(one: Followed, controls: Mapping[str, Any]) -> dict[str, str]:
    """The controls of model and text, where what they say is what a view was made of."""
    said = {name: name.rpartition(".")[2] for name in ABOUT if name in one.began}
    return {name: key for name, key in said.items() if key in controls and _same(one.began[name], controls[key].value)}


def _named(views: Mapping[str, View]) -> dict[Named, View]:
    return {(name_of(of(one).function), one.key): one for one in views.values()}


def of(view: View) -> Made:
    """How a view of a page was made, which all of them know."""
    if view.made is None:
        raise ValueError(f"the view {view.key!r} does not know how it was made")
    return view.made


def _follow(new: Mapping[Named, Followed], control: str, controls: Mapping[str, Any], page: book.Shown) -> None:
    """Note what a changed control, one of those that there were, did to the arguments of views."""
    there, was = controls_of(page.test), controls[control].value
    if (moved := there.get(control)) is None or moved.value == was:
        return
    for name, view in _named(page.views).items():
        if name not in new:
            continue
        one, now = new[name], arguments(of(view))
        strayed = {key for key in one.began if one.began[key] != now.get(key)} | (one.began.keys() ^ now.keys())
        follows = {
            key for key in strayed if key in now and _same(one.began.get(key), was) and _same(now[key], moved.value)
        }
        one.strayed.setdefault(control, set()).update(strayed)
        one.gone.setdefault(control, set()).update(controls.keys() - there.keys())
        for key in follows:
            one.controls.setdefault(key, control)
        for key in [key for key, by in one.controls.items() if by == control and key not in follows]:
            del one.controls[key]  # once it did not


def _same(one: Any, other: Any) -> bool:
    return bool(type(one) is type(other) and one == other)


def main(keys: list[str]) -> None:
    """Find the places of these pages anew, and store them with those of the others."""
    keys = ["" if key == previews.HOME else key for key in keys]
    with ProcessPoolExecutor(min(len(keys), os.cpu_count() or 1), WithoutMain(), book.begin_worker) as pool:
        for key, found in zip(keys, pool.map(places_of, keys), strict=True):
            store(key, found)
            sys.stdout.write(f"{key or previews.HOME}: {len(found)} views\n")
            sys.stdout.flush()


def store(key: str, found: Mapping[str, list[dict[str, Any]]]) -> None:
    """Put the places of a page in the stead of those that were stored."""
    order = list(facts.pages())
    every: dict[str, list[dict[str, Any]]] = json.loads(FILE.read_text("utf-8"))
    for name in {*every, *found}:
        kept = [one for one in every.get(name, ()) if one["page"] != key and one["page"] in order]
        every[name] = sorted([*kept, *found.get(name, ())], key=lambda one: order.index(one["page"]))
    stored = {name: places for name, places in sorted(every.items()) if places}
    FILE.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    # By this name other processes find its functions: Streamlit puts the app in the place of __main__.
    import_module("tools.addresses").main(sys.argv[1:] or list(import_module("pages.facts").pages()))
