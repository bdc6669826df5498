"""What strangers send: values for any parameter and any box, and what must never be found of them on a page."""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any
from zlib import crc32

from google.protobuf.message import Message
from hypothesis import strategies as st
from streamlit.testing.v1 import AppTest

from pages.ui import links

PAGES = Path(__file__).resolve().parents[1] / "pages"
MARKUP = (
    "<img src=x onerror=alert(7)>",
    "<script>alert(7)</script>",
    "<b>hack</b>",
    "</textarea><svg onload=alert(7)>",
    '<a href="javascript:alert(7)">hack</a>',
    "[hack](javascript:alert(7))",
    "![hack](https://evil.example/x.png)",
    ":red[hack]",
    ":material/bug_report:",
    "$\\href{javascript:alert(7)}{hack}$",
    "$$hack$$",
    "%{hack}",
    "**hack**",
    "`hack`",
    "https://evil.example",
    "hack@evil.example",
    ":smile:",
    "&lt;hack&gt;",
)
NUMBERS = (
    "nan",
    "-nan",
    "inf",
    "-inf",
    "1e999",
    "-1e99",
    "9" * 400,
    "-0",
    "0x10",
    "1_000",
    "1e-999",
    "٣",
    "½",
    "1,5",
    "-9223372036854775809",
    "0.1.2",
    "+-1",
    "1e5000",
    str(2**63),
    "3.0000000000000004",
)
WORDS = (
    "",
    " ",
    "%00😀",
    "a\0b\x07\x1b[31m",
    "\u202etxet",
    "\u2066a\u2069",
    "e\u0301" * 30,
    "👩‍👩‍👧‍👦" * 9,
    "ﷺ" * 40,
    "true",
    "None",
    "../../../../etc/passwd",
    "/etc/passwd",
    "./pages",
    "~root",
    "file:///etc/passwd",
    "c:\\windows",
    "x/../..",
    "__import__('os')",
    "{{7*7}}",
    "${jndi:ldap://x}",
    "' OR 1=1 --",
    "=1+1",
    "0.0." * 99,
    ".",
    "_",
    "-_-_-",
    "0_0_0_0",
    "\\*hack\\*",
    "null",
    "[]",
    '{"a": 1}',
    "\\",
    "\r\nSet-Cookie: a=b",
    "\u2028",
    "\ufffe",
    "a" * 5_000,
    "🙂" * 1_000,
    "\n" * 3_000,
    "1\n" * 900,
    "stories",
    "translate",
    "org/name",
    "random",
    "bars",
    "2024-01-01",
    "MKVLA",
    "1;2;3\n4;5",
    "-1",
    "0",
    "1",
)
BOMB = links.pack("a" * 10_000_000)
PACKED = (BOMB, BOMB[:-9], links.pack(MARKUP[0] * 50), links.pack("\0" * 900), "eJw", "!!!!", "=" * 50)
WRITTEN = (*MARKUP, *NUMBERS, *WORDS)
ADDRESSES = (*WRITTEN, *PACKED)

PANELS = ("look", "part", "show", "panel", "job", "scheme")  # keys that choose what a page shows
MAKERS = {"slider", "select", "segmented", "several", "stops", "toggle", "text_area", "text_line", "asked", "wanted"}
MAKERS |= {"read", "choose", "shown_range", "rewrite", "write"}
_NAME = re.compile(r"[a-z][a-z0-9_]{0,20}")
LARGEST_PAGE = 4_000_000  # bytes of all that a visit sends, without the frame

# ---- values ----

