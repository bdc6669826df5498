"""The page on normalisation: by hand, over which axis, where it stands, and what that does to training."""

from collections.abc import Callable

from pages.block.normalisation import depth, vectors
from pages.ui import controls, page

PANELS: dict[str, Callable[[], None]] = {
    "By hand": vectors.by_hand,
    "Which axis": vectors.which_axis,
    "Where it stands": depth.placements,
    "First steps": depth.first_steps,
}

page.begin(
    "What does normalisation do?",
    "LayerNorm and RMSNorm bring each token's vector to the same size, before a learned scale. Over which axis they "
    "normalise, and whether they stand **before** a sublayer (pre-LN) or **after** the sum (post-LN), decide how well "
    "a deep network trains.",
)
PANELS[controls.sections("Look at", "part", list(PANELS), "By hand")]()
