"""Induction heads: find them, ablate them, see the circuit of two heads, watch them form in training."""

from pages.inside import reading
from pages.inside.induction.circuit import circuit
from pages.inside.induction.facts import FACTS
from pages.inside.induction.find import find
from pages.inside.induction.grow import grow_one
from pages.inside.induction.training_steps import film
from pages.ui import controls, page

SECTIONS = {"find": find, "circuit": circuit, "film": film, "grow": grow_one}

page.begin(FACTS, always=reading.said_always(layer="3", head="0", reader="3"))
SECTIONS[controls.sections(FACTS.sections)]()
