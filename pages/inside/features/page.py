"""Features: what sparse dictionaries find in a text, and a small dictionary trained here and now."""

from pages.inside.features.explore import MODEL, explore
from pages.inside.features.grow import grow_one
from pages.ui import controls, page
from pages.ui.loading import models

SECTIONS = {"text": ("features of a text", explore), "grow": ("train one yourself", grow_one)}

page.begin(
    "Which features are active in a text?",
    "A sparse dictionary writes an activation as a sum of a few **features**. Look at one, and switch it off or on.",
)
models.only(MODEL, "transcoders are trained for its layers alone.")
section = controls.sections("See", "show", list(SECTIONS), "text", {key: name for key, (name, _) in SECTIONS.items()})
SECTIONS[section][1]()
