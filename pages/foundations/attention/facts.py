"""Facts of the page “Attention”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="attention",
    title="Attention",
    icon="open_with",
    order=30,
    question="How does attention work?",
    claim="A token's **query** is compared with every **key**; the softmax turns the scores into weights; the output "
    "is the sum of the **values**, each times its weight.",
    answers="How does attention work? Drag queries, keys and values, and watch scores, weights and outputs follow.",
    shows="drag queries, keys and values of four tokens, by mouse or keys, and watch scores, softmax and output "
    "follow; dot products of any two words; why the scores are divided by sqrt(d_k), with theory drawn over samples; "
    "temperature",
    sections=Sections(
        label="Look at",
        key="look",
        names={
            "drag": "Drag four tokens",
            "words": "Words of a text",
            "scale": "Why the square root",
            "gradient": "Softmax and its gradient",
            "temperature": "Temperature",
        },
    ),
    terms={
        "attention": "",
        "attention weight": "",
        "key": "",
        "query": "",
        "score": "",
        "softmax": "look=temperature",
        "value": "",
    },
    parts=("attention",),
)
