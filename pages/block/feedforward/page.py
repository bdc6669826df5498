"""The feed-forward layer: what its neurons know, how it bends, how gates work, and how much of a model it is."""

from collections.abc import Callable

from pages.block.feedforward import neurons as neurons
from pages.block.feedforward import shapes as shapes
from pages.ui import controls, page

PANELS: dict[str, tuple[str, Callable[[], None]]] = {
    "neurons": ("Neurons", neurons.show),
    "activations": ("Activation functions", shapes.activations),
    "gates": ("Gates", shapes.gates),
    "share": ("Share of a block", shapes.share),
}

page.begin(
    "What do feed-forward layers compute?",
    "After attention, a feed-forward layer works on each token by itself. Each of its neurons is active on certain "
    "inputs (its **key**) and then adds a vector to the residual stream (its **value**).",
)
NAMES = {key: name for key, (name, _) in PANELS.items()}
panel = controls.segmented("Look at", "panel", list(PANELS), "neurons", NAMES)
PANELS[panel][1]()
