"""The page on information: what a loss measures, from a coin to a pasted text, in bits."""

from collections.abc import Callable

from pages.training.information import bars as bars
from pages.training.information import bumps as bumps
from pages.training.information import joint as joint
from pages.training.information import text as texts
from pages.training.information import token as token
from pages.training.information.facts import FACTS
from pages.ui import controls, page
from pages.ui.loading import models

# what draws each section, computed and sent only when it is looked at
PANELS: dict[str, Callable[[], None]] = {
    "bars": bars.panel,
    "bumps": bumps.panel,
    "joint": joint.panel,
    "token": token.panel,
    "text": texts.panel,
}

page.begin(FACTS, always=models.always())
PANELS[controls.sections(FACTS.sections)]()
