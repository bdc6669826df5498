"""The page on long texts: what length costs, sparse patterns, flash attention, ring attention, and all of it timed."""

from collections.abc import Callable

from pages.inference import _long_cost as cost
from pages.inference import _long_flash as flash
from pages.inference import _long_patterns as patterns
from pages.inference import _long_ring as ring
from pages.inference import _long_timed as timed
from pages.inference import _long_traffic as traffic
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
    "What does a long text cost?",
    "Every token looks at every other one, so **twice the text is four times the scores**. Look at fewer pairs, never "
    "write the scores down, or share them out: each way is here, with its numbers.",
)
look = controls.segmented("Look at", "look", list(PANELS), "cost", {key: name for key, (name, _) in PANELS.items()})
PANELS[look][1]()
