"""Facts of the page “History”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="history",
    title="History",
    icon="timeline",
    order=10,
    question="Where does it come from?",
    claim="From a neuron with a threshold in 1943 to models that read, write, see, fold proteins and move arms: what "
    "each step brought, who built on whom, and a page of this app that shows the idea.",
    answers="Where does it come from? From 1943 to today, what built on what, and what else is a sequence.",
    shows="122 entries from 1943 to 2026 by field, family or a word; each with what it brought, what it builds on, "
    "what it led to, its paper, and the page that shows it; the families as a lineage; images, films, sounds, DNA, "
    "proteins, robots and games cut into tokens by formula, with sliders",
    sections=Sections(
        label="Show",
        key="show",
        names={"time": "Timeline", "families": "Families", "sequences": "What else is a sequence"},
    ),
)
