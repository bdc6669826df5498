"""Facts of the page “Lessons”."""

from pages.facts import Facts

FACTS = Facts(
    key="lessons",
    title="Lessons",
    icon="school",
    order=15,
    question="Where to begin?",
    claim="A lesson is a path through the pages: at each stop something to see, one thing to do, and one question to "
    "answer before the page does, from the model and the text in sight.",
    answers="Where to begin? Lessons lead through the pages, a stop at a time, with a question at each.",
    shows="lessons of six to nine stops, with minutes and for whom; how far this browser has come in each; a lesson of "
    "one's own from a file",
)
