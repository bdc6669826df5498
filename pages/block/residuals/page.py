"""The page on residual connections: gradients, sublayer ablation, initial weights, dropout."""

from collections.abc import Callable

from pages.block.residuals import ablation, depth, dropout
from pages.block.residuals.facts import FACTS
from pages.ui import controls, page

PANELS: dict[str, Callable[[], None]] = {
    "Gradients": depth.gradients,
    "Skip blocks": ablation.skip_blocks,
    "Initial weights": depth.initial_weights,
    "Dropout": dropout.dropout,
}

page.begin(FACTS)
PANELS[controls.sections(FACTS.sections)]()
