"""Facts of the page “Induction heads”."""

from pages.facts import Facts, Sections

FACTS = Facts(
    key="induction",
    title="Induction heads",
    icon="content_copy",
    order=20,
    question="How does it copy a sequence it has never seen?",
    claim="An induction head attends to the token that followed the current token's earlier occurrence, and predicts "
    "it again: **A B … A → B**. It is a simple form of in-context learning, and in training it forms in a phase "
    "change.",
    answers="How does a model copy? Find induction heads, ablate them, and watch them form in training.",
    shows="repeated random tokens or your own text: the stripe, every head's score, the loss of both copies, heads "
    "ablated; composition scores beside those of random matrices, path patching between heads, prefix matching and "
    "copying, by score and by rank; a training as a film, frame by frame, with the jump in loss and the in-context "
    "learning score; a model grown live until the heads appear",
    sections=Sections(
        label="See",
        key="show",
        names={
            "find": "find the heads",
            "circuit": "the induction circuit",
            "film": "the phase change",
            "grow": "train one yourself",
        },
    ),
    terms={
        "composition of heads": "show=circuit",
        "in-context learning": "show=film",
        "induction head": "",
        "path patching": "show=circuit",
    },
)
