"""The page on long context: what length costs, sparse patterns, flash attention, ring attention, and timings."""

from collections.abc import Callable

from pages.inference.long_context import cost as cost
from pages.inference.long_context import flash as flash
from pages.inference.long_context import patterns as patterns
from pages.inference.long_context import ring as ring
from pages.inference.long_context import timed as timed
from pages.inference.long_context import traffic as traffic
from pages.inference.long_context.facts import FACTS
from pages.ui import controls, page

# what draws each section, computed and sent only when it is looked at
PANELS: dict[str, Callable[[], None]] = {
    "cost": cost.panel,
    "patterns": patterns.panel,
    "flash": flash.panel,
    "traffic": traffic.panel,
    "ring": ring.panel,
    "timed": timed.panel,
}

page.begin(FACTS)
PANELS[controls.sections(FACTS.sections)]()
