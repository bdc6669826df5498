"""Tokens as they are shown in sentences and in figures: nothing hidden, and nothing left to interpret."""

import unicodedata
from collections.abc import Sequence
from itertools import groupby

_SPACES = {
    " ": "space",
    "\n": "new line",
    "\t": "tab",
    "\r": "return",
    "\xa0": "no-break space",
    "\u3000": "wide space",
}
_NAMED = {" ": "·", "\n": "⏎", "\r": "␍", "\t": "⇥", "\x7f": "␡"}


def visible(token: str | bytes) -> str:
    """One token with nothing hidden: "·" for a space, "⏎" for a newline, "␀" or "[U+202E]" for what cannot be seen."""
    if isinstance(token, bytes):
        token = token.decode("utf-8", "surrogateescape")
    if not token:
        return "∅"
    shown = "".join(visible_character(character) for character in token)
    # A combining mark on its own would sit on whatever stands before the token.
    return "◌" + shown if unicodedata.combining(token[0]) else shown


def in_words(token: str | bytes) -> str:
    """One token as `visible` has it, but in words where it is white space alone: "new line", "4 spaces"."""
    if not token or isinstance(token, bytes) or not set(token) <= set(_SPACES):
        return visible(token)
    runs = [(_SPACES[character], len(list(run))) for character, run in groupby(token)]
    return ", ".join(name if count == 1 else f"{count} {name}s" for name, count in runs)


def visible_character(character: str) -> str:
    if character in _NAMED:
        return _NAMED[character]
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)  # Unicode's own pictures of the control characters
    if 0xDC80 <= code <= 0xDCFF:
        return f"<0x{code - 0xDC00:02X}>"  # a byte that is no UTF-8 (Python's surrogateescape)
    # C*: control, format (bidi, zero width), surrogate, private, unassigned. Z*: separators other than the space.
    if unicodedata.category(character)[0] in "CZ":
        return f"[U+{code:04X}]"
    return character


def shorten(text: str, limit: int | None) -> str:
    """`text` cut to `limit` characters, the last of them "…" when something was cut."""
    return text if limit is None or len(text) <= limit else text[: max(limit - 1, 0)] + "…"


def plotly_escape(text: object) -> str:
    """`text` for a Plotly label, hover or template: no tags, entities, TeX or %{...} are left to interpret.

    Numeric entities survive Plotly's template step and are turned into the plain character when drawn.
    """
    codes = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "%": "&#37;", "$": "&#36;"}
    return "".join(codes.get(c, c) if c == " " or c in codes else visible_character(c) for c in str(text))


def label(token: str | bytes, limit: int | None = None) -> str:
    """One token, visible and safe inside a Plotly label or hover."""
    return plotly_escape(shorten(visible(token), limit))


def tick_labels(tokens: Sequence[str | bytes], limit: int = 12) -> list[str]:
    """Axis labels for tokens. Duplicates are fine: axes use integer positions with these as `ticktext`."""
    return [label(token, limit) for token in tokens]
