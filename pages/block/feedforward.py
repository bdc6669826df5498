"""The feed-forward layer: what its neurons know, how it bends, how gates work, and how much of a model it is."""

from collections.abc import Callable

from pages.block import _feedforward_neurons as neurons
from pages.block import _feedforward_shapes as shapes
from pages.ui import controls, page

PANELS: dict[str, tuple[str, Callable[[], None]]] = {
    "neurons": ("Neurons", neurons.show),
    "activations": ("Non-linearities", shapes.activations),
    "gates": ("Gates", shapes.gates),
    "share": ("Two thirds", shapes.share),
}

page.begin(
    "What do the feed-forward layers know?",
    "After attention has gathered, a feed-forward layer works on each token by itself. Each of its neurons fits "
    "certain texts (its **key**) and then writes something (its **value**): a small rule, found by training.",
)
NAMES = {key: name for key, (name, _) in PANELS.items()}
panel = controls.segmented("Look at", "panel", list(PANELS), "neurons", NAMES)
PANELS[panel][1]()
