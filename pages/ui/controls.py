"""Controls whose value is part of the address, and never anything but a valid value.

Whatever came from the address or from the session - out of range, off step, unknown, of another type, twice - becomes
the nearest valid value, and the page says so in one quiet line. A control whose range depends on another one is
clamped the same way when the other one changes. All of them work in fragments, and can be set from callbacks:

    head = controls.place("Head", "head", n_heads)
    st.button("Look at head 3", on_click=controls.set_values, kwargs={"head": 3})

The key of a control is its name in the address. Keys, option labels and defaults are part of every link that was
ever copied: a label that changes leaves its old one in `former_labels`; keys and defaults change only together with
`links.VERSION`.
"""

# ruff: noqa: A002 - `help` and `format` are called what Streamlit calls them

import math
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn, TypeVar, cast

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.facts import Sections
from pages.ui import former_labels, keys, links, notices, streamlit_internals, text
from pages.ui.server import settings
from pages.ui.session import DrawnControl, session
from tfcore.measures.one_text import End
from tfcore.measures.token_text import unisolated
from tfcore.tokenizers.tokenizer import unmarked

Number = TypeVar("Number", int, float)
Option = TypeVar("Option", bound=Hashable)
MEANT = 1_000  # labels of a choice that are remembered


def set_values(**values: Any) -> None:
    """Set controls by key, from a callback: `set_values(layer=2, head=5, text="a b a")`. The address follows."""
    for key, value in values.items():
        links.mark_seen(key)  # what was set now counts more than what the address said
        st.session_state[key] = value


def run_again(values: Mapping[str, Any]) -> NoReturn:
    """End this run, and begin the page anew with controls set by key: Streamlit sets none that is drawn already."""
    session().next_values[session().page] = values
    st.rerun()


def begin_run() -> None:
    """Set what `run_again` left for this run of the page."""
    set_values(**session().next_values.pop(session().page, {}))
    session().next_values.clear()


def last(key: str) -> Any:
    """The value last set under a key, where no control of this run need have it; None where nothing was."""
    return st.session_state.get(key)


def forget(key: str) -> None:
    """Let go of what a control holds, which begins again."""
    st.session_state.pop(key, None)


def is_new(key: str, of: Hashable) -> bool:
    """Whether a control was drawn for something else before, such as another text, and neither the address nor a
    callback has said a value for what it is drawn for now."""
    drawn_for = links.visit().drawn_for
    before, drawn_for[key] = drawn_for.get(key, of), of
    return before != of and not links.address_decides(key) and key in session().kinds


def renew(key: str, value: Any) -> None:
    """Let a control hold what it would begin with, as what it held was of something else."""
    notices.drop(key)
    st.session_state[key] = value


def next_seed(seed: int, last: int = 20) -> int:
    """The seed that a button for another one sets: the next on a slider from 0 to `last`, and 0 after the last."""
    return (seed + 1) % (last + 1)


def slider(
    label: str,
    key: str,
    low: Number,
    high: Number,
    default: Number,
    step: Number | None = None,
    *,
    help: str | None = None,
    format: str | None = None,
) -> Number:
    """A slider from `low` to `high`; integers in, integer out.

    Raises:
        ValueError: the default is none of the slider's values.
    """
    whole = all(isinstance(bound, int) for bound in (low, high, default, step or 1))
    step = step or cast("Number", 1 if whole else (high - low) / 100 or 1.0)
    if low >= high:  # nothing to choose: keep the place, so that nothing jumps
        st.slider(label, low, low + step, low, step, key=keys.own("slider", f"{key}_fixed"), disabled=True, help=help)
        return low
    point, reached = _nearest(default, low, high, step, whole, low)
    if not reached:
        raise ValueError(f"the slider {key!r} cannot begin at {default}: from {low} by {step} to {high}")
    default = point
    draw = partial(st.slider, label, low, high, default, step, format, key, help, bind="query-params")
    return _bound(key, "number", default, lambda value: _nearest(value, low, high, step, whole, default), draw)


def place(label: str, key: str, count: int, default: int = 0, *, of: Hashable = None) -> int:
    """A slider over the places 0 to `count` - 1. It begins at `default`, or at the last place where there are fewer.

    Args:
        of: what the places are in, such as the tokens of a text: of others than before, the last place is chosen.
    """
    last = count - 1
    if of is not None and is_new(key, of):
        renew(key, last)
    return slider(label, key, 0, last, min(default, last))