# Through their numbers, for hypothesis prints what it draws from.
address_values: st.SearchStrategy[str] = st.one_of(
    st.integers(0, len(ADDRESSES) - 1).map(lambda i: ADDRESSES[i]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=60),
    st.integers(-(10**25), 10**25).map(str),
    st.floats().map(str),
    st.lists(st.sampled_from(["0", "1", "9", "-", ".", "_", "e", "x"]), max_size=40).map("".join),
)
_words = st.integers(0, len(WRITTEN) - 1).map(lambda i: WRITTEN[i])
typed_texts: st.SearchStrategy[str] = st.one_of(
    _words,
    st.lists(_words, max_size=6).map(" ".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=300),
    st.lists(st.sampled_from("0123456789.,;-+eE \t\n\"'"), max_size=200).map("".join),
)


@cache
def written_keys() -> frozenset[str]:
    """Every key that the code of a page gives to a control or asks the address for, as far as it stands there."""
    found = set()
    for path in PAGES.rglob("*.py"):
        for call in (node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            words = [word.value for word in call.args[:2] if isinstance(word, ast.Constant)] if name in MAKERS else []
            found |= {word for word in words if isinstance(word, str) and _NAME.fullmatch(word)}
    return frozenset(found | {"v", "tour", "lesson", "lesson_z", "stop", "unknown", "p2", "q2", "model_z"})


def spread(values: Sequence[str], keys: Iterable[str]) -> dict[str, list[str]]:
    """An address in which every key has one of the values, or two."""
    numbers = {key: crc32(key.encode()) for key in keys}
    return {key: [values[(n >> i) % len(values)] for i in range(1 + (n >> 20) % 2)] for key, n in numbers.items()}


# ---- what is found on a page ----

# What Streamlit shows as it is, or does not show: everything else may be read as Markdown.
PLAIN = re.compile(
    r"(text_area|text_input)\.(default|value)|code\.code_text|selectbox\.(options|default|raw_value)|\.id$|\.element_id"
    r"|bidi_component\.|page_link\.query_string|\.page_script_hash|markdown\.element_type|query_param_key|arrow_data_frame"
)
# "<" that plotly would read as a tag of its own, other than those that figures write themselves.
TAG = re.compile(
    r"<(?=[a-zA-Z/])(?!/?(?:br|b|i|em|sub|sup|span|extra)\b(?:\s+style=(?:\"[^\"<>]*\"|'[^'<>]*'))?\s*/?>)"
)


def interpreted(test: AppTest) -> list[str]:
    """Markup of a stranger that the browser would not show as it was written: none of it may be there."""
    found = []
    for node in test._tree:
        if (message := getattr(node, "proto", None)) is None or not isinstance(message, Message):
            continue
        kind = message.DESCRIPTOR.name
        for place, words in strings(message, _snake(kind)):
            if not PLAIN.search(place):
                found += [f"{place}: {words[:200]!r}" for mark in MARKUP if mark in words]
        found += [f"figure {word[:200]!r}" for word in _labels(message) if TAG.search(word) or "%{hack" in word]
    return found


def size(test: AppTest) -> int:
    """Bytes of all elements of a page."""
    messages = (getattr(node, "proto", None) for node in test._tree)
    return sum(message.ByteSize() for message in messages if isinstance(message, Message))


def strings(message: Message, place: str) -> Iterator[tuple[str, str]]:
    """(where, text) of every text in a message."""
    for field, value in message.ListFields():
        here = f"{place}.{field.name}"
        for one in _each(value):
            if isinstance(one, Message):
                yield from strings(one, here)
            elif isinstance(one, str):
                yield here, one


def _each(value: Any) -> list[Any]:
    if isinstance(value, str | bytes | int | float | Message):
        return [value]
    return list(value.values()) if hasattr(value, "values") else list(value)


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def _labels(message: Message) -> Iterator[str]:
    """Every text in the plotly figure that a component was sent, if it is one."""
    body = getattr(message, "bytes", b"")
    head, _, rest = body.partition(b"\n") if isinstance(body, bytes) else (b"", b"", b"")
    if head.startswith(b"{") and b'"size"' in head:
        yield from _texts(json.loads(rest[: json.loads(head)["size"]]))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _texts(one)
