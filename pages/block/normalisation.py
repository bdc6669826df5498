"""The page on normalisation: by hand, over which axis, where it stands, and what that does to training."""

from collections.abc import Callable

from pages.block import _norm_depth as depth
from pages.block import _norm_vectors as vectors
from pages.ui import controls, page

PANELS: dict[str, Callable[[], None]] = {
    "By hand": vectors.by_hand,
    "Which axis": vectors.which_axis,
    "Where it stands": depth.placements,
    "First steps": depth.first_steps,
}

page.begin(
    "What keeps the numbers in range?",
    "A norm gives each token's vector the same size, whatever came in. Which numbers it looks at, and whether it "
    "stands **before** a sublayer or **after** the sum, decides if a deep network trains at all.",
)
PANELS[controls.segmented("Look at", "part", list(PANELS), "By hand")]()
