"""Fine-tuning: `stories` made different in a minute, by another text or by a reward."""

from collections.abc import Callable

from pages.training.finetuning import preferring, tuning
from pages.training.finetuning.facts import FACTS
from pages.ui import controls, page

PARTS: dict[str, Callable[[], None]] = {"tuning": tuning.panel, "preference": preferring.panel}

page.begin(FACTS)
PARTS[controls.sections(FACTS.sections)]()
