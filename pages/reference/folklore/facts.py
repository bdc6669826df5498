"""Facts of the page “Folklore”."""

from pages.facts import Facts

FACTS = Facts(
    key="folklore",
    title="Folklore",
    icon="fact_check",
    order=20,
    question="Is it true what they say?",
    claim="55 figures, rules of thumb and slips from papers, courses and talks, each computed again by the library "
    "behind these pages when you open this one.",
    answers="Is it true? Figures and rules that are often quoted, each computed again.",
    shows="55 figures and rules that are often quoted, computed again as you look: how far off each is, in which "
    "cases, why, with its code and a link to the view that shows it",
)