def layer_among(layers: Sequence[int], default: int, label: str = "Layer", key: str = "layer") -> int:
    """A slider over some layers, by their numbers. It begins at `default`, or at the last one before it.

    Args:
        layers: their numbers in order, such as those of a hybrid's that have attention.
    """
    if list(layers) == list(range(len(layers))):
        return place(label, key, len(layers), default)
    return stops(label, key, layers, max((layer for layer in layers if layer <= default), default=layers[0]))


def _nearest(value: object, low: Any, high: Any, step: Any, whole: bool, default: Any) -> tuple[Any, bool]:
    """The point of low, low + step, ... <= high nearest to `value` (`default` if that is no number), and if it hit."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return default, False
    if math.isnan(number):
        return default, False
    steps = round((min(max(number, low), high) - low) / step)
    steps = min(steps, math.floor((high - low) / step + 1e-9))
    point = int(low + steps * step) if whole else round(float(low + steps * step), 10)
    return point, _same(point, number)


def select(
    label: str,
    key: str,
    options: Sequence[Option],
    default: Option,
    labels: Mapping[Option, str] | None = None,
    *,
    help: str | None = None,
    of: Hashable = None,
) -> Option:
    """A dropdown. The address carries the label of the option.

    Args:
        of: what the options are of, such as a text: of another one than before, the default is chosen.
    """
    if of is not None and is_new(key, of):
        renew(key, default)
    draw = partial(st.selectbox, label, list(options), list(options).index(default), key=key, help=help)
    return _choice(key, options, default, labels, draw)


def segmented(
    label: str,
    key: str,
    options: Sequence[Option],
    default: Option,
    labels: Mapping[Option, str] | None = None,
    *,
    help: str | None = None,
    named: bool = True,
) -> Option:
    """A few choices side by side, exactly one of them on. The address carries the label of the option.

    Args:
        named: whether the label is seen; otherwise it is for screen readers alone.
    """
    draw = partial(
        st.segmented_control,
        label,
        list(options),
        default=default,
        key=key,
        help=help,
        required=True,
        wrap=True,
        label_visibility="visible" if named else "collapsed",
    )
    return _choice(key, options, default, labels, draw)


def sections(offered: Sections) -> str:
    """The sections of a page side by side, one of them open; the label is for screen readers alone."""
    names = list(offered.names)
    return segmented(offered.label, offered.key, names, names[0], offered.names, named=False)


def several(
    label: str,
    key: str,
    options: Sequence[Option],
    labels: Mapping[Option, str] | None = None,
    *,
    help: str | None = None,
) -> tuple[Option, ...]:
    """Any of a few choices; none chosen means all of them. The address carries the options, with points between."""
    names = {option: (labels or {}).get(option, str(option)) for option in options}
    asked, from_link = links.wanted(key, (), links.asked, "choices")
    parts = [part for part in asked.split(".") if part] if isinstance(asked, str) else list(asked or ())
    matched = [_option(part, names, options[0]) for part in parts]
    chosen = {option for option, hit in matched if hit}
    value = [option for option in options if option in chosen]
    notices.keep(key, value)
    if not all(hit for _, hit in matched):
        notices.corrected(key, asked, ".".join(map(str, value)), value, from_link=from_link)
    if links.address_decides(key) or st.session_state.get(key) != value:
        st.session_state[key] = value
    st.pills(label, list(options), selection_mode="multi", format_func=partial(_name, names), key=key, help=help)
    links.write(key, ".".join(map(str, value)) or None)
    links.mark_seen(key, "choices")
    return tuple(value) or tuple(options)


def stops(
    label: str,
    key: str,
    options: Sequence[Option],
    default: Option,
    labels: Mapping[Option, str] | None = None,
    *,
    help: str | None = None,
) -> Option:
    """A slider over named places in their order. The address carries the label of the place."""
    if len(options) == 1:  # nothing to choose: a slider needs two ends
        return options[0]
    draw = partial(st.select_slider, label, list(options), default, key=key, help=help)
    return _choice(key, options, default, labels, draw)


def _choice(
    key: str, options: Sequence[Option], default: Option, labels: Mapping[Option, str] | None, draw: Callable[..., Any]
) -> Option:
    """One of the options, drawn by its label.

    Labels may change while the option stays. Whoever is quick sends the old one of a choice before the new ones have
    reached the browser: it still means what it meant.
    """
    names = {option: (labels or {}).get(option, str(option)) for option in options}
    if default not in names:
        raise ValueError(f"{key!r} cannot begin with {default!r}, which is none of {list(options)}")
    name, meant = partial(_name, names), links.visit().meant.setdefault(key, {})

    def clean(value: object) -> tuple[Any, bool]:
        if isinstance(value, str) and value not in names.values():
            value = meant.get(value, former_labels.present(key, value))
        return _option(value, names, default)

    draw = partial(draw, format_func=name, bind="query-params")
    value = _bound(key, "choice", default, clean, draw, name)
    if len(meant) > MEANT:
        meant.clear()
    meant.update((label, option) for option, label in names.items())
    return cast("Option", value)


def _name(names: Mapping[Option, str], option: Option) -> str:
    return names.get(option, str(option))


def _option(value: object, names: Mapping[Option, str], default: Option) -> tuple[Option, bool]:
    """The option that `value` is, or names by label or id, in capitals or not (`default` if none), and if it hit."""
    plain = unisolated(value).casefold() if isinstance(value, str) else None  # links of before isolate nothing
    for option, name in names.items():
        if type(value) is type(option) and value == option:
            return option, True
        if plain is not None and plain in (unisolated(name).casefold(), str(option).casefold()):
            return option, True
    return default, False


# Special tokens as files call them; not blanks such as [MASK], which a text may have.
SPECIAL = re.compile(
    r"<\|[\w▁-]{1,40}\|>|<｜[\w▁-]{1,40}｜>|\[(?:CLS|SEP|PAD|UNK)\]|</?s>|<(?:bos|eos|pad|unk)>|<(?:start|end)_of_turn>"
)
_SWITCH = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


def toggle(label: str, key: str, default: bool = False, *, help: str | None = None) -> bool:
    """A switch."""

    def clean(value: object) -> tuple[bool, bool]:
        word = str(value).lower()
        return _SWITCH.get(word, default), word in _SWITCH

    draw = partial(st.toggle, label, default, key, help, bind="query-params")
    return _bound(key, "switch", default, clean, draw, lambda on: str(on).lower())


def text_row() -> DeltaGenerator:
    """The place of a `text_area` that is drawn after what comes below it."""
    return st.container(horizontal=True, vertical_alignment="bottom", gap="small")


def text_area(
    label: str,
    key: str,
    default: str,
    max_chars: int,
    *,
    height: int = 100,
    help: str | None = None,
    named: bool = True,
    row: DeltaGenerator | None = None,
    end: End = "first",
) -> str:
    """A box for text of any length, of which at most `max_chars` characters count, and a button that runs the page
    on it: a click leaves the box, which sends what is in it.

    Longer text is cut, in the box too, and the page says so. Short text is in the address as it is, longer text
    compressed; see `links`.

    Args:
        named: whether the label is seen; of the text that a whole page is about it is for screen readers alone.
        row: where it stands, a `text_row`; None: here.
        end: which characters count: the last ones of a text that a model goes on from.
    """
    value = typed(key, default, max_chars, end=end)
    _say_special(key, value)
    with text_row() if row is None else row:
        seen: Any = "visible" if named else "collapsed"
        st.text_area(
            label,
            key=key,
            height=height,
            help=help,
            placeholder="Type or paste a text",
            persist_state="session",
            label_visibility=seen,
            on_change=_note_own,
            args=(key,),
        )
        st.button("Run", key=keys.own("button", f"run {key}"), help="Or Ctrl+Enter in the box")
    return kept(key, value, default)


def _note_own(key: str) -> None:
    """Callback of a box: its text is the visitor's own."""
    session().own_texts[key] = st.session_state[key]


