"""Tokens as they are shown in sentences and in figures: nothing hidden, and nothing left to interpret.

One that is a part of a character is named by it, and what is written from right to left leaves the words around it in
their order.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, groupby, pairwise

# Around what is written from right to left (first strong isolate, pop directional isolate): the words, numbers and
# quotes beside it would change their places else.
ISOLATE, END_ISOLATE = "\u2068", "\u2069"
_FROM_RIGHT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001eeff]")
_ISOLATED = re.compile(f"({ISOLATE}[^\u2066-\u2069]*{END_ISOLATE})")
_PICTURE = "[\u00a9\u00ae\u2190-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001faff]"
_CHANGED = f"{_PICTURE}[\ufe0f\U0001f3fb-\U0001f3ff]*[\U000e0020-\U000e007f]*"  # in colour, with a tone of skin, a flag
_SEQUENCE = re.compile(
    f"{_CHANGED}(?:\u200d{_CHANGED})*|[\U0001f1e6-\U0001f1ff]{{2}}|[0-9#*]\ufe0f?\u20e3"
)  # of code points that are seen as one character: Unicode Technical Standard 51, section 1.4
_BYTE = re.compile("<0x[0-9A-F]{2}>")
_BYTES = re.compile("(?:<0x[0-9A-F]{2}>)+")
_PART = re.compile("([\udc80-\udcff]+)")  # bytes that are no whole character (Python's surrogateescape)
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
    if isinstance(token, CharacterPart):
        return token.label
    if isinstance(token, bytes):
        token = token.decode("utf-8", "surrogateescape")
    if not token:
        return "∅"
    if (pieces := _parts(token)) is not None:
        return _with_parts(pieces)
    return isolated("".join(map(visible_character, token) if token.isascii() else _signs(token)))


def _parts(name: str) -> list[str] | None:
    """A token that is named by its bytes, as its characters and, every second, bytes that are no whole character; None
    where it is named otherwise."""
    if not _BYTES.fullmatch(name):
        return None
    pieces = _PART.split(bytes_of(name).decode("utf-8", "surrogateescape"))
    return pieces if len(pieces) > 1 else None


def _with_parts(pieces: Sequence[str]) -> str:
    """A token outside of any text, where nothing says which character it is a part of: "·part D8"."""
    said = ""
    for i, piece in enumerate(pieces):
        if i % 2:
            data = piece.encode("utf-8", "surrogateescape").hex(" ").upper()
            said += f"{' ' if said.strip('·') else ''}part {data}"
        elif piece:
            said += f"{' ' if said else ''}{visible(piece)}"
    return said


def _signs(text: str) -> list[str]:
    """The signs shown for each character. A sequence seen as one character stays one, as an emoji of several; a
    combining mark without a letter before it would sit on whatever stands there, so it sits on a circle."""
    whole = {place for found in _SEQUENCE.finditer(text) for place in range(*found.span()) if len(found[0]) > 1}
    shown = [one if i in whole else visible_character(one) for i, one in enumerate(text)]
    for i, one in enumerate(text):
        is_mark = i not in whole and shown[i] == one and unicodedata.category(one)[0] == "M"
        if is_mark and (i == 0 or shown[i - 1] not in (text[i - 1], "◌" + text[i - 1])):
            shown[i] = "◌" + one
    return shown


def isolated(text: str) -> str:
    """A text that stands for itself in the words around it, whichever direction it is written in."""
    return f"{ISOLATE}{text}{END_ISOLATE}" if _FROM_RIGHT.search(_ISOLATED.sub("", text)) else text


def unisolated(text: str) -> str:
    """The same without what `isolated` put around parts of it."""
    return text.replace(ISOLATE, "").replace(END_ISOLATE, "") if ISOLATE in text else text


class CharacterPart(str):
    """A token that is a part of a character, or holds such a part: the plain name that its tokenizer gives it, as in
    "<0xE4><0xBB>", which tables and files keep.

    Args:
        label: for sentences and pictures: the character, which part of it, and of how many, as in "今 1/2".
        data: its bytes.
    """

    label: str
    data: bytes

    def __new__(cls, name: str, label: str, data: bytes) -> "CharacterPart":
        made = super().__new__(cls, name)
        made.label, made.data = label, data
        return made

    def __getnewargs__(self) -> tuple[str, str, bytes]:  # type: ignore[override]
        return str(self), self.label, self.data

    @property
    def bytes_in_words(self) -> str:
        """Its bytes in a sentence: "bytes E4 BB"."""
        return f"{'byte' if len(self.data) == 1 else 'bytes'} {self.data.hex(' ').upper()}"


def character_parts(names: Sequence[str], data: Sequence[bytes]) -> list[str]:
    """The names of the tokens of a text, those of parts of a character as CharacterPart.

    Args:
        names: of the tokens, as their tokenizer has them.
        data: the bytes of each; joined, they are the text.
    """
    text = b"".join(data).decode("utf-8", "surrogateescape")
    sequences = {found.start(): found[0] for found in _SEQUENCE.finditer(text)}
    units, at = [], 0  # what is seen as one character
    while at < len(text):
        units.append(sequences.get(at, text[at]))
        at += len(units[-1])
    sizes = [len(unit.encode("utf-8", "surrogateescape")) for unit in units]
    starts = [0, *accumulate(sizes)]
    spans = list(pairwise([0, *accumulate(map(len, data))]))
    held: list[list[int]] = [[] for _ in names]  # the units that each token holds something of
    tokens: list[list[int]] = [[] for _ in units]  # the tokens that hold something of each unit
    unit = 0
    for token, (first, last) in enumerate(spans):
        while first < last and starts[unit + 1] <= first:
            unit += 1
        for one in range(unit, len(units)):
            if first == last or starts[one] >= last:
                break
            held[token].append(one)
            tokens[one].append(token)

    def label(token: int) -> str:
        said = ""
        for one in held[token]:
            shown, every = isolated("".join(_signs(units[one]))), tokens[one]
            is_part = len(every) > 1
            apart = said.strip("·") and (is_part or said[-1].isdigit())
            said += " " * bool(apart) + (f"{shown} {every.index(token) + 1}/{len(every)}" if is_part else shown)
        return said

    split = [any(len(tokens[one]) > 1 for one in own) for own in held]
    return [CharacterPart(name, label(i), data[i]) if split[i] else name for i, name in enumerate(names)]


def characters_of(tokens: Sequence[str]) -> list[tuple[str, int]]:
    """The characters of a text of tokens, and for each the token that it begins in. A byte that is no character, as a
    text whose beginning was cut may have, is one of Python's surrogateescape."""
    data = list(map(bytes_of, tokens))
    owners = [i for i, one in enumerate(data) for _ in one]
    found, at = [], 0
    for character in b"".join(data).decode("utf-8", "surrogateescape"):
        found.append((character, owners[at]))
        at += len(character.encode("utf-8", "surrogateescape"))
    return found


