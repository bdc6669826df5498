"""The page on quantisation: grids, errors, outliers, loss against bits, a GGUF block, the cache, and speed."""

from collections.abc import Callable

from pages.inference.quantisation import block, cached, errors, loss, outliers, row, settings, timed
from pages.ui import controls, page
from pages.ui.loading import models

# key in the address: (name, what draws it); each is computed and sent only when it is looked at
PANELS: dict[str, tuple[str, Callable[[], None]]] = {
    "row": ("One row", row.panel),
    "errors": ("By layer", errors.panel),
    "outliers": ("Outliers", outliers.panel),
    "loss": ("Loss", loss.panel),
    "block": ("GGUF", block.panel),
    "cache": ("KV cache", cached.panel),
    "timed": ("Timed here", timed.panel),
}
ALWAYS = {"model": settings.first_model()} if settings.first_model() != models.DEFAULT else {}

page.begin(
    "What is lost with fewer bits?",
    "Quantisation stores weights, activations and caches on a coarse grid: less memory, some error. Where the error "
    "falls, and what it does to the loss, depends on **what shares a scale**.",
    ALWAYS,
)
look = controls.sections("Look at", "look", list(PANELS), "row", {key: name for key, (name, _) in PANELS.items()})
PANELS[look][1]()
