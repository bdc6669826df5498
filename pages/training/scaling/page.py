"""The page on scaling: the compute-optimal split, the laws, real models, the cost, and over-training."""

from collections.abc import Callable

from pages.training.scaling import beyond as beyond
from pages.training.scaling import budget as budget
from pages.training.scaling import cost as cost
from pages.training.scaling import ladder as ladder
from pages.training.scaling import law as law
from pages.training.scaling import models as models
from pages.training.scaling.facts import FACTS
from pages.ui import controls, page

PARTS: dict[str, Callable[[], None]] = {
    "budget": budget.panel,
    "law": law.panel,
    "models": models.panel,
    "cost": cost.panel,
    "beyond": beyond.panel,
    "ours": ladder.panel,
}

page.begin(FACTS)
PARTS[controls.sections(FACTS.sections)]()
