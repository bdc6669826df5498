"""In-context learning: examples in the prompt, right and random labels, the heads that use them, and written steps."""

from pages.inside.in_context.examples import examples
from pages.inside.in_context.facts import FACTS
from pages.inside.in_context.heads import heads
from pages.inside.in_context.steps import steps
from pages.ui import controls, page
from pages.ui.loading import models

SECTIONS = {"examples": examples, "heads": heads, "steps": steps}

page.begin(FACTS, always=models.always())
SECTIONS[controls.sections(FACTS.sections)]()
