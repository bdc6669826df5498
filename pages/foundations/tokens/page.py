"""The page on tokens: what a model reads instead of letters, pixels or sounds; one part at a time."""

from collections.abc import Callable

from pages.foundations.tokens import embeddings, merges, rows, signals
from pages.foundations.tokens import text_tokens as text
from pages.foundations.tokens.facts import FACTS
from pages.ui import controls, file_input, page

PARTS: dict[str, Callable[[], None]] = {
    "text": text.panel,
    "merges": merges.replayed,
    "learning": merges.learned,
    "image": signals.image,
    "sound": signals.sound,
    "series": rows.series,
    "protein": rows.protein,
    "embeddings": embeddings.panel,
}

page.begin(FACTS)
part = controls.sections(FACTS.sections)
if part not in ("image", "sound"):
    file_input.forget()
PARTS[part]()
