"""Facts of a page that a test makes up."""

from pages.facts import Facts

FACTS = Facts(
    key="plain",
    title="Plain",
    icon="home",
    order=10,
    question="What is it?",
    claim="It is this.",
    answers="What is it? It is this.",
    shows="nothing",
)