def is_own(key: str, value: str) -> bool:
    """Whether a text is what the visitor typed into the box of this key last: no example, and of no link."""
    return session().own_texts.get(key) == unmarked(value)


def text_line(label: str, key: str, default: str, max_chars: int, *, help: str | None = None) -> str:
    """A box for one line, such as a name; Enter is enough."""
    value = typed(key, default, max_chars, "choice")
    _say_special(key, value)
    st.text_input(label, key=key, help=help, persist_state="session")
    return kept(key, value, default, "choice")


def typed(key: str, default: str, max_chars: int, kind: links.Kind = "text", end: End = "first") -> str:
    """The text that a box should hold: what was typed or what the address says, as far as it counts.

    TFCORE_TEXT may allow less than the page does, but never cuts what the page begins with.
    """
    if kind == "text":
        links.visit().texts.add(key)
    max_chars = min(max_chars, max(settings.text_cap(), len(default)))
    held = last(key)
    if held == session().first_texts.get(key) and held in session().stand_ins and held != default:
        forget(key)  # nobody asked for the example of another model
    asked, from_link = links.wanted(key, default, partial(links.text_from_address, characters=max_chars), kind)
    if from_link:
        session().own_texts.pop(key, None)
    elif key not in st.session_state:
        session().first_texts[key] = default
    # without lone surrogates, which no address can hold, and without marks, which a switch alone sets (`reading`)
    value = unmarked(str(asked)).encode("utf-8", "replace").decode()
    is_typed = session().own_texts.get(key) == asked
    notices.keep(key, value)
    if len(value) > max_chars:
        length = "more than" if from_link else f"{len(value):,} characters, more than"
        value = value[:max_chars] if end == "first" else value[-max_chars:]
        notices.add(key, f"The text has {length} the {max_chars:,} used here; the rest was cut off", value=value)
    if links.address_decides(key) or st.session_state.get(key) != value:
        st.session_state[key] = value  # on the first draw always: the browser would start with an empty box
    if is_typed:
        session().own_texts[key] = value  # as far as it counts
    return value


