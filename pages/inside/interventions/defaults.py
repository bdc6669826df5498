"""With what the page on interventions begins, and with what it began in links of an earlier version."""

from typing import NamedTuple

from pages.ui import links
from tfcore.analysis.inside.interventions import Action

CHOSEN = {"strongest": "the head with the largest effect", "own": "parts you name"}


class Defaults(NamedTuple):
    """Defaults of the controls of that name."""

    action: Action
    edit: str
    parts: str


def defaults() -> Defaults:
    """By the version of the link: the first one began with head 2.5 of stories times -2."""
    if links.is_old():
        return Defaults("scale", "own", "2.5")
    return Defaults("zero", "own" if links.asked("parts") is not None else "strongest", "")


def said_always() -> dict[str, str] | None:
    """What a copied link says of controls that are at the defaults of the first version."""
    return {"action": "scaling", "edit": CHOSEN["own"], "parts": "2.5"} if links.is_old() else None
