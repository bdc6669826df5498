"""Facts of the page “Atlas of heads”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="atlas",
    title="Atlas of heads",
    icon="travel_explore",
    order=15,
    question="What does a head usually do?",
    claim="Every head of a model over hundreds of thousands of tokens: where it looks, how far, at which kinds of "
    "token, and what it adds.",
    answers="What does a head usually do? Every head over a distribution of texts, not over one sentence.",
    shows="every head of `smollm2`, `minilm` and `stories` over mixed texts: a dot for each by any two measures, by "
    "layer or by kind in colour, a box or a lasso that makes a list of heads; one head's sheet: how far it looks, "
    "where it stands among all heads, from which kind of token to which, mean ablation with its interval, examples "
    "by tenths of its activity, the heads that behave alike; heads found by two kinds of tokens (from a pronoun to a "
    "noun); what a head does on your text beside what it usually does; the same measured on a text of your own, with "
    "any model",
    sections=Sections(
        label="See",
        key="show",
        names={"heads": "every head", "head": "one head", "search": "find a head", "role": "on your text"},
    ),
)