def _say_special(key: str, value: str) -> None:
    """Say of a text with what looks like special tokens that they are read as text, whatever the model: nobody can type
    the end of a text or of a turn, where no switch of `reading` allows it."""
    say_read_as_text(key, list(dict.fromkeys(SPECIAL.findall(value))))


def say_read_as_text(key: str, tokens: Sequence[str]) -> None:
    """Say of these special tokens in a text that they are read as text; of none, take that back."""
    said = "Special tokens that are typed are read as text like any other" if tokens else None
    notices.say(f"special {key}", said, ", ".join(text.escape(token) for token in tokens[:3]))


def kept(key: str, value: str, default: str, kind: links.Kind = "text") -> str:
    """Keep a text in the address; it is what the control holds."""
    links.write_text(key, value, default)
    links.mark_seen(key, kind)
    return value


def _bound(
    key: str,
    kind: links.Kind,
    default: Any,
    clean: Callable[[object], tuple[Any, bool]],
    draw: partial,
    name: Callable[[Any], str] = str,
) -> Any:
    """Draw a bound widget so that it holds the valid value nearest to what was asked for, and return that value.

    Streamlit seeds a widget that is new to it (also: a slider whose range changed) from the address alone, and
    replaces what it dislikes by the default. So the value wanted is worked out first, and put into the address and
    into the session, before Streamlit looks.

    Args:
        draw: draws the widget; its positional arguments say which values it can have.
    """
    first, before = links.address_decides(key), links.visit().drawn.get(key)
    asked, from_link = links.wanted(key, default, links.asked, kind)
    value, exact = clean(asked)
    notices.keep(key, value)
    # Another range or other options make another widget: what Streamlit kept under its name may be impossible now, and
    # what was said of the former ones is no longer so.
    other = before is None or before.shape != draw.args
    if other and before is not None:
        notices.drop(key)
    if not exact and first and not from_link:
        value = default  # what a control of the same name held on another page: nobody asked for it here
    elif not exact:
        notices.corrected(key, asked, name(value), value, from_link=from_link)
    if not _in_step(value, default, st.query_params.get_all(key), clean, name(value)):
        streamlit_internals.rewrite(key, None if _same(value, default) else name(value))
    drawn = DrawnControl(value, name(value), draw.args)
    renamed = before is not None and _same(before.value, value) and before.word != drawn.word  # the browser's is old
    if other or renamed or (key in st.session_state and not _same(st.session_state[key], value)):
        st.session_state[key] = value
    draw()
    links.visit().drawn[key] = drawn
    links.mark_seen(key, kind)
    return value


def _in_step(value: Any, default: Any, said: list[str], clean: Callable[[object], tuple[Any, bool]], word: str) -> bool:
    """True if the address says `value` in the one way that Streamlit reads; the default is best not said at all."""
    if len(said) != 1:
        return not said and _same(value, default)
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return said[0] == word or (number and clean(said[0]) == (value, True))


def _same(a: object, b: object) -> bool:
    """Equal, and for numbers: equal up to what adding up steps does to a float."""
    if isinstance(a, int | float) and isinstance(b, int | float) and not isinstance(a, bool):
        return math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-12)
    return type(a) is type(b) and a == b
