"""The page on scaling: the compute-optimal split, the laws, real models, the cost, and over-training."""

from collections.abc import Callable

from pages.training.scaling import beyond as beyond
from pages.training.scaling import budget as budget
from pages.training.scaling import cost as cost
from pages.training.scaling import ladder as ladder
from pages.training.scaling import law as law
from pages.training.scaling import models as models
from pages.ui import controls, page

PARTS: dict[str, Callable[[], None]] = {
    "budget": budget.panel,
    "law": law.panel,
    "models": models.panel,
    "cost": cost.panel,
    "beyond": beyond.panel,
    "ours": ladder.panel,
}
NAMES = {
    "budget": "Split a budget",
    "law": "The laws",
    "models": "Real models",
    "cost": "What it costs",
    "beyond": "Over-training",
    "ours": "Our own ladder",
}

page.begin(
    "How many parameters, and how many tokens?",
    "Scaling laws: the loss of a language model falls along a smooth curve as parameters and tokens grow. Fitted to "
    "small models, the curve predicts **before a large one is trained** how a budget of *C* operations is best split "
    "into *N* parameters and *D* tokens.",
)
PARTS[controls.sections("Look at", "part", list(PARTS), "budget", NAMES)]()
