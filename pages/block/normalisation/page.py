"""The page on normalisation: by hand, over which axis, where it stands, and what that does to training."""

from collections.abc import Callable

from pages.block.normalisation import depth, vectors
from pages.block.normalisation.facts import FACTS
from pages.ui import controls, page

PANELS: dict[str, Callable[[], None]] = {
    "By hand": vectors.by_hand,
    "Which axis": vectors.which_axis,
    "Where it stands": depth.placements,
    "First steps": depth.first_steps,
}

page.begin(FACTS)
PANELS[controls.sections(FACTS.sections)]()
