"""A visitor without a browser who wanders: changes controls, presses buttons, changes pages, goes back, opens links.

It keeps what a browser keeps - the values of the controls in sight, the address and the history - and says it as a
browser does, so that the server runs fragments alone where a control stands in one, which AppTest never does.
"""

from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote_plus, urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.strangers import EVENTS, Stranger, state

TEXTS = (
    "",
    " ",
    "The cat sat.",
    "Hello.",
    "a b a b a b",
    "The little dog lost the red ball. The little",
    "x" * 3_000,
    "Once upon a time there was a fox. " * 12,
    "\u202eΩ猫 <b>$x$</b> :red[y] \x07\n\n*a*",
)
WRONG = ("99999", "-1", "x", "", "nan", "0.123456", "\u202e<b>", "true")  # what damaged links say of a control
FIELDS = {
    "slider": "double_array_value",
    "checkbox": "bool_value",
    "selectbox": "string_value",
    "radio": "string_value",
    "text_area": "string_value",
    "text_input": "string_value",
    "button_group": "string_array_value",
    "multiselect": "string_array_value",
    "number_input": "double_value",
    "expandable": "bool_value",
}
RAW = {"selectbox": "raw_value", "radio": "raw_value", "button_group": "raw_values", "multiselect": "raw_values"}
# What a step is, and how often: most of the time somebody moves a control.
STEPS = {"control": 70, "button": 10, "component": 4, "page": 8, "back": 5, "again": 2, "link": 3}
LEAVING = ("page", "back", "link")  # which of them lead to other pages


class Control(NamedTuple):
    """A widget as the server described it."""

    kind: str
    proto: Any
    fragment: str
    path: tuple[int, ...]

    @property
    def field(self) -> str:
        """The field of a message that carries its value."""
        return "string_array_value" if self.kind == "slider" and self.proto.options else FIELDS[self.kind]

    @property
    def key(self) -> str:
        return str(self.proto.id).rpartition("-")[2]

    @property
    def movable(self) -> bool:
        """Whether a hand can give it a value."""
        return self.kind in FIELDS and not getattr(self.proto, "disabled", False)

    @property
    def typed(self) -> bool:
        """Whether it is a box that is typed into."""
        return self.kind in ("text_area", "text_input", "number_input") and self.movable


