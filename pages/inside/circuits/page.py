"""Circuits: which parts of a model make a prediction, and what one hands to the next."""

from pages.inside.circuits.edges import edges
from pages.inside.circuits.features import features
from pages.ui import controls, page
from pages.ui.loading import models

SECTIONS = {"features": ("graph of features", features), "edges": ("edges between heads", edges)}

page.begin(
    "Which parts make this prediction together?",
    "From feature to feature: every link is an exact share of what the next one reads. From head to head: the "
    "strongest links by an estimate are cut one by one, and what they keep alone is measured. Both graphs are then "
    "tested in the model itself.",
    always=models.always(),
)
names = {key: name for key, (name, _) in SECTIONS.items()}
section = controls.sections("See", "show", list(SECTIONS), "features", names)
SECTIONS[section][1]()
