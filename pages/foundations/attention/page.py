"""The page on attention itself: four tokens to drag, words compared, and why scores are divided by sqrt(d_k)."""

from collections.abc import Callable

from pages.foundations.attention import drag, scale, softmax, words
from pages.foundations.attention.facts import FACTS
from pages.ui import controls, page

# what draws each section, computed and sent only when it is looked at
PANELS: dict[str, Callable[[], None]] = {
    "drag": drag.panel,
    "words": words.panel,
    "scale": scale.products_panel,
    "gradient": scale.softmax_panel,
    "temperature": softmax.panel,
}

page.begin(FACTS)
PANELS[controls.sections(FACTS.sections)]()
