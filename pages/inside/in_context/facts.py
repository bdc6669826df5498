"""Facts of the page “In-context learning”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="in-context",
    title="In-context learning",
    icon="list_alt",
    order=30,
    question="What does it learn from the prompt alone?",
    claim="**In-context learning**: a few examples in the prompt, and the model does as they do, with no weight "
    "changed.",
    answers="What does a model learn from the prompt alone? Give 0 to 16 examples, with right and with random labels.",
    shows="examples in the prompt, 0 to 16, with right labels, random labels or in another order, for antonyms, "
    "capitals, sentiment and a made-up code: the prompt, the next token live on any decoder, and the accuracy by the "
    "number of examples with Wilson intervals, measured on `smollm2`, `stories` and `induction`; every head's effect "
    "on one answer, estimated for all and exact for the largest ten, beside its induction score; problems of two "
    "steps answered at once or after written steps: accuracy, tokens, operations, every answer, and any of them "
    "written live",
    sections=Sections(
        label="See",
        key="show",
        names={"examples": "Examples in the prompt", "heads": "Which heads carry it", "steps": "Thinking in tokens"},
    ),
    terms={"chain of thought": "show=Thinking+in+tokens", "few-shot prompting": ""},
)
