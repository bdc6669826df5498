"""Facts of the page “Glossary”."""

from pages.facts import Facts

FACTS = Facts(
    key="glossary",
    title="Glossary",
    icon="menu_book",
    order=30,
    question="What is it called?",
    claim="162 terms of the field as these pages use them: what each means in one sentence, its formula where there "
    "is one, and the view that shows it.",
    answers="What is it called? The field's terms, each with a sentence, a formula and the page that shows it.",
    shows="the field's terms in alphabetical order, searchable: one sentence, the formula, and the view that shows it",
)
