"""Facts of the page “Circuits”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="circuits",
    title="Circuits",
    icon="account_tree",
    order=60,
    question="Which parts make this prediction together?",
    claim="From feature to feature: every link is an exact share of what the next one reads. From head to head: the "
    "strongest links by an estimate are cut one by one, and what they keep alone is measured. Both graphs are then "
    "tested in the model itself.",
    answers="Which parts make a prediction together? Follow it back to the tokens, from feature to feature.",
    shows="the attribution graph of a prediction of `stories` or `smollm2`: transcoder features, errors, tokens and "
    "the logit of a token or the difference of two, every link an exact contribution; pruned by influence, "
    "features that do the same joined, replacement and completeness scores beside those of many prompts; a "
    "node's links, which add up to its activation, and which heads brought the largest; the largest features "
    "taken off in the real model, beside what the graph predicts; JSON in the format of circuit-tracer. Edges "
    "between the heads of any decoder by Q, K and V: estimated for all at once (edge attribution patching), "
    "the 64 strongest cut one by one against another text, the mean or zero, and how much of a logit "
    "difference the first n keep when all others are cut",
    sections=Sections(label="See", key="show", names={"features": "graph of features", "edges": "edges between heads"}),
    terms={"attribution graph": "", "edge attribution patching": "show=edges", "faithfulness": "show=edges"},
)
