"""The page on recurrence: why attention at all."""

from collections.abc import Callable

from pages.foundations.recurrence import alignment, comparison, gradient, passes
from pages.foundations.recurrence.facts import FACTS
from pages.ui import controls, page

# what draws each section, computed and sent only when it is looked at
PANELS: dict[str, Callable[[], None]] = {
    "gradient": gradient.panel,
    "training": comparison.panel,
    "time": passes.panel,
    "alignment": alignment.panel,
}

page.begin(FACTS)
PANELS[controls.sections(FACTS.sections)]()