@dataclass(slots=True)
class Walker(Stranger):
    """Someone who wanders through the app.

    Args:
        way: every step, in words, since the page was opened by its link.
        controls: id -> the control, of what is on the page.
        values: id -> its value, of the controls that were moved or set.
        pages: (hash, path), of the navigation.
        history: (hash, address) of the pages before this one.
        said: where an element stands -> its Markdown.
    """

    way: list[str] = field(default_factory=list)
    controls: dict[str, Control] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    pages: list[tuple[str, str]] = field(default_factory=list)
    history: list[tuple[str, str]] = field(default_factory=list)
    said: dict[tuple[int, ...], str] = field(default_factory=dict)
    _drawn: set[str] = field(default_factory=set)
    _whole: bool = False

    def _note(self, message: ForwardMsg) -> bool:
        kind, path = message.WhichOneof("type"), tuple(message.metadata.delta_path)
        if kind == "navigation":
            self.pages = [(page.page_script_hash, page.url_pathname) for page in message.navigation.app_pages]
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            self.said[path] = message.delta.new_element.markdown.body
            self._draw(message.delta.new_element, message.delta.fragment_id, path)
        elif kind == "delta" and message.delta.add_block.expandable.id:
            self._draw(message.delta.add_block, message.delta.fragment_id, path)
        elif kind == "script_finished":
            if message.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                self.errors.append("a run ended with an error")
            elif message.script_finished == ForwardMsg.FINISHED_EARLY_FOR_RERUN:
                self._drawn = set()
            self._whole = message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY
        return Stranger._note(self, message)

    def _draw(self, element: Any, fragment: str, path: tuple[int, ...]) -> None:
        kind = element.WhichOneof("type") or ""
        proto = getattr(element, kind, None)
        if not getattr(proto, "id", "") or (kind not in FIELDS and kind not in ("button", "bidi_component")):
            return
        self.controls[proto.id] = Control(kind, proto, fragment, path)
        self._drawn.add(proto.id)
        if getattr(proto, "set_value", False):
            raw = RAW.get(kind) or ("raw_value" if kind == "slider" and proto.options else "value")
            value = getattr(proto, raw)
            self.values[proto.id] = value if isinstance(value, str | bool | float) else list(value)

    def words(self) -> str:
        """All that the page says in Markdown."""
        return " ".join(self.said.values()).replace("\\", "").replace("\u2060", "")

    def control(self, key: str) -> Control:
        return next(c for c in self.controls.values() if c.kind in FIELDS and c.key == key)

    def page(self, path: str) -> str:
        """The hash of the page at this path."""
        return next(page for page, where in self.pages if where == path)

    def button(self, label: str) -> Control:
        return next(c for c in self.controls.values() if c.kind == "button" and c.proto.label == label)

    async def run(self, fragment: str = "", *extra: Any, **fields: Any) -> None:
        """Have the page or one fragment of it run with all that is in sight; what is not drawn any more is gone."""
        self._drawn = set()
        here = [one for one in self.values if one in self.controls and self.controls[one].kind in FIELDS]
        states = [state(one, self.controls[one].field, self.values[one]) for one in here]
        message = BackMsg.FromString(self.message(*states, *extra, **{"fragment_id": fragment, **fields}))
        message.rerun_script.page_name = fields.get("page_name", "")
        await self.send(message.SerializeToString())
        await self.answer()
        gone = [
            one
            for one, c in self.controls.items()
            if one not in self._drawn
            and (self._whole or (self.stands_in(c.path, fragment) if fragment else not c.fragment))
        ]
        for one in gone:
            del self.controls[one]
            self.values.pop(one, None)

    async def move(self, control: Control, value: Any) -> None:
        """Set a control as a hand does: the address follows at once, then its fragment or the page runs."""
        self.values[control.proto.id] = value
        if name := getattr(control.proto, "query_param_key", ""):
            words = [_words(one) for one in (value if isinstance(value, list) else [value])]
            rest = [(key, said) for key, said in parse_qsl(self._query, keep_blank_values=True) if key != name]
            self._query = urlencode(rest + [(name, word) for word in words])
        self.way.append(f"{control.key}={value!r:.60}")
        await self.run(control.fragment)

    async def press(self, control: Control) -> None:
        self.way.append(f"press {control.proto.label!r}")
        await self.run(control.fragment, state(control.proto.id, "trigger_value", True))

    async def tell(self, control: Control, event: Any) -> None:
        """Let a component say something."""
        from tests.strangers import triggers

        self.way.append(f"{control.key} says {event!r:.60}")
        await self.run(control.fragment, *triggers(control.proto.id, event))

    async def turn_to(self, page: str, link: str = "") -> None:
        """Open a page from the navigation or by a link: what bound controls say goes along, as a browser does it."""
        self.way.append(f"page {dict(self.pages).get(page)!r} {link}")
        self.history.append((self._page, self._query))
        bound = {c.proto.query_param_key for c in self.controls.values() if getattr(c.proto, "query_param_key", "")}
        kept = [(key, said) for key, said in parse_qsl(self._query, keep_blank_values=True) if key in bound]
        self._query = "&".join(filter(None, (urlencode(kept), link)))
        self._page = page
        await self.run()

    async def back(self) -> None:
        """The browser's button."""
        self._page, self._query = self.history.pop()
        self.way.append(f"back to {dict(self.pages).get(self._page)!r} {self._query}")
        await self.run(is_history_navigation=True)

    async def trail(self, random: Random, steps: int) -> None:
        """What one does on the page in sight before going on to another: fill its boxes, then anything but leave."""
        for one in [one for one in self.controls.values() if one.typed][:steps]:
            if one.proto.id in self.controls:
                await self.move(self.controls[one.proto.id], drawn(one, random))
        for _ in range(steps):
            if self.errors:
                return
            await self.step(random, leaving=False)

    async def step(self, random: Random, *, leaving: bool = True) -> None:
        """One step of a walk, drawn at random."""
        moved = [c for c in self.controls.values() if c.movable]
        buttons = [c for c in self.controls.values() if c.kind == "button" and not c.proto.disabled]
        components = [c for c in self.controls.values() if c.kind == "bidi_component"]
        what = random.choices(list(STEPS), list(STEPS.values()))[0]
        if not leaving and what in LEAVING:
            what = "control"
        if what == "control" and moved:
            control = random.choice(moved)
            await self.move(control, drawn(control, random))
        elif what == "button" and buttons:
            await self.press(random.choice(buttons))
        elif what == "component" and components:
            await self.tell(random.choice(components), random.choice(EVENTS))
        elif what == "page":
            await self.turn_to(random.choice(self.pages)[0])
        elif what == "link":
            await self.turn_to(random.choice(self.pages)[0], self.damaged(random))
        elif what == "back" and self.history:
            await self.back()
        else:
            self.way.append("again")
            await self.run()

    def damaged(self, random: Random) -> str:
        """What a damaged link says: wrong values of some names that controls have, here or elsewhere."""
        names = [c.key for c in self.controls.values() if c.kind in FIELDS] or ["text"]
        some = random.sample(names, min(len(names), random.randint(1, 4)))
        return "&".join(f"{name}={quote_plus(random.choice(WRONG))}" for name in ["v", *some])


def drawn(control: Control, random: Random) -> Any:
    """A value that a hand can give this control: an end, often, or any other."""
    proto = control.proto
    if control.kind == "slider" and proto.options:
        return [random.choice([proto.options[0], proto.options[-1], random.choice(proto.options)])]
    if control.kind == "slider":
        between = proto.min + proto.step * random.randint(0, max(0, round((proto.max - proto.min) / proto.step)))
        return [random.choice([proto.min, proto.max, min(between, proto.max)])]
    if control.kind == "number_input":
        return random.choice([proto.min, proto.max, proto.default])
    if control.kind in ("checkbox", "expandable"):
        return random.random() < 0.5
    if control.kind in ("selectbox", "radio"):
        return random.choice(proto.options)
    if control.kind == "button_group":
        return [random.choice(proto.options).content]
    if control.kind == "multiselect":
        return random.sample(list(proto.options), random.randint(0, len(proto.options)))
    return random.choice(TEXTS)


def _words(value: Any) -> str:
    """A value as a browser writes it into the address."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
