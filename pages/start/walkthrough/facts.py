"""Facts of the page “Walkthrough”."""

from pages.facts import Facts

FACTS = Facts(
    key="walkthrough",
    title="Walkthrough",
    icon="directions_walk",
    order=20,
    question="What is a Transformer?",
    claim="A network of attention and feed-forward layers: follow a text through one, from its characters to the "
    "prediction.",
    answers="What is a Transformer? One text, step by step through a trained model, from its characters to the next "
    "token.",
    shows="one text through one real model, stage by stage on a map, by slider, player or arrow keys: every tensor "
    "before and after, with its equation, shape, parameters, FLOPs and code, from the characters to the five most "
    "likely next tokens",
    terms={
        "output projection": "stage=output",
        "Transformer": "",
        "unembedding": "stage=logits",
        "up-projection": "stage=up",
        "weighted sum of values": "stage=values",
    },
)
