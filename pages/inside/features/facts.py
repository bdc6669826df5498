"""Facts of the page “Features”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="features",
    title="Features",
    icon="grain",
    order=40,
    question="Which features are active in a text?",
    claim="A sparse dictionary writes an activation as a sum of a few **features**. Look at one, and switch it off or "
    "on.",
    answers="Which features are active in a text? Look at one closely; switch it off, or force it on.",
    shows="sparse features of a text on `stories` (a transcoder of each feed-forward layer, an autoencoder of the "
    "stream) or `smollm2` (transcoders of seven layers); the strongest features token by token; search by a "
    "token; one feature's label, found by a search and scored on other texts (balanced accuracy), its "
    "activations, strongest texts, promoted tokens and nearest neighbours in held-out texts; the feature off "
    "or forced on, the next token and the text that follows; how many features are active on one token alone; "
    "a small dictionary trained on the page beside the shipped one: loss recovered, explained variance, dead "
    "features by step, the closest shipped feature of each",
    sections=Sections(label="See", key="show", names={"text": "features of a text", "grow": "train one yourself"}),
    terms={"sparse autoencoder": "", "transcoder": ""},
)
