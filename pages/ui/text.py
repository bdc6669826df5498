"""Show text and tokens exactly as they are, wherever they are shown.

Tokens are hostile without meaning to be: Markdown, LaTeX, Streamlit directives and Plotly labels all interpret
`$x$`, `:red[`, `<b>` or `*a*`. Nothing typed by a person or produced by a tokenizer reaches the screen except
through one of these functions.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import streamlit as st

from pages.ui import keys
from pages.ui.components import assets
from tfcore.charts.theme import CATEGORIES
from tfcore.measures.token_text import CharacterPart, isolated, literal, visible_character
from tfcore.measures.token_text import label as label
from tfcore.measures.token_text import plotly_escape as plotly_escape
from tfcore.measures.token_text import shorten as shorten
from tfcore.measures.token_text import tick_labels as tick_labels
from tfcore.measures.token_text import visible as visible
from tfcore.tokenizers.tokenizer import unmarked

WORD_JOINER = "\u2060"  # invisible, unbreakable: splits ":smile:" and "->" without changing what is seen
NO_BREAK_SPACE = "\u00a0"
NAME = 100  # letters shown of a name that a visitor or a file may have made endless
MESSAGE = 300  # the same of a message
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# Pieces that Streamlit rewrites after parsing, where a backslash no longer helps: emoji codes and icons (":x:"),
# addresses ("http:", "www.", "a@b"), arrows and signs ("->", "<=", "--").
_REWRITTEN = re.compile(r"(?<=:)(?=\S)|(?<=www)(?=\.)|(?<=@)|(?<=[-<>~])(?=[-=>])", re.IGNORECASE)


def escape(text: object, limit: int | None = None) -> str:
    """Markdown that shows `text` literally, on one line, in any Streamlit label, caption or paragraph.

    Newlines, tabs, controls and bidi characters become visible signs; `limit` cuts long text with "…". What is written
    from right to left stands for itself.
    """
    signs = literal(shorten(unmarked(str(text)), limit), lambda c: " " if c == " " else visible_character(c))
    spaced = re.sub(r"^ | $|(?<= ) ", NO_BREAK_SPACE, signs)  # Markdown eats these otherwise, or makes a code block
    parts = _REWRITTEN.sub(WORD_JOINER, spaced).split(WORD_JOINER)
    escaped = WORD_JOINER.join(_PUNCTUATION.sub(r"\\\1", part) for part in parts)
    # Streamlit strips space from both ends, this kind too, unless something stands outside of it.
    before, after = (WORD_JOINER if end == NO_BREAK_SPACE else "" for end in (escaped[:1], escaped[-1:]))
    return isolated(before + escaped + after)


def listed(names: Sequence[str], most: int) -> str:
    """The first of these names, in bold, and how many more there are."""
    shown = ", ".join(f"**{escape(name, NAME)}**" for name in names[:most])
    return f"{shown} and {len(names) - most} more" if len(names) > most else shown


def paragraphs(text: str) -> str:
    """Markdown that shows `text` literally, line by line."""
    return "  \n".join(escape(line) if line.strip() else NO_BREAK_SPACE for line in text.strip().split("\n"))


def written(markdown: str, key: str) -> None:
    """A text that a model has written, in larger letters than what is said about it; it grows while it is written."""
    with st.container(key=f"written {key}"):
        st.markdown(markdown)


HUES = 5  # in chips.css
# Tried instead of this component: `st.pills`. It shows tokens and takes a click, without a script of ours. But its
# chips have no shade, colour, note, tooltip or bar each, and its labels are Markdown.
_CHIPS = assets.inline("token_chips", "chips", '<div class="chips" role="group"></div>')


class BarPart(NamedTuple):
    """A part of the bar under a chip.

    Args:
        words: written in it, where it is wide enough.
        share: how wide it is, beside the others of its bar.
        category: one of the theme's categories, from 0 on; beyond the last they begin again. None has no colour.
        hatched: it is there, but does not count.
    """

    words: str
    share: float
    category: int | None
    hatched: bool = False


NARROW = 0.22  # share of a bar below which no words fit


def _shown_part(part: BarPart) -> list[Any]:
    colour = None if part.category is None else part.category % len(CATEGORIES)
    return [part.words if part.share >= NARROW else "", round(part.share, 3), colour, part.hatched]


def chips(
    tokens: Sequence[str | bytes],
    *,
    key: str,
    selected: int | None = None,
    shade: Sequence[float] | None = None,
    titles: Sequence[str] | None = None,
    hues: Sequence[int] | None = None,
    notes: Sequence[str] | None = None,
    parts: Sequence[Sequence[BarPart]] | None = None,
    faint: Sequence[bool] | None = None,
    on_select: Callable[[int], None] | None = None,
    label: str,
) -> None:
    """Tokens as a row of chips; a click, or Enter on the focused one, calls `on_select(index)` before the rerun.

    Args:
        tokens: the pieces, in order; shown through `visible`.
        selected: index of the highlighted chip.
        shade: one number from 0 to 1 per token, drawn as the strength of the background.
        titles: one tooltip per token (plain text).
        hues: one of the colours 0 to 4 per token, where neighbours or kinds are to be told apart; 4 is the loud one.
        notes: one short line per token, written small under it.
        parts: per token a bar under it, cut into parts.
        faint: per token whether it steps back.
        on_select: a callback; it may call `controls.set_values`. Without it the chips are plain text.
        label: the accessible name of the row.
    """
    state = keys.own("chips", key)
    count = len(tokens)
    data: dict[str, Any] = {
        "tokens": [visible(token) for token in tokens],
        "selected": selected if selected is not None and 0 <= selected < count else None,
        "shade": None if shade is None else [round(min(max(float(s), 0.0), 1.0), 3) for s in shade],
        "titles": _titles(tokens, titles),
        "hues": None if hues is None else [min(max(int(hue), 0), HUES - 1) for hue in hues],
        "notes": None if notes is None else [str(note) for note in notes],
        "parts": None if parts is None else [[_shown_part(part) for part in bar] for bar in parts],
        "colours": None if parts is None else CATEGORIES,
        "faint": None if faint is None else [bool(one) for one in faint],
        "clickable": on_select is not None,
        "label": label,
    }

    def chosen() -> None:
        index = _chosen_index(st.session_state.get(state), count)
        if index is not None and on_select is not None:
            on_select(index)

    _CHIPS(key=state, data=data, on_chosen_change=chosen)


def _titles(tokens: Sequence[str | bytes], titles: Sequence[str] | None) -> list[str] | None:
    """Tooltips, which say the bytes of parts of characters, too."""
    parts = [token.bytes_in_words if isinstance(token, CharacterPart) else "" for token in tokens]
    if titles is None:
        return parts if any(parts) else None
    return [": ".join(filter(None, (part, str(title)))) for part, title in zip(parts, titles, strict=True)]


def _chosen_index(state: object, count: int) -> int | None:
    """The index a browser sent, or None when it is no index of a token (anyone can send anything)."""
    index = state.get("chosen") if isinstance(state, Mapping) else None
    if isinstance(index, float) and index.is_integer():
        index = int(index)
    valid = isinstance(index, int) and not isinstance(index, bool) and 0 <= index < count
    return index if valid else None