def bytes_of(token: str) -> bytes:
    """The bytes of the text of a token, which may be named by them."""
    if isinstance(token, CharacterPart):
        return token.data
    if _BYTES.fullmatch(token):
        return bytes(int(one[3:5], 16) for one in _BYTE.findall(token))
    return token.encode("utf-8")


def may_have_parts(names: Sequence[str]) -> bool:
    """Whether some of the tokens of a text may be parts of a character."""
    return any(_BYTE.search(name) or not name.isascii() for name in names)


def in_words(token: str | bytes) -> str:
    """One token as `visible` has it, but in words where it is white space alone: "new line", "4 spaces"."""
    if not token or isinstance(token, bytes) or not set(token) <= set(_SPACES):
        return visible(token)
    runs = [(_SPACES[character], len(list(run))) for character, run in groupby(token)]
    return ", ".join(name if count == 1 else f"{count} {name}s" for name, count in runs)


def character_code(character: str) -> str:
    """The number of a character in Unicode, or the byte in its place that is no UTF-8: "1584", "byte B0"."""
    code = ord(character)
    return f"byte {code - 0xDC00:02X}" if 0xDC80 <= code <= 0xDCFF else str(code)


def visible_character(character: str) -> str:
    if character in _NAMED:
        return _NAMED[character]
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)  # Unicode's own pictures of the control characters
    if 0xDC80 <= code <= 0xDCFF:
        return f"<0x{code - 0xDC00:02X}>"  # a byte that is no UTF-8 (Python's surrogateescape)
    if 0xFE00 <= code <= 0xFE0F:  # chooses between forms of the character before it
        return f"[U+{code:04X}]"
    # C*: control, format (bidi, zero width), surrogate, private, unassigned. Z*: separators other than the space.
    if unicodedata.category(character)[0] in "CZ":
        return f"[U+{code:04X}]"
    return character


def shorten(text: str, limit: int | None) -> str:
    """`text` cut to `limit` characters, the last of them "…" when something was cut."""
    plain = unisolated(text)
    if limit is None or len(plain) <= limit:
        return text
    cut = plain[: max(limit - 1, 0)] + "…"
    return cut if plain == text else isolated(cut)


def plotly_escape(text: object) -> str:
    """`text` for a Plotly label, hover or template: no tags, entities, TeX or %{...} are left to interpret.

    Numeric entities survive Plotly's template step and are turned into the plain character when drawn.
    """
    codes = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "%": "&#37;", "$": "&#36;"}
    return literal(str(text), lambda c: codes.get(c, c) if c == " " or c in codes else visible_character(c))


def literal(text: str, sign: Callable[[str], str]) -> str:
    """A text in which each character is what `sign` makes of it, but for what `isolated` put around parts of it and for
    what is seen as one character."""
    if text.isascii():
        return "".join(map(sign, text))
    shown = []
    for i, part in enumerate(_ISOLATED.split(text)):
        inner = part[1:-1] if i % 2 and _FROM_RIGHT.search(part) else part
        signs = "".join(_each(inner, sign))
        shown.append(signs if inner is part else f"{ISOLATE}{signs}{END_ISOLATE}")
    return "".join(shown)


def _each(text: str, sign: Callable[[str], str]) -> Iterator[str]:
    at = 0
    for found in _SEQUENCE.finditer(text):
        if len(found[0]) > 1:
            yield from map(sign, text[at : found.start()])
            yield found[0]
            at = found.end()
    yield from map(sign, text[at:])


class TickLabel(str):
    """A label that says more where it is pointed at.

    Args:
        hover: the same with the bytes of the token.
    """

    hover: str

    def __new__(cls, shown: str, hover: str) -> "TickLabel":
        made = super().__new__(cls, shown)
        made.hover = hover
        return made

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        return str(self), self.hover


def label(token: str | bytes, limit: int | None = None) -> str:
    """One token, visible and safe inside a Plotly label or hover."""
    shown = plotly_escape(shorten(visible(token), limit))
    if isinstance(token, CharacterPart):
        return TickLabel(shown, f"{shown}, {token.bytes_in_words}")
    is_part = isinstance(token, str) and _parts(token) is not None
    return TickLabel(shown, f"{shown}: part of a character") if is_part else shown


def tick_labels(tokens: Sequence[str | bytes], limit: int = 12) -> list[str]:
    """Axis labels for tokens. Duplicates are fine: axes use integer positions with these as `ticktext`."""
    return [label(token, limit) for token in tokens]
