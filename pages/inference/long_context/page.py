"""The page on long context: what length costs, sparse patterns, flash attention, ring attention, and timings."""

from collections.abc import Callable

from pages.inference.long_context import cost as cost
from pages.inference.long_context import flash as flash
from pages.inference.long_context import patterns as patterns
from pages.inference.long_context import ring as ring
from pages.inference.long_context import timed as timed
from pages.inference.long_context import traffic as traffic
from pages.ui import controls, page

# key in the address: (name, what draws it); each is computed and sent only when it is looked at
PANELS: dict[str, tuple[str, Callable[[], None]]] = {
    "cost": ("Cost of length", cost.panel),
    "patterns": ("Sparse patterns", patterns.panel),
    "flash": ("Flash attention", flash.panel),
    "traffic": ("Memory traffic", traffic.panel),
    "ring": ("Ring attention", ring.panel),
    "timed": ("Timed here", timed.panel),
}

page.begin(
    "What does a long context cost?",
    "Every query attends to every key, so **twice the length means four times the scores**. Attend to fewer pairs "
    "(sparse attention), never write the scores to memory (flash attention), or distribute them (ring attention): each "
    "is here, with its numbers.",
)
look = controls.sections("Look at", "look", list(PANELS), "cost", {key: name for key, (name, _) in PANELS.items()})
PANELS[look][1]()
