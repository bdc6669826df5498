"""Facts of the page “Exercises”."""

from pages.facts import Facts

FACTS = Facts(
    key="exercises",
    title="Exercises",
    icon="exercise",
    order=40,
    question="Can you write it yourself?",
    claim="Seventeen functions, from softmax to four bits, in notebooks of your own: a check says which property fails "
    "and which usual mistake it looks like. Nothing that you write comes here.",
    answers="Can you write it yourself? Seventeen functions to write in a notebook, with checks, hints and solutions.",
    shows="seventeen functions to write, from easy to hard, in notebooks that run offline: a check that says which "
    "property fails and which usual mistake it looks like, hints in steps, a solution, and the figure of the page "
    "drawn from your function",
)
