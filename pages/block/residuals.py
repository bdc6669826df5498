"""The page on residual connections: gradients, paths, initial weights, dropout."""

from collections.abc import Callable

from pages.block import _residual_depth as depth
from pages.block import _residual_paths as paths
from pages.ui import controls, page

PANELS: dict[str, Callable[[], None]] = {
    "Gradients": depth.gradients,
    "Skip blocks": paths.skip_blocks,
    "Initial weights": depth.initial_weights,
    "Dropout": paths.dropout,
}

page.begin(
    "Why add, and not replace?",
    "Each sublayer adds to a stream that runs past it from the first layer to the last. Gradients come back along it "
    "undamped, and a sublayer that is missing takes only its own share away.",
)
PANELS[controls.segmented("Look at", "part", list(PANELS), "Gradients")]()
