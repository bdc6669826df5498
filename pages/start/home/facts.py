"""Facts of the page “Home”."""

from pages.facts import Facts

FACTS = Facts(
    key="",
    title="Home",
    icon="home",
    order=10,
    question="See where the next word comes from",
    claim="A real Transformer reads your text while you look: each token is a stream through its layers, attention "
    "carries ribbons between them, and at the end are the next words. Click a dot to switch that head off.",
    shows="paste a text and see its flow through a model, switch heads off, or take a lesson across the pages",
)
