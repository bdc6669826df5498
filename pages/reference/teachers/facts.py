"""Facts of the page “For teachers”."""

from pages.facts import Facts

FACTS = Facts(
    key="teachers",
    title="For teachers",
    icon="co_present",
    order=50,
    question="How can a class use it?",
    claim="Lessons of 15 to 20 minutes, questions with the same numbers for everybody who opens the same link, and "
    "sheets with answers. Nobody signs up, and nothing is kept of anybody.",
    answers="How can a class use it? Lessons with minutes, one link for a class, sheets with answers.",
    shows="lessons with their minutes; for each a quiz with the same numbers for a whole class, and its sheet with "
    "answers; what runs without a network, what a server for thirty needs, how to embed a figure, the licence",
)
