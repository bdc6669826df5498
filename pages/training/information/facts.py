"""Facts of the page “Information”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="information",
    title="Information",
    icon="equalizer",
    order=10,
    question="What does a loss measure?",
    claim="Cross-entropy, in bits or nats. A model that predicts **Q** where **P** is true pays the entropy of P, and "
    "on top of that the KL divergence from P to Q; training can only reduce the second part.",
    answers="What is cross-entropy? Entropy, KL divergence and mutual information to drag, and any text in bits.",
    shows="distributions as bars to drag: entropy, cross-entropy, perplexity and KL in both directions, each identity "
    "checked live; one bump fitted to two by either KL; mutual information of a joint table, three ways; the loss of "
    "one token; your text as surprisal token by token, with models compared by bits per byte beside zlib, lzma and "
    "byte counts",
    sections=Sections(
        label="Look at",
        key="show",
        names={
            "bars": "Entropy and KL",
            "bumps": "Why KL has a direction",
            "joint": "Mutual information",
            "token": "Loss of one token",
            "text": "A text in bits",
        },
    ),
    terms={
        "bits per byte": "show=text",
        "cross-entropy": "",
        "entropy": "",
        "KL divergence": "",
        "mutual information": "",
        "perplexity": "",
        "surprisal": "show=token",
    },
)
