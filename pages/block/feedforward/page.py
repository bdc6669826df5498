"""The feed-forward layer: neurons, activation functions, gated layers, and its share of a block."""

from collections.abc import Callable

from pages.block.feedforward import activations, gates, neurons, share
from pages.block.feedforward.facts import FACTS
from pages.ui import controls, page

PANELS: dict[str, Callable[[], None]] = {
    "neurons": neurons.show,
    "activations": activations.activations,
    "gates": gates.gates,
    "share": share.share,
}

page.begin(FACTS)
PANELS[controls.sections(FACTS.sections)]()
