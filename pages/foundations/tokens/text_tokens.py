"""The panel on text: the same text as characters, bytes and tokens, coloured alike."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.ui import cache, controls, text
from pages.ui.frame import panel as panel_of
from pages.ui.loading import models
from pages.ui.reading import as_special
from tfcore import available, shipped
from tfcore.config import ModelConfig
from tfcore.measures.token_pieces import Aligned, TextPieces
from tfcore.tokenizers.tokenizer import BPETokenizer
from tfcore.views.foundations import tokens as views
from tfcore.views.foundations.tokens.say import text as say

MODEL = "stories"
CHARACTERS = 2_000  # of a text
CHIPS = 240  # drawn in a row
TEXT = "The grandmother's unhappiness weighed 1234 grams. Жил-был 猫 🐱!"
LOUD = 4  # the hue of tokens that are parts of a character
NONE = 3  # the hue of characters that no token stands for
QUIET = 3  # hues that the other tokens take in turn
YOURS = "your text"
KINDS = {
    "a children's story": "Once upon a time there was a little girl who lived in a big house with her mother.",
    "a newspaper": "The committee postponed its decision on infrastructure subsidies until the next quarter.",
    "code": "def area(width, height):\n    return width * height  # in square metres\n",
    "numbers": "3.14159265 2026 1048576 0.0001 299792458",
    "German": "Es war einmal ein kleines Mädchen, das wohnte mit seiner Mutter in einem großen Haus.",
    "Russian": "Жила-была маленькая девочка, и жила она с мамой в большом доме.",
    "Hindi": "एक समय की बात है, एक छोटी लड़की अपनी माँ के साथ एक बड़े घर में रहती थी।",
    "Chinese": "从前有一个小女孩，她和妈妈住在一座大房子里。",
    "emoji": "🐱🐶🌳🏠🌊🎂🚲🧵🪁👩‍🚀",
}
# texts of KINDS with the same content
LANGUAGES = {"English": "a children's story", "German": "German", "Russian": "Russian", "Hindi": "Hindi"}
SEEN = (
    "Each token has one colour in all three rows, so you see which letters it stands for. In most vocabularies a "
    "word frequent in the texts they were made from is one token, and a rare word falls into several. "
)
NEVER_LOST = (
    "The space before a word belongs to its token (·). A character that has no token of its own is never lost: it "
    "becomes tokens of its **bytes** (orange), at most four for one character."
)
SPLIT = (
    "What is grey is left out: this tokenizer changes a text before it cuts it, so the text cannot be "
    "recovered from its ids exactly. WordPiece marks what continues a word (\\#\\#)."
)
TRY = {
    "a story": {"text": KINDS["a children's story"]},
    "rare words": {"text": "Photosynthesis, antidisestablishmentarianism and the axolotl's chrysanthemum."},
    "numbers": {"text": "7 + 35 = 42, 2026 is not 1234567, and pi is 3.14159."},
    "other scripts": {"text": "мир, 世界, العالم, दुनिया, κόσμος, światło"},
    "emoji": {"text": "A cat 🐱, a family 👩‍👩‍👧 and a flag 🇫🇷."},
    "code": {"text": KINDS["code"]},
}


def readers() -> dict[str, str]:
    """The models whose tokenizers can be chosen: those that ship have nearly the same, the real ones their own."""
    return {name: name for name in (MODEL, *(name for name in available() if name not in shipped()))}


def lines_up(_: ModelConfig, tokenizer: Any) -> str | None:
    """Why a tokenizer's tokens cannot be shown beside the letters and bytes they stand for."""
    if isinstance(tokenizer, BPETokenizer | Aligned):
        return None
    return "its tokenizer does not say what part of a text each token stands for."


def panel() -> None:
    """The same text, three ways."""
    with panel_of((3, 2)) as p:
        p.examples(TRY)
        with p.controls:
            pasted = controls.text_area("Text", "text", TEXT, CHARACTERS, height=80)
            model_name = models.choose(
                label="Tokenizer of", default=MODEL, why_not=lines_up, options=readers(), reads="the stream"
            )
            pasted = as_special(model_name, "text", pasted)
        if not pasted:
            st.info("There is no text yet: type or paste some, or pick an example.")
            return
        cut = views.pieces_of(model_name, pasted)
        changed = say.changed_text(cut, cache.model(model_name)[1])
        with p.controls:
            rows(cut, models.config(model_name).vocab_size, changed)
        shown = views.text(model_name, {YOURS: pasted, **KINDS})
        with p.picture:
            p.show(shown)
        p.what_to_see(SEEN + (NEVER_LOST if changed.read is None else SPLIT))
        p.question(
            "A vocabulary is learned mostly from English. What does that mean for other languages?",
            f"Usually more tokens for the same content. {say.tokens_of_texts(model_name, shown.result, LANGUAGES)} "
            "More tokens cost more computation and fill the context sooner; vocabularies learned from many languages "
            "narrow the gap.",
        )


def rows(cut: TextPieces, vocabulary: int, changed: say.ChangedText) -> None:
    """Characters, bytes and tokens as chips that share the colours of the tokens."""
    hue = [LOUD if part else i % QUIET for i, part in enumerate(cut.part)]
    hue.append(NONE)  # of what no token stands for, at place -1
    characters = [hue[token] for token in cut.token_of_character]
    data = cut.data.hex(" ").upper().split()
    kinds: tuple[tuple[str, Sequence[str | bytes], list[int], list[str] | None], ...] = (
        ("characters", list(cut.text), characters, None),
        ("bytes", data, [hue[token] for token in cut.token_of_byte], None),
        ("tokens", list(cut.names), hue[:-1], [str(i) for i in cut.ids]),
    )
    sizes = say.text_sizes(cut, vocabulary)
    for title, (key, pieces, hues, notes) in zip(sizes.titles, kinds, strict=True):
        st.markdown(f"**{title}**")
        text.chips(pieces[:CHIPS], key=f"chips {key}", hues=hues[:CHIPS], notes=notes and notes[:CHIPS], label=title)
    more = f" Only the first {CHIPS} of each row are drawn." if cut.data[CHIPS:] or cut.ids[CHIPS:] else ""
    st.caption(text.escape(f"{sizes} {changed}{more}"))
