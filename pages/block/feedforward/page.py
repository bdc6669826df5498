"""The feed-forward layer: neurons, activation functions, gated layers, and its share of a block."""

from collections.abc import Callable

from pages.block.feedforward import activations, gates, neurons, share
from pages.ui import controls, page

PANELS: dict[str, tuple[str, Callable[[], None]]] = {
    "neurons": ("Neurons", neurons.show),
    "activations": ("Activation functions", activations.activations),
    "gates": ("Gates", gates.gates),
    "share": ("Share of a block", share.share),
}

page.begin(
    "What do feed-forward layers compute?",
    "After attention, a feed-forward layer works on each token by itself. Each of its neurons is active on certain "
    "inputs (its **key**) and then adds a vector to the residual stream (its **value**).",
)
NAMES = {key: name for key, (name, _) in PANELS.items()}
panel = controls.sections("Look at", "panel", list(PANELS), "neurons", NAMES)
PANELS[panel][1]()
