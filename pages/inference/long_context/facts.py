"""Facts of the page “Long context”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="long-context",
    title="Long context",
    icon="width_full",
    order=30,
    question="What does a long context cost?",
    claim="Every query attends to every key, so **twice the length means four times the scores**. Attend to fewer "
    "pairs (sparse attention), never write the scores to memory (flash attention), or distribute them (ring "
    "attention): each is here, with its numbers.",
    answers="What does length cost? Flash attention number by number, ring attention, sparse patterns, timed here.",
    shows="what length costs, drawn to scale; sparse patterns with their cost and their reach through layers, checked "
    "on a real model; blocks that queries choose by their mean key, on a text of your own, with its loss; flash "
    "attention tile by tile with every number of the online softmax; memory traffic counted beside the theorem; ring "
    "attention over devices, contiguous and striped; plain against fused attention, timed while you watch",
    sections=Sections(
        label="Look at",
        key="look",
        names={
            "cost": "Cost of length",
            "patterns": "Sparse patterns",
            "chosen": "Chosen blocks",
            "flash": "Flash attention",
            "traffic": "Memory traffic",
            "ring": "Ring attention",
            "timed": "Timed here",
        },
    ),
    terms={
        "context length": "",
        "FlashAttention": "look=flash",
        "long context": "",
        "ring attention": "look=ring",
        "sparse attention": "look=patterns",
    },
    live=True,
)
