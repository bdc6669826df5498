"""The page on history: from 1943 to today, which families there are, and what else is a sequence."""

from pages.reference.history import sequences as sequences
from pages.reference.history import timeline as timeline
from pages.ui import controls, page

SHOWN = {"time": "Timeline", "families": "Families", "sequences": "What else is a sequence"}

page.begin(
    "Where does it come from?",
    "From a neuron with a threshold in 1943 to models that read, write, see, fold proteins and move arms: what each "
    "step brought, who built on whom, and a page of this app that shows the idea.",
)
show = controls.sections("Show", "show", list(SHOWN), "time", SHOWN)
if show == "sequences":
    sequences.panel()
else:
    timeline.panel(families=show == "families")
