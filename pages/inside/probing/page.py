"""Probing: what can be read off the residual stream by a linear map, and a direction put to use."""

from pages.inside.probing.classes import classes
from pages.inside.probing.reads import reads
from pages.inside.probing.sentence_pair import sentences
from pages.inside.probing.steer import steer
from pages.ui import controls, page
from pages.ui.loading import models

SECTIONS = {
    "reads": ("what a probe reads", reads),
    "classes": ("two classes of your own", classes),
    "steer": ("steer with it", steer),
    "sentences": ("two sentences", sentences),
}

page.begin(
    "What can be read off the stream by a straight line?",
    "A **linear probe** reads what is there, not what the model uses: add its direction to the stream, and see.",
    always=models.always(),
)
names = {key: name for key, (name, _) in SECTIONS.items()}
section = controls.sections("See", "show", list(SECTIONS), "reads", names)
SECTIONS[section][1]()
