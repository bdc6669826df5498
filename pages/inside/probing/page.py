"""Probing: what can be read off the residual stream by a linear map, and a direction put to use."""

from pages.inside.probing.classes import classes
from pages.inside.probing.facts import FACTS
from pages.inside.probing.reads import reads
from pages.inside.probing.sentence_pair import sentences
from pages.inside.probing.steer import steer
from pages.ui import controls, page
from pages.ui.loading import models

SECTIONS = {"reads": reads, "classes": classes, "steer": steer, "sentences": sentences}

page.begin(FACTS, always=models.always())
SECTIONS[controls.sections(FACTS.sections)]()
