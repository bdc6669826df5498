"""Induction heads: find them, ablate them, see the circuit of two heads, watch them form in training."""

from pages.inside import reading as _reading
from pages.inside.induction.circuit import circuit
from pages.inside.induction.find import find
from pages.inside.induction.grow import grow_one
from pages.inside.induction.training_steps import film
from pages.ui import controls, page

SECTIONS = {
    "find": ("find the heads", find),
    "circuit": ("the induction circuit", circuit),
    "film": ("the phase change", film),
    "grow": ("train one yourself", grow_one),
}

page.begin(
    "How does it copy a sequence it has never seen?",
    "An induction head attends to the token that followed the current token's earlier occurrence, and predicts it "
    "again: **A B … A → B**. It is a simple form of in-context learning, and in training it forms in a phase change.",
    always=_reading.said_always(layer="3", head="0", reader="3"),
)
names = {key: name for key, (name, _) in SECTIONS.items()}
section = controls.sections("See", "show", list(SECTIONS), "find", names)
SECTIONS[section][1]()
