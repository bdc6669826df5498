"""Circuits: which parts of a model make a prediction, and what one hands to the next."""

from pages.inside.circuits.features import features
from pages.ui import controls, page

SECTIONS = {"features": ("graph of features", features)}

page.begin(
    "Which parts make this prediction together?",
    "An attribution graph follows a prediction back to the tokens, from feature to feature: every link is an exact "
    "share of what the next one reads, and each claim is tested in the model itself.",
)
names = {key: name for key, (name, _) in SECTIONS.items()}
section = controls.sections("See", "show", list(SECTIONS), "features", names)
SECTIONS[section][1]()
