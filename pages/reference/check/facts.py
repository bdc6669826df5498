"""Facts of the page “Check yourself”."""

from pages.facts import Facts

FACTS = Facts(
    key="check",
    title="Check yourself",
    icon="quiz",
    order=40,
    question="What have you understood?",
    claim="Ten questions, drawn from more than a hundred and with new numbers each time. Every answer is graded at "
    "once, and a wrong one leads to the experiment that settles it.",
    answers="What have you understood? Ten questions, new each time; each wrong answer leads to its experiment.",
    shows="ten questions over all chapters, new numbers each round and the same again by link; graded at once, usual "
    "mistakes recognised, every wrong answer leading to the experiment that settles it; the score by chapter; all on "
    "one sheet for teachers",
)
