"""The page on history: from 1943 to today, which families there are, and what else is a sequence."""

from pages.reference.history import sequences, timeline
from pages.reference.history.facts import FACTS
from pages.ui import controls, page

page.begin(FACTS)
show = controls.sections(FACTS.sections)
if show == "sequences":
    sequences.show()
else:
    timeline.show(families=show == "families")
