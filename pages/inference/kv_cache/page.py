"""The page on the KV cache: what it saves, how large it gets, whether it fits, and how its memory is allocated."""

from collections.abc import Callable

from pages.inference.kv_cache import budget as budget
from pages.inference.kv_cache import paged as paged
from pages.inference.kv_cache import size as size
from pages.inference.kv_cache import watch as watch
from pages.ui import controls, page

PARTS: dict[str, Callable[[], None]] = {
    "with": watch.panel,
    "large": size.panel,
    "fit": budget.panel,
    "paged": paged.panel,
}
NAMES = {"with": "With and without", "large": "Cache size", "fit": "Does it fit?", "paged": "Paged cache"}

page.begin(
    "Why cache keys and values?",
    "In a causal decoder the keys and values of earlier tokens never change, so generation **caches them**. Each new "
    "token then costs one row of attention, not a pass over the whole sequence; the price is memory, for every token "
    "of every user.",
)
PARTS[controls.sections("Look at", "part", list(PARTS), "with", NAMES)]()
