"""The page on attention itself: four tokens to drag, words compared, and why scores are divided by sqrt(d_k)."""

from collections.abc import Callable

from pages.foundations.attention.drag import drag
from pages.foundations.attention.facts import FACTS
from pages.foundations.attention.scale import gradient, scale
from pages.foundations.attention.softmax import temperature
from pages.foundations.attention.word_pairs import words
from pages.ui import controls, page

# what draws each section, computed and sent only when it is looked at
SECTIONS: dict[str, Callable[[], None]] = {
    "drag": drag,
    "words": words,
    "scale": scale,
    "gradient": gradient,
    "temperature": temperature,
}

page.begin(FACTS)
SECTIONS[controls.sections(FACTS.sections)]()
