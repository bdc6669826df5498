"""The page on attention itself: four tokens to drag, words compared, and why scores are divided by sqrt(d_k)."""

from collections.abc import Callable

from pages.foundations.attention import drag, scale, softmax, words
from pages.ui import controls, page

# key in the address: (name, what draws it); each is computed and sent only when it is looked at
PANELS: dict[str, tuple[str, Callable[[], None]]] = {
    "drag": ("Drag four tokens", drag.panel),
    "words": ("Words of a text", words.panel),
    "scale": ("Why the square root", scale.products_panel),
    "gradient": ("Softmax and its gradient", scale.softmax_panel),
    "temperature": ("Temperature", softmax.panel),
}

page.begin(
    "How does attention work?",
    "A token's **query** is compared with every **key**; the softmax turns the scores into weights; the output is the "
    "sum of the **values**, each times its weight.",
)
look = controls.sections("Look at", "look", list(PANELS), "drag", {key: name for key, (name, _) in PANELS.items()})
PANELS[look][1]()
