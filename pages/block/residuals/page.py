"""The page on residual connections: gradients, sublayer ablation, initial weights, dropout."""

from collections.abc import Callable

from pages.block.residuals import ablation, depth, dropout
from pages.ui import controls, page

PANELS: dict[str, Callable[[], None]] = {
    "Gradients": depth.gradients,
    "Skip blocks": ablation.skip_blocks,
    "Initial weights": depth.initial_weights,
    "Dropout": dropout.dropout,
}

page.begin(
    "Why residual connections?",
    "Each sublayer adds its output to the residual stream, which runs from the first layer to the last. Gradients flow "
    "back along the sums, and a model without one of its sublayers still computes something.",
)
PANELS[controls.sections("Look at", "part", list(PANELS), "Gradients")]()
