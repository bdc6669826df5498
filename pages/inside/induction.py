"""Induction heads: find them, take them away, see how two of them work together, watch them appear."""

from pages.inside._induction_circuit import circuit
from pages.inside._induction_film import film
from pages.inside._induction_find import find
from pages.inside._induction_grow import grow_one
from pages.ui import controls, page

SECTIONS = {
    "find": ("find the heads", find),
    "circuit": ("how two heads do it", circuit),
    "film": ("watch it appear", film),
    "grow": ("grow one yourself", grow_one),
}

page.begin(
    "How does it copy what it has never seen?",
    "An induction head finds what came after the present token the last time, and says it again: "
    "**A B … A → B**. It is the first skill of learning from the text itself, and it comes all at once.",
    r"\text{induction score} = \frac{1}{n} \sum_{q=n}^{2n-1} A_{q,\; q-n+1}",
)
names = {key: name for key, (name, _) in SECTIONS.items()}
section = controls.segmented("See", "show", list(SECTIONS), "find", names)
SECTIONS[section][1]()
