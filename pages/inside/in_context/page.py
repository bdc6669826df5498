"""In-context learning: examples in the prompt, right and random labels, the heads that use them, and written steps."""

from pages.inside.in_context.examples import examples
from pages.inside.in_context.heads import heads
from pages.inside.in_context.steps import steps
from pages.ui import controls, page
from pages.ui.loading import models

SECTIONS = {
    "examples": ("Examples in the prompt", examples),
    "heads": ("Which heads carry it", heads),
    "steps": ("Thinking in tokens", steps),
}

page.begin(
    "What does it learn from the prompt alone?",
    "**In-context learning**: a few examples in the prompt, and the model does as they do, with no weight changed.",
    always=models.always(),
)
names = {key: name for key, (name, _) in SECTIONS.items()}
section = controls.sections("See", "show", list(SECTIONS), "examples", names)
SECTIONS[section][1]()
