"""Circuits: which parts of a model make a prediction, and what one hands to the next."""

from pages.inside.circuits.edges import edges
from pages.inside.circuits.facts import FACTS
from pages.inside.circuits.features import features
from pages.ui import controls, page
from pages.ui.loading import models

SECTIONS = {"features": features, "edges": edges}

page.begin(FACTS, always=models.always())
SECTIONS[controls.sections(FACTS.sections)]()
