"""The page on quantisation: grids, errors, outliers, loss against bits, a GGUF block, the cache, and speed."""

from collections.abc import Callable

from pages.inference.quantisation import block, cached, errors, loss, outliers, row, settings, timed
from pages.inference.quantisation.facts import FACTS
from pages.ui import controls, page
from pages.ui.loading import models

# what draws each section, computed and sent only when it is looked at
PANELS: dict[str, Callable[[], None]] = {
    "row": row.panel,
    "errors": errors.panel,
    "outliers": outliers.panel,
    "loss": loss.panel,
    "block": block.panel,
    "cache": cached.panel,
    "timed": timed.panel,
}
ALWAYS = {"model": settings.first_model()} if settings.first_model() != models.DEFAULT else {}

page.begin(FACTS, always=ALWAYS)
PANELS[controls.sections(FACTS.sections)]()
