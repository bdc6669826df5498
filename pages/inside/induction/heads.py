"""The page on induction: which heads of a model are of which kind, and what all sections share."""

from pages.ui import cache
from pages.ui.loading import models
from tfcore.measures.heads.induction_heads import head_kinds

MODEL = "stories"  # the first model

kinds = cache.of_model(max_entries=12)(head_kinds)


def choose_model() -> str:
    """The model: those that predict the next token."""
    return models.choose("decoder", default=MODEL, why_not=models.silent)
