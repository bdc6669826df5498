"""With what the page on interventions begins, and with what it began in links of an earlier version."""

from typing import NamedTuple

from pages.inside.metric import KINDS
from pages.ui import links
from tfcore.measures.effect_metric import Kind
from tfcore.measures.interventions import Action

CHOSEN = {"strongest": "the head with the largest effect", "own": "parts you name"}


class Defaults(NamedTuple):
    """Defaults of the controls of that name, and whether two names in a text are compared at first."""

    action: Action
    edit: str
    parts: str
    by_names: bool

    def by(self, rival: int | None) -> Kind:
        """The quantity by which effects are measured; `rival` is the other name in a text that predicts a name."""
        return "prediction" if rival is None or not self.by_names else "difference"


def defaults() -> Defaults:
    """By the version of the link: the first one began with head 2.5 of stories times -2."""
    if links.is_old():
        return Defaults("scale", "own", "2.5", by_names=False)
    named = links.asked("parts") is not None and links.asked("edit") is None  # what is said of it needs no default
    return Defaults("zero", "own" if named else "strongest", "", by_names=True)


def said_always() -> dict[str, str] | None:
    """Values that a copied link states for controls that are at the defaults of the first version."""
    first = {"action": "scaling", "edit": CHOSEN["own"], "parts": "2.5", "by": KINDS["prediction"], "row": "3"}
    return first if links.is_old() else None
