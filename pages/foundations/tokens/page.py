"""The page on tokens: what a model reads instead of letters, pixels or sounds; one part at a time."""

from collections.abc import Callable

from pages.foundations.tokens import embeddings, merges, rows, signals, uploads
from pages.foundations.tokens import text_tokens as text
from pages.ui import controls, page

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
NAMES = {
    "text": "Text",
    "merges": "Merges, one by one",
    "learning": "Learning merges",
    "image": "Image",
    "sound": "Sound",
    "series": "Time series",
    "protein": "Protein",
    "embeddings": "Embedding table",
}

page.begin(
    "What does a model read?",
    "Not letters, pixels or sounds: everything is first **cut into tokens**, and each token becomes one vector. How it "
    "is cut decides how long the sequence is, and what it costs.",
)
part = controls.sections("Cut up", "part", list(PARTS), "text", NAMES)
if part not in ("image", "sound"):
    uploads.forget()
PARTS[part]()
